package projections

import (
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

// Call is a call that is not done, or every call where the view keeps them.
type Call struct {
	ID          string            `json:"id"`
	Turn        string            `json:"turn"`
	Request     string            `json:"request"`
	Position    uint64            `json:"position"`
	Tool        string            `json:"tool"`
	Declaration event.Declaration `json:"declaration"`
	Permission  event.Action      `json:"permission,omitempty"`
	Reusable    bool              `json:"reusable,omitempty"` // one answer may stand for all calls of the same Key
	Key         GrantKey          `json:"-"`                  // of a reusable call
	State       lifecycle.State   `json:"state"`
	Requested   Place             `json:"requested"`
	Attempt     uint64            `json:"attempt,omitempty"`
	Run         string            `json:"run,omitempty"` // that started it
	Outcome     event.Outcome     `json:"outcome,omitempty"`
	Class       string            `json:"class,omitempty"`
	Block       event.BlockKind   `json:"block,omitempty"`
	Answered    event.Verdict     `json:"answered,omitempty"`
	Args        journal.Hash      `json:"-"`                 // salted digest of its arguments
	Settled     uint64            `json:"settled,omitempty"` // commit
}

// Calls are the calls of a session. Open holds those that are not blocked, abandoned or settled, in the order in
// which the model made them.
type Calls struct {
	Open      []*Call       `json:"open"`
	Finished  uint64        `json:"finished"`
	Uncertain []Uncertainty `json:"uncertain,omitempty"`
	All       []*Call       `json:"all,omitempty"`
	keep      bool
}

// Uncertainty is a call whose effect may have happened.
type Uncertainty struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
	Place
	Settled uint64        `json:"settled"`
	Cycle   string        `json:"cycle,omitempty"`
	Finding event.Finding `json:"finding,omitempty"` // what the user found out since
}

// Open says that nobody knows yet what became of the effect.
func (u *Uncertainty) Open() bool {
	return u.Finding != event.FindingHappened && u.Finding != event.FindingDidNotHappen
}

// Obligations are the uncertain calls of a cycle that nobody has cleared up.
func (c *Calls) Obligations(cycle string) (out []*Uncertainty) {
	for i := range c.Uncertain {
		if u := &c.Uncertain[i]; u.Cycle == cycle && u.Open() {
			out = append(out, u)
		}
	}
	return out
}

// Recorded says that some call of the cycle ended with an unknown effect, whatever the user found out since.
func (c *Calls) Recorded(cycle string) bool {
	for i := range c.Uncertain {
		if c.Uncertain[i].Cycle == cycle {
			return true
		}
	}
	return false
}

// Unknown are the uncertain calls of all cycles that nobody has cleared up.
func (c *Calls) Unknown() (out []*Uncertainty) {
	for i := range c.Uncertain {
		if u := &c.Uncertain[i]; u.Open() {
			out = append(out, u)
		}
	}
	return out
}

// Get finds an open call.
func (c *Calls) Get(id string) *Call {
	for _, x := range c.Open {
		if x.ID == id {
			return x
		}
	}
	return nil
}

func (c *Calls) must(id string) (*Call, error) {
	if x := c.Get(id); x != nil {
		return x, nil
	}
	return nil, impossible("call %s is not open", id)
}

// unasked finds an open call about which no question is pending: nothing happens to a call while its question waits.
func (s *Session) unasked(id string) (*Call, error) {
	if p := s.Permissions.Of(id); p != nil {
		return nil, impossible("call %s moved while question %s is pending", id, p.ID)
	}
	return s.Calls.must(id)
}

func (c *Calls) finish(x *Call, commit uint64) {
	x.Settled = commit
	for i, o := range c.Open {
		if o == x {
			c.Open = append(c.Open[:i], c.Open[i+1:]...)
			break
		}
	}
	c.Finished++
}

