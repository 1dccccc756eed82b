package ledger

import (
	"fmt"
	"slices"
	"sort"

	"zuno/journal/event"
	"zuno/projections"
)

// Ledger counts what happened in its own way, from the events alone. It is not safe for concurrent use.
type Ledger struct {
	Admitted, Applied, Settled map[string]int    // inputs
	InTurn                     map[string]string // input → turn
	Requested                  map[string]string // call → request
	Started, Closed            map[string]int    // calls; blocked, abandoned and settled ones are closed
	Completed                  map[string]bool   // request
	OpenRequest, Turn          string            // what runs; empty when nothing does
	Turns                      int
}

// New is the ledger of an empty history.
func New() *Ledger {
	m := func() map[string]int { return map[string]int{} }
	return &Ledger{
		Admitted: m(), Applied: m(), Settled: m(), Closed: m(), Started: m(),
		InTurn: map[string]string{}, Requested: map[string]string{}, Completed: map[string]bool{},
	}
}

// Open are the calls that are requested and not closed, in a fixed order.
func (l *Ledger) Open() (calls []string) {
	for id := range l.Requested {
		if l.Closed[id] == 0 {
			calls = append(calls, id)
		}
	}
	sort.Strings(calls)
	return calls
}

// Take counts an event and says what is wrong with it.
func (l *Ledger) Take(p event.Payload) string {
	once := func(m map[string]int, id, what string) string {
		if m[id]++; m[id] > 1 {
			return fmt.Sprintf("%s was %s %d times", id, what, m[id])
		}
		return ""
	}
	switch e := p.(type) {
	case *event.InputAdmitted:
		return once(l.Admitted, e.ID, "admitted")
	case *event.InputApplied:
		l.InTurn[e.Input] = e.Turn
		if e.Turn == "" { // a native command without a turn
			return once(l.Applied, e.Input, "applied")
		}
		if l.Admitted[e.Input] == 0 || l.Settled[e.Input] > 0 || e.Turn != l.Turn {
			return fmt.Sprintf("input %s was applied to turn %s out of order", e.Input, e.Turn)
		}
		return once(l.Applied, e.Input, "applied")
	case *event.InputSettled:
		if l.Admitted[e.Input] == 0 {
			return "input " + e.Input + " was settled and never admitted"
		}
		return once(l.Settled, e.Input, "settled")
	case *event.TurnStarted:
		if l.Turn != "" {
			return "turn " + e.ID + " began while " + l.Turn + " runs"
		}
		l.Turn = e.ID
		l.Turns++
	case *event.TurnEnded:
		if l.Turn != e.ID {
			return "turn " + e.ID + " ended while " + l.Turn + " runs"
		}
		if open := l.Open(); len(open) > 0 {
			return fmt.Sprintf("turn %s ended with open calls %v", e.ID, open)
		}
		if l.OpenRequest != "" {
			return "turn " + e.ID + " ended with the open request " + l.OpenRequest
		}
		l.Turn = ""
	case *event.RequestStarted:
		if l.OpenRequest != "" || l.Turn != e.Turn {
			return fmt.Sprintf("request %s began in turn %s beside %q", e.ID, l.Turn, l.OpenRequest)
		}
		l.OpenRequest = e.ID
	case *event.ResponseCompleted:
		l.Completed[e.Request] = true
		l.OpenRequest = ""
	case *event.ResponseCut, *event.RequestFailed:
		l.OpenRequest = ""
	case *event.CallRequested:
		if !l.Completed[e.Request] {
			return "call " + e.ID + " was requested by an unfinished response"
		}
		if l.Requested[e.ID] != "" {
			return "call " + e.ID + " was requested twice"
		}
		l.Requested[e.ID] = e.Request
	case *event.CallStarted:
		if l.Closed[e.ID] > 0 || l.Requested[e.ID] == "" {
			return "call " + e.ID + " started out of order"
		}
		return once(l.Started, e.ID, "started")
	case *event.CallSettled:
		if l.Started[e.ID] == 0 {
			return "call " + e.ID + " was settled and never started"
		}
		return once(l.Closed, e.ID, "closed")
	case *event.CallBlocked:
		if l.Started[e.ID] > 0 {
			return "call " + e.ID + " was blocked after it started"
		}
		return once(l.Closed, e.ID, "closed")
	case *event.CallAbandoned:
		if l.Started[e.ID] > 0 {
			return "call " + e.ID + " was abandoned after it started"
		}
		return once(l.Closed, e.ID, "closed")
	}
	return ""
}

// Agree compares the ledger with the view, once a commit is complete.
func (l *Ledger) Agree(s *projections.Session) string {
	active := ""
	if s.Turns.Active != nil {
		active = s.Turns.Active.ID
	}
	if active != l.Turn {
		return fmt.Sprintf("the view runs turn %q, the events %q", active, l.Turn)
	}
	var open []string
	for _, c := range s.Calls.Open {
		open = append(open, c.ID)
		if c.State.Terminal() {
			return "call " + c.ID + " is finished and open"
		}
	}
	sort.Strings(open)
	if !slices.Equal(open, l.Open()) {
		return fmt.Sprintf("the view has open calls %v, the events %v", open, l.Open())
	}
	if l.Turn == "" && len(open) > 0 {
		return fmt.Sprintf("no turn runs and calls %v are open", open)
	}
	for _, p := range s.Permissions.Pending {
		if slices.Contains(open, p.Call) == p.Abandoned {
			return "question " + p.ID + " is pending for call " + p.Call + ", which is not open, or is and was abandoned"
		}
	}
	for id := range l.Applied {
		if l.InTurn[id] != l.Turn && l.Settled[id] != 1 {
			return fmt.Sprintf("input %s was applied to turn %s, which is over, and has %d receipts", id, l.InTurn[id], l.Settled[id])
		}
	}
	waiting := 0
	for id := range l.Admitted {
		if l.Settled[id] == 0 {
			waiting++
		}
	}
	if waiting != len(s.Inputs.Open) {
		return fmt.Sprintf("%d inputs have no receipt, the view has %d", waiting, len(s.Inputs.Open))
	}
	return ""
}
