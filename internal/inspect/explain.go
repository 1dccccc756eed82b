package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// call explains a call: who asked for it, who allowed it, what it did, what came of it.
func (e *explainer) call(id string) error {
	c, err := pick("call", id, e.view.Root.Calls.All, func(c *projections.Call) string { return c.ID })
	if err != nil {
		return err
	}
	t := e.findTurn(c.Turn)
	if t == nil {
		return &NoSuch{Kind: "turn", ID: c.Turn}
	}
	s, err := e.story(t)
	if err != nil {
		return err
	}
	cs := s.calls[c.ID]
	if cs == nil {
		return &NoSuch{Kind: "call", ID: c.ID}
	}
	p, err := whole[*event.CallRequested](e.history, cs.requested.place)
	if err != nil {
		return err
	}
	e.out.ID = c.ID
	e.out.Title = fmt.Sprintf("call %s of %s: %s", short(c.ID, 80), short(c.Tool, 40), cs.state())
	for _, in := range t.Inputs {
		if err := e.asked(in, "asked"); err != nil {
			return err
		}
	}
	e.began(s)
	e.between(s, cs)
	e.step(cs.request.started, "request", "%s asked the model", cs.request.number())
	if err := e.response(cs.request, 0); err != nil {
		return err
	}
	e.requested(cs, p)
	if err := e.permitted(cs, p); err != nil {
		return err
	}
	last, err := e.done(cs, p)
	if err != nil {
		return err
	}
	if err := e.after(s, cs); err != nil {
		return err
	}
	e.running(s)
	before := cs.requested.place.Commit
	for _, x := range []*happening{cs.asked, cs.started} {
		if x != nil {
			before = x.place.Commit
		}
	}
	e.because(last, before)
	return nil
}

// between counts what the turn did before the request that led to the call.
func (e *explainer) between(s *turnStory, c *callStory) {
	requests, calls := 0, 0
	var first, last uint64
	for _, r := range s.requests {
		if r == c.request {
			break
		}
		if first == 0 {
			first = r.started.place.Commit
		}
		requests, last = requests+1, r.started.place.Commit
		calls += len(r.calls)
	}
	if requests > 0 {
		e.out.Steps = append(e.out.Steps, Step{Commit: first, At: s.requests[0].started.at, Cause: s.requests[0].started.cause, What: "before",
			Text: fmt.Sprintf("%s and %s of this turn, the last one of commit %d", plural(uint64(requests), "request"), plural(uint64(calls), "call"), last)})
	}
}

func (e *explainer) requested(c *callStory, p *event.CallRequested) {
	title := words(p.Title, saidText)
	e.step(c.requested, "call", "%s: %s (%s)", short(p.Tool, 40), title, declared(p.Declaration))
	e.step(c.requested, "arguments", "%s", words(p.Args, 2*saidText))
}

// permitted tells who allowed it.
func (e *explainer) permitted(c *callStory, p *event.CallRequested) error {
	rule := words(p.Rule, saidText)
	switch {
	case p.Permission == event.Allow:
		e.step(c.requested, "allowed", "by the policy: %s", rule)
	case p.Permission == event.Deny:
		e.step(c.requested, "denied", "by the policy: %s", rule)
	case p.Permission == event.Ask:
		e.step(c.requested, "policy", "the user must be asked: %s", rule)
	}
	if c.asked != nil {
		e.step(*c.asked, "asked", "the user was asked (%s)", c.asked.payload.(*event.PermissionAsked).ID)
	}
	if c.answered != nil {
		said := map[event.Verdict]string{
			event.VerdictAllow: "allowed it", event.VerdictReject: "rejected it", event.VerdictCancelled: "did not answer: the request was closed",
			event.VerdictUnrecognized: "answered with none of the options, which is a rejection",
		}[c.answer.Verdict]
		option := ""
		if c.answer.Option != "" {
			option = fmt.Sprintf(" (%s)", short(c.answer.Option, 40))
		}
		e.step(*c.answered, "answered", "the user %s%s", said, option)
	}
	return nil
}

