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
)

// Part is a piece of a message. Text holds the words of text and reasoning, the arguments (JSON) of a call, and
// what the model is shown of a result.
type Part struct {
	Kind   PartKind
	Text   string
	CallID string // ours, unique in the session
	Tool   string
	Failed bool // of a result
}

// Section is a part of the system prompt.
type Section struct{ ID, Text string }

// Tool is what the provider is told of a tool. Schema is a JSON schema.
type Tool struct {
	Name, Description string
	Schema            []byte
}

// Request is the neutral form of what a provider is asked, before any surface's own form.
type Request struct {
	Model    string // the name within its provider
	Sections []Section
	Messages []Message
	Tools    []Tool
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

// Call is a complete tool call of a response. Args is what the model wrote, valid JSON or not.
type Call struct {
	ID   string // the provider's own
	Tool string
	Args string
}

// Usage counts tokens. A nil field is unknown, which is not zero.
type Usage struct {
	Input, Output, Reasoning, CacheRead, CacheWrite *uint64
}

// Response is the end of a stream that finished properly.
type Response struct {
	Finish string // "stop", "tool_calls", "length", "refusal"
	Calls  []Call
	Usage  Usage
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

// Error is a failed request. What the provider did not say stays zero.
type Error struct {
	Status     int // HTTP
	Code       string
	RequestID  string
	Reason     string // for people, free of secrets
	RetryAfter time.Duration
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
	// Entry and Conditional are as in Response.
	Entry       uint64
	Conditional bool
	Cause       error // of a stream that the caller broke off; nil otherwise
}

// Unwrap is what broke the stream off, where that is known: an error of emit, or that of ctx.
func (c *Cut) Unwrap() error { return c.Cause }

func (c *Cut) Error() string { return "the response was cut off: " + c.Reason }
