package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zuno/commands"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// gate explains what holds the session, or that nothing does.
func (e *explainer) gate() error {
	x := &e.view.Root.Execution
	if x.Gate == nil {
		return e.noGate()
	}
	g := x.Gate
	now, _ := commands.ExecutionGate(x)
	kind := commands.GateOf(now.Reason)
	e.out.ID = strconv.FormatUint(g.Revision, 10)
	e.out.Title = fmt.Sprintf("the session is %s: %s", x.State.String(), gateWords(g))
	l, err := e.link(g.Raised)
	if err != nil {
		return err
	}
	if err := e.events(g.Raised, g.Raised, func(projections.Place) {}, func(h happening) {
		if c, ok := h.payload.(*event.ExecutionChanged); ok && opensGate(c.Trigger) {
			text := fmt.Sprintf("%s: %s, revision %d", short(c.Trigger, 40), gateWords(g), g.Revision)
			if g.Cycle != "" {
				text += ", " + short(g.Cycle, 80)
			}
			e.step(h, "raised", "%s", text)
		}
	}); err != nil {
		return err
	}
	e.out.Steps = append(e.out.Steps, Step{Commit: l.number, At: l.at, Cause: l.cause, What: "command", Text: fmt.Sprintf("%s by %s (%s)", short(l.command, 80), short(l.who, 40), short(l.id, 120))})
	if err := errors.Join(e.known(g), e.deaths(now.Reason, g.Raised), e.refused(g.Raised)); err != nil {
		return err
	}
	if kind.Reason != g.Reason && x.State.Is("paused") {
		e.note("This build does not know the reason %s, so it holds the session like one that is %s.", quoted(g.Reason), kind.Reason)
	}
	e.note("%s", kind.Meaning)
	e.note("What clears it: %s", clears(g, kind))
	e.note("Recovery: %s.%s", now.Recovery, goalNote(g))
	for _, in := range e.view.Root.Inputs.Open {
		if proof, why := commands.ProveRepair(e.view.Root, in.ID); why == nil {
			e.note("The block is false for input %s (%s): `zuno session repair %s --input %s` shows the proof.", in.ID, proof.Ground, e.view.ID, in.ID)
		}
	}
	e.queued()
	slices.SortStableFunc(e.out.Steps, func(a, b Step) int { return cmp.Compare(a.Commit, b.Commit) })
	e.because(g.Raised, 0)
	return nil
}

func opensGate(trigger string) bool {
	switch lifecycle.Trigger(trigger) {
	case lifecycle.ExecutionPause, lifecycle.ExecutionWaitHuman, lifecycle.ExecutionWaitExternal:
		return true
	}
	return false
}

func gateWords(g *projections.Gate) string {
	s := short(g.Reason, line)
	if g.Waiting != "" {
		if s != "" {
			s += ", "
		}
		s += "waiting for " + short(g.Waiting, 80)
	}
	if s == "" {
		s = "no reason recorded"
	}
	if g.Goal != "" {
		s += ", owned by Goal " + short(g.Goal, 80)
	}
	return s
}

// clears is the table's word for what ends a gate, with what this one waits for.
func clears(g *projections.Gate, kind *commands.GateKind) string {
	if g.Waiting != "" {
		return strings.TrimSuffix(kind.Clears, ".") + ": " + short(g.Waiting, 80) + "."
	}
	return kind.Clears
}

func goalNote(g *projections.Gate) string {
	if g.Goal == "" {
		return ""
	}
	return " A Goal owns the gate, so /resume does not clear it."
}

