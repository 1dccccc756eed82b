package commands

import (
	"zuno/journal/event"
	"zuno/projections"
)

// AdmitInput saves an input. Title is the session's title if it has none yet.
type AdmitInput struct {
	Client   string         `msgpack:"client"`
	Delivery event.Delivery `msgpack:"delivery"`
	Blocks   []event.Block  `msgpack:"blocks"`
	Title    event.Text     `msgpack:"title"`
}

var inputRules = rules{
	rule("input.admit", 1, admitInput),
}

func admitInput(v *projections.View, c *AdmitInput, at Stamp) Decision {
	if len(c.Blocks) == 0 {
		return refuse(CodeEmpty, "the input is empty")
	}
	out := []event.Payload{&event.InputAdmitted{ID: at.ID("inp", 0), Client: c.Client, Trigger: event.TriggerUser, Delivery: c.Delivery, Blocks: c.Blocks}}
	if v.Root.Title.IsZero() && !c.Title.IsZero() {
		out = append(out, &event.Titled{Title: c.Title})
	}
	return Decision{Events: out}
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