// done tells what ran and what came back, and gives the commit that the chain ends with.
func (e *explainer) done(c *callStory, p *event.CallRequested) (last uint64, err error) {
	last = c.requested.place.Commit
	if c.started != nil {
		last = c.started.place.Commit
		x := c.started.payload.(*event.CallStarted)
		attempt := ""
		if x.Attempt > 1 {
			attempt = fmt.Sprintf(", attempt %d", x.Attempt)
		}
		e.step(*c.started, "started", "%s%s", words(p.Title, saidText), attempt)
	}
	if c.ended == nil {
		return last, nil
	}
	last = c.ended.place.Commit
	if err := e.recovered(c.ended); err != nil {
		return 0, err
	}
	switch {
	case c.blocked != nil:
		full, err := whole[*event.CallBlocked](e.history, c.ended.place)
		if err != nil {
			return 0, err
		}
		e.step(*c.ended, "blocked", "%s: %s", full.Kind, words(full.Text, 2*saidText))
	case c.abandoned != nil:
		e.step(*c.ended, "abandoned", "%s: the answer could no longer come; nothing was done", c.abandoned.Reason)
	case c.settled != nil:
		return last, e.settled(c)
	}
	return last, nil
}

func (e *explainer) settled(c *callStory) error {
	full, err := whole[*event.CallSettled](e.history, c.ended.place)
	if err != nil {
		return err
	}
	text := outcome(full)
	if full.Millis > 0 {
		text += " after " + took(full.Millis)
	}
	if full.Exit != nil && full.Exit.Ceiling {
		text += ", killed at the hard ceiling"
	}
	e.step(*c.ended, "ended", "%s", text)
	e.step(*c.ended, "result", "%s", words(full.Text, 2*saidText))
	for i := range full.Files {
		f := &full.Files[i]
		e.step(*c.ended, "file", "%s %s", f.Change, words(f.Path, 2*saidText))
	}
	if out := words(full.Output, 4*saidText); out != "" {
		e.step(*c.ended, "output", "%s, whole in %s", plural(full.OutBytes, "byte"), out)
	}
	if full.Outcome == event.OutcomeUncertain {
		e.note("What it did is unknown: it may have happened in full, in part or not at all. It is not run again; the model is told to look first.")
	}
	return nil
}

// after tells what the call led to: the next request of its turn, or the turn's end.
func (e *explainer) after(s *turnStory, c *callStory) error {
	if c.ended == nil {
		return nil
	}
	for _, r := range s.requests {
		if at := r.started.place.Commit; at > c.requested.place.Commit && at >= c.ended.place.Commit {
			e.step(r.started, "led to", "%s, which told the model", r.number())
			if err := e.response(r, 0); err != nil {
				return err
			}
			if r != s.last() {
				return nil
			}
			break
		}
	}
	for _, x := range s.controls {
		e.control(x)
	}
	return e.ended(s)
}

func (e *explainer) control(x happening) {
	c := x.payload.(*event.ControlRequested)
	e.step(x, c.Kind, "by %s (%s)", short(c.Source, 40), c.ID)
}

// turn explains a turn: what it was for, its requests and their calls, its end.
func (e *explainer) turn(id string) error {
	t, err := pick("turn", id, e.view.Root.Turns.All, func(t *projections.Turn) string { return t.ID })
	if err != nil {
		return err
	}
	s, err := e.story(t)
	if err != nil {
		return err
	}
	e.out.ID = t.ID
	state := ended(t.State.String(), t.Stop, t.Fault)
	e.out.Title = fmt.Sprintf("turn %s: %s, %s, %s", short(t.ID, 80), state, plural(uint64(len(s.requests)), "request"), plural(uint64(len(s.calls)), "call"))
	for _, in := range t.Inputs {
		if err := e.asked(in, "asked"); err != nil {
			return err
		}
	}
	e.began(s)
	if err := e.requests(s); err != nil {
		return err
	}
	for _, x := range s.controls {
		e.control(x)
	}
	if err := e.recovered(s.ended); err != nil {
		return err
	}
	if err := e.ended(s); err != nil {
		return err
	}
	e.running(s)
	before := s.started.place.Commit
	if r := s.last(); r != nil {
		before = r.started.place.Commit
	}
	last := before
	if s.ended != nil {
		last = s.ended.place.Commit
	}
	e.because(last, before)
	return nil
}

