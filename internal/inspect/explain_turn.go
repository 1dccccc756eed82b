package inspect

import (
	"fmt"
	"slices"

	"zuno/journal/event"
	"zuno/projections"
)

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
	e.out.Title = fmt.Sprintf("turn %s: %s, %s, %s", short(t.ID, 80), state, plural(t.Requests, "request"), plural(uint64(len(s.calls)), "call"))
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
		e.note("It %s", e.waits(in))
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
	case *event.ControlRequested:
		switch {
		case p.Input != in.ID:
		case p.Kind == "withdraw":
			e.step(x, "withdraw", "the request that sent it was withdrawn  (%s)", p.ID)
		case p.Kind == "stop":
			e.step(x, "stop", "by %s, before its turn had begun  (%s)", short(p.Source, 40), p.ID)
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

// waits says what an input waits for.
func (e *explainer) waits(in *projections.Input) string {
	root := e.view.Root
	before := uint64(0)
	for _, x := range root.Inputs.Open {
		if x.Turn == "" && x.Admitted.Commit < in.Admitted.Commit {
			before++
		}
	}
	queue := ""
	if before > 0 {
		queue = " Before it: " + plural(before, "input") + "."
	}
	switch {
	case root.Execution.Gate != nil:
		return "waits: a gate holds the session, " + gateWords(root.Execution.Gate) + " (`zuno explain gate`)." + queue
	case root.Turns.Active != nil:
		return fmt.Sprintf("waits for the end of turn %s.%s", root.Turns.Active.ID, queue)
	case !root.Execution.Woken:
		return "waits for the next wake: an opened session starts nothing by itself, the next prompt does." + queue
	}
	return "is due: a turn begins with it." + queue
}
