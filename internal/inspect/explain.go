package inspect

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"zuno/internal/live"
	"zuno/journal/event"
	"zuno/projections"
)

// Explanation is the causal chain of one thing, in plain words.
type Explanation struct {
	Kind  string `json:"kind"`
	ID    string `json:"id,omitempty"`
	Title string `json:"title"`
	Steps []Step `json:"steps"`
	// Because is the chain of causes of the last thing that happened to it, back to the commit that came from outside.
	Because []uint64 `json:"because,omitempty"`
	Notes   []string `json:"notes,omitempty"` // what follows from it, and what to do
}

// Step is one thing that happened, or that was true.
type Step struct {
	Commit uint64 `json:"commit,omitempty"`
	At     int64  `json:"at,omitempty"`    // milliseconds since the epoch
	Cause  uint64 `json:"cause,omitempty"` // the commit that led to it
	What   string `json:"what"`
	Text   string `json:"text"`
	Depth  int    `json:"depth,omitempty"`
}

// ExplainKinds are what can be explained.
var ExplainKinds = []string{"call", "input", "turn", "gate"}

// NoSuch is an id that nothing of that kind has.
type NoSuch struct {
	Kind, ID string
	Some     []string // ids of that kind, the last ones
	All      int
}

func (e *NoSuch) Error() string {
	what := "there is no " + e.Kind
	if e.ID != Last {
		what += " " + quoted(e.ID)
	}
	if len(e.Some) == 0 {
		return what + ": the session has none"
	}
	return fmt.Sprintf("%s; the last of %d: %s", what, e.All, strings.Join(e.Some, ", "))
}

// Explain tells how something came about: a call, an input, a turn by its id or [Last], or the gate. Its errors are
// those of [Fold], and [*NoSuch]. What is corrupt is explained as far as the journal goes, with that as the error.
func Explain(path, kind, id string) (*Explanation, error) {
	h, err := openHistory(path)
	if err != nil {
		return nil, err
	}
	e := &explainer{history: h, out: &Explanation{Kind: kind, Steps: []Step{}}}
	switch kind {
	case "call":
		err = e.call(id)
	case "input":
		err = e.input(id)
	case "turn":
		err = e.turn(id)
	default:
		err = e.gate()
	}
	if err == nil {
		err = (&Replay{View: h.view, file: h.file}).Corrupt()
	} else {
		e.out = nil
	}
	return e.out, errors.Join(err, h.file.Close())
}

type explainer struct {
	*history
	out *Explanation
}

const (
	saidText = 120 // characters of a text in an explanation
	mostIDs  = 5   // ids that an error lists
)

func (e *explainer) note(format string, a ...any) {
	e.out.Notes = append(e.out.Notes, fmt.Sprintf(format, a...))
}

func (e *explainer) step(x happening, what, format string, a ...any) *Step {
	e.out.Steps = append(e.out.Steps, Step{Commit: x.place.Commit, At: x.at, Cause: x.cause, What: what, Text: fmt.Sprintf(format, a...)})
	return &e.out.Steps[len(e.out.Steps)-1]
}

// because keeps the chain of causes of a commit, back to the one that came from outside. A stop of the user and what a new
// run settles come from outside themselves: then the chain of what was there before says more.
func (e *explainer) because(commit, before uint64) {
	e.out.Because = e.chain(commit)
	if len(e.out.Because) == 1 && before > 0 && before != commit {
		e.out.Because = e.chain(before)
	}
}

// recovery is the command by which a run settles what an earlier one left.
const recovery = "session.recover"

// recovered tells that a new run settled it, where that is so.
func (e *explainer) recovered(x *happening) error {
	if x == nil || x.command != recovery || x.place.Commit < 2 {
		return nil
	}
	l, err := e.link(x.place.Commit)
	if err != nil {
		return err
	}
	for n := x.place.Commit - 1; n > 0; n-- { // the run's first commit is just before
		first, err := e.link(n)
		if err != nil {
			return err
		}
		if first.run == l.run {
			e.out.Steps = append(e.out.Steps, Step{Commit: n, At: first.at, Cause: first.cause, What: "died", Text: "the process had ended without closing the session; a new one opened it and settled what was left"})
			return nil
		}
		if n+8 < x.place.Commit {
			return nil
		}
	}
	return nil
}

