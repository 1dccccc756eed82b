package commands

import (
	"reflect"

	"zuno/journal/event"
	"zuno/projections"
)

// ForkSession takes over a piece of another session's conversation. Source stands in the first piece only.
type ForkSession struct {
	Source event.Forked `msgpack:"source"`
	Items  []ForkItem   `msgpack:"items"`
}

// ForkItem is one event that a fork takes over: one of its fields is set. What has no field here is never taken over:
// policies, prompt context, questions and their answers, controls, gates.
type ForkItem struct {
	Titled    *event.Titled             `msgpack:"titled"`
	Admitted  *event.InputAdmitted      `msgpack:"admitted"`
	Batch     *event.InputDeliveryBatch `msgpack:"batch"`
	Applied   *event.InputApplied       `msgpack:"applied"`
	Input     *event.InputSettled       `msgpack:"input"`
	Turn      *event.TurnStarted        `msgpack:"turn"`
	TurnEnd   *event.TurnEnded          `msgpack:"turn_end"`
	Request   *event.RequestStarted     `msgpack:"request"`
	Part      *event.ResponsePart       `msgpack:"part"`
	Response  *event.ResponseCompleted  `msgpack:"response"`
	Cut       *event.ResponseCut        `msgpack:"cut"`
	Failed    *event.RequestFailed      `msgpack:"failed"`
	Call      *event.CallRequested      `msgpack:"call"`
	Blocked   *event.CallBlocked        `msgpack:"blocked"`
	Started   *event.CallStarted        `msgpack:"started"`
	Settled   *event.CallSettled        `msgpack:"settled"`
	Notice    *event.NoticeRaised       `msgpack:"notice"`
	Execution *event.ExecutionChanged   `msgpack:"execution"`
}

// CloseFork ends what was in flight in the source at the commit that a fork was made at: here it never runs.
type CloseFork struct {
	Source string `msgpack:"source"` // session
}

var forkRules = rules{
	rule("session.fork", 1, forkSession),
	rule("session.fork_close", 1, closeFork),
}

// ForkedEvent makes the item that takes p over; false when a fork does not take events of this type.
func ForkedEvent(p event.Payload) (item ForkItem, ok bool) {
	v, e := reflect.ValueOf(&item).Elem(), reflect.ValueOf(p)
	for i := range v.NumField() {
		if v.Field(i).Type() == e.Type() {
			v.Field(i).Set(e)
			return item, true
		}
	}
	return item, false
}

// event is the one that the item holds; nil when it holds none or several.
func (i *ForkItem) event() (p event.Payload) {
	v := reflect.ValueOf(i).Elem()
	for n := range v.NumField() {
		if v.Field(n).IsNil() {
			continue
		}
		if p != nil {
			return nil
		}
		p = v.Field(n).Interface().(event.Payload)
	}
	return p
}

func forkSession(v *projections.View, c *ForkSession, at Stamp) Decision {
	switch first := v.Created.Fork == nil; {
	case v.ID == "":
		return refuse(CodeUnknown, "the session has not been created")
	case v.Run.Count != 1 || v.PolicySet:
		return refuse(CodeImpossible, "session %s has begun: it cannot take over a conversation any more", v.ID)
	case first != (c.Source.Session != ""):
		return refuse(CodeImpossible, "the first piece of a fork, and only that, names its source")
	}
	var out []event.Payload
	if c.Source.Session != "" {
		out = append(out, &c.Source)
	}
	for i := range c.Items {
		p := c.Items[i].event()
		call, isCall := p.(*event.CallRequested)
		if p == nil || isCall && call.Permission != "" {
			return refuse(CodeMalformed, "item %d of the fork holds no event that a fork takes over", i)
		}
		out = append(out, p)
	}
	return Decision{Events: out}
}

// closeFork settles as a recovery does, but nothing of it ran here.
func closeFork(v *projections.View, c *CloseFork, at Stamp) Decision {
	s := v.Root
	t := s.Turns.Active
	switch {
	case v.Created.Fork == nil || v.Run.Count != 1 || v.PolicySet:
		return refuse(CodeImpossible, "no fork is being made")
	case t == nil:
		return refuse(CodeNothing, "nothing was in flight")
	}
	var out []event.Payload
	for _, call := range s.Calls.Open {
		switch {
		case call.State.Is("started") && call.Declaration.Replay == event.ReplaySafe:
			out = append(out, &event.CallSettled{
				ID: call.ID, Attempt: call.Attempt, Outcome: event.OutcomeError, Class: "forked",
				Text: event.NewText("The session was forked while this ran. It changes nothing, so it may simply be called again."),
			})
		case call.State.Is("started"):
			out = append(out, &event.CallSettled{
				ID: call.ID, Attempt: call.Attempt, Outcome: event.OutcomeUncertain, Class: "forked",
				Text: event.NewText("The session was forked while this ran there: what it did is unknown here, and it may still be running. Inspect the state that it would have changed before any new mutation; do not simply run it again."),
			})
		default:
			out = append(out, &event.CallBlocked{
				ID: call.ID, Kind: event.BlockInterrupted,
				Text: event.NewText("The session was forked before this began. Nothing was done."),
			})
		}
	}
	if r := t.Request; r != nil && r.Open {
		out = append(out, &event.ResponseCut{Request: r.ID, Attempt: r.Attempt, Reason: event.CutInterrupted, Entry: r.Entry, Conditional: r.Whether})
	}
	return Decision{Events: append(out, endTurn(s, t, "cancelled", "cancelled", event.Failure{})...)}
}
