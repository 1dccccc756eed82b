package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Request is a request of the peer. It is answered exactly once, by Reply,
// ReplyThen or ReplyError, now or later and from any goroutine.
type Request struct {
	// ID is the id as its raw JSON text: 7, "7" with its quotes, null. It is the
	// request's name until the answer is queued; then the peer may use it again.
	ID string
	// Method is the method's name.
	Method string
	// Params is raw JSON, nil where the member is absent. It is part of the line
	// that was read: it may be kept and must not be changed.
	Params json.RawMessage

	key      string
	conn     *Conn
	ctx      context.Context
	cancel   context.CancelCauseFunc
	answered atomic.Bool
}

// Context ends when the peer withdraws the request (cause [ErrWithdrawn]), when
// the connection ends (cause [ErrClosed] or what ended it), and after the answer
// (cause [ErrAnswered]). A withdrawn request is still to be answered.
func (r *Request) Context() context.Context { return r.ctx }

// Decode decodes the params into v; see [Decode].
func (r *Request) Decode(v any) error { return Decode(r.Params, v) }

// Reply answers with a result; nil is null. It returns as soon as the answer is
// queued. A second answer is dropped, logged, and reported as [ErrAnswered].
func (r *Request) Reply(result any) error { return r.ReplyThen(result, nil) }

// ReplyThen is Reply, and then runs after. The answer is queued by then, so the
// peer reads it before whatever after sends. After runs in this goroutine and
// within the request's context; it does not run when there was no answer to send.
func (r *Request) ReplyThen(result any, after func()) error {
	return r.answer(result, nil, after)
}

// ReplyError answers with an error, as [AsError] maps it.
func (r *Request) ReplyError(err error) error { return r.answer(nil, AsError(err), nil) }

// Go runs f in a goroutine of its own. A panic in f is answered and logged like
// one in the handler.
func (r *Request) Go(f func()) { go r.Run(f) }

// Run runs f. A panic in f is answered and logged like one in the handler.
func (r *Request) Run(f func()) {
	defer r.recover()
	f()
}

func (r *Request) answer(result any, e *Error, after func()) error {
	if r.answered.Swap(true) {
		r.conn.log.Warn("dropped a second answer", "id", clip([]byte(r.ID)), "method", r.Method)
		return ErrAnswered
	}
	defer r.cancel(ErrAnswered)
	if err := r.conn.answer(r, result, e); err != nil {
		return err
	}
	if after != nil {
		after()
	}
	return nil
}

// recover answers a panic of the handler. A request that was answered before
// stays answered.
func (r *Request) recover() {
	p := recover()
	if p == nil {
		return
	}
	r.conn.log.Error("handler panicked", "method", r.Method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if !r.answered.Load() {
		_ = r.ReplyError(Errorf(CodeInternalError, "internal error in %s", r.Method))
	}
}
