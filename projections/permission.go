package projections

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

// Permission is a question that waits for the user. Abandoned says that its call is over because the process that asked
// has died: the question is put again, and whatever the answer is, nothing runs.
type Permission struct {
	ID        string        `json:"id"`
	Call      string        `json:"call"`
	Asked     Place         `json:"asked"`
	Reusable  bool          `json:"reusable,omitempty"`
	Abandoned bool          `json:"abandoned,omitempty"`
	Verdict   event.Verdict `json:"verdict,omitempty"`
	key       GrantKey
}

// Permissions are the questions of a session and what was granted for all of it.
type Permissions struct {
	Pending []*Permission `json:"pending"`
	Grants  []Grant       `json:"grants,omitempty"`
	All     []*Permission `json:"all,omitempty"`
	keep    bool
}

// GrantKey names what a grant is for: a tool and exactly the resources that a call of it wants to touch. Names are texts,
// which no decision reads, so it is made of their salted digests and says nothing outside of the session.
type GrantKey journal.Hash

// KeyOf is the key of a call. The order in which a call names its resources does not count.
func KeyOf(tool string, accesses []event.Access) GrantKey {
	names := make([][]byte, len(accesses))
	for i := range accesses {
		a := &accesses[i]
		names[i] = append(append([]byte(a.Kind), 0), a.Name.Digest[:]...)
	}
	slices.SortFunc(names, bytes.Compare)
	h := sha256.New()
	h.Write(append([]byte(tool), 0))
	for _, n := range names {
		h.Write(n)
	}
	return GrantKey(h.Sum(nil))
}

// Grant is an answer that stands for all later calls of its key.
type Grant struct {
	ID   string `json:"id"`   // of the question
	Call string `json:"call"` // about which it was asked
	Place
	Key GrantKey `json:"-"`
}

// Granted finds the grant that covers calls of a key; nil when there is none.
func (p *Permissions) Granted(k GrantKey) *Grant {
	for i := range p.Grants {
		if p.Grants[i].Key == k {
			return &p.Grants[i]
		}
	}
	return nil
}

// Get finds a pending question.
func (p *Permissions) Get(id string) *Permission {
	for _, x := range p.Pending {
		if x.ID == id {
			return x
		}
	}
	return nil
}

// Of finds the pending question of a call.
func (p *Permissions) Of(call string) *Permission {
	for _, x := range p.Pending {
		if x.Call == call {
			return x
		}
	}
	return nil
}

func (p *Permissions) drop(id string, v event.Verdict) {
	for i, x := range p.Pending {
		if x.ID == id {
			x.Verdict = v
			p.Pending = append(p.Pending[:i], p.Pending[i+1:]...)
			return
		}
	}
}

var permissionFolds = folds{
	on(func(v *View, s *Session, m Meta, e *event.PermissionAsked) error {
		x, err := s.unasked(e.Call)
		if err != nil {
			return err
		}
		p := &Permission{ID: e.ID, Call: e.Call, Asked: m.place(), Reusable: x.Reusable, key: x.Key}
		s.Permissions.Pending = append(s.Permissions.Pending, p)
		if s.Permissions.keep {
			s.Permissions.All = append(s.Permissions.All, p)
		}
		return move(lifecycle.Call, &x.State, lifecycle.CallAsk, e.Call)
	}),
	on(func(v *View, s *Session, m Meta, e *event.PermissionAnswered) error {
		p := s.Permissions.Get(e.ID)
		if p == nil || p.Call != e.Call {
			return impossible("permission %s is not pending for call %s", e.ID, e.Call)
		}
		if e.Session {
			if !p.Reusable || e.Verdict != event.VerdictAllow {
				return impossible("permission %s was granted for the session, which was not on offer", e.ID)
			}
			s.Permissions.Grants = append(s.Permissions.Grants, Grant{p.ID, p.Call, m.place(), p.key})
		}
		s.Permissions.drop(e.ID, e.Verdict)
		if x := s.Calls.Get(e.Call); x != nil {
			x.Answered = e.Verdict
		}
		return nil
	}),
}
