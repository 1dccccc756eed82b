package commands

import (
	"zuno/journal/event"
	"zuno/projections"
)

// Due is the input that begins next, if anything of this run has asked for work: the first that waits and may run. In a session
// that is held only native commands run, which are what clears a gate, and messages that may be discussed in words. It is nil
// while a turn runs, and when nothing may begin.
func Due(s *projections.Session) *projections.Input {
	if s.Turns.Active != nil {
		return nil
	}
	if !s.Execution.Woken {
		return claim(s)
	}
	for _, in := range s.Inputs.Open {
		if in.Turn == "" && (s.Execution.Gate == nil || in.Control != nil || Discussable(&s.Execution) && in.Gate == nil) {
			return in
		}
	}
	return nil
}

// claim is what an opened session starts by itself here. One is what an offline repair queued, which the user ordered by name. The
// other is the user's last message, where it was saved while the effect of a Goal's call was unknown and never applied: it is
// discussed, once (specification: reopening under an uncertainty gate). One before it is not: the conversation went on.
func claim(s *projections.Session) *projections.Input {
	for _, in := range s.Inputs.Open {
		if in.Turn == "" && in.Control != nil && in.Control.Kind == event.ControlRecover {
			return in
		}
	}
	in := s.Inputs.Get(s.Inputs.Latest)
	if in == nil || in.Turn != "" || !Discussable(&s.Execution) || in.Gate != nil && in.Gate.Reason != GateUncertain {
		return nil
	}
	return in
}
