package acp

import (
	"time"

	"zuno/internal/engine"
	"zuno/journal/event"
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
	TimeUpdated      string `json:"timeUpdated"`
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

// receipts folds the receipts of a session's inputs.
type receipts struct {
	session  string
	sequence uint64 // events of the root stream so far
	by       map[string]*Receipt
}

func newReceipts(session string) *receipts {
	return &receipts{session: session, by: map[string]*Receipt{}}
}

func timestamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// apply folds a commit and gives the receipts that became terminal in it.
func (r *receipts) apply(c *engine.Committed) (settled []*Receipt) {
	at := timestamp(c.At)
	for i := range c.Events {
		if c.Events[i].Stream != 1 {
			continue
		}
		r.sequence++
		switch e := c.Events[i].Payload.(type) {
		case *event.InputAdmitted:
			r.by[e.ID] = &Receipt{
				SessionID: r.session, InputID: e.ID, ClientMessageID: e.Client, AdmittedSequence: r.sequence,
				Delivery: string(e.Delivery), State: "admitted", TimeUpdated: at,
			}
		case *event.InputDeliveryBatch:
			for _, id := range e.Inputs {
				if x := r.by[id]; x != nil {
					x.State, x.TimeUpdated = "recorded", at
				}
			}
		case *event.InputApplied:
			if x := r.by[e.Input]; x != nil {
				x.State, x.TurnID, x.AppliedAt, x.TimeUpdated = "applied", e.Turn, at, at
			}
		case *event.InputSettled:
			if x := r.by[e.Input]; x != nil {
				x.State, x.StopReason, x.CompletedAt, x.TimeUpdated = e.State, e.Stop, at, at
				if e.State == "failed" {
					x.Error = &Fault{Code: e.Fault.Code, Message: e.Fault.Reason.String(), Status: e.Fault.Status, RequestID: e.Fault.RequestID}
				}
				settled = append(settled, x)
			}
		}
	}
	return settled
}
