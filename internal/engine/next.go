package engine

import (
	"fmt"

	"zuno/commands"
	"zuno/journal/event"
	"zuno/projections"
)

// StepKind is what a step does.
type StepKind uint8

// The kinds of steps.
const (
	StepRequest StepKind = iota // ask the provider
	StepAsk                     // ask the user for permission
	StepCall                    // run a tool
	StepTimer                   // wait for a deadline
	StepControl                 // carry out a native command that needs no turn
	StepPresent                 // ask again what a dead process has asked
)

// Step is one thing that should be running now. Its key names it across evaluations and carries the attempt, so that
// a second attempt is never taken for a repetition of the first.
type Step struct {
	Key  string
	Kind StepKind

	Input   string // of a request that begins a turn
	Turn    string
	Number  uint64 // of a request, in its turn
	Attempt uint64
	Call    string
	Open    bool // the fence is behind it: it is running

	Request string // of a timer: whose next attempt it waits for
	Until   int64  // of a timer: its deadline

	Permission string // of a question that is put again
	Reusable   bool   // its answer may be for the whole session
}

// Next is everything that should be running or waited for, given what the journal says. It is pure and
// level-triggered: recovery, cancel and shutdown are changes of the view, not paths of their own.
func Next(v *projections.View) []Step {
	if v.Corrupt != nil {
		return nil
	}
	return append(work(v), left(v.Root)...)
}

// left are the questions that a dead process asked. They wait for nothing but somebody who can be asked, and nothing waits
// for them.
func left(s *projections.Session) (steps []Step) {
	for _, p := range s.Permissions.Pending {
		if p.Abandoned {
			steps = append(steps, Step{Key: fmt.Sprintf("present:%s/1", p.ID), Kind: StepPresent, Call: p.Call, Attempt: 1, Permission: p.ID, Reusable: p.Reusable})
		}
	}
	return steps
}

// work is what a turn needs, or what begins one.
func work(v *projections.View) []Step {
	s := v.Root
	t := s.Turns.Active
	if t == nil {
		return begin(s)
	}
	if t.Run != v.Run.ID || t.Cancelling {
		return nil // what runs is no longer wanted, and nothing new is
	}
	if r := t.Request; r != nil && r.Open {
		return []Step{requestStep(t, r.Number, r.Attempt, true)}
	}
	if len(s.Calls.Open) > 0 {
		return calls(v, s)
	}
	if b := t.Backoff; b != nil && !b.Due {
		return []Step{{Key: fmt.Sprintf("timer:%s/%d/%d", t.ID, t.Requests, b.Attempt), Kind: StepTimer, Turn: t.ID, Number: t.Requests, Attempt: b.Attempt, Request: t.Request.ID, Until: b.Until}}
	} else if b != nil {
		return []Step{requestStep(t, t.Requests, b.Attempt, false)}
	}
	return []Step{requestStep(t, t.Requests+1, 1, false)}
}

// begin starts the input that is due.
func begin(s *projections.Session) []Step {
	in := commands.Due(s)
	switch {
	case in == nil:
		return nil
	case in.Control != nil && !startsWork(in.Control.Kind):
		return []Step{{Key: fmt.Sprintf("control:%s/1", in.ID), Kind: StepControl, Input: in.ID, Attempt: 1}}
	}
	return []Step{beginStep(in)}
}

func startsWork(k event.ControlKind) bool {
	return k == event.ControlResume || k == event.ControlRecover
}

func beginStep(in *projections.Input) Step {
	return Step{Key: fmt.Sprintf("request:%s/1/1", in.ID), Kind: StepRequest, Input: in.ID, Number: 1, Attempt: 1}
}

// Along are the inputs that the request of a step takes along, beside the one that begins its turn: at a safe point those that
// were steered into the running turn, in a resumed turn all that wait. They are looked at when the request is made.
func Along(v *projections.View, st Step) []*projections.Input {
	s := v.Root
	if st.Input == "" {
		if t := s.Turns.Active; t != nil && t.Backoff != nil {
			return nil // another attempt is the same request
		}
		return s.Deliverable()
	}
	if in := s.Inputs.Get(st.Input); in != nil && in.Control != nil {
		return s.Freed(in.Control)
	}
	return nil
}

func requestStep(t *projections.Turn, number, attempt uint64, open bool) Step {
	owner := t.ID
	if number == 1 && len(t.Inputs) > 0 {
		owner = t.Inputs[0] // the key under which the turn was begun
	}
	return Step{Key: fmt.Sprintf("request:%s/%d/%d", owner, number, attempt), Kind: StepRequest, Turn: t.ID, Number: number, Attempt: attempt, Open: open}
}

// calls goes through the open calls of the last response in the model's order: first every question is asked, one at a
// time; then the calls run, each exclusive one alone, the others side by side up to the bound.
func calls(v *projections.View, s *projections.Session) (steps []Step) {
	for _, c := range s.Calls.Open {
		switch {
		case c.State.Is("asking") && c.Answered == "":
			return append(steps, Step{Key: fmt.Sprintf("ask:%s/1", c.ID), Kind: StepAsk, Call: c.ID, Turn: c.Turn, Attempt: 1, Open: true})
		case c.State.Is("requested") && c.Permission == event.Ask:
			return append(steps, Step{Key: fmt.Sprintf("ask:%s/1", c.ID), Kind: StepAsk, Call: c.ID, Turn: c.Turn, Attempt: 1})
		case c.State.Is("started"):
			steps = append(steps, callStep(c))
		}
	}
	steps = steps[:0]
	bound := int(max(v.Policy.Concurrency, 1))
	for i, c := range s.Calls.Open {
		exclusive := c.Declaration.Concurrency == event.Exclusive
		if exclusive && i > 0 || len(steps) >= bound {
			break
		}
		steps = append(steps, callStep(c))
		if exclusive {
			break
		}
	}
	return steps
}

func callStep(c *projections.Call) Step {
	attempt := max(c.Attempt, 1)
	return Step{Key: fmt.Sprintf("call:%s/%d", c.ID, attempt), Kind: StepCall, Call: c.ID, Turn: c.Turn, Attempt: attempt, Open: c.State.Is("started")}
}
