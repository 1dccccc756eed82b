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

// claim is the one thing that an opened session starts by itself here: the last message that was saved while the effect of a Goal's
// call was unknown and that was never applied is discussed, once (specification: reopening under an uncertainty gate).
func claim(s *projections.Session) *projections.Input {
	if !Discussable(&s.Execution) {
		return nil
	}
	for i := len(s.Inputs.Open) - 1; i >= 0; i-- {
		if in := s.Inputs.Open[i]; in.Turn == "" && in.Control == nil && in.Gate == nil && in.Trigger == event.TriggerUser {
			return in
		}
	}
	return nil
}
