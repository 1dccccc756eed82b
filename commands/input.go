package commands

import (
	"zuno/journal/event"
	"zuno/projections"
)

// AdmitInput saves an input. Title is the session's title if it has none yet. Control is the typed form of a native command.
type AdmitInput struct {
	Client   string         `msgpack:"client"`
	Delivery event.Delivery `msgpack:"delivery"`
	Blocks   []event.Block  `msgpack:"blocks"`
	Title    event.Text     `msgpack:"title"`
	Control  *event.Control `msgpack:"control"`
}

// SteerInput adds an input to the running turn, if it is the expected one.
type SteerInput struct {
	Client string        `msgpack:"client"`
	Turn   string        `msgpack:"turn"`
	Blocks []event.Block `msgpack:"blocks"`
}

// WithdrawInput takes an input back. What was processed stays; what runs for it alone is stopped.
type WithdrawInput struct {
	Input string `msgpack:"input"`
}

// ObserveInput is an input that its client sends again, which waits since an earlier run.
type ObserveInput struct {
	Input string `msgpack:"input"`
}

var inputRules = rules{
	rule("input.admit", 1, admitInput),
	rule("input.steer", 1, steerInput),
	rule("input.withdraw", 1, withdrawInput),
	rule("input.observe", 1, observeInput),
}

// admitInput: a message to a held session is saved and taken into the history, and not run: the gate is said beside it. A native
// command is what clears gates, so it waits for its turn like in a session that is not held.
func admitInput(v *projections.View, c *AdmitInput, at Stamp) Decision {
	if len(c.Blocks) == 0 {
		return refuse(CodeEmpty, "the input is empty")
	}
	s := v.Root
	in := &event.InputAdmitted{ID: at.ID("inp", 0), Client: c.Client, Trigger: event.TriggerUser, Delivery: c.Delivery, Blocks: c.Blocks, Control: c.Control}
	if c.Control != nil {
		in.Trigger, in.Delivery = event.TriggerUserControl, event.DeliverQueue
	}
	out := []event.Payload{in}
	if s.Title.IsZero() && !c.Title.IsZero() && c.Control == nil {
		out = append(out, &event.Titled{Title: c.Title})
	}
	if gate, held := ExecutionGate(&s.Execution); held && c.Control == nil && !Discussable(&s.Execution) {
		if ids := consumable(s); in.Delivery != event.DeliverQueue { // one that is queued keeps its place outside of the history
			out = append(out, &event.InputDeliveryBatch{Cycle: gate.Cycle, Inputs: append(ids, in.ID)})
		}
		out = append(out, &event.InputGated{Input: in.ID, Gate: gate})
	}
	return Decision{Events: out}
}

// steerInput checks the expected turn in the decision that admits the input: a refused one leaves no trace, so that it can
// never reach a later turn.
func steerInput(v *projections.View, c *SteerInput, at Stamp) Decision {
	t := v.Root.Turns.Active
	switch {
	case len(c.Blocks) == 0:
		return refuse(CodeEmpty, "there is nothing to steer with: the input is empty")
	case t == nil:
		d := refuse(CodeNoActiveTurn, "no turn runs")
		d.Refusal.Next = "send it as a prompt"
		return d
	case t.ID != c.Turn:
		d := refuse(CodeTurnMismatch, "turn %s is not the one that runs", c.Turn)
		d.Refusal.Next = "name the turn of the newest update, or send it as a prompt"
		return d
	case t.Cancelling || t.Discussion || t.Resumed():
		d := refuse(CodeNotSteerable, "turn %s cannot be steered", c.Turn)
		d.Refusal.Next = "send it as a prompt; it runs when the turn is over"
		return d
	}
	return events(&event.InputAdmitted{ID: at.ID("inp", 0), Client: c.Client, Trigger: event.TriggerUser, Delivery: event.DeliverSteer, Blocks: c.Blocks, Turn: t.ID})
}

