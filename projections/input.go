package projections

import (
	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

// Input is an input that is not done, or every input where the view keeps them.
type Input struct {
	ID        string          `json:"id"`
	Client    string          `json:"client,omitempty"`
	Trigger   event.Trigger   `json:"trigger"`
	Delivery  event.Delivery  `json:"delivery"`
	Sequence  uint64          `json:"admitted_sequence"`
	State     lifecycle.State `json:"state"`
	Turn      string          `json:"turn,omitempty"`
	Admitted  Place           `json:"admitted"`
	AppliedAt int64           `json:"applied_at,omitempty"`
	SettledAt int64           `json:"settled_at,omitempty"`
	UpdatedAt int64           `json:"updated_at"`
	Stop      string          `json:"stop,omitempty"`
	Fault     event.Failure   `json:"failure,omitzero"`

	Steered string               `json:"steered_into,omitempty"` // the turn that it was meant for by name
	Control *event.Control       `json:"control,omitempty"`
	Gate    *event.ExecutionGate `json:"held_by,omitempty"` // that it met; it is left as it was then
}

// Inputs are the inputs of a session. Open holds those without a terminal receipt, in the order of admission.
type Inputs struct {
	Open     []*Input  `json:"open"`
	Finished uint64    `json:"finished"`
	Latest   string    `json:"-"` // the user's last message, whatever became of it
	Places   []Settled `json:"-"`
	All      []*Input  `json:"all,omitempty"`
	keep     bool
}

// Settled is the place of a finished entity: the commit that began it, and the one that ended it.
type Settled struct{ First, Last uint64 }

// Kept says that All holds the finished ones, too.
func (in *Inputs) Kept() bool { return in.keep }

// Get finds an open input.
func (in *Inputs) Get(id string) *Input {
	for _, x := range in.Open {
		if x.ID == id {
			return x
		}
	}
	return nil
}

// Waiting is the first input that no turn has taken; nil when there is none.
func (in *Inputs) Waiting() *Input {
	for _, x := range in.Open {
		if x.Turn == "" {
			return x
		}
	}
	return nil
}

// Deliverable are the inputs that the running turn takes at its next safe point, in the order of their admission: those that
// were steered into it by name, and the prompts that came while the session ran. What waited before stays in its place and
// holds up what came after it, so that nothing is overtaken; only a resumed turn takes it along. Native commands and what
// is queued explicitly wait for their own turn.
func (s *Session) Deliverable() (out []*Input) {
	t := s.Turns.Active
	if t == nil || t.Discussion {
		return nil
	}
	held := false
	for _, x := range s.Inputs.Open {
		switch {
		case x.Turn != "" || x.Control != nil:
		case x.Steered == t.ID:
			out = append(out, x)
		case x.Delivery == event.DeliverQueue || held:
		case t.Resumed() || x.Sequence > t.Since:
			out = append(out, x)
		default:
			held = true
		}
	}
	return out
}

// Resumable are the inputs that a resumed execution takes into its first request: all that wait, but for native commands and
// what is queued explicitly.
func (s *Session) Resumable() []*Input { return s.Freed(&event.Control{Kind: event.ControlResume}) }

// Freed are the inputs that the first request of a native command takes: those that are resumable and, of a repair, the one that it
// is about, however that was to be delivered.
func (s *Session) Freed(c *event.Control) (out []*Input) {
	for _, x := range s.Inputs.Open {
		if x.Turn == "" && x.Control == nil && (x.Delivery != event.DeliverQueue || c.Kind == event.ControlRecover && x.ID == c.Input) {
			out = append(out, x)
		}
	}
	return out
}

func (in *Inputs) must(id string) (*Input, error) {
	if x := in.Get(id); x != nil {
		return x, nil
	}
	return nil, impossible("input %s is not open", id)
}

func (in *Inputs) finish(x *Input, commit uint64) {
	for i, o := range in.Open {
		if o == x {
			in.Open = append(in.Open[:i], in.Open[i+1:]...)
			break
		}
	}
	in.Finished++
	in.Places = append(in.Places, Settled{x.Admitted.Commit, commit})
}

var inputFolds = folds{
	on(func(v *View, s *Session, m Meta, e *event.InputAdmitted) error {
		if s.Inputs.Get(e.ID) != nil {
			return impossible("input %s admitted twice", e.ID)
		}
		x := &Input{
			ID: e.ID, Client: e.Client, Trigger: e.Trigger, Delivery: e.Delivery, Sequence: m.Sequence,
			State: lifecycle.Input.Initial, Admitted: m.place(), UpdatedAt: m.At, Steered: e.Turn, Control: e.Control,
		}
		s.Inputs.Open = append(s.Inputs.Open, x)
		if s.Inputs.keep {
			s.Inputs.All = append(s.Inputs.All, x)
		}
		if x.Trigger != event.TriggerRecovery { // a repair only queues: the next opening starts it
			s.Execution.Woken = true
		}
		if x.Trigger == event.TriggerUser && x.Control == nil {
			s.Inputs.Latest = x.ID
		}
		s.Updated = m.At
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.InputDeliveryBatch) error {
		for _, id := range e.Inputs {
			x, err := s.Inputs.must(id)
			if err != nil {
				return err
			}
			if err := move(lifecycle.Input, &x.State, lifecycle.InputRecorded, id); err != nil {
				return err
			}
			x.UpdatedAt = m.At
			if x.Control == nil { // a native command is never sent to the model
				s.Transcript.add(EntryUser, x.Admitted)
			}
		}
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.InputApplied) error {
		x, err := s.Inputs.must(e.Input)
		if err != nil {
			return err
		}
		if e.Turn == "" && x.Control != nil { // it was carried out without a turn
			x.AppliedAt, x.UpdatedAt = m.At, m.At
			return move(lifecycle.Input, &x.State, lifecycle.InputApplied, e.Input)
		}
		t, err := s.Turns.active(e.Turn)
		if err != nil {
			return err
		}
		x.Turn, x.AppliedAt, x.UpdatedAt = e.Turn, m.At, m.At
		if len(t.Inputs) == 0 && x.Sequence > s.Turns.Boundary {
			t.Since = x.Sequence
		}
		t.Inputs = append(t.Inputs, e.Input)
		return move(lifecycle.Input, &x.State, lifecycle.InputApplied, e.Input)
	}),
	on(func(v *View, s *Session, m Meta, e *event.InputSettled) error {
		x, err := s.Inputs.must(e.Input)
		if err != nil {
			return err
		}
		x.Stop, x.Fault, x.SettledAt, x.UpdatedAt = e.Stop, e.Fault, m.At, m.At
		if err := move(lifecycle.Input, &x.State, lifecycle.Trigger(e.State), e.Input); err != nil {
			return err
		}
		if !x.State.Terminal() {
			return impossible("input %s settled as %s", e.Input, e.State)
		}
		s.Inputs.finish(x, m.Commit)
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.InputObserved) error {
		if _, err := s.Inputs.must(e.Input); err != nil {
			return err
		}
		s.Execution.Woken = true
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.InputGated) error {
		x, err := s.Inputs.must(e.Input)
		if err != nil {
			return err
		}
		if x.Turn != "" {
			return impossible("input %s met a gate in turn %s", e.Input, x.Turn)
		}
		gate := e.Gate
		x.Gate, x.UpdatedAt = &gate, m.At
		return nil
	}),
}
