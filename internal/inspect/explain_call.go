package inspect

import (
	"fmt"

	"zuno/journal/event"
	"zuno/projections"
)

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
		last = r.started.place.Commit
		if r.started.payload.(*event.RequestStarted).Attempt == 1 {
			requests++
		}
		calls += len(r.calls)
	}
	if requests > 0 {
		e.out.Steps = append(e.out.Steps, Step{
			Commit: first, At: s.requests[0].started.at, Cause: s.requests[0].started.cause, What: "before",
			Text: fmt.Sprintf("%s and %s of this turn, the last one of commit %d", plural(uint64(requests), "request"), plural(uint64(calls), "call"), last),
		})
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
	if c.answered != nil && !c.leftOpen() {
		e.answered(c)
	}
	return nil
}

// answered tells what the user said.
func (e *explainer) answered(c *callStory) {
	said := map[event.Verdict]string{
		event.VerdictAllow: "allowed it", event.VerdictReject: "rejected it", event.VerdictCancelled: "did not answer: the request was closed",
		event.VerdictUnrecognized:  "answered with none of the options, which is a rejection",
		event.VerdictUndeliverable: "could not be asked, which is a rejection",
	}[c.answer.Verdict]
	if c.answer.Option != "" {
		said += fmt.Sprintf(" (%s)", short(c.answer.Option, 40))
	}
	if c.leftOpen() {
		said += " when asked again; the call was over, and nothing ran"
	}
	switch {
	case c.answer.Grant != "":
		e.step(*c.answered, "answered", "by the answer to %s, which is for the session", short(c.answer.Grant, 80))
	case c.answer.Session:
		e.step(*c.answered, "answered", "the user %s; for the session: equal calls are not asked about again", said)
	default:
		e.step(*c.answered, "answered", "the user %s", said)
	}
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
		switch {
		case c.leftOpen() && c.answered != nil:
			e.answered(c)
		case c.leftOpen():
			e.note("Its question is still open: it is put again when a session is loaded in an editor. The answer is recorded and runs nothing.")
		}
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