// withdrawInput: an input that no turn has taken is over at once. Of a running one its identity is compared here, where
// it is decided: only its own turn can be stopped, and only if nothing else was applied to it.
func withdrawInput(v *projections.View, c *WithdrawInput, at Stamp) Decision {
	s := v.Root
	in := s.Inputs.Get(c.Input)
	if in == nil {
		return refuse(CodeNothing, "input %s is over or was never there", c.Input)
	}
	withdrawn := &event.InputSettled{Input: in.ID, State: "cancelled", Stop: "cancelled"}
	t := s.Turns.Active
	if t != nil && in.Turn == t.ID && len(t.Inputs) == settledIn(s, t)+1 {
		if t.Cancelling {
			return refuse(CodeStopping, "turn %s is being stopped already", t.ID)
		}
		return Decision{Events: stopTurn(s, t, at, "withdrawal")}
	}
	out := []event.Payload{
		&event.ControlRequested{ID: at.ID("ctl", 0), Kind: "withdraw", Turn: in.Turn, Source: "withdrawal", Input: in.ID},
		withdrawn,
	}
	if t != nil && t.AtFinal() && t.Backoff == nil { // it may have been all that the turn still went on for
		if d := s.Deliverable(); len(d) == 1 && d[0] == in {
			out = append(out, endFinal(s, t, t.Request.Finish, t.Request.Lack)...)
		}
	}
	return Decision{Events: out}
}

// observeInput wakes the session for an input that waits in it: whoever sends it again wants it done, and an opened session starts
// nothing by itself.
func observeInput(v *projections.View, c *ObserveInput, at Stamp) Decision {
	in := v.Root.Inputs.Get(c.Input)
	switch {
	case in == nil || in.Turn != "":
		return refuse(CodeNothing, "input %s does not wait", c.Input)
	case v.Root.Execution.Woken:
		return refuse(CodeNothing, "the session is at work already")
	}
	return events(&event.InputObserved{Input: in.ID})
}

// settledIn counts the inputs of a turn that are over before it is.
func settledIn(s *projections.Session, t *projections.Turn) (n int) {
	for _, id := range t.Inputs {
		if s.Inputs.Get(id) == nil {
			n++
		}
	}
	return n
}

// settleInputs ends the inputs that the turn has applied.
func settleInputs(s *projections.Session, t *projections.Turn, state, stop string, fault event.Failure) (out []event.Payload) {
	for _, in := range s.Inputs.Open {
		if in.Turn == t.ID {
			out = append(out, &event.InputSettled{Input: in.ID, State: state, Stop: stop, Fault: fault})
		}
	}
	return out
}

// consumable are the messages that wait outside of the history and enter it when the session is held, in the order of their
// admission: what comes later must not stand before them. What is queued explicitly keeps its place.
func consumable(s *projections.Session) (ids []string) {
	for _, in := range s.Inputs.Open {
		if in.Control == nil && in.Delivery != event.DeliverQueue && in.State.Is("admitted") {
			ids = append(ids, in.ID)
		}
	}
	return ids
}

// gateWaiting takes the messages that wait into the history, and says beside each of them the gate that an execution is about to
// have.
func gateWaiting(s *projections.Session, gate event.ExecutionGate) (out []event.Payload) {
	if ids := consumable(s); len(ids) > 0 {
		out = append(out, &event.InputDeliveryBatch{Cycle: gate.Cycle, Inputs: ids})
	}
	for _, in := range s.Inputs.Open {
		if in.Turn == "" && in.Control == nil {
			out = append(out, &event.InputGated{Input: in.ID, Gate: gate})
		}
	}
	return out
}

// carriedOut are the events of a native command that needs no turn: what it says, and its receipt from recorded to the end.
func carriedOut(in *projections.Input, state string, fault event.Failure) []event.Payload {
	out := []event.Payload{}
	if in.State.Is("admitted") && state == "completed" {
		out = append(out, &event.InputDeliveryBatch{Inputs: []string{in.ID}}, &event.InputApplied{Input: in.ID})
	}
	stop := ""
	if state == "completed" {
		stop = "end_turn"
	}
	return append(out, &event.InputSettled{Input: in.ID, State: state, Stop: stop, Fault: fault})
}