// mostRequests is how many requests of a turn are told at each end of it.
const mostRequests = 20

func (e *explainer) requests(s *turnStory) error {
	for i, r := range s.requests {
		if n := len(s.requests); n > 2*mostRequests && i >= mostRequests && i < n-mostRequests {
			if i == mostRequests {
				e.step(r.started, "…", "%s in between", plural(uint64(n-2*mostRequests), "request"))
			}
			continue
		}
		e.step(r.started, "request", "%s asked the model", r.number())
		if err := e.response(r, 1); err != nil {
			return err
		}
		for _, c := range r.calls {
			p, err := whole[*event.CallRequested](e.history, c.requested.place)
			if err != nil {
				return err
			}
			at := c.requested
			if c.ended != nil {
				at = *c.ended
			}
			e.step(at, "call", "%s: %s – %s  (%s)", short(p.Tool, 40), words(p.Title, saidText), c.state(), short(p.ID, 80)).Depth = 1
		}
	}
	return nil
}

// input explains the way of an input to its receipt.
func (e *explainer) input(id string) error {
	in, err := pick("input", id, e.view.Root.Inputs.All, func(in *projections.Input) string { return in.ID })
	if err != nil {
		return err
	}
	e.out.ID = in.ID
	e.out.Title = fmt.Sprintf("input %s: %s", short(in.ID, 80), ended(in.State.String(), in.Stop, in.Fault))
	if err := e.asked(in.ID, "admitted"); err != nil {
		return err
	}
	var seen uint64
	for _, at := range e.ways(in) {
		if at == seen {
			continue
		}
		seen = at
		if err := e.events(at, at, func(projections.Place) {}, func(x happening) { e.receipt(in, x) }); err != nil {
			return err
		}
	}
	last := in.Admitted.Commit
	if n := len(e.out.Steps); n > 0 {
		last = e.out.Steps[n-1].Commit
	}
	switch t := e.findTurn(in.Turn); {
	case in.State.Terminal():
	case t != nil:
		e.note("Its turn %s has not ended as of commit %d: %s. %s", t.ID, e.view.Number, e.doing(), e.whose())
	default:
		e.note("%s", e.waits(in))
	}
	before := in.Admitted.Commit
	if t := e.findTurn(in.Turn); t != nil {
		before = t.Started
	}
	e.because(last, before)
	return nil
}

// ways are the commits at which something may have happened to the input, in order.
func (e *explainer) ways(in *projections.Input) (out []uint64) {
	if t := e.findTurn(in.Turn); t != nil {
		out = append(out, t.Started)
	}
	for _, p := range e.view.Root.Inputs.Places {
		if p.First == in.Admitted.Commit {
			out = append(out, p.Last)
		}
	}
	slices.Sort(out)
	return out
}

func (e *explainer) receipt(in *projections.Input, x happening) {
	switch p := x.payload.(type) {
	case *event.InputDeliveryBatch:
		if slices.Contains(p.Inputs, in.ID) {
			e.step(x, "recorded", "it was taken into the history, for turn %s", short(p.Turn, 80))
		}
	case *event.InputApplied:
		if p.Input == in.ID {
			e.step(x, "applied", "request %s, which holds it, went to the model", short(p.Request, 80))
		}
	case *event.InputSettled:
		if p.Input == in.ID {
			if err := e.recovered(&x); err != nil {
				return
			}
			text := ended(p.State, p.Stop, p.Fault)
			if full, err := whole[*event.InputSettled](e.history, x.place); err == nil {
				if why := words(full.Fault.Reason, 2*saidText); why != "" {
					text += ": " + why
				}
			}
			e.step(x, "receipt", "%s, %s after it was admitted", text, took(uint64(max(x.at-e.out.Steps[0].At, 0))))
		}
	}
}

