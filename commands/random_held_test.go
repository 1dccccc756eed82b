package commands_test

import (
	"testing"

	"pgregory.net/rapid"

	"zuno/commands"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// held adds to the actions of a session the gates that no rule raises, and repairs of what they hold.
func held(o *owner) map[string]func(*rapid.T) {
	all := actions(o)
	hold := func(t *rapid.T) {
		reason := rapid.SampledFrom(append([]string{"unheard_of", commands.GateBlocked, commands.GateBlocked, commands.GateBlocked}, reasons()...)).Draw(t, "reason")
		e := event.ExecutionChanged{Trigger: "pause", Reason: reason}
		switch reason {
		case commands.GateWaitingHuman:
			e = event.ExecutionChanged{Trigger: "wait_human", Waiting: "ask_1"}
		case commands.GateWaitingExternal:
			e = event.ExecutionChanged{Trigger: "wait_external", Waiting: "job_1"}
		}
		if !lifecycle.Execution.Can(o.root().Execution.State, lifecycle.Trigger(e.Trigger)) {
			t.Skip("the machine has no such step")
		}
		if over := o.root().Turns.Over.ID; over != "" && rapid.IntRange(0, 3).Draw(t, "names its cause") > 0 {
			e.Cause = wrong(t, over)
		}
		if rapid.IntRange(0, 3).Draw(t, "of a Goal") == 0 {
			e.Goal = "goal_1"
		}
		o.hold(e)
	}
	all["hold"] = hold
	// Two that lead somewhere: a block that is false with a message that it holds and its repair, and a message to a Goal's uncertainty.
	all["false block"] = func(t *rapid.T) {
		if s := o.root(); s.Turns.Active == nil && s.Execution.Gate == nil && len(s.Inputs.Open) == 0 && len(s.Permissions.Pending) == 0 {
			o.ended("completed", 0, "")
		}
		over := o.root().Turns.Over.ID
		if over == "" || o.root().Turns.Active != nil || !lifecycle.Execution.Can(o.root().Execution.State, lifecycle.ExecutionPause) {
			t.Skip("no turn is over")
		}
		o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: over})
		o.do(&commands.RepairInput{Input: o.admit(), Revision: o.root().Execution.Revision})
		if rapid.Bool().Draw(t, "and opened again") {
			o.reopen()
		}
	}
	all["question"] = func(t *rapid.T) {
		if o.root().Turns.Active != nil || !lifecycle.Execution.Can(o.root().Execution.State, lifecycle.ExecutionPause) {
			t.Skip("it is not idle")
		}
		o.hold(event.ExecutionChanged{Reason: commands.GateUncertain, Goal: "goal_1"})
		o.admit()
	}
	all["false block once more"] = all["false block"]
	all["repair"] = func(t *rapid.T) {
		open := o.root().Inputs.Open
		if len(open) == 0 {
			t.Skip("no input")
		}
		c := &commands.RepairInput{Input: wrong(t, rapid.SampledFrom(open).Draw(t, "input").ID), Revision: o.root().Execution.Revision}
		if rapid.IntRange(0, 4).Draw(t, "stale") == 0 {
			c.Revision += uint64(rapid.IntRange(1, 2).Draw(t, "by"))
		}
		before := dump(o.root())
		d := o.do(c)
		if d.Refusal != nil && (len(d.Events) > 0 || dump(o.root()) != before) {
			t.Fatalf("a refused repair left something behind: %v", d.Refusal)
		}
		if d.Refusal == nil {
			if d = o.do(c); d.Refusal == nil {
				t.Fatalf("a second control was queued")
			}
		}
	}
	return all
}

func reasons() (out []string) {
	for _, g := range commands.Gates {
		out = append(out, g.Reason)
	}
	return out
}

// watch looks at each event of a held session: what clears a gate, and what runs under one.
type watch struct {
	seen int // events that were looked at
	gate *projections.Gate
}

func (w *watch) look(t *rapid.T, o *owner) {
	control := ""
	for _, p := range o.events[w.seen:] {
		switch e := p.(type) {
		case *event.ControlRequested:
			control = e.Kind
		case *event.ExecutionChanged:
			if w.gate != nil && e.Trigger == string(lifecycle.ExecutionResume) && control != string(event.ControlResume) && control != string(event.ControlRecover) {
				t.Fatalf("gate %+v was cleared by %q", w.gate, control)
			}
			if control == string(event.ControlRecover) && e.Trigger == string(lifecycle.ExecutionResume) && (w.gate == nil || w.gate.Reason != commands.GateBlocked || w.gate.Goal != "" || w.gate.Cause == "") {
				t.Fatalf("a repair cleared %+v", w.gate)
			}
			if e.Trigger == string(lifecycle.ExecutionResume) {
				w.gate = nil
			}
		case *event.TurnStarted:
			if w.gate != nil && !e.Discussion {
				t.Fatalf("turn %s runs under gate %+v", e.ID, w.gate)
			}
			if e.Discussion && (w.gate == nil || w.gate.Reason != commands.GateUncertain || w.gate.Goal == "") {
				t.Fatalf("turn %s only discusses under gate %+v", e.ID, w.gate)
			}
		}
	}
	w.seen = len(o.events)
	w.gate = o.root().Execution.Gate
}

// Whatever is held, freed, resumed, sent, killed and answered in any order: a gate is cleared by a control of the user that passed its
// checks and by nothing else, nothing but words runs under one, a refused repair leaves nothing behind, and everything that is true of
// any session stays true.
//
// spec: D246 D250 A198 A219 A231 A233 A244 A250
func TestRandomHeldSessions(t *testing.T) {
	repaired, discussed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		o := newOwner(t).create()
		w := &watch{}
		all := held(o)
		all[""] = func(t *rapid.T) { w.look(t, o) }
		t.Repeat(all)
		for _, e := range find[*event.TurnStarted](o.events) {
			if e.Trigger == event.TriggerRecovery {
				repaired++
			}
			if e.Discussion {
				discussed++
			}
		}
		o.refold(rapid.IntRange(0, len(o.dumps)).Draw(t, "split"))
	})
	t.Logf("%d repairs were carried out, %d turns discussed", repaired, discussed)
	if repaired == 0 || discussed == 0 {
		t.Error("the test proves too little")
	}
}
