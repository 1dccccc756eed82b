package event

import "zuno/journal"

// Turns is the way of a turn and of its requests to the model.
var Turns = Group{
	Of[TurnStarted]("session.turn.started.1"),
	Of[TurnEnded]("session.turn.ended.1"),
	Of[RequestStarted]("session.request.started.1"),
	Of[ResponsePart]("session.response.part.1"),
	Of[ResponseCompleted]("session.response.completed.1"),
	Of[ResponseCut]("session.response.cut.1"),
	Of[RequestFailed]("session.request.failed.1"),
	Of[RequestBackoff]("session.request.backoff.1"),
	Of[RequestDue]("session.request.due.1"),
}

// TurnStarted begins a turn, for the inputs of the delivery batch beside it.
type TurnStarted struct {
	ID      string      `msgpack:"id" json:"id"`
	Cycle   string      `msgpack:"cycle" json:"cycle"`
	Trigger Trigger     `msgpack:"trigger" json:"trigger"`
	Model   ModelChoice `msgpack:"model" json:"model"`
	// Discussion: the turn answers in words only. All tools are disabled, because an effect of unknown outcome holds the session.
	Discussion bool `msgpack:"discussion" json:"discussion,omitempty"`
}

// TurnEnded ends it: completed, cancelled or failed.
type TurnEnded struct {
	ID    string  `msgpack:"id" json:"id"`
	State string  `msgpack:"state" json:"state"`
	Stop  string  `msgpack:"stop" json:"stop,omitempty"` // ACP stop reason of a turn that did not fail
	Fault Failure `msgpack:"failure" json:"failure,omitzero"`
}

// RequestStarted: the provider is about to be asked. It is durable before the first byte is sent.
type RequestStarted struct {
	ID      string         `msgpack:"id" json:"id"`
	Turn    string         `msgpack:"turn" json:"turn"`
	Number  uint64         `msgpack:"n" json:"n"` // within the turn, from 1
	Attempt uint64         `msgpack:"attempt" json:"attempt"`
	Digests RequestDigests `msgpack:"digests" json:"digests,omitzero"`
}

// RequestDigests identify the neutral request, before any surface's own form, as a whole and by its parts. They are salted.
type RequestDigests struct {
	Request  journal.Hash `msgpack:"request" json:"request"`
	Sections journal.Hash `msgpack:"sections" json:"sections"`
	Messages journal.Hash `msgpack:"messages" json:"messages"`
	Tools    journal.Hash `msgpack:"tools" json:"tools"`
}

// PartKind is what a part of a response holds.
type PartKind string

// The kinds of parts.
const (
	PartText      PartKind = "text"
	PartReasoning PartKind = "reasoning"
)

// ResponsePart is a piece of a response that has been shown.
type ResponsePart struct {
	Request string   `msgpack:"request" json:"request"`
	Attempt uint64   `msgpack:"attempt" json:"attempt"`
	Kind    PartKind `msgpack:"kind" json:"kind"`
	Text    Text     `msgpack:"text" json:"text"`
	// Entry and Conditional are as in ResponseCompleted.
	Entry       uint64 `msgpack:"entry" json:"entry,omitempty"`
	Conditional bool   `msgpack:"conditional" json:"conditional,omitempty"`
}

// Usage counts the tokens of one response. What the provider did not say is nil, which is not zero. Input includes CacheRead and
// CacheWrite, Output includes Reasoning.
type Usage struct {
	Input      *uint64 `msgpack:"input" json:"input,omitempty"`
	Output     *uint64 `msgpack:"output" json:"output,omitempty"`
	Reasoning  *uint64 `msgpack:"reasoning" json:"reasoning,omitempty"`
	CacheRead  *uint64 `msgpack:"cache_read" json:"cache_read,omitempty"`
	CacheWrite *uint64 `msgpack:"cache_write" json:"cache_write,omitempty"`
}

// ResponseCompleted: the stream ended with its finish marker. Only now may its calls run.
type ResponseCompleted struct {
	Request string `msgpack:"request" json:"request"`
	Attempt uint64 `msgpack:"attempt" json:"attempt"`
	Finish  string `msgpack:"finish" json:"finish"`
	Usage   Usage  `msgpack:"usage" json:"usage,omitzero"`
	Calls   uint64 `msgpack:"calls" json:"calls,omitempty"` // how many call.requested follow in this commit
	// Parts is the digest over the response's parts: SHA-256 of the digests of their texts, one after the other.
	Parts journal.Hash `msgpack:"parts" json:"parts"`
	// Entry is the place in the scripted model's script that answered; Conditional that it had a condition.
	Entry       uint64 `msgpack:"entry" json:"entry,omitempty"`
	Conditional bool   `msgpack:"conditional" json:"conditional,omitempty"`
	Lack        string `msgpack:"lack" json:"lack,omitempty"` // what a final answer misses, where the turn goes on with what waits
}

// CutReason says why an attempt ended without its finish marker.
type CutReason string

// The reasons.
const (
	CutStream      CutReason = "stream"      // the stream broke off
	CutCancelled   CutReason = "cancelled"   // the turn was stopped
	CutInterrupted CutReason = "interrupted" // the process died
)

// ResponseCut closes an attempt. What was shown of it stays visible, but is no part of the model's history.
type ResponseCut struct {
	Request string    `msgpack:"request" json:"request"`
	Attempt uint64    `msgpack:"attempt" json:"attempt"`
	Reason  CutReason `msgpack:"reason" json:"reason"`
	Detail  Text      `msgpack:"detail" json:"detail"`
	Calls   []CutCall `msgpack:"calls" json:"calls,omitempty"`
	// Fault is what the provider said of it, where it did. Its reason is Detail.
	Fault Failure `msgpack:"failure" json:"failure,omitzero"`
	// Entry and Conditional are as in ResponseCompleted.
	Entry       uint64 `msgpack:"entry" json:"entry,omitempty"`
	Conditional bool   `msgpack:"conditional" json:"conditional,omitempty"`
}

// CutCall is a call whose card was shown and that never completed.
type CutCall struct {
	ID   string `msgpack:"id" json:"id"`
	Tool string `msgpack:"tool" json:"tool"`
}

// RequestFailed: the provider refused or could not be reached.
type RequestFailed struct {
	Request      string  `msgpack:"request" json:"request"`
	Attempt      uint64  `msgpack:"attempt" json:"attempt"`
	Fault        Failure `msgpack:"failure" json:"failure"`
	RetryAfterMS uint64  `msgpack:"retry_after_ms" json:"retry_after_ms,omitempty"`
	Entry        uint64  `msgpack:"entry" json:"entry,omitempty"`
	Conditional  bool    `msgpack:"conditional" json:"conditional,omitempty"`
}

// RequestBackoff: the attempt is over and the next one waits. The deadline is durable before anyone waits for it.
type RequestBackoff struct {
	Request string `msgpack:"request" json:"request"`
	Attempt uint64 `msgpack:"attempt" json:"attempt"` // the next one
	Until   int64  `msgpack:"until" json:"until"`     // milliseconds since the epoch
	DelayMS uint64 `msgpack:"delay_ms" json:"delay_ms"`
}

// RequestDue: the wait is over.
type RequestDue struct {
	Request string `msgpack:"request" json:"request"`
	Attempt uint64 `msgpack:"attempt" json:"attempt"`
}