// known tells what the view said when the gate was raised.
func (e *explainer) known(g *projections.Gate) error {
	root := e.view.Root
	n := 0
	for _, u := range root.Calls.Uncertain {
		if u.Settled > g.Raised || u.Cycle != g.Cycle {
			continue
		}
		n++
		l, err := e.link(u.Settled)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("the effect of call %s (%s) is unknown", short(u.Call, 80), short(u.Tool, 40))
		if u.Finding != "" {
			text += fmt.Sprintf("; since then the user found: %s", short(string(u.Finding), 40))
		}
		e.out.Steps = append(e.out.Steps, Step{Commit: u.Settled, At: l.at, Cause: l.cause, What: "known", Text: text})
	}
	if g.Reason == commands.GateUncertain && n == 0 {
		e.note("No record names the call whose effect is unknown (%s).", commands.LegacyUncertainty)
	}
	for _, t := range root.Turns.All {
		if t.ID != g.Over.ID || t.EndedAt == 0 {
			continue
		}
		text := "the last turn before it, " + short(t.ID, 80) + ", " + ended(t.State.String(), t.Stop, t.Fault)
		switch g.Cause {
		case t.ID:
			text += "; the gate names it as its cause"
		case "":
			text += "; the gate names no cause"
		default:
			text += "; the gate names another cause, " + short(g.Cause, 80)
		}
		at := uint64(0)
		for _, f := range root.Turns.Finished {
			if f.First == t.Started {
				at = f.Last
			}
		}
		e.out.Steps = append(e.out.Steps, Step{Commit: at, At: t.EndedAt, What: "known", Text: text})
	}
	return nil
}

// deaths tells of the runs that ended at the step for which the session is held.
func (e *explainer) deaths(reason string, raised uint64) error {
	if reason != commands.GateExecutionUnavailable {
		return nil
	}
	var steps []Step
	last := ""
	err := e.events(1, raised, func(projections.Place) {}, func(h happening) {
		d, ok := h.payload.(*event.RunDied)
		if !ok {
			return
		}
		if d.Step != last {
			steps, last = nil, d.Step
		}
		steps = append(steps, Step{Commit: h.place.Commit, At: h.at, Cause: h.cause, What: "died", Text: fmt.Sprintf("run %s ended at step %s%s", short(d.Run, 40), short(d.Step, 120), e.during(d.Run))})
	})
	e.out.Steps = append(e.out.Steps, steps...)
	return err
}

// during is the call in which a run ended, in words that people know it by; empty where it ended between calls.
func (e *explainer) during(run string) string {
	for _, c := range e.view.Root.Calls.All {
		if c.Run != run || c.Class != projections.FaultInterrupted {
			continue
		}
		if p, err := whole[*event.CallRequested](e.history, projections.Place{Commit: c.Requested.Commit, Event: c.Requested.Event}); err == nil && p != nil {
			return fmt.Sprintf(" (%s: %s)", short(c.Tool, 40), words(p.Title, saidText))
		}
	}
	return ""
}

// refused lists the attempts to go on that were refused since a commit, and why.
func (e *explainer) refused(since uint64) error {
	var places []happening
	err := e.events(since, e.view.Number, func(projections.Place) {}, func(h happening) {
		if _, ok := h.payload.(*event.AttemptRefused); ok {
			places = append(places, h)
		}
	})
	for _, h := range places {
		a, readErr := whole[*event.AttemptRefused](e.history, h.place)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		e.step(h, "refused", "%s, input %s (%s): %s", short(a.Attempt, 40), short(a.Input, 80), short(a.Code, 40), words(a.Text, 2*saidText))
	}
	return err
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
		before = t.Started
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
	if before > 0 {
		if err := e.refused(before); err != nil {
			return err
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
		in := root.Inputs.Waiting()
		e.note("Input %s %s", short(in.ID, 80), e.waits(in))
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
		what := strconv.Quote(words(blocks(p.Blocks), saidText))
		if c := in.Control; c != nil && c.Input != "" {
			what = fmt.Sprintf("%s for input %s, by %s", short(string(c.Kind), 40), short(c.Input, 80), short(c.Actor, 40))
		}
		e.step(happening{place: in.Admitted, at: l.at, cause: l.cause}, "waiting", "input %s: %s", short(in.ID, 80), what)
	}
	if n > mostIDs {
		e.note("%d more inputs wait.", n-mostIDs)
	}
}
