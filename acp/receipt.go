package acp

import (
	"slices"
	"time"

	"zuno/internal/engine"
	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

// Receipt is what became of an input, as clients see it under _meta.zuno.receipt. It only ever moves forward: admitted,
// recorded, applied, and then one of completed, failed and cancelled.
type Receipt struct {
	SessionID        string `json:"sessionId"`
	InputID          string `json:"inputId"`
	ClientMessageID  string `json:"clientMessageId,omitempty"`
	AdmittedSequence uint64 `json:"admittedSequence"`
	Delivery         string `json:"delivery"`
	State            string `json:"state"`
	TurnID           string `json:"turnId,omitempty"`
	AppliedAt        string `json:"appliedAt,omitempty"`
	CompletedAt      string `json:"completedAt,omitempty"`
	StopReason       string `json:"stopReason,omitempty"`
	Error            *Fault `json:"error,omitempty"`
	ExecutionGate    *Gate  `json:"executionGate,omitempty"`
	TimeUpdated      string `json:"timeUpdated"`

	asks bool // what it leads to waits for a human
}

// Gate is why a saved input is not run. It stands beside the receipt until a turn takes the input.
type Gate struct {
	Reason            string `json:"reason"`
	Recovery          string `json:"recovery"`
	ExecutionRevision uint64 `json:"executionRevision"`
	CycleID           string `json:"cycleId"`
	RequestID         string `json:"requestId,omitempty"`
	SourceID          string `json:"sourceId,omitempty"`
}

// Fault is why an input failed. What is not known is absent.
type Fault struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Status    uint64 `json:"status,omitempty"`
	RequestID string `json:"requestId,omitempty"`
}

// Terminal says that nothing will change the receipt any more.
func (r *Receipt) Terminal() bool {
	return r.State == "completed" || r.State == "failed" || r.State == "cancelled"
}

// Answerable says that whoever waits for the input can be told something: it is over, it is held, or it waits for a human.
func (r *Receipt) Answerable() bool { return r.Terminal() || r.ExecutionGate != nil || r.asks }

// stopReason is that of the answer. One that waits for a human ends the prompt's turn, while its receipt goes on.
func (r *Receipt) stopReason() string {
	if r.asks && !r.Terminal() {
		return "end_turn"
	}
	return r.StopReason
}

// receipts folds the receipts of a session's inputs.
type receipts struct {
	session  string
	sequence uint64 // events of the root stream so far
	open     int    // inputs that are neither over nor held
	by       map[string]*Receipt
	running  []*Receipt // applied and not over, in the order of their application
}

func newReceipts(session string) *receipts {
	return &receipts{session: session, by: map[string]*Receipt{}}
}

func timestamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// apply folds a commit and gives the receipts that it ended or held. changed sees each step of each receipt.
func (r *receipts) apply(c *engine.Committed, changed func(*Receipt)) (over []*Receipt) {
	at := timestamp(c.At)
	step := func(id string, fn func(x *Receipt)) {
		if x := r.by[id]; x != nil {
			was := x.Answerable()
			fn(x)
			switch is := x.Answerable(); {
			case is && !was:
				r.open--
			case was && !is:
				r.open++
			}
			x.TimeUpdated = at
			changed(x)
		}
	}
	for i := range c.Events {
		if c.Events[i].Stream != 1 {
			continue
		}
		r.sequence++
		switch e := c.Events[i].Payload.(type) {
		case *event.InputAdmitted:
			r.by[e.ID] = &Receipt{
				SessionID: r.session, InputID: e.ID, ClientMessageID: e.Client, AdmittedSequence: r.sequence,
				Delivery: string(e.Delivery), State: "admitted",
			}
			r.open++
			step(e.ID, func(*Receipt) {})
		case *event.InputDeliveryBatch:
			for _, id := range e.Inputs {
				step(id, func(x *Receipt) { x.State = "recorded" })
			}
		case *event.InputApplied:
			step(e.Input, func(x *Receipt) {
				x.State, x.TurnID, x.AppliedAt, x.ExecutionGate = "applied", e.Turn, at, nil
				r.running = append(r.running, x)
			})
		case *event.InputGated:
			step(e.Input, func(x *Receipt) {
				x.ExecutionGate = &Gate{e.Gate.Reason, e.Gate.Recovery, e.Gate.Revision, e.Gate.Cycle, e.Gate.Request, e.Gate.Source}
				over = append(over, x)
			})
		case *event.ExecutionChanged:
			asks := e.Trigger == string(lifecycle.ExecutionWaitHuman)
			for _, x := range r.running {
				if x.asks == asks {
					continue
				}
				step(x.InputID, func(x *Receipt) { x.asks = asks })
				if asks {
					over = append(over, x)
				}
			}
		case *event.InputSettled:
			step(e.Input, func(x *Receipt) {
				x.State, x.StopReason, x.CompletedAt = e.State, e.Stop, at
				r.running = slices.DeleteFunc(r.running, func(o *Receipt) bool { return o == x })
				switch e.State {
				case "cancelled":
					x.ExecutionGate = nil // it holds nothing any more
				case "failed":
					x.Error = &Fault{Code: e.Fault.Code, Message: e.Fault.Reason.String(), Status: e.Fault.Status, RequestID: e.Fault.RequestID}
				}
				if !slices.Contains(over, x) {
					over = append(over, x)
				}
			})
		}
	}
	return over
}
