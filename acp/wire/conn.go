package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

const (
	// DefaultMaxLine is the longest line that is read, in bytes.
	DefaultMaxLine = 64 << 20
	// DefaultMaxQueue is how much may wait to be written, in bytes.
	DefaultMaxQueue = 64 << 20
	// DefaultDrain is the time that running requests get at the end of input.
	DefaultDrain = 25 * time.Millisecond

	methodCancel = "$/cancel_request"
	// idPrefix starts the ids of our calls. An answer under any other id is not ours.
	idPrefix = "zuno-"
)

// Handler receives what the peer sends, in the order in which it was read and one
// message at a time: nothing else is read until it returns. It must not wait for
// a [Conn.Call], whose answer would be read by the goroutine that it holds up.
//
// A panic is logged and answered with CodeInternalError; the connection goes on.
type Handler interface {
	// Request takes a request, to be answered once, now or later. ctx is req.Context().
	Request(ctx context.Context, req *Request)
	// Notify takes a notification. Unknown ones are ignored. Params are as in
	// [Request]. $/cancel_request does not come here; it ends a Request's context.
	Notify(ctx context.Context, method string, params json.RawMessage)
}

// Options of a connection. The zero value is ready for use.
type Options struct {
	MaxLine  int           // bytes; DefaultMaxLine if 0
	MaxQueue int           // bytes; DefaultMaxQueue if 0
	Drain    time.Duration // DefaultDrain if 0, none if negative; also bounds the last writes
	Logger   *slog.Logger  // slog.Default if nil; must not write to the connection's own output
}

// Conn is one connection. Its methods may be called from any goroutine.
type Conn struct {
	s      *stream
	h      Handler
	log    *slog.Logger
	jc     *jsonrpc2.Conn
	ctx    context.Context
	cancel context.CancelCauseFunc
	seq    atomic.Uint64
	err    atomic.Pointer[error]
	ready  chan struct{} // closed when jc is set
}

