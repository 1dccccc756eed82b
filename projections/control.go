package projections

import (
	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

// Execution is what the session is ready for.
type Execution struct {
	State    lifecycle.State `json:"state"`
	Revision uint64          `json:"revision"`
	Phase    string          `json:"phase,omitempty"`
	Cycle    string          `json:"cycle,omitempty"`
	Mode     string          `json:"mode"` // plan or work
	Identity Identity        `json:"identity"`
	Gate     *Gate           `json:"gate,omitempty"`
	// Woken says that something of this run asked for work: an opened session starts nothing by itself.
	Woken bool `json:"woken"`
	// Left is the run before this one, when it had been asked for work and did not end in good order.
	Left   string `json:"-"`
	Deaths Deaths `json:"deaths,omitzero"`
}

// Deaths counts the runs that ended, one after the other, at the same step.
type Deaths struct {
	Step  string `json:"step"`
	Count uint64 `json:"count"`
}

// FaultInterrupted is the code of a turn that ended because its process did.
const FaultInterrupted = "interrupted"

// Identity is who works: the agent and the model of the present cycle.
type Identity struct {
	Agent    string `json:"agent"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// Gate is why execution does not go on.
type Gate struct {
	Reason   string `json:"reason"`
	Waiting  string `json:"waiting,omitempty"`
	Cycle    string `json:"cycle,omitempty"`
	Revision uint64 `json:"revision"`
	Raised   uint64 `json:"raised"`          // commit
	Goal     string `json:"goal,omitempty"`  // that owns it
	Cause    string `json:"cause,omitempty"` // the turn whose end raised it, where one is named
	// Over is how the last turn before the gate had ended: with Cause it is all the evidence of a block.
	Over TurnOver `json:"-"`
}

// Control is an accepted control.
type Control struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Turn   string `json:"turn,omitempty"`
	Source string `json:"source"`
	Commit uint64 `json:"commit"`
	Input  string `json:"input,omitempty"`
}

// Controls counts the controls and keeps the last.
type Controls struct {
	Count uint64     `json:"count"`
	Last  *Control   `json:"last,omitempty"`
	All   []*Control `json:"all,omitempty"`
	keep  bool
}

// Notice is a message that was raised for the user.
type Notice struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Place
}

// Notices counts the notices.
type Notices struct {
	Count       uint64   `json:"count"`
	Interrupted uint64   `json:"-"` // sequence of the last that told of an interruption
	All         []Notice `json:"all,omitempty"`
	keep        bool
}

var controlFolds = folds{
	on(func(v *View, s *Session, m Meta, e *event.ControlRequested) error {
		c := &Control{e.ID, e.Kind, e.Turn, e.Source, m.Commit, e.Input}
		s.Controls.Count++
		s.Controls.Last = c
		if s.Controls.keep {
			s.Controls.All = append(s.Controls.All, c)
		}
		if e.Kind == "cancel" {
			t, err := s.Turns.active(e.Turn)
			if err != nil {
				return err
			}
			t.Cancelling = true
		}
		if !e.Text.IsZero() {
			s.Transcript.add(EntryControl, m.place())
		}
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.NoticeRaised) error {
		s.Notices.Count++
		if e.Code == "session.interrupted" {
			s.Notices.Interrupted = m.Sequence
		}
		if s.Notices.keep {
			s.Notices.All = append(s.Notices.All, Notice{e.Severity, e.Code, m.place()})
		}
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.ExecutionChanged) error {
		x := &s.Execution
		if err := move(lifecycle.Execution, &x.State, lifecycle.Trigger(e.Trigger), "session"); err != nil {
			return err
		}
		x.Revision++
		x.Phase = e.Phase
		if e.Cycle != "" {
			x.Cycle = e.Cycle
		}
		switch lifecycle.Trigger(e.Trigger) {
		case lifecycle.ExecutionPause, lifecycle.ExecutionWaitHuman, lifecycle.ExecutionWaitExternal:
			x.Gate = &Gate{
				Reason: e.Reason, Waiting: e.Waiting, Cycle: x.Cycle, Revision: x.Revision, Raised: m.Commit, Goal: e.Goal,
				Cause: e.Cause, Over: s.Turns.Over,
			}
		case lifecycle.ExecutionBegin:
			x.Gate = nil
			x.Identity = Identity{v.Policy.Agent, v.Policy.Model.Provider, v.Policy.Model.Name}
		default:
			x.Gate = nil
		}
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.CallInspected) error {
		for i := range s.Calls.Uncertain {
			if u := &s.Calls.Uncertain[i]; u.Call == e.Call {
				u.Finding = e.Finding
				s.Transcript.add(EntryControl, m.place())
				return nil
			}
		}
		return impossible("call %s was inspected, and its effect is not uncertain", e.Call)
	}),
	on(func(v *View, s *Session, m Meta, e *event.RunDied) error {
		d := &s.Execution.Deaths
		if d.Step != e.Step {
			*d = Deaths{Step: e.Step}
		}
		d.Count++
		s.Execution.Left = ""
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.RunClosed) error {
		s.Execution.Woken = false
		return nil
	}),
	// For people and for clients; no view reads them.
	on(func(*View, *Session, Meta, *event.ControlAnswered) error { return nil }),
	on(func(*View, *Session, Meta, *event.AttemptRefused) error { return nil }),
}