// pick finds an entity by its id, by a beginning that only one has, or the last.
func pick[T any](kind, id string, all []T, idOf func(T) string) (found T, err error) {
	if n := len(all); n > 0 && id == Last {
		return all[n-1], nil
	}
	matches := 0
	for _, x := range all {
		if idOf(x) == id {
			return x, nil
		}
		if id != "" && strings.HasPrefix(idOf(x), id) {
			found = x
			matches++
		}
	}
	if matches == 1 {
		return found, nil
	}
	no := &NoSuch{Kind: kind, ID: id, All: len(all)}
	for _, x := range all[max(len(all)-mostIDs, 0):] {
		no.Some = append(no.Some, short(idOf(x), 80))
	}
	return found, no
}

func (e *explainer) findTurn(id string) *projections.Turn {
	for _, t := range e.view.Root.Turns.All {
		if t.ID == id {
			return t
		}
	}
	return nil
}

func (e *explainer) findInput(id string) *projections.Input {
	for _, in := range e.view.Root.Inputs.All {
		if in.ID == id {
			return in
		}
	}
	return nil
}

// asked tells what the user, or whoever it was, sent.
func (e *explainer) asked(id, what string) error {
	in := e.findInput(id)
	if in == nil {
		return nil
	}
	p, err := whole[*event.InputAdmitted](e.history, in.Admitted)
	if err != nil || p == nil {
		return err
	}
	l, err := e.link(in.Admitted.Commit)
	if err != nil {
		return err
	}
	e.step(happening{place: in.Admitted, at: l.at, cause: l.cause}, what, "the %s: %q  (%s)", p.Trigger, words(blocks(p.Blocks), saidText), short(in.ID, 80))
	return nil
}

func (e *explainer) began(s *turnStory) {
	t := s.turn
	e.step(s.started, "turn", "%s began with %s to %s", short(t.ID, 80), plural(uint64(len(t.Inputs)), "input"), short(t.Model.Provider, 40)+"/"+short(t.Model.Name, 80))
}

// response tells how a request was answered.
func (e *explainer) response(r *requestStory, depth int) error {
	if r.ended == nil {
		return nil
	}
	text, err := e.said(r, saidText)
	if err != nil {
		return err
	}
	if text != "" {
		text = fmt.Sprintf("%q", text)
	}
	add := func(more string) {
		if text != "" {
			text += ", "
		}
		text += more
	}
	what := "response"
	switch x := r.ended.payload.(type) {
	case *event.ResponseCompleted:
		if x.Calls > 0 {
			add(plural(x.Calls, "call"))
		} else {
			add("no calls")
		}
		if x.Usage.Input != nil && x.Usage.Output != nil {
			add(fmt.Sprintf("%d tokens in, %d out", *x.Usage.Input, *x.Usage.Output))
		}
	case *event.ResponseCut:
		what = "cut"
		full, err := whole[*event.ResponseCut](e.history, r.ended.place)
		if err != nil {
			return err
		}
		why := map[event.CutReason]string{
			event.CutStream: "the stream broke off", event.CutCancelled: "the turn was stopped", event.CutInterrupted: "the process died",
		}[x.Reason]
		if d := words(full.Detail, saidText); d != "" {
			why += ": " + d
		}
		add(why)
		for _, c := range x.Calls {
			add("the call to " + short(c.Tool, 40) + " never completed")
		}
	case *event.RequestFailed:
		what = "failed"
		full, err := whole[*event.RequestFailed](e.history, r.ended.place)
		if err != nil {
			return err
		}
		add(words(full.Fault.Reason, 2*saidText))
	}
	e.step(*r.ended, what, "%s", text).Depth = depth
	return nil
}

