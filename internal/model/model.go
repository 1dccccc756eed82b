package model

import (
	"context"
	"fmt"
	"time"
)

// Role says who speaks in a [Message].
type Role string

// The roles of a conversation. RoleTool carries the results of the calls of the assistant message before it.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the conversation that a provider sees.
type Message struct {
	Role  Role
	Parts []Part
}

// PartKind tells what a [Part] holds.
type PartKind string

// The kinds of parts.
const (
	PartText      PartKind = "text"
	PartReasoning PartKind = "reasoning"
	PartCall      PartKind = "call"
	PartResult    PartKind = "result"
	PartImage     PartKind = "image" // of a user's message
)

// Part is a piece of a message. Text holds the words of text and reasoning, the arguments (JSON) of a call, and
// what the model is shown of a result.
type Part struct {
	Kind   PartKind
	Text   string
	CallID string // ours, unique in the session
	Tool   string
	Failed bool // of a result
	// Media is the type of an image, such as image/png, and Data its bytes.
	Media string
	Data  []byte
}

// Section is a part of the system prompt.
type Section struct{ ID, Text string }

// Tool is what the provider is told of a tool. Schema is a JSON schema.
type Tool struct {
	Name, Description string
	Schema            []byte
}

// Params are what a request asks of the model's way of answering. Zero or nil leaves it to the provider.
type Params struct {
	MaxOutput         uint64 // tokens
	Temperature, TopP *float64
	Reasoning         string // a level that the model's configuration names, in the provider's own word
}

// Request is the neutral form of what a provider is asked, before any surface's own form.
type Request struct {
	Model    string // the name within its provider
	Sections []Section
	Messages []Message
	Tools    []Tool
	Params   Params
	Cwd      string
	// Position counts the responses and errors recorded in the session so far, and Used the entries with a
	// condition that have answered: the scripted model's place in its script. No other provider reads them.
	Position uint64
	Used     []uint64
}

// ChunkKind tells what a [Chunk] adds.
type ChunkKind uint8

// The kinds of chunks.
const (
	ChunkText ChunkKind = iota
	ChunkReasoning
	ChunkCall // the name of call Index is known
	ChunkArgs // a further piece of call Index's arguments
)

// Chunk is a piece of a response as it streams in.
type Chunk struct {
	Kind   ChunkKind
	Text   string // words, or a piece of arguments
	Index  int    // which call, from 0
	CallID string // the provider's own id of a call
	Tool   string
	// Entry and Conditional are as in Response: so that a response that is broken off is still known to have used its entry.
	Entry       uint64
	Conditional bool
}

// Defect is what is wrong with a call of a finished response.
type Defect string

// The defects. A call has at most one, the first of these that holds.
const (
	DefectNoName    Defect = "no_name"           // Tool is empty
	DefectDuplicate Defect = "duplicate_id"      // an earlier call of this response has the same provider id
	DefectCut       Defect = "arguments_cut"     // Args end before their JSON does
	DefectInvalid   Defect = "arguments_invalid" // Args are neither empty nor JSON
)

// Call is a complete tool call of a response. Args is what the model wrote, valid JSON or not.
type Call struct {
	ID   string // the provider's own; empty where it gave none
	Tool string
	Args string
	// Defect is what the provider noticed of a broken call, which keeps its position. Whether an id was used in an earlier
	// response only the session knows.
	Defect Defect
}

// Usage counts tokens. A nil field is unknown, which is not zero. Input includes what was read from a cache or written to
// one, and Output includes Reasoning, on every surface.
type Usage struct {
	Input, Output, Reasoning, CacheRead, CacheWrite *uint64
}

// Merge takes over what a later snapshot of the same response says. Figures of one response are totals so far: the last one
// counts, and what a later snapshot leaves out stays as it was.
func (u *Usage) Merge(later Usage) {
	for _, f := range []struct{ have, got **uint64 }{
		{&u.Input, &later.Input},
		{&u.Output, &later.Output},
		{&u.Reasoning, &later.Reasoning},
		{&u.CacheRead, &later.CacheRead},
		{&u.CacheWrite, &later.CacheWrite},
	} {
		if *f.got != nil {
			*f.have = *f.got
		}
	}
}