var callFolds = folds{
	on(func(v *View, s *Session, m Meta, e *event.CallRequested) error {
		t, err := s.Turns.active(e.Turn)
		if err != nil {
			return err
		}
		if r := t.Request; r == nil || r.Open || r.ID != e.Request || r.Attempt != e.Attempt {
			return impossible("call %s of request %s, which is not the response that was just completed", e.ID, e.Request)
		}
		if s.Calls.Get(e.ID) != nil {
			return impossible("call %s requested twice", e.ID)
		}
		x := &Call{
			ID: e.ID, Turn: e.Turn, Request: e.Request, Position: e.Position, Tool: e.Tool, Declaration: e.Declaration,
			Permission: e.Permission, Reusable: e.Reusable, State: lifecycle.Call.Initial, Requested: m.place(), Args: e.ArgsDigest,
		}
		if e.Reusable {
			x.Key = KeyOf(e.Tool, e.Accesses)
		}
		s.Calls.Open = append(s.Calls.Open, x)
		if s.Calls.keep {
			s.Calls.All = append(s.Calls.All, x)
		}
		s.Transcript.add(EntryCall, m.place())
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.CallBlocked) error {
		x, err := s.unasked(e.ID)
		if err != nil {
			return err
		}
		x.Block = e.Kind
		s.Calls.finish(x, m.Commit)
		s.Transcript.add(EntryResult, m.place())
		return move(lifecycle.Call, &x.State, lifecycle.CallBlock, e.ID)
	}),
	on(func(v *View, s *Session, m Meta, e *event.CallAbandoned) error {
		x, err := s.Calls.must(e.ID)
		if err != nil {
			return err
		}
		if p := s.Permissions.Of(e.ID); p != nil {
			if e.Reason != event.BlockInterrupted {
				return impossible("call %s was abandoned as %s while question %s is pending", e.ID, e.Reason, p.ID)
			}
			p.Abandoned = true
		}
		x.Block = e.Reason
		s.Calls.finish(x, m.Commit)
		s.Transcript.add(EntryResult, m.place())
		return move(lifecycle.Call, &x.State, lifecycle.CallAbandon, e.ID)
	}),
	on(func(v *View, s *Session, m Meta, e *event.CallStarted) error {
		x, err := s.unasked(e.ID)
		if err != nil {
			return err
		}
		x.Attempt, x.Run = e.Attempt, v.Run.ID
		return move(lifecycle.Call, &x.State, lifecycle.CallStart, e.ID)
	}),
	on(func(v *View, s *Session, m Meta, e *event.CallSettled) error {
		x, err := s.Calls.must(e.ID)
		if err != nil {
			return err
		}
		if x.Attempt != e.Attempt {
			return impossible("call %s settled for attempt %d of %d", e.ID, e.Attempt, x.Attempt)
		}
		x.Outcome, x.Class = e.Outcome, e.Class
		for i := range e.Files {
			s.Files.saw(&e.Files[i], m)
		}
		if e.Operation != nil {
			if s.Files.Operations == nil {
				s.Files.Operations = map[event.Operation]bool{}
			}
			s.Files.Operations[*e.Operation] = true
		}
		if e.Outcome == event.OutcomeUncertain {
			s.Calls.Uncertain = append(s.Calls.Uncertain, Uncertainty{Call: e.ID, Tool: x.Tool, Place: x.Requested, Settled: m.Commit, Cycle: s.Execution.Cycle})
		}
		s.Calls.finish(x, m.Commit)
		s.Transcript.add(EntryResult, m.place())
		return move(lifecycle.Call, &x.State, lifecycle.Trigger(e.Outcome), e.ID)
	}),
}

// Files is what the session knows of the files that it read or changed: the digest under which it last saw each.
// A path is a text, so a file is known by the salted digest of its path with links followed.
type Files struct {
	Seen map[journal.Hash]FileState `json:"-"`
	// Operations are the mutations that were tried, with the contents that they met.
	Operations map[event.Operation]bool `json:"-"`
}

// FileState is how a file was last seen.
type FileState struct {
	Digest journal.Hash
	Commit uint64
}

func (f *Files) saw(e *event.File, m Meta) {
	if f.Seen == nil {
		f.Seen = map[journal.Hash]FileState{}
	}
	key := e.Path.Digest
	if !e.Real.IsZero() {
		key = e.Real.Digest
	}
	if e.Change == event.ChangeDelete {
		delete(f.Seen, key)
		return
	}
	f.Seen[key] = FileState{e.Digest, m.Commit}
}
