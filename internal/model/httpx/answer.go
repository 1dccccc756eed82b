package httpx

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"zuno/internal/model"
)

// Answer collects what a surface's decoder finds and passes it on as chunks. Its errors are final.
type Answer struct {
	Usage model.Usage

	emit           func(model.Chunk) error
	text, thoughts int // bytes
	calls          []call
	finish, reason string
}

type call struct {
	id, tool string
	args     strings.Builder
	told     bool // its name was passed on
}

// NewAnswer makes an empty answer.
func NewAnswer(emit func(model.Chunk) error) *Answer { return &Answer{emit: emit} }

func (a *Answer) send(c model.Chunk) error {
	if err := a.emit(c); err != nil {
		return &broke{err}
	}
	return nil
}

func limit(what string) error { return &model.Error{Kind: model.KindLimit, Reason: what} }

// Text passes words on.
func (a *Answer) Text(s string) error {
	a.text += len(s)
	return a.words(model.ChunkText, s)
}

// Reasoning passes thoughts on.
func (a *Answer) Reasoning(s string) error {
	a.thoughts += len(s)
	return a.words(model.ChunkReasoning, s)
}

func (a *Answer) words(kind model.ChunkKind, s string) error {
	switch {
	case s == "":
		return nil
	case a.text+a.thoughts > MaxText:
		return limit("the answer's text is larger than what is taken of one")
	}
	return a.send(model.Chunk{Kind: kind, Text: s})
}

// Thoughts is how many bytes of reasoning came so far.
func (a *Answer) Thoughts() int { return a.thoughts }

// Calls is how many calls began.
func (a *Answer) Calls() int { return len(a.calls) }

// Begin adds a call and returns its index. What is not known yet is empty and may follow through [Answer.Know].
func (a *Answer) Begin(id, tool string) (int, error) {
	if len(a.calls) == MaxCalls {
		return 0, limit("the answer has more calls than are taken of one")
	}
	a.calls = append(a.calls, call{})
	i := len(a.calls) - 1
	return i, a.Know(i, id, tool)
}

// Know tells a call's id and name; what is known already, and what is empty, is left.
func (a *Answer) Know(i int, id, tool string) error {
	c := &a.calls[i]
	if len(id) > maxID || len(tool) > maxName {
		return limit("a call's id or name is too long")
	}
	if c.id == "" {
		c.id = id
	}
	if c.tool == "" {
		c.tool = tool
	}
	if c.told || c.tool == "" {
		return nil
	}
	c.told = true
	if err := a.send(model.Chunk{Kind: model.ChunkCall, Index: i, CallID: c.id, Tool: c.tool}); err != nil {
		return err
	}
	if c.args.Len() > 0 { // arguments that came before the name
		return a.send(model.Chunk{Kind: model.ChunkArgs, Index: i, CallID: c.id, Tool: c.tool, Text: c.args.String()})
	}
	return nil
}

// Args adds a piece of a call's arguments.
func (a *Answer) Args(i int, piece string) error {
	c := &a.calls[i]
	switch {
	case piece == "":
		return nil
	case c.args.Len()+len(piece) > MaxArgs:
		return limit("a call's arguments are larger than what is taken of one")
	}
	c.args.WriteString(piece)
	if !c.told {
		return nil
	}
	return a.send(model.Chunk{Kind: model.ChunkArgs, Index: i, CallID: c.id, Tool: c.tool, Text: piece})
}

// IDOf and ToolOf are what is known of a call; Complete says that its arguments are a whole JSON value.
func (a *Answer) IDOf(i int) string { return a.calls[i].id }

// ToolOf is the name of a call, empty while unknown.
func (a *Answer) ToolOf(i int) string { return a.calls[i].tool }

