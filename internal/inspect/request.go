package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"zuno/internal/engine"
	"zuno/internal/model"
	"zuno/internal/prompt"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// Request is a request to the model, rebuilt from the journal alone.
type Request struct {
	Number   int                  `json:"request"` // of the session, from 1, attempts counted
	Commit   uint64               `json:"commit"`
	Turn     string               `json:"turn"`
	Attempt  uint64               `json:"attempt"`
	Model    string               `json:"model"`
	Recorded event.RequestDigests `json:"recorded"`
	Rebuilt  event.RequestDigests `json:"rebuilt"`
	Equal    bool                 `json:"equal"`
	Neutral  *model.Request       `json:"neutral"`
}

// errEnough ends a scan that has found what it looks for.
var errEnough = errors.New("enough")

// Rebuild makes request number n of a session again: from the sections, the catalogue and the conversation as the journal has
// them, whatever this build and today's configuration say.
func Rebuild(path string, n int) (*Request, error) {
	if n < 1 {
		return nil, fmt.Errorf("requests are numbered from 1, not %d", n)
	}
	h := prompt.NewHistory()
	folder := projections.NewFolder(projections.Options{})
	var found *Request
	var salt []byte
	seen := 0
	file, err := open(path, func(c *journal.Raw) error {
		if c.Number == 1 {
			b, err := c.Body(0)
			if err != nil {
				return fmt.Errorf("a request cannot be rebuilt without the session's texts: %w", err)
			}
			salt = append([]byte(nil), b...)
		}
		d, err := engine.Decode(c)
		if err != nil {
			return err
		}
		if err := folder.Commit(c); err != nil {
			return err
		}
		for _, e := range d.Events {
			if e.Stream != 1 {
				continue
			}
			h.Apply(e.Payload)
			r, ok := e.Payload.(*event.RequestStarted)
			if !ok {
				continue
			}
			if seen++; seen == n {
				found = rebuilt(h, folder.View, salt, c.Number, n, r)
				return errEnough
			}
		}
		return nil
	})
	switch {
	case found != nil:
		return found, nil
	case err != nil:
		return nil, unwrapped(err)
	}
	_ = file.Close()
	return nil, fmt.Errorf("the session has %d requests; there is no number %d", seen, n)
}

func rebuilt(h *prompt.History, v *projections.View, salt []byte, commit uint64, n int, r *event.RequestStarted) *Request {
	choice := v.Policy.Model
	if t := v.Root.Turns.Active; t != nil {
		choice = t.Model
	}
	req := h.Request(choice, "", 0, nil)
	out := &Request{
		Number: n, Commit: commit, Turn: r.Turn, Attempt: r.Attempt, Model: choice.Provider + "/" + choice.Name,
		Recorded: r.Digests, Rebuilt: event.RequestDigests(prompt.Digest(salt, req)), Neutral: req,
	}
	out.Equal = out.Recorded == out.Rebuilt
	return out
}

// JSON is the request with its digests and all of its parts.
func (r *Request) JSON() []byte {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil
	}
	return append(b, '\n')
}

// Tell is the request for people: the digests first, then what was asked.
func (r *Request) Tell() string {
	var b strings.Builder
	word := "equal: this is what was asked"
	if !r.Equal {
		word = "NOT equal"
	}
	fmt.Fprintf(&b, "request %d, attempt %d, to %s (commit %d, %s)\n\n", r.Number, r.Attempt, r.Model, r.Commit, r.Turn)
	fmt.Fprintf(&b, "digest   recorded %s\n         rebuilt  %s\n         %s\n\n", r.Recorded.Request, r.Rebuilt.Request, word)
	for _, p := range []struct {
		name string
		a, b journal.Hash
		n    int
	}{{"sections", r.Recorded.Sections, r.Rebuilt.Sections, len(r.Neutral.Sections)}, {"messages", r.Recorded.Messages, r.Rebuilt.Messages, len(r.Neutral.Messages)}, {"tools", r.Recorded.Tools, r.Rebuilt.Tools, len(r.Neutral.Tools)}} {
		same := "equal"
		if p.a != p.b {
			same = "differ"
		}
		fmt.Fprintf(&b, "%-8s %d, %s\n", p.name, p.n, same)
	}
	for _, m := range r.Neutral.Messages {
		fmt.Fprintf(&b, "\n%s\n", m.Role)
		for _, p := range m.Parts {
			text := p.Text
			switch p.Kind {
			case model.PartCall:
				text = p.Tool + " " + text
			case model.PartReasoning:
				text = "(reasoning) " + text
			case model.PartImage:
				text = fmt.Sprintf("(%s, %d bytes)", p.Media, len(p.Data))
			}
			for line := range strings.Lines(strings.TrimRight(text, "\n")) {
				b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
			}
		}
	}
	return b.String()
}
