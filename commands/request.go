package commands

import (
	"slices"

	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

func startRequest(v *projections.View, c *StartRequest, at Stamp) Decision {
	if c.Input == "" {
		return goOn(v.Root, c, at)
	}
	s := v.Root
	if s.Turns.Active != nil {
		return refuse(CodeStale, "turn %s runs", s.Turns.Active.ID)
	}
	if c.Model != (event.ModelChoice{}) && c.Model != v.Policy.Model {
		return refuse(CodeModelChanged, "another model was chosen while the request was made")
	}
	in := s.Inputs.Get(c.Input)
	switch {
	case in == nil || in.Turn != "":
		return refuse(CodeUnknown, "no input %s waits", c.Input)
	case in.Control != nil:
		return resume(v, in, c, at)
	case s.Execution.Gate != nil && !Discussable(&s.Execution):
		return refuse(CodeStale, "the session is held")
	}
	return beginTurn(v, in, nil, c, at, nil)
}

// goOn is the next request of a running turn, or the next attempt of one. At a safe point it takes along what was steered
// into the turn meanwhile.
func goOn(s *projections.Session, c *StartRequest, at Stamp) Decision {
	t := s.Turns.Active
	if t == nil || t.ID != c.Turn || t.Cancelling {
		return refuse(CodeStale, "turn %s does not run", c.Turn)
	}
	if b := t.Backoff; b != nil {
		if !b.Due || c.Number != t.Requests || c.Attempt != b.Attempt || len(c.Inputs) > 0 {
			return refuse(CodeStale, "turn %s waits for attempt %d of its request", c.Turn, b.Attempt)
		}
		return events(&event.RequestStarted{ID: t.Request.ID, Turn: t.ID, Number: c.Number, Attempt: c.Attempt, Digests: c.Digests})
	}
	if t.Request == nil || t.Request.Open || len(s.Calls.Open) > 0 || c.Number != t.Requests+1 {
		return refuse(CodeStale, "turn %s wants no request %d now", c.Turn, c.Number)
	}
	taken, refused := takenAlong(s.Deliverable(), c.Inputs)
	if refused != nil {
		return Decision{Refusal: refused}
	}
	if t.AtFinal() && len(taken) == 0 {
		return refuse(CodeInputsChanged, "turn %s is past its final response and nothing is to be delivered", c.Turn)
	}
	request := at.ID("req", 0)
	out := delivered(taken, t.ID, t.Cycle)
	out = append(out, &event.RequestStarted{ID: request, Turn: t.ID, Number: c.Number, Attempt: c.Attempt, Digests: c.Digests})
	return Decision{Events: append(out, applied(taken, t.ID, request)...)}
}

// takenAlong finds the inputs that a request was made with. One that is gone since makes another request of it.
func takenAlong(open []*projections.Input, ids []string) (out []*projections.Input, refused *Refusal) {
	for _, id := range ids {
		i := slices.IndexFunc(open, func(in *projections.Input) bool { return in.ID == id })
		if i < 0 {
			return nil, refuse(CodeInputsChanged, "input %s does not wait any more", id).Refusal
		}
		out = append(out, open[i])
	}
	return out, nil
}

// delivered takes into the history those of the inputs that are not there yet.
func delivered(ins []*projections.Input, turn, cycle string) []event.Payload {
	var ids []string
	for _, in := range ins {
		if in.State.Is("admitted") {
			ids = append(ids, in.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return []event.Payload{&event.InputDeliveryBatch{Turn: turn, Cycle: cycle, Inputs: ids}}
}

func applied(ins []*projections.Input, turn, request string) (out []event.Payload) {
	for _, in := range ins {
		out = append(out, &event.InputApplied{Input: in.ID, Turn: turn, Request: request})
	}
	return out
}

// beginTurn begins a turn, and a cycle with it, for an input and what it takes along. before comes first. A turn that only
// discusses leaves the execution as it is: held.
func beginTurn(v *projections.View, in *projections.Input, along []*projections.Input, c *StartRequest, at Stamp, before []event.Payload) Decision {
	s := v.Root
	turn, request, cycle := at.ID("turn", 0), at.ID("req", 0), at.ID("cycle", 0)
	started := &event.TurnStarted{ID: turn, Cycle: cycle, Trigger: in.Trigger, Model: v.Policy.Model}
	out := before
	if Discussable(&s.Execution) && in.Control == nil {
		started.Discussion = true
		out = append(out, &event.NoticeRaised{
			ID: at.ID("note", 0), Severity: "info", Code: NoticeDiscussion, Turn: turn,
			Text: event.NewText("An interrupted call may have happened, so this is answered in words only: all tools are disabled. /inspect-outcome lists the call."),
		})
	} else {
		from := s.Execution.State
		if s.Execution.Gate != nil {
			from, _ = lifecycle.Execution.Fold(from, lifecycle.ExecutionResume)
		}
		if _, err := lifecycle.Execution.Fire(from, lifecycle.ExecutionBegin); err != nil {
			return refuse(CodeImpossible, "%v", err)
		}
		out = append(out, &event.ExecutionChanged{Trigger: string(lifecycle.ExecutionBegin), Phase: "running", Cycle: cycle})
	}
	out = append(out, started)
	all := append([]*projections.Input{in}, along...)
	out = append(out, delivered(all, turn, cycle)...)
	out = append(out, &event.RequestStarted{ID: request, Turn: turn, Number: 1, Attempt: c.Attempt, Digests: c.Digests})
	return Decision{Events: append(out, applied(all, turn, request)...)}
}

// ControlText is what the model is told of a native command that starts work: of a repair nothing, since the input that it frees
// stands in the history already.
func ControlText(k event.ControlKind) string {
	if k == event.ControlResume {
		return "The user asks you to go on with the work that was paused or interrupted."
	}
	return ""
}

// resume carries out /resume, or what a repair has queued: all of its checks, and only then a new cycle that binds the inputs that
// were held. A refused one is over at once; the gate stays as it is.
func resume(v *projections.View, in *projections.Input, c *StartRequest, at Stamp) Decision {
	s := v.Root
	switch in.Control.Kind {
	case event.ControlResume:
		if gate, why := mayResume(s, c.Keyless); why != nil {
			return refuseAttempt("resume", in, gate, why)
		}
	case event.ControlRecover:
		if why := mayRecover(s, in.Control); why != nil {
			var gate *event.ExecutionGate
			if g, held := ExecutionGate(&s.Execution); held {
				gate = &g
			}
			d := refuseAttempt("repair", in, gate, why)
			d.Events = append(d.Events, &event.NoticeRaised{
				ID: at.ID("note", 0), Severity: "warning", Code: NoticeRepair, Text: event.NewText("The repair of input " + in.Control.Input + " was refused: " + why.Error() + "."),
			})
			return d
		}
		if !slices.Contains(c.Inputs, in.Control.Input) {
			return refuse(CodeInputsChanged, "the request was made without input %s", in.Control.Input)
		}
	default:
		return refuse(CodeImpossible, "input %s starts no work", in.ID)
	}
	along, refused := takenAlong(s.Freed(in.Control), c.Inputs)
	if refused != nil {
		return Decision{Refusal: refused}
	}
	before := []event.Payload{&event.ControlRequested{
		ID: at.ID("ctl", 0), Kind: string(in.Control.Kind), Source: "user", Input: in.ID, Text: event.OptionalText(ControlText(in.Control.Kind)),
	}}
	if s.Execution.Gate != nil {
		before = append(before, &event.ExecutionChanged{Trigger: string(lifecycle.ExecutionResume), Phase: "running"})
	}
	return beginTurn(v, in, along, c, at, before)
}

// mayResume are the checks of /resume. The gate is that of the session or, where only calls of the last cycle are unknown, the one
// that this makes.
func mayResume(s *projections.Session, keyless bool) (*event.ExecutionGate, *Refusal) {
	x := &s.Execution
	gate, held := ExecutionGate(x)
	cycle := x.Cycle
	if held {
		cycle = gate.Cycle
		if Wake(readiness(x), Signal{Kind: SignalResume}) != WakeResume {
			return &gate, refuse(CodeWait, "%s", GateMessage(Recovery(gate.Recovery))).Refusal
		}
	}
	open := s.Calls.Obligations(cycle)
	switch {
	case held && gate.Reason == GateUncertain && !s.Calls.Recorded(cycle):
		return &gate, refuse(CodeUncertain, "the effect of an interrupted call is unknown, and no record names the call (%s)", LegacyUncertainty).Refusal
	case len(open) > 0:
		if !held {
			gate = event.ExecutionGate{Reason: GateUncertain, Recovery: string(RecoverInspectOutcome), Revision: x.Revision, Cycle: cycle}
		}
		return &gate, refuse(CodeUncertain, "the effect of %s is unknown. Send /inspect-outcome, look, and record what you find", callIDs(open)).Refusal
	case held && gate.Reason == GateAuthentication && keyless:
		return &gate, refuse(CodeKeyless, "the provider has no key").Refusal
	case held && (gate.Reason == GateTurnBudget || gate.Reason == GateBlocked || gate.Reason == GateNoExecutableWork):
		return &gate, refuse(CodeBlocked, "%s", GateMessage(Recovery(gate.Recovery))).Refusal
	case held && x.Gate.Goal != "":
		return &gate, refuse(CodeBlocked, "%s", GateMessage(RecoverResumeGoal)).Refusal
	case !held && len(s.Resumable()) == 0 && (s.Turns.Ended == "" || s.Turns.Ended == "completed"):
		return nil, refuse(CodeNothing, "there is nothing to resume: no gate, no interrupted turn and no waiting message").Refusal
	}
	return nil, nil
}

func callIDs(open []*projections.Uncertainty) string {
	text := ""
	for i, u := range open {
		switch {
		case i == 3:
			return text + " and others"
		case i > 0:
			text += ", "
		}
		text += u.Call + " (" + u.Tool + ")"
	}
	return text
}

// refuseAttempt ends the control with the reason. Where a gate is why, it stands beside the receipt.
func refuseAttempt(attempt string, in *projections.Input, gate *event.ExecutionGate, why *Refusal) Decision {
	out := []event.Payload{&event.AttemptRefused{Attempt: attempt, Input: in.ID, Code: why.Code, Text: event.NewText(why.Reason)}}
	if gate != nil {
		out = append(out, &event.InputGated{Input: in.ID, Gate: *gate})
	}
	out = append(out, carriedOut(in, "failed", event.Failure{Code: why.Code, Reason: event.NewText(why.Reason)})...)
	return Decision{Events: out, Refusal: why}
}

// disabledBlock blocks a call of a discussion, also one that the model invents.
func disabledBlock(id string) event.Payload {
	return &event.CallBlocked{ID: id, Kind: event.Unavailable, Text: event.NewText("All tools are disabled: the session is held because the effect of an earlier call is unknown. Nothing was done. Answer in words.")}
}
