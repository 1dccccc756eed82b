package commands

import (
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// RecoverSession settles what earlier runs left behind, before anything else happens in a run.
type RecoverSession struct {
	Run string `msgpack:"run"`
}

// CloseRun says that a run ends in good order although inputs wait: what they wait for is not tried again, so nothing died of it.
type CloseRun struct {
	Run string `msgpack:"run"`
}

// mostDeaths is how many runs may end at the same step before the step is not tried again by itself.
const mostDeaths = 3

// recoverSession: a started effect of an earlier run is uncertain, or merely interrupted when its recorded
// declaration says that it was safe; its turn is over, and so is what the turn had taken. Nothing of it is started again.
func recoverSession(v *projections.View, c *RecoverSession, at Stamp) Decision {
	s := v.Root
	t := s.Turns.Active
	if t == nil {
		return recoverQueue(v, at)
	}
	if t.Run == v.Run.ID {
		return refuse(CodeNothing, "no earlier run left anything behind")
	}
	var out []event.Payload
	var what string
	step := "request:" + t.ID
	for _, call := range s.Calls.Open {
		switch {
		case call.State.Is("started") && call.Declaration.Replay == event.ReplaySafe:
			step = callStep(call)
			out = append(out, &event.CallSettled{
				ID: call.ID, Attempt: call.Attempt, Outcome: event.OutcomeError, Class: "interrupted",
				Text: event.NewText("The agent stopped while this ran. It changes nothing, so it may simply be called again."),
			})
		case call.State.Is("started"):
			what, step = call.ID, callStep(call)
			out = append(out, &event.CallSettled{
				ID: call.ID, Attempt: call.Attempt, Outcome: event.OutcomeUncertain, Class: "interrupted",
				Text: event.NewText("The agent stopped while this ran: its effect may have happened in full, in part or not at all. Inspect the state that it would have changed before any new mutation; do not simply run it again."),
			})
		case call.State.Is("asking"): // a question that is pending stays so: it is put again, and its answer is recorded
			out = append(out, &event.CallAbandoned{ID: call.ID, Reason: event.BlockInterrupted})
		default:
			out = append(out, closeUnstarted(s, call, event.BlockInterrupted)...)
		}
	}
	fault := event.Failure{Code: projections.FaultInterrupted, Reason: event.NewText("the agent's process ended while this ran")}
	if r := t.Request; r != nil && r.Open {
		out = append(out, &event.ResponseCut{Request: r.ID, Attempt: r.Attempt, Reason: event.CutInterrupted, Entry: r.Entry, Conditional: r.Whether})
	}
	out = append(out, endTurn(s, t, "failed", "", fault)...)
	waiting := uint64(0)
	for _, in := range s.Inputs.Open {
		if in.Turn != t.ID && awaitsWake(s, in) {
			waiting++
		}
	}
	out = append(out, interruptedNotice(at, t.ID, what, waiting))
	return Decision{Events: append(out, died(s, t.Run, step, out, at)...)}
}

// callStep names a call by what it does: the model that asks for the same thing again makes another call of it.
func callStep(c *projections.Call) string { return "call:" + c.Tool + ":" + c.Args.String()[:16] }

// awaitsWake says that an input waits for the next prompt. What met the gate that still stands was told so, and what an opening claims
// begins with it.
func awaitsWake(s *projections.Session, in *projections.Input) bool {
	return s.Execution.Gate == nil || in.Gate == nil && in != claim(s)
}

// recoverQueue tells, once, of inputs that an earlier run admitted and never took. They keep their place.
func recoverQueue(v *projections.View, at Stamp) Decision {
	s := v.Root
	var out []event.Payload
	n, last := uint64(0), uint64(0)
	for _, in := range s.Inputs.Open {
		if awaitsWake(s, in) {
			n, last = n+1, in.Sequence
		}
	}
	if n > 0 && last >= s.Notices.Interrupted {
		out = append(out, interruptedNotice(at, "", "", n))
	}
	if in := s.Inputs.Waiting(); in != nil && s.Execution.Left != "" && s.Execution.Gate == nil {
		out = append(out, died(s, s.Execution.Left, "request:"+in.ID, out, at)...)
	}
	if len(out) == 0 {
		return refuse(CodeNothing, "no earlier run left anything behind that was not told")
	}
	return Decision{Events: out}
}

// died records at which step a run ended. After the third at the same one the session is held, instead of a fourth try.
func died(s *projections.Session, run, step string, before []event.Payload, at Stamp) []event.Payload {
	out := []event.Payload{&event.RunDied{Run: run, Step: step}}
	if d := s.Execution.Deaths; d.Step != step || d.Count+1 < mostDeaths {
		return out
	}
	state, revision := s.Execution.State, s.Execution.Revision+1
	for _, e := range before {
		if x, ok := e.(*event.ExecutionChanged); ok {
			state, _ = lifecycle.Execution.Fold(state, lifecycle.Trigger(x.Trigger))
			revision++
		}
	}
	if _, err := lifecycle.Execution.Fire(state, lifecycle.ExecutionPause); err != nil {
		return out // it is held already
	}
	gate := event.ExecutionGate{Reason: GateExecutionUnavailable, Recovery: string(recoveryOf(GateExecutionUnavailable, false)), Revision: revision, Cycle: s.Execution.Cycle}
	out = append(out,
		&event.ExecutionChanged{Trigger: string(lifecycle.ExecutionPause), Phase: "paused", Reason: GateExecutionUnavailable},
		&event.NoticeRaised{
			ID: at.ID("note", 1), Severity: "error", Code: NoticeUnavailable,
			Text: event.NewText("Three processes of the agent ended at the same step, which is not tried again by itself. `zuno explain gate` tells which step; /resume goes on."),
		})
	return append(out, gateWaiting(s, gate)...)
}

func closeRun(v *projections.View, c *CloseRun, at Stamp) Decision {
	s := v.Root
	if !s.Execution.Woken || s.Inputs.Waiting() == nil {
		return refuse(CodeNothing, "nothing waits that would have to be told apart from a death")
	}
	return events(&event.RunClosed{Run: c.Run})
}
