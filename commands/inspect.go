package commands

import (
	"zuno/journal/event"
	"zuno/projections"
)

// ListOutcomes carries out /inspect-outcome without arguments. Text is the list, made from the same view.
type ListOutcomes struct {
	Input string     `msgpack:"input"`
	Text  event.Text `msgpack:"text"`
}

// RecordOutcome carries out /inspect-outcome with a finding. Note is that of the control; a decision reads no text.
type RecordOutcome struct {
	Input string     `msgpack:"input"`
	Note  event.Text `msgpack:"note"`
}

var inspectRules = rules{
	rule("outcome.list", 1, listOutcomes),
	rule("outcome.record", 1, recordOutcome),
}

// LegacyUncertainty is what /inspect-outcome reports where a gate stands and no record names the call that raised it.
const LegacyUncertainty = "legacyUncertaintyWithoutCallRecords"

// waitingControl finds the native command that a step carries out.
func waitingControl(s *projections.Session, id string, kind event.ControlKind) (*projections.Input, *Refusal) {
	in := s.Inputs.Get(id)
	if in == nil || in.Control == nil || in.Control.Kind != kind || in.Turn != "" {
		return nil, refuse(CodeStale, "no %s waits as input %s", kind, id).Refusal
	}
	return in, nil
}

// listOutcomes lists and clears nothing.
func listOutcomes(v *projections.View, c *ListOutcomes, at Stamp) Decision {
	in, refused := waitingControl(v.Root, c.Input, event.ControlInspect)
	if refused != nil {
		return Decision{Refusal: refused}
	}
	return Decision{Events: append([]event.Payload{&event.ControlAnswered{Input: in.ID, Text: c.Text}}, carriedOut(in, "completed", event.Failure{})...)}
}

// resumeOf is the command that goes on with what is held.
func resumeOf(s *projections.Session) string {
	if g := s.Execution.Gate; g != nil && g.Goal != "" {
		return "/goal resume"
	}
	return "/resume"
}

// notVerified is said beside every finding: nobody but the user has looked.
const notVerified = "zuno did not verify it; the state of anything remote was not verified."

func recordOutcome(v *projections.View, c *RecordOutcome, at Stamp) Decision {
	s := v.Root
	in, refused := waitingControl(s, c.Input, event.ControlFinding)
	if refused != nil {
		return Decision{Refusal: refused}
	}
	k := in.Control
	var found *projections.Uncertainty
	for i := range s.Calls.Uncertain {
		if u := &s.Calls.Uncertain[i]; u.Call == k.Call {
			found = u
		}
	}
	if found == nil {
		text := "No call " + k.Call + " has an unknown effect. Send /inspect-outcome to see those that have."
		return Decision{Events: append([]event.Payload{&event.ControlAnswered{Input: in.ID, Text: event.NewText(text)}},
			carriedOut(in, "failed", event.Failure{Code: "unknown_call", Reason: event.NewText(text)})...)}
	}
	text := "Recorded by you: the effect of " + k.Call + " (" + found.Tool + ") "
	switch k.Finding {
	case event.FindingHappened:
		text += "happened. " + notVerified
	case event.FindingDidNotHappen:
		text += "did not happen. " + notVerified
	default:
		text += "is still unknown, which clears nothing."
	}
	left := 0
	for _, u := range s.Calls.Obligations(found.Cycle) {
		if u != found {
			left++
		}
	}
	if left == 0 && k.Finding != event.FindingUnknown {
		text += " No other call of that cycle is open: " + resumeOf(s) + " may go on."
	}
	out := []event.Payload{
		&event.CallInspected{Call: k.Call, Finding: k.Finding, Note: c.Note},
		&event.ControlRequested{ID: at.ID("ctl", 0), Kind: string(k.Kind), Source: "user", Input: in.ID},
		&event.ControlAnswered{Input: in.ID, Text: event.NewText(text)},
	}
	return Decision{Events: append(out, carriedOut(in, "completed", event.Failure{})...)}
}
