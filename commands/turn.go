package commands

import (
	"crypto/sha256"
	"slices"
	"strconv"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// StartRequest is the fence before a request to the provider. Without an active turn it begins one with the first
// input that waits.
type StartRequest struct {
	Input   string               `msgpack:"input"` // that begins the turn; empty when the turn runs
	Turn    string               `msgpack:"turn"`
	Number  uint64               `msgpack:"n"`
	Attempt uint64               `msgpack:"attempt"`
	Digests event.RequestDigests `msgpack:"digests"`
	// Inputs are those that the request takes along beside Input: it was made with them, so a decision that finds
	// one of them gone refuses it.
	Inputs []string `msgpack:"inputs"`
	// Keyless says that the provider needs a key and has none.
	Keyless bool `msgpack:"keyless"`
	// Model is the one that the request is made for: a turn of another does not begin with it.
	Model event.ModelChoice `msgpack:"model"`
}

// RecordPart saves a piece of a response that has been shown.
// It has the fields of its event.
type RecordPart event.ResponsePart

// EncodeMsg writes the command as its event is written.
func (c *RecordPart) EncodeMsg(e *event.Encoder) { (*event.ResponsePart)(c).EncodeMsg(e) }

// DecodeMsg reads it.
func (c *RecordPart) DecodeMsg(r *event.Reader) { (*event.ResponsePart)(c).DecodeMsg(r) }

// CompleteResponse ends an attempt whose stream had its finish marker. Parts are those not recorded yet.
type CompleteResponse struct {
	Request     string         `msgpack:"request"`
	Attempt     uint64         `msgpack:"attempt"`
	Finish      string         `msgpack:"finish"`
	Usage       event.Usage    `msgpack:"usage"`
	Parts       []Part         `msgpack:"parts"`
	Calls       []ResolvedCall `msgpack:"calls"`
	Entry       uint64         `msgpack:"entry"`
	Conditional bool           `msgpack:"conditional"`
	Lack        string         `msgpack:"lack"` // what an answer misses that ends properly: see model.Lack
}

// Part is a piece of a response.
type Part struct {
	Kind event.PartKind `msgpack:"kind"`
	Text event.Text     `msgpack:"text"`
}

// CutResponse ends an attempt without its finish marker.
type CutResponse struct {
	Request string          `msgpack:"request"`
	Attempt uint64          `msgpack:"attempt"`
	Reason  event.CutReason `msgpack:"reason"`
	Detail  event.Text      `msgpack:"detail"`
	Parts   []Part          `msgpack:"parts"`
	Calls   []event.CutCall `msgpack:"calls"`
	// Fault is what the provider said, where it said anything. Its reason is Detail.
	Fault        event.Failure `msgpack:"failure"`
	RetryAfterMS uint64        `msgpack:"retry_after_ms"`
	Final        bool          `msgpack:"final"` // another attempt would fare no better

	Entry       uint64 `msgpack:"entry"`
	Conditional bool   `msgpack:"conditional"`
}

// FailRequest ends an attempt that the provider refused.
type FailRequest struct {
	Request      string        `msgpack:"request"`
	Attempt      uint64        `msgpack:"attempt"`
	Fault        event.Failure `msgpack:"failure"`
	RetryAfterMS uint64        `msgpack:"retry_after_ms"`
	Retryable    bool          `msgpack:"retryable"` // another attempt may fare better
	Entry        uint64        `msgpack:"entry"`
	Conditional  bool          `msgpack:"conditional"`
}

// EndBackoff says that the deadline of a wait has passed.
type EndBackoff struct {
	Request string `msgpack:"request"`
	Attempt uint64 `msgpack:"attempt"`
}

var turnRules = rules{
	rule("request.start", 1, startRequest),
	rule("response.part", 1, recordPart),
	rule("response.complete", 1, completeResponse),
	rule("response.cut", 1, cutResponse),
	rule("request.fail", 1, failRequest),
	rule("request.due", 1, endBackoff),
}

// execution checks a step of the execution machine and makes its event.
func execution(s *projections.Session, t lifecycle.Trigger, phase, cycle string) (*event.ExecutionChanged, error) {
	if _, err := lifecycle.Execution.Fire(s.Execution.State, t); err != nil {
		return nil, err
	}
	return &event.ExecutionChanged{Trigger: string(t), Phase: phase, Cycle: cycle}, nil
}

// openRequest finds the attempt that a report of the provider speaks of.
func openRequest(s *projections.Session, id string, attempt uint64) (*projections.Turn, *projections.Request, *Refusal) {
	t := s.Turns.Active
	if t == nil || t.Request == nil || t.Request.ID != id || t.Request.Attempt != attempt || !t.Request.Open {
		return nil, nil, refuse(CodeStale, "attempt %d of request %s is over", attempt, id).Refusal
	}
	return t, t.Request, nil
}

func recordPart(v *projections.View, c *RecordPart, at Stamp) Decision {
	if _, _, r := openRequest(v.Root, c.Request, c.Attempt); r != nil {
		return Decision{Refusal: r}
	}
	return events((*event.ResponsePart)(c))
}

// lastParts makes the events of the parts that end with the attempt, and the digest over all of its parts.
func lastParts(r *projections.Request, parts []Part) (out []event.Payload, sum journal.Hash) {
	digests := slices.Clip(r.Digests)
	for _, p := range parts {
		out = append(out, &event.ResponsePart{Request: r.ID, Attempt: r.Attempt, Kind: p.Kind, Text: p.Text})
		digests = append(digests, p.Text.Digest)
	}
	return out, projections.PartsDigest(digests)
}

func completeResponse(v *projections.View, c *CompleteResponse, at Stamp) Decision {
	s := v.Root
	t, r, refused := openRequest(s, c.Request, c.Attempt)
	if refused != nil {
		return Decision{Refusal: refused}
	}
	out, sum := lastParts(r, c.Parts)
	completed := &event.ResponseCompleted{
		Request: r.ID, Attempt: r.Attempt, Finish: c.Finish, Usage: c.Usage,
		Calls: uint64(len(c.Calls)), Parts: sum, Entry: c.Entry, Conditional: c.Conditional,
	}
	out = append(out, completed)
	for i := range c.Calls {
		out = append(out, requestCall(v, t, r, &c.Calls[i], uint64(i+1))...)
	}
	if t.Discussion {
		out = blockRest(out, disabledBlock)
	}
	switch {
	case t.Cancelling:
		// The stop came while the response was on its way: its calls are recorded and none of them runs.
		out = append(blockRest(out, cancelledBlock), endTurn(s, t, "cancelled", "cancelled", event.Failure{})...)
	case len(c.Calls) == 0 && stopReason(c.Finish) != "refusal" && len(s.Deliverable()) > 0:
		// A real follow-up waits: the turn goes on with it instead of ending here, unless it is withdrawn.
		completed.Lack = c.Lack
	case len(c.Calls) == 0:
		out = append(out, endFinal(s, t, c.Finish, c.Lack)...)
	}
	return Decision{Events: out}
}

// endFinal ends a turn with its final response. One that properly ends without an answer has not done what was asked.
func endFinal(s *projections.Session, t *projections.Turn, finish, lack string) []event.Payload {
	if lack != "" && stopReason(finish) == "end_turn" {
		return endTurn(s, t, "failed", "", event.Failure{Code: lack, Reason: event.NewText("the model finished without an answer (" + lack + "); send the prompt again or ask in other words")})
	}
	return endTurn(s, t, "completed", stopReason(finish), event.Failure{})
}

// stopReason is ACP's word for a provider's finish reason.
func stopReason(finish string) string {
	switch finish {
	case "length":
		return "max_tokens"
	case "refusal":
		return "refusal"
	}
	return "end_turn"
}

func cutResponse(v *projections.View, c *CutResponse, at Stamp) Decision {
	s := v.Root
	t, r, refused := openRequest(s, c.Request, c.Attempt)
	if refused != nil {
		return Decision{Refusal: refused}
	}
	out, _ := lastParts(r, c.Parts)
	out = append(out, &event.ResponseCut{Request: r.ID, Attempt: r.Attempt, Reason: c.Reason, Detail: c.Detail, Calls: c.Calls, Fault: c.Fault, Entry: c.Entry, Conditional: c.Conditional})
	if t.Cancelling {
		return Decision{Events: append(out, endTurn(s, t, "cancelled", "cancelled", event.Failure{})...)}
	}
	if again := retry(v, r, c.RetryAfterMS, at); again != nil && c.Reason == event.CutStream && !c.Final {
		return Decision{Events: append(out, again)}
	}
	fault := projections.CutFault(c.Fault, c.Detail)
	return Decision{Events: append(out, endTurn(s, t, "failed", "", fault)...)}
}

func failRequest(v *projections.View, c *FailRequest, at Stamp) Decision {
	s := v.Root
	t, r, refused := openRequest(s, c.Request, c.Attempt)
	if refused != nil {
		return Decision{Refusal: refused}
	}
	failed := &event.RequestFailed{Request: r.ID, Attempt: r.Attempt, Fault: c.Fault, RetryAfterMS: c.RetryAfterMS, Entry: c.Entry, Conditional: c.Conditional}
	if t.Cancelling {
		return Decision{Events: append([]event.Payload{failed}, endTurn(s, t, "cancelled", "cancelled", event.Failure{})...)}
	}
	if c.Retryable {
		if again := retry(v, r, c.RetryAfterMS, at); again != nil {
			return events(failed, again)
		}
	}
	fault := c.Fault
	if b := r.Before; b.Code != "" && fault.Status == 0 && fault.Code == "script_exhausted" {
		// A script that ends here says nothing new: what the provider answered last stands. Its own words do not, because a
		// fold keeps no text.
		fault = b
		fault.Reason = event.NewText("the last attempt ended with " + failureName(b) + ", and the script has no response for another one")
	}
	return Decision{Events: append([]event.Payload{failed}, endTurn(s, t, "failed", "", fault)...)}
}

// Bounds of the wait before another attempt: it doubles from the first to the last, give or take a fifth.
const (
	firstBackoffMS = 1000
	lastBackoffMS  = 30_000
)

// retry is the wait before the next attempt, or nil when the policy allows none: too many attempts, or the wait would end
// after the window that began with the first one. What the provider asked for counts when it is longer.
func retry(v *projections.View, r *projections.Request, afterMS uint64, at Stamp) event.Payload {
	p := v.Root.Turns.Active.Retry
	if r.Attempt >= p.MaxAttempts {
		return nil
	}
	delay := min(uint64(firstBackoffMS)<<min(r.Attempt-1, 16), lastBackoffMS)
	// The jitter derives from what the request is, so that a decision made again is the same one.
	jitter := sha256.Sum256([]byte(r.ID + "/" + strconv.FormatUint(r.Attempt, 10)))
	delay = max(delay*4/5+delay*2/5*uint64(jitter[0])/255, afterMS)
	until := at.At + int64(delay)
	if delay > p.WindowMS || until > r.FirstAt+int64(p.WindowMS) {
		return nil
	}
	return &event.RequestBackoff{Request: r.ID, Attempt: r.Attempt + 1, Until: until, DelayMS: delay}
}

// failureName is a failure in the fewest words.
func failureName(f event.Failure) string {
	if f.Status != 0 {
		return "status " + strconv.FormatUint(f.Status, 10) + " (" + f.Code + ")"
	}
	return f.Code
}

func endBackoff(v *projections.View, c *EndBackoff, at Stamp) Decision {
	t := v.Root.Turns.Active
	if t == nil || t.Cancelling || t.Request == nil || t.Request.ID != c.Request || t.Backoff == nil || t.Backoff.Attempt != c.Attempt || t.Backoff.Due {
		return refuse(CodeStale, "attempt %d of request %s is not waited for", c.Attempt, c.Request)
	}
	return events(&event.RequestDue{Request: c.Request, Attempt: c.Attempt})
}

// endTurn ends the turn, its inputs and its cycle.
func endTurn(s *projections.Session, t *projections.Turn, state, stop string, fault event.Failure) []event.Payload {
	out := []event.Payload{&event.TurnEnded{ID: t.ID, State: state, Stop: stop, Fault: fault}}
	out = append(out, settleInputs(s, t, state, stop, fault)...)
	if end, err := execution(s, lifecycle.ExecutionComplete, "completed", ""); err == nil {
		out = append(out, end)
	}
	return out
}