// waits says why an input has not been taken.
func (e *explainer) waits(in *projections.Input) string {
	root := e.view.Root
	before := 0
	for _, x := range root.Inputs.Open {
		if x.Turn == "" && x.Admitted.Commit < in.Admitted.Commit {
			before++
		}
	}
	queue := ""
	if before > 0 {
		queue = fmt.Sprintf(" %s before it.", plural(uint64(before), "input")+" "+map[bool]string{true: "waits", false: "wait"}[before == 1])
	}
	switch {
	case root.Execution.Gate != nil:
		return "It waits: a gate holds the session (`zuno explain gate`)." + queue
	case root.Turns.Active != nil:
		return fmt.Sprintf("It waits for the end of turn %s.%s", root.Turns.Active.ID, queue)
	case !root.Execution.Woken:
		return "It waits for the next wake: an opened session starts nothing by itself, the next prompt does." + queue
	}
	return "It is due: a turn begins with it." + queue
}

// gate explains what holds the session, or that nothing does.
func (e *explainer) gate() error {
	x := &e.view.Root.Execution
	if x.Gate == nil {
		return e.noGate()
	}
	g := x.Gate
	e.out.ID = strconv.FormatUint(g.Revision, 10)
	e.out.Title = fmt.Sprintf("the session is %s: %s", x.State.String(), gateWords(g))
	l, err := e.link(g.Raised)
	if err != nil {
		return err
	}
	if err := e.events(g.Raised, g.Raised, func(projections.Place) {}, func(h happening) {
		if c, ok := h.payload.(*event.ExecutionChanged); ok {
			e.step(h, "raised", "%s: %s", short(c.Trigger, 40), gateWords(g))
		}
	}); err != nil {
		return err
	}
	e.out.Steps = append(e.out.Steps, Step{Commit: l.number, At: l.at, Cause: l.cause, What: "command", Text: fmt.Sprintf("%s by %s (%s)", short(l.command, 80), short(l.who, 40), short(l.id, 120))})
	if err := e.known(g.Raised); err != nil {
		return err
	}
	if err := e.refused(g.Raised); err != nil {
		return err
	}
	e.note("%s", clears(x.State.String(), g))
	e.queued()
	e.because(g.Raised, 0)
	return nil
}

func gateWords(g *projections.Gate) string {
	s := short(g.Reason, line)
	if s == "" {
		s = "no reason recorded"
	}
	if g.Waiting != "" {
		s += ", waiting for " + short(g.Waiting, 80)
	}
	return s
}

// clears says what ends a gate. Only a resume leads out of a wait or a pause.
func clears(state string, g *projections.Gate) string {
	switch state {
	case "waiting_human":
		return "It is cleared by the user's answer to " + short(cmp.Or(g.Waiting, "what was asked"), 80) + "."
	case "waiting_external":
		return "It is cleared when " + short(cmp.Or(g.Waiting, "what it waits for"), 80) + " arrives."
	}
	return "It is cleared by resuming the session; until then inputs are kept in order and nothing starts."
}

// known tells what the view said when the gate was raised.
func (e *explainer) known(raised uint64) error {
	for _, u := range e.view.Root.Calls.Uncertain {
		if u.Settled <= raised {
			l, err := e.link(u.Settled)
			if err != nil {
				return err
			}
			e.out.Steps = append(e.out.Steps, Step{Commit: u.Settled, At: l.at, Cause: l.cause, What: "known", Text: fmt.Sprintf("the effect of call %s (%s) is unknown", short(u.Call, 80), short(u.Tool, 40))})
		}
	}
	return nil
}

