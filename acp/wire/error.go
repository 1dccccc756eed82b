package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Error codes of JSON-RPC 2.0, of ACP and of this agent.
const (
	CodeParseError       = -32700 // not JSON, or not UTF-8
	CodeInvalidRequest   = -32600 // JSON, but not a message; a line over the bound; an id in use
	CodeMethodNotFound   = -32601
	CodeInvalidParams    = -32602
	CodeInternalError    = -32603
	CodeRequestCancelled = -32800 // withdrawn by $/cancel_request
	CodeAuthRequired     = -32000
	CodeResourceNotFound = -32002 // unknown session or file; a refused steer carries data.reason
	CodeConflict         = -32004 // a message id that was used with other content
	CodeGated            = -32005 // the input is saved; its execution waits for a decision
	CodeInUse            = -32006 // another process owns the session
)

var (
	// ErrClosed is returned for whatever is sent on a connection that has ended,
	// and is the cancellation cause of requests that ran when it ended.
	ErrClosed = errors.New("connection is closed")

	// ErrWithdrawn is the cancellation cause of a request that the peer withdrew
	// with $/cancel_request. It maps to [CodeRequestCancelled].
	ErrWithdrawn = errors.New("request was withdrawn by the client")

	// ErrAnswered is the cancellation cause of a request's context once its
	// answer is queued, and the error of a second answer.
	ErrAnswered = errors.New("request is already answered")

	// ErrSlowReader ends a connection whose peer left more than
	// [Options.MaxQueue] bytes unread.
	ErrSlowReader = errors.New("client does not read: outbound queue is full")
)

// Error is the error member of an answer, in either direction.
type Error struct {
	Code    int64
	Message string // a sentence for people: clients show it
	Data    any    // marshalled as JSON; json.RawMessage in an Error that was received; nil leaves it out
}

// Errorf makes an Error with a formatted message.
func Errorf(code int64, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With returns a copy of e that carries data.
func (e *Error) With(data any) *Error {
	c := *e
	c.Data = data
	return &c
}

// Error is the message alone; the code is for machines.
func (e *Error) Error() string { return e.Message }

// AsError maps any error to the one that goes on the wire: an *Error anywhere
// in err's chain as it is, ErrWithdrawn to CodeRequestCancelled, everything else
// to CodeInternalError with err's text. The result is never nil.
func AsError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e != nil:
		return e
	case errors.Is(err, ErrWithdrawn):
		return &Error{Code: CodeRequestCancelled, Message: ErrWithdrawn.Error()}
	case err == nil || isNilError(err):
		return &Error{Code: CodeInternalError, Message: "internal error"}
	}
	return &Error{Code: CodeInternalError, Message: err.Error()}
}

// isNilError reports a nil *Error inside a non-nil error, whose text may not be asked for.
func isNilError(err error) bool {
	e, ok := err.(*Error)
	return ok && e == nil
}

// Decode decodes params into v. Absent params leave v as it is. The error is an
// *Error with CodeInvalidParams.
func Decode(params json.RawMessage, v any) error {
	if len(params) == 0 {
		return nil
	}
	err := json.Unmarshal(params, v)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch):
		return Errorf(CodeInvalidParams, "invalid params: %s must be %s, not a JSON %s", cmp.Or(mismatch.Field, "they"), wanted(mismatch.Type), mismatch.Value)
	}
	return Errorf(CodeInvalidParams, "invalid params: %v", err)
}

// wanted is what JSON has for a type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return wanted(t.Elem())
	}
	return "a whole number"
}

// ended tells why ctx is done: its error, and its cause where that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