// The finishes of a [Response].
const (
	FinishStop    = "stop"
	FinishCalls   = "tool_calls" // exactly when there are calls, except with FinishLength and FinishRefusal
	FinishLength  = "length"
	FinishRefusal = "refusal"
	FinishOther   = "other" // a reason that is not known here; Reason holds it
)

// Lack is what a finished response misses.
type Lack string

// The lacks. A response with a call lacks nothing.
const (
	LackAll    Lack = "empty_response" // neither a word nor a thought
	LackAnswer Lack = "thoughts_only"
)

// Response is the end of a stream that finished properly.
type Response struct {
	Finish string // "stop", "tool_calls", "length", "refusal", "other"
	Reason string // the provider's own word for it, where it gave one
	Lack   Lack   // empty: nothing
	Calls  []Call
	Usage  Usage
	// RequestID is the provider's own; empty where it gave none.
	RequestID string
	// Entry is the scripted model's entry (from 1) that answered; Conditional says that it had a `when`.
	Entry       uint64
	Conditional bool
}

// Provider answers requests. Stream calls emit for each chunk, in order, from the calling goroutine; an error of emit
// ends the stream with that error. The error is an [*Error], a [*Cut], or that of ctx.
type Provider interface {
	Stream(ctx context.Context, r *Request, emit func(Chunk) error) (*Response, error)
}

// Limits are what is known of a model. Zero is unknown.
type Limits struct{ Context, Output uint64 }

// Clock is the only time that a provider sees.
type Clock interface {
	// Sleep waits for d or the end of ctx, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// Kind says what failed, in our words; an [Error]'s Code is the provider's.
type Kind string

// The kinds of errors.
const (
	KindStatus        Kind = "http_status"     // an answer with a status other than success
	KindInside        Kind = "error_inside"    // an error inside a successful answer, at its start or in its stream
	KindHTML          Kind = "html"            // a page instead of the interface: a wrong address, a proxy, a portal
	KindContent       Kind = "not_a_stream"    // a successful answer that is something else
	KindRedirect      Kind = "redirect"        // none is followed
	KindConnect       Kind = "connect"         // no connection, or none that lived until an answer began
	KindTLS           Kind = "tls"             // a certificate or a protocol that cannot be trusted
	KindHeaderTimeout Kind = "header_timeout"  // no answer began
	KindIdleTimeout   Kind = "idle_timeout"    // nothing came for too long
	KindTotalTimeout  Kind = "total_timeout"   // the whole request took too long
	KindLimit         Kind = "limit"           // an answer beyond what is taken: its line, text, calls or arguments
	KindNoKey         Kind = "no_key"          // nothing was sent
	KindRequest       Kind = "request_invalid" // the request cannot be put into the surface's form; nothing was sent
)

// Error is a failed request. What the provider did not say stays zero.
type Error struct {
	Status     int // HTTP
	Code       string
	RequestID  string
	Reason     string // for people, free of secrets; a whole sentence where there is no status and no code
	RetryAfter time.Duration
	// Kind is empty with providers that reach no network. Retryable says that the same request may succeed later, and
	// Auth that the provider did not accept, or did not get, who asks.
	Kind      Kind
	Retryable bool
	Auth      bool
	// Entry and Conditional are as in Response.
	Entry       uint64
	Conditional bool
}

func (e *Error) Error() string {
	switch {
	case e.Status != 0 && e.Code != "":
		return fmt.Sprintf("provider answered %d (%s): %s", e.Status, e.Code, e.Reason)
	case e.Status != 0:
		return fmt.Sprintf("provider answered %d: %s", e.Status, e.Reason)
	case e.Code != "":
		return e.Code + ": " + e.Reason
	}
	return e.Reason
}

// Cut is a stream that broke off before its finish marker.
type Cut struct {
	Reason string
	// Retryable is false where the caller broke it off.
	Retryable bool
	RequestID string // the provider's own; empty where it gave none
	// Entry and Conditional are as in Response.
	Entry       uint64
	Conditional bool
	Cause       error // of a stream that the caller broke off; nil otherwise
}

// Unwrap is what broke the stream off, where that is known: an error of emit, or that of ctx.
func (c *Cut) Unwrap() error { return c.Cause }

func (c *Cut) Error() string { return "the response was cut off: " + c.Reason }