// New starts a connection that reads r and writes w, and delivers to h at once.
// It owns both: those that are io.Closers are closed when the connection ends,
// which it does with ctx, at the end of input, on a write error, when the peer
// does not read, and by Close.
func New(ctx context.Context, r io.Reader, w io.Writer, h Handler, o Options) *Conn {
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.MaxQueue <= 0 {
		o.MaxQueue = DefaultMaxQueue
	}
	if o.Drain == 0 {
		o.Drain = DefaultDrain
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Conn{h: h, log: o.Logger, ready: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.s = &stream{
		lines:   newLineReader(r, o.MaxLine),
		drain:   max(o.Drain, 0),
		log:     o.Logger,
		atEOF:   func() { c.cancel(ErrClosed) },
		running: map[string]*Request{},
		calls:   map[string]*call{},
		idle:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	c.s.out = newQueue(w, o.MaxQueue, c.fail)
	for _, end := range []any{r, w} {
		if cl, ok := end.(io.Closer); ok {
			c.s.closers = append(c.s.closers, cl)
		}
	}
	go c.s.out.run()
	c.jc = jsonrpc2.NewConn(c.ctx, c.s, handler{c}, jsonrpc2.OnSend(c.s.onSend), jsonrpc2.SetLogger(printer{o.Logger}))
	close(c.ready)
	return c
}

// Done is closed when the connection has ended and its last writes are made or given up.
func (c *Conn) Done() <-chan struct{} { return c.s.done }

// Err tells what ended the connection, if it was a failure: [ErrSlowReader] or a
// write error. It is nil before, and after Close and the end of input.
func (c *Conn) Err() error {
	if p := c.err.Load(); p != nil {
		return *p
	}
	return nil
}

// Close ends the connection: contexts of running requests end, queued messages are
// written for up to the drain time. It returns when Done is closed.
func (c *Conn) Close() error {
	c.cancel(ErrClosed)
	_ = c.jc.Close()
	<-c.s.done
	return nil
}

// fail ends the connection for a failure of its output.
func (c *Conn) fail(err error) {
	err = fmt.Errorf("write to client: %w", err)
	c.err.CompareAndSwap(nil, &err)
	c.log.Error("connection ends", "error", err)
	c.cancel(err)
	<-c.ready
	_ = c.jc.Close()
}

// Notify queues a notification and returns. Params are an [Appender], raw JSON, or
// anything that encodes as JSON; nil leaves them out.
func (c *Conn) Notify(method string, params any) error {
	return c.send(method, params, func(opts ...jsonrpc2.CallOption) error {
		return c.jc.Notify(c.ctx, method, nil, opts...)
	})
}

// Lines queues notifications that are encoded already, each as a whole line. Other than Notify it waits while the peer reads
// slowly, so that any number may be sent; a peer that reads nothing for half a minute ends the connection.
func (c *Conn) Lines(lines []byte) error { return closedErr(c.s.out.lines(lines)) }

// Call sends a request and waits for its answer, which is decoded into result
// unless that is nil. An error of the peer is an *Error.
//
// When ctx ends first, Call withdraws the request with $/cancel_request and
// returns at once with ctx's error and its cause; an answer that comes later is
// dropped. When the connection ends, Call returns ErrClosed.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return fmt.Errorf("call %s: %w", method, ended(ctx))
	}
	id := idPrefix + strconv.FormatUint(c.seq.Add(1), 10)
	pending := c.s.register(id)
	if pending == nil {
		return fmt.Errorf("call %s: %w", method, ErrClosed)
	}
	var w jsonrpc2.Waiter
	err := c.send(method, params, func(opts ...jsonrpc2.CallOption) (err error) {
		opts = append(opts, jsonrpc2.PickID(jsonrpc2.ID{Str: id, IsString: true}))
		w, err = c.jc.DispatchCall(ctx, method, nil, opts...)
		return err
	})
	if err != nil {
		c.s.drop(id)
		return fmt.Errorf("call %s: %w", method, err)
	}
	switch err := w.Wait(ctx, nil); {
	case err != nil && ctx.Err() != nil:
		if c.s.forget(id) {
			_ = c.Notify(methodCancel, map[string]string{"requestId": id})
		}
		return fmt.Errorf("call %s: %w", method, ended(ctx))
	case err != nil:
		return fmt.Errorf("call %s: %w", method, closedErr(err))
	case pending.lost != nil:
		return fmt.Errorf("call %s: %w", method, pending.lost)
	case pending.err != nil:
		return fmt.Errorf("call %s: %w", method, peerError(pending.err))
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(pending.result, result); err != nil {
		return fmt.Errorf("call %s: decode the result: %w", method, err)
	}
	return nil
}

// send encodes params and gives them to f as an option.
func (c *Conn) send(method string, params any, f func(...jsonrpc2.CallOption) error) error {
	if params == nil {
		return closedErr(f())
	}
	buf := newScratch()
	defer putScratch(buf) // the queue has its own copy when f returns
	if err := encode(buf, params); err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	return closedErr(f(jsonrpc2.ExtraField(paramsField, buf.Bytes())))
}

// answer encodes and queues the answer of a request.
func (c *Conn) answer(r *Request, result any, e *Error) error {
	buf := newScratch()
	defer putScratch(buf)
	if e == nil {
		if err := encode(buf, result); err != nil {
			c.log.Error("result cannot be encoded", "method", r.Method, "error", err)
			buf.Reset()
			e = Errorf(CodeInternalError, "the result of %s cannot be encoded", r.Method)
		}
	}
	res := &jsonrpc2.Response{ID: jsonrpc2.ID{Str: r.key, IsString: true}}
	raw := json.RawMessage(nil)
	if e != nil {
		encodeError(buf, e)
		raw = buf.Bytes()
		res.Error = &jsonrpc2.Error{Code: e.Code, Data: &raw} // Data is the whole error; see writeAnswer
	} else {
		raw = buf.Bytes()
		res.Result = &raw
	}
	return closedErr(c.jc.SendResponse(c.ctx, res))
}

func newScratch() *bytes.Buffer { return scratch.Get().(*bytes.Buffer) }

// closedErr makes jsonrpc2's ErrClosed ours.
func closedErr(err error) error {
	if errors.Is(err, jsonrpc2.ErrClosed) {
		return ErrClosed
	}
	return err
}

// peerError decodes an error member. One that is not shaped like an error is kept
// as the data of an internal error.
func peerError(raw json.RawMessage) *Error {
	var e struct {
		Code    *float64        `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Code == nil {
		return &Error{Code: CodeInternalError, Message: "the client's error is malformed", Data: raw}
	}
	out := &Error{Code: int64(*e.Code), Message: e.Message}
	if e.Data != nil {
		out.Data = e.Data
	}
	return out
}

// handler receives from jsonrpc2, which knows which message is next; the stream
// has the message.
type handler struct{ c *Conn }

func (h handler) Handle(_ context.Context, _ *jsonrpc2.Conn, _ *jsonrpc2.Request) {
	<-h.c.ready
	in := h.c.s.in
	if in.req != nil {
		h.c.request(in.req)
		return
	}
	h.c.notification(in.method, in.params)
}

func (c *Conn) request(r *Request) {
	r.conn = c
	r.ctx, r.cancel = context.WithCancelCause(c.ctx)
	defer r.recover()
	c.h.Request(r.ctx, r)
}

func (c *Conn) notification(method string, params json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("handler panicked", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	if method == methodCancel {
		c.withdraw(params)
		return
	}
	c.h.Notify(c.ctx, method, params)
}

// withdraw ends the context of the request that $/cancel_request names. An id that
// is not running is ignored: the answer crossed the cancellation.
func (c *Conn) withdraw(params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil || len(p.RequestID) == 0 {
		c.log.Warn("ignored a malformed notification", "method", methodCancel)
		return
	}
	if r := c.s.find(p.RequestID); r != nil {
		r.cancel(ErrWithdrawn)
	}
}

// printer is jsonrpc2's logger.
type printer struct{ log *slog.Logger }

func (p printer) Printf(format string, v ...any) {
	p.log.Warn(strings.TrimSpace(fmt.Sprintf(format, v...)))
}