// ended tells how the turn ended, and its inputs with it.
func (e *explainer) ended(s *turnStory) error {
	if s.ended == nil {
		return nil
	}
	p, err := whole[*event.TurnEnded](e.history, s.ended.place)
	if err != nil {
		return err
	}
	text := "the turn " + ended(p.State, p.Stop, p.Fault)
	if p.State == "cancelled" {
		text = "the turn was cancelled"
	}
	if why := words(p.Fault.Reason, 2*saidText); why != "" {
		text += ": " + why
	}
	e.step(*s.ended, "end", "%s", text)
	for _, id := range s.turn.Inputs {
		if in := e.findInput(id); in != nil && in.SettledAt > 0 {
			e.step(*s.ended, "receipt", "%s %s", short(id, 80), ended(in.State.String(), in.Stop, in.Fault))
		}
	}
	return nil
}

// running says what an unfinished turn is at. Its run goes on while a process owns the session, and has died otherwise.
func (e *explainer) running(s *turnStory) {
	if s.ended != nil {
		return
	}
	e.note("The turn has not ended as of commit %d: %s. %s", e.view.Number, e.doing(), e.whose())
}

// whose says whether anybody goes on with what is unfinished.
func (e *explainer) whose() string {
	if e.source.Way == live.Free {
		return "No process has the session: the one that had it ended, and opening the session settles what it left."
	}
	return "A process has the session and goes on with it."
}

// doing says what the session is at.
func (e *explainer) doing() string {
	root := e.view.Root
	t := root.Turns.Active
	switch {
	case t == nil:
		return "nothing runs"
	case t.Request != nil && t.Request.Open:
		return fmt.Sprintf("request %d waits for the model since commit %d", t.Request.Number, t.Request.Started)
	}
	var out []string
	for _, c := range root.Calls.Open {
		switch {
		case root.Permissions.Of(c.ID) != nil:
			out = append(out, fmt.Sprintf("%s (%s) waits for the user's answer since commit %d", c.ID, c.Tool, root.Permissions.Of(c.ID).Asked.Commit))
		case c.State.Is("started"):
			out = append(out, fmt.Sprintf("%s (%s) runs", c.ID, c.Tool))
		default:
			out = append(out, fmt.Sprintf("%s (%s) has not begun", c.ID, c.Tool))
		}
	}
	if len(out) == 0 {
		return "its next request is due"
	}
	return strings.Join(out, ", ")
}

// Tell is the explanation for people.
func (x *Explanation) Tell() string {
	var b strings.Builder
	b.WriteString(x.Title + "\n")
	t := &table{}
	for _, s := range x.Steps {
		where, at, after := "", "", ""
		if s.Commit > 0 {
			where, at = commit(s.Commit), moment(s.At)
		}
		if s.Cause > 0 {
			after = fmt.Sprintf("  ← commit %d", s.Cause)
		}
		t.row(where, at, strings.Repeat("  ", s.Depth)+s.What, s.Text+after)
	}
	if len(t.rows) > 0 {
		b.WriteByte('\n')
		t.write(&b, "")
	}
	if n := len(x.Because); n > 1 {
		b.WriteString("\nbecause of  ")
		for i, c := range x.Because {
			if n > mostBecause && i == mostBecause/2 {
				fmt.Fprintf(&b, " ← … %d more", n-mostBecause)
			}
			if n > mostBecause && i >= mostBecause/2 && i < n-mostBecause/2 {
				continue
			}
			if i > 0 {
				b.WriteString(" ← ")
			}
			b.WriteString(commit(c))
		}
		b.WriteByte('\n')
	}
	if len(x.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, n := range x.Notes {
		b.WriteString(n + "\n")
	}
	return b.String()
}

// mostBecause is how many commits of a chain are written out.
const mostBecause = 12

// JSON is the explanation as one JSON object.
func (x *Explanation) JSON() ([]byte, error) {
	n, err := toNode(x)
	if err != nil {
		return nil, err
	}
	return append(n.pretty(nil, 0), '\n'), nil
}

func took(ms uint64) string { return (time.Duration(ms) * time.Millisecond).String() }
