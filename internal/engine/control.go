package engine

import (
	"fmt"
	"strings"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// performControl carries out a native command that needs no turn. All that it does is what it commits.
func (s *Session) performControl(e *effect) {
	var c commands.Command
	err := s.inOwner(func() {
		in := s.folder.View.Root.Inputs.Get(e.step.Input)
		if in == nil || in.Control == nil {
			return
		}
		switch in.Control.Kind {
		case event.ControlInspect:
			c = &commands.ListOutcomes{Input: in.ID, Text: event.NewText(s.outcomes())}
		case event.ControlFinding:
			note, err := s.note(in)
			if err != nil {
				s.host.log.Error("the sentence of a finding cannot be read back", "session", s.ID, "error", err)
			}
			c = &commands.RecordOutcome{Input: in.ID, Note: event.NewText(note)}
		}
	})
	if err != nil || c == nil {
		return
	}
	_ = s.report(e, "", e.cause, c)
}

// note is the sentence of a finding: views hold no texts.
func (s *Session) note(in *projections.Input) (text string, err error) {
	err = s.event(in.Admitted, func(p event.Payload) {
		if a, ok := p.(*event.InputAdmitted); ok && a.Control != nil {
			text = a.Control.Note.String()
		}
	})
	return text, err
}

// event reads one recorded event with its texts.
func (s *Session) event(at projections.Place, see func(event.Payload)) error {
	return s.log.Read(at.Commit, func(c *journal.Raw) error {
		d, err := Decode(c)
		if err == nil && int(at.Event) < len(d.Events) {
			see(d.Events[at.Event].Payload)
		}
		return err
	})
}

// outcomes lists, for people, the calls whose effect is unknown and that hold the session or a resume of its last cycle.
func (s *Session) outcomes() string {
	v := s.folder.View
	root := v.Root
	gate, held := commands.ExecutionGate(&root.Execution)
	cycle := root.Execution.Cycle
	if held {
		cycle = gate.Cycle
	}
	open := root.Calls.Obligations(cycle)
	var b strings.Builder
	switch {
	case len(open) > 0:
		b.WriteString("The effect of these calls is unknown. Each may have happened in full, in part or not at all.\n\n")
		for _, u := range open {
			title := u.Tool
			_ = s.event(u.Place, func(p event.Payload) {
				if c, ok := p.(*event.CallRequested); ok && !c.Title.IsZero() {
					title = c.Title.String()
				}
			})
			fmt.Fprintf(&b, "- `%s` %s: %s", u.Call, u.Tool, oneLine(title))
			if u.Finding == event.FindingUnknown {
				b.WriteString(" (you looked, and it is still unknown)")
			}
			b.WriteString("\n")
		}
		b.WriteString("\nLook at what each would have changed, then send `/inspect-outcome CALL VERDICT SENTENCE`: VERDICT is happened, did_not_happen or unknown. zuno looks at nothing remote itself.")
	case held && gate.Reason == commands.GateUncertain && !root.Calls.Recorded(cycle):
		b.WriteString("The session is held because an effect is unknown, and no record names the call (" + commands.LegacyUncertainty + "). It stays held: look at the whole of the session, and go on in a new one.")
	default:
		b.WriteString("No call of the present work has an unknown effect.")
	}
	if g := root.Execution.Gate; held && g != nil {
		fmt.Fprintf(&b, "\n\nGate: %s (%s)", gate.Reason, gate.Recovery)
		if g.Goal != "" {
			fmt.Fprintf(&b, ", owned by Goal %s", g.Goal)
		}
		b.WriteString(".")
	}
	return b.String()
}

// oneLine is text as one line of a list, cut where it is long.
func oneLine(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