// refusedPrefix begins the types of events that record an attempt to clear a gate that was refused.
const refusedPrefix = "session.attempt.refused."

func (e *explainer) refused(since uint64) error {
	return linesFrom(e.file, since, func(line *node) error {
		for _, x := range line.get("events").children() {
			if strings.HasPrefix(x.get("type").text(), refusedPrefix) {
				inline(line)
				at, _ := time.Parse(time.RFC3339, line.get("at").text())
				e.out.Steps = append(e.out.Steps, Step{Commit: line.get("number").uint(), At: at.UnixMilli(), Cause: line.get("cause").uint(), What: "refused", Text: short(facts(x.get("payload")), 2*saidText)})
			}
		}
		return nil
	})
}

// noGate says what the session waits for instead.
func (e *explainer) noGate() error {
	root := e.view.Root
	x := &root.Execution
	state := x.State.String()
	if x.Phase != "" {
		state += ", phase " + short(x.Phase, 40)
	}
	e.out.Title = fmt.Sprintf("nothing holds the session: there is no gate, execution is %s at commit %d", state, e.view.Number)
	last, before := uint64(0), uint64(0)
	if n := len(root.Turns.All); n > 0 {
		t := root.Turns.All[n-1]
		s, err := e.story(t)
		if err != nil {
			return err
		}
		e.step(s.started, "turn", "%s began", short(t.ID, 80))
		last, before = t.Started, t.Started
		if s.ended != nil {
			last = s.ended.place.Commit
			if err := e.recovered(s.ended); err != nil {
				return err
			}
			if err := e.ended(s); err != nil {
				return err
			}
		} else {
			e.running(s)
			last = e.newest(s)
		}
	}
	for _, u := range root.Calls.Uncertain {
		if u.Settled == last {
			e.out.Steps = append(e.out.Steps, Step{Commit: u.Settled, What: "unknown", At: e.out.Steps[len(e.out.Steps)-1].At, Text: fmt.Sprintf("what call %s (%s) did", short(u.Call, 80), short(u.Tool, 40))})
		}
	}
	e.queued()
	switch {
	case root.Turns.Active != nil:
	case root.Inputs.Waiting() == nil:
		e.note("The session is idle: it waits for a prompt.")
	default:
		e.note("%s", e.waits(root.Inputs.Waiting()))
	}
	slices.SortStableFunc(e.out.Steps, func(a, b Step) int { return cmp.Compare(a.Commit, b.Commit) })
	if last > 0 {
		e.because(last, before)
		return nil
	}
	return nil
}

// newest is the last thing that an unfinished turn began.
func (e *explainer) newest(s *turnStory) uint64 {
	n := s.started.place.Commit
	if r := s.last(); r != nil {
		n = r.started.place.Commit
		for _, c := range r.calls {
			for _, x := range []*happening{&c.requested, c.asked, c.answered, c.started, c.ended} {
				if x != nil {
					n = max(n, x.place.Commit)
				}
			}
		}
	}
	return n
}

// queued lists the inputs that no turn has taken.
func (e *explainer) queued() {
	n := 0
	for _, in := range e.view.Root.Inputs.Open {
		if in.Turn != "" {
			continue
		}
		if n++; n > mostIDs {
			continue
		}
		p, err := whole[*event.InputAdmitted](e.history, in.Admitted)
		l, err2 := e.link(in.Admitted.Commit)
		if err != nil || err2 != nil {
			continue
		}
		e.step(happening{place: in.Admitted, at: l.at, cause: l.cause}, "waiting", "input %s: %q", short(in.ID, 80), words(blocks(p.Blocks), saidText))
	}
	if n > mostIDs {
		e.note("%d more inputs wait.", n-mostIDs)
	}
}
