package projections

import (
	"cmp"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

// Turn is a running turn, or every turn where the view keeps them.
type Turn struct {
	ID         string            `json:"id"`
	Cycle      string            `json:"cycle"`
	State      lifecycle.State   `json:"state"`
	Trigger    event.Trigger     `json:"trigger"`
	Model      event.ModelChoice `json:"model"`
	Retry      event.RetryPolicy `json:"-"` // of the policy that the turn began under
	Inputs     []string          `json:"inputs"`
	Started    uint64            `json:"started"` // commit
	StartedAt  int64             `json:"started_at"`
	EndedAt    int64             `json:"ended_at,omitempty"`
	Run        string            `json:"run"`
	Requests   uint64            `json:"requests"`          // how many so far
	Request    *Request          `json:"request,omitempty"` // the last one
	Backoff    *Backoff          `json:"backoff,omitempty"` // before its next attempt
	Cancelling bool              `json:"cancelling,omitempty"`
	Stop       string            `json:"stop,omitempty"`
	Fault      event.Failure     `json:"failure,omitzero"`
	Discussion bool              `json:"discussion,omitempty"` // words only
	// Since is the sequence after which an input came while the session ran: that of the input that began the turn, or that of the
	// turn itself where it began with one that had been left waiting.
	Since uint64 `json:"-"`
}

// Resumed says that a native control started the turn to go on with held work.
func (t *Turn) Resumed() bool {
	return t.Trigger == event.TriggerUserControl || t.Trigger == event.TriggerRecovery
}

// AtFinal says that the last response asked for nothing more: the turn goes on only for what is to be delivered.
func (t *Turn) AtFinal() bool {
	r := t.Request
	return r != nil && !r.Open && r.Finish != "" && r.Calls == 0
}

// Request is one request to the provider.
type Request struct {
	ID      string         `json:"id"`
	Number  uint64         `json:"n"`
	Attempt uint64         `json:"attempt"`
	Open    bool           `json:"open"`
	Finish  string         `json:"finish,omitempty"` // of a completed response; empty for a cut or failed one
	Lack    string         `json:"lack,omitempty"`   // what a final answer misses, where the turn goes on
	Calls   uint64         `json:"calls"`
	Parts   uint64         `json:"parts"` // recorded parts of this attempt
	Digests []journal.Hash `json:"-"`     // of their texts
	Entry   uint64         `json:"-"`     // of the scripted model, once a part has told
	Whether bool           `json:"-"`     // that entry has a condition
	Started uint64         `json:"started"`
	FirstAt int64          `json:"first_at"` // when its first attempt began
	Fault   event.Failure  `json:"failure,omitzero"`
	Before  event.Failure  `json:"-"` // of the attempt before this one
}

// Backoff is the wait before the next attempt of a request.
type Backoff struct {
	Attempt uint64        `json:"attempt"`
	Until   int64         `json:"until"`
	Due     bool          `json:"due,omitempty"`
	Fault   event.Failure `json:"failure"` // of the attempt before
}

// Turns are the turns of a session; at most one is active.
type Turns struct {
	Active   *Turn     `json:"active,omitempty"`
	Count    uint64    `json:"count"`
	Last     string    `json:"last,omitempty"`
	Finished []Settled `json:"-"`
	Ended    string    `json:"ended,omitempty"` // state of the last one that is over
	Over     TurnOver  `json:"-"`               // how that one ended
	Boundary uint64    `json:"-"`               // sequence of the last end of a turn or beginning of a run
	All      []*Turn   `json:"all,omitempty"`
	keep     bool
}

// TurnOver is how a turn ended. The zero value stands for none.
type TurnOver struct {
	ID       string
	Cycle    string
	State    string // completed, cancelled, failed
	Code     string // of the failure
	Status   uint64 // of the failure
	Sequence uint64 // of its end
}

func (t *Turns) active(id string) (*Turn, error) {
	if t.Active == nil || t.Active.ID != id {
		return nil, impossible("turn %s is not active", id)
	}
	return t.Active, nil
}

func (t *Turns) request(id string, attempt uint64) (*Turn, *Request, error) {
	if t.Active == nil || t.Active.Request == nil || t.Active.Request.ID != id || t.Active.Request.Attempt != attempt || !t.Active.Request.Open {
		return nil, nil, impossible("request %s attempt %d is not open", id, attempt)
	}
	return t.Active, t.Active.Request, nil
}

var turnFolds = folds{
	on(func(v *View, s *Session, m Meta, e *event.TurnStarted) error {
		if s.Turns.Active != nil {
			return impossible("turn %s started while %s runs", e.ID, s.Turns.Active.ID)
		}
		t := &Turn{
			ID: e.ID, Cycle: e.Cycle, State: lifecycle.Turn.Initial, Trigger: e.Trigger, Model: e.Model,
			Started: m.Commit, StartedAt: m.At, Run: v.Run.ID, Discussion: e.Discussion, Retry: v.Policy.Retry, Since: m.Sequence,
		}
		s.Turns.Active, s.Turns.Last = t, e.ID
		if e.Trigger == event.TriggerRecovery {
			s.Execution.Woken = true
		}
		s.Turns.Count++
		if s.Turns.keep {
			s.Turns.All = append(s.Turns.All, t)
		}
		s.Updated = m.At
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.TurnEnded) error {
		t, err := s.Turns.active(e.ID)
		if err != nil {
			return err
		}
		if t.Request != nil && t.Request.Open {
			return impossible("turn %s ended with an open request", e.ID)
		}
		if len(s.Calls.Open) > 0 {
			return impossible("turn %s ended with open calls", e.ID)
		}
		t.Stop, t.Fault, t.EndedAt = e.Stop, e.Fault, m.At
		s.Turns.Active, s.Turns.Ended, s.Turns.Boundary = nil, e.State, m.Sequence
		s.Turns.Over = TurnOver{t.ID, t.Cycle, e.State, e.Fault.Code, e.Fault.Status, m.Sequence}
		if e.Fault.Code != FaultInterrupted {
			s.Execution.Deaths = Deaths{}
		}
		s.Turns.Finished = append(s.Turns.Finished, Settled{t.Started, m.Commit})
		if t.Run == v.Run.ID { // one that a dead run left was over long before somebody opened the session again
			s.Updated = m.At
		}
		return move(lifecycle.Turn, &t.State, lifecycle.Trigger(e.State), e.ID)
	}),
	on(func(v *View, s *Session, m Meta, e *event.RequestStarted) error {
		t, err := s.Turns.active(e.Turn)
		if err != nil {
			return err
		}
		if t.Request != nil && t.Request.Open {
			return impossible("request %s started while %s is open", e.ID, t.Request.ID)
		}
		r := &Request{ID: e.ID, Number: e.Number, Attempt: e.Attempt, Open: true, Started: m.Commit, FirstAt: m.At}
		if last := t.Request; last != nil && last.ID == e.ID {
			r.FirstAt, r.Before = last.FirstAt, last.Fault
		}
		t.Request, t.Backoff = r, nil
		t.Requests = e.Number
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.ResponsePart) error {
		_, r, err := s.Turns.request(e.Request, e.Attempt)
		if err != nil {
			return err
		}
		r.Parts++
		if e.Entry != 0 {
			r.Entry, r.Whether = e.Entry, e.Conditional
		}
		r.Digests = append(r.Digests, e.Text.Digest)
		kind := EntryText
		if e.Kind == event.PartReasoning {
			kind = EntryReasoning
		}
		s.Transcript.add(kind, m.place())
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.ResponseCompleted) error {
		_, r, err := s.Turns.request(e.Request, e.Attempt)
		if err != nil {
			return err
		}
		if e.Parts != PartsDigest(r.Digests) {
			return impossible("request %s: its parts do not have the recorded digest", e.Request)
		}
		r.Digests = nil
		r.Open, r.Finish, r.Lack, r.Calls = false, e.Finish, e.Lack, e.Calls
		s.Script.answered(e.Entry, e.Conditional)
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.ResponseCut) error {
		_, r, err := s.Turns.request(e.Request, e.Attempt)
		if err != nil {
			return err
		}
		r.Open, r.Fault = false, CutFault(e.Fault, e.Detail)
		s.Transcript.cut(r.Started)
		if e.Reason != event.CutInterrupted || r.Parts > 0 {
			s.Script.answered(e.Entry, e.Conditional)
		}
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.RequestFailed) error {
		_, r, err := s.Turns.request(e.Request, e.Attempt)
		if err != nil {
			return err
		}
		r.Open, r.Fault = false, e.Fault
		s.Transcript.cut(r.Started)
		s.Script.answered(e.Entry, e.Conditional)
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.RequestBackoff) error {
		t := s.Turns.Active
		if t == nil || t.Request == nil || t.Request.ID != e.Request || t.Request.Open || e.Attempt != t.Request.Attempt+1 {
			return impossible("request %s cannot wait for attempt %d", e.Request, e.Attempt)
		}
		t.Backoff = &Backoff{Attempt: e.Attempt, Until: e.Until, Fault: t.Request.Fault}
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.RequestDue) error {
		t := s.Turns.Active
		if t == nil || t.Request == nil || t.Request.ID != e.Request || t.Backoff == nil || t.Backoff.Attempt != e.Attempt || t.Backoff.Due {
			return impossible("attempt %d of request %s is not waited for", e.Attempt, e.Request)
		}
		t.Backoff.Due = true
		return nil
	}),
}

// CutFault is the failure that a cut is, with what the provider said of it.
func CutFault(said event.Failure, detail event.Text) event.Failure {
	said.Code, said.Reason = cmp.Or(said.Code, "response_cut"), detail
	return said
}

// Script is the scripted model's place in its script: how many responses and errors the session has had, and which
// entries with a condition have answered. Other models do not read it.
type Script struct {
	Position uint64   `json:"position"`
	Used     []uint64 `json:"used,omitempty"`
}

func (s *Script) answered(entry uint64, conditional bool) {
	if conditional {
		s.Used = append(s.Used, entry)
		return
	}
	s.Position++
}