// Complete says that a call's arguments are a whole JSON value. It is asked with each piece, so it looks at all of them only
// where they may be.
func (a *Answer) Complete(i int) bool {
	args := strings.TrimRight(a.calls[i].args.String(), " \t\r\n")
	if strings.HasPrefix(args, "{") && !strings.HasSuffix(args, "}") {
		return false
	}
	return json.Valid([]byte(args))
}

// HasArgs says that some of a call's arguments came.
func (a *Answer) HasArgs(i int) bool { return a.calls[i].args.Len() > 0 }

// Finish notes the finish marker: finish in our words, reason in the provider's.
func (a *Answer) Finish(finish, reason string) {
	a.finish = finish
	if len(reason) > maxID {
		reason = reason[:maxID]
	}
	a.reason = strings.ToValidUTF8(reason, "")
}

// Finished says that [Answer.Finish] was called.
func (a *Answer) Finished() bool { return a.finish != "" }

// End is the answer once its stream is over: a response if it finished, otherwise a cut that says what marker is missing.
func (a *Answer) End(marker string) (*model.Response, error) {
	if !a.Finished() {
		return nil, &model.Cut{Reason: "the stream ended without " + marker, Retryable: true}
	}
	r := &model.Response{Finish: a.finish, Reason: a.reason, Usage: a.Usage}
	seen := map[string]bool{}
	for i := range a.calls {
		c := &a.calls[i]
		args := c.args.String()
		r.Calls = append(r.Calls, model.Call{ID: c.id, Tool: c.tool, Args: args, Defect: defect(c.tool, args, c.id != "" && seen[c.id])})
		seen[c.id] = true
	}
	switch {
	case r.Finish == model.FinishStop && len(r.Calls) > 0, r.Finish == model.FinishOther && len(r.Calls) > 0:
		r.Finish = model.FinishCalls // many servers say "stop" after calls
	case r.Finish == model.FinishCalls && len(r.Calls) == 0:
		r.Finish = model.FinishStop
	}
	switch {
	case len(r.Calls) > 0 || a.text > 0:
	case a.thoughts > 0:
		r.Lack = model.LackAnswer
	default:
		r.Lack = model.LackAll
	}
	return r, nil
}

// defect is the first thing that is wrong with a call. Empty arguments are none: whether a tool needs some, it knows itself.
func defect(tool, args string, duplicate bool) model.Defect {
	switch {
	case tool == "":
		return model.DefectNoName
	case duplicate:
		return model.DefectDuplicate
	case strings.TrimSpace(args) == "" || json.Valid([]byte(args)):
		return ""
	case ends(args):
		return model.DefectCut
	}
	return model.DefectInvalid
}

// ends says that args are the beginning of JSON.
func ends(args string) bool {
	d := json.NewDecoder(strings.NewReader(args))
	for {
		if _, err := d.Token(); err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "unexpected end")
		}
	}
}

// Malformed is the end of a stream with an event that cannot be read: the error that it reports all the same, or a cut. The
// text of a JSON error shows nothing of the event.
func Malformed(data []byte, err error) error {
	if reported := Inside(data); reported != nil {
		return reported
	}
	why := err.Error()
	if odd := (*json.UnmarshalTypeError)(nil); errors.As(err, &odd) { // whose text names our types
		why = "it is " + odd.Value
		if odd.Field != "" {
			why = "its field " + odd.Field + " is " + odd.Value
		}
	}
	return &model.Cut{Reason: "the stream holds an event that cannot be read: " + why, Retryable: true}
}

// Count is a number of tokens; what is no whole number from zero on is unknown.
type Count struct{ Tokens *uint64 }

// UnmarshalJSON never fails: a provider's odd figure must not cost its answer.
func (c *Count) UnmarshalJSON(data []byte) error {
	var n uint64
	if json.Unmarshal(data, &n) == nil && string(data) != "null" {
		c.Tokens = &n
	}
	return nil
}

// Or is c, or the other where c is unknown.
func (c Count) Or(other Count) Count {
	if c.Tokens == nil {
		return other
	}
	return c
}
