package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
)

// decisionJSON is a decision as it is printed.
type decisionJSON struct {
	Refusal *refusalJSON `json:"refusal,omitempty"`
	Events  []eventJSON  `json:"events"`
}

type refusalJSON struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
	Next   string `json:"next,omitempty"`
}

type eventJSON struct {
	Stream  uint64        `json:"stream"`
	Type    string        `json:"type"`
	Payload event.Payload `json:"payload"`
}

func (k *checker) tell(c *journal.Raw, d *commands.Decision, why string) (*Difference, error) {
	out := &Difference{Commit: c.Number, Type: string(c.Command.Type), ID: string(c.Command.ID), Actor: string(c.Command.Actor), Why: why}
	recorded := decisionJSON{Events: []eventJSON{}}
	for i := range c.Events {
		e := &c.Events[i]
		t := event.ByName(e.Type)
		if t == nil {
			return out, nil // the fold types it
		}
		p, err := raised(c, e, t, c.Body)
		if err != nil {
			return nil, err
		}
		recorded.Events = append(recorded.Events, eventJSON{e.Stream, string(e.Type), p})
	}
	decided := decisionJSON{Events: []eventJSON{}}
	if r := d.Refusal; r != nil {
		decided.Refusal = &refusalJSON{r.Code, r.Reason, r.Next}
	}
	for _, p := range d.Events {
		decided.Events = append(decided.Events, eventJSON{1, event.TypeOf(p).Name, k.withTexts(c, p)})
	}
	var err1, err2 error
	out.Recorded, err1 = json.Marshal(recorded)
	out.Decided, err2 = json.Marshal(decided)
	return out, errors.Join(err1, err2)
}

// withTexts is a decided payload with the bytes of the texts that it refers to.
func (k *checker) withTexts(c *journal.Raw, p event.Payload) event.Payload {
	b, err := k.encode(c, p)
	if err != nil {
		return p
	}
	table, own := k.texts, len(c.Texts)
	full := event.TypeOf(p).New()
	if err := event.Decode(full, b, table.Entries, func(i int) ([]byte, error) {
		if i < own {
			return c.Body(i)
		}
		return table.Bodies[i-own], nil
	}); err != nil {
		return p
	}
	return full
}

// Tell is the result for people.
func (c *Checked) Tell() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s decided again", plural(c.Commits, "commit"))
	if len(c.Differ) == 0 {
		b.WriteString(": each decision is the recorded one\n")
	} else {
		b.WriteByte('\n')
	}
	if c.BySize > 0 {
		fmt.Fprintf(&b, "%s compared by size only: the journal has lost the salt that their digests need\n", plural(c.BySize, "text"))
	}
	if c.Corrupt != "" {
		fmt.Fprintf(&b, "nothing is decided after that: %s\n", short(c.Corrupt, 200))
	}
	for _, g := range c.Differ {
		whose := "another build"
		if g.Same {
			whose = "this build: a defect"
		}
		fmt.Fprintf(&b, "\nbuild %s (%s): %s otherwise\n", short(g.Build, line), whose, differs(g.Commits))
		d := &g.First
		fmt.Fprintf(&b, "commit %d  %s  by %s  (%s)\n  %s\n", d.Commit, short(d.Type, 80), short(d.Actor, 40), short(d.ID, 120), short(d.Why, 300))
		if err := tellDecisions(&b, d); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func differs(n uint64) string {
	if n == 1 {
		return "1 commit is decided"
	}
	return fmt.Sprintf("%d commits are decided", n)
}

func tellDecisions(b *strings.Builder, d *Difference) error {
	recorded, err1 := parse(d.Recorded)
	decided, err2 := parse(d.Decided)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for _, c := range diff(recorded, decided) {
		fmt.Fprintf(b, "  %s\n", c.tell())
	}
	for _, x := range []struct {
		name string
		n    *node
	}{{"recorded", recorded}, {"decided now", decided}} {
		fmt.Fprintf(b, "  %s:\n", x.name)
		for l := range strings.Lines(plain(string(x.n.pretty(nil, 0)))) {
			b.WriteString("    " + strings.TrimRight(l, "\n") + "\n")
		}
	}
	return nil
}

// JSON is the result as one JSON object.
func (c *Checked) JSON() ([]byte, error) {
	n, err := toNode(c)
	if err != nil {
		return nil, err
	}
	return append(n.pretty(nil, 0), '\n'), nil
}
