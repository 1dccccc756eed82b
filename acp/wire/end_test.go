package wire_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"zuno/acp/wire"
)

func TestTheLastLineNeedsNoNewline(t *testing.T) {
	p := connect(t, funcs{request: echo}, wire.Options{})
	io.WriteString(p.in, `{"id":1,"method":"m"}`)
	p.in.Close()
	p.want(`{"jsonrpc":"2.0","id":1,"result":"m"}`)
	<-p.conn.Done()
	if _, err := p.out.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("output is still open: %v", err)
	}
	if err := p.conn.Err(); err != nil {
		t.Error(err)
	}
}

// A request that runs at the end of input is answered within the drain time, and
// its context lives that long.
func TestEndOfInputDrains(t *testing.T) {
	reqs := make(chan *wire.Request, 1)
	p := connect(t, funcs{request: func(r *wire.Request) { reqs <- r }}, wire.Options{Drain: time.Minute})
	p.send(`{"id":1,"method":"m"}`)
	r := <-reqs
	lost := make(chan error, 1)
	go func() { lost <- p.conn.Call(context.Background(), "ask", nil, nil) }()
	p.want(`{"jsonrpc":"2.0","id":"zuno-1","method":"ask"}`)
	p.in.Close()
	// Our own call can have no answer any more, and says so at once.
	if err := <-lost; !errors.Is(err, wire.ErrClosed) {
		t.Fatal(err)
	}
	if r.Context().Err() != nil {
		t.Fatal("the request's context ended before the drain")
	}
	p.conn.Notify("update", nil)
	r.Reply("done")
	p.want(`{"jsonrpc":"2.0","method":"update"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":"done"}`)
	<-p.conn.Done()
}

func TestEndOfInputDoesNotWaitForever(t *testing.T) {
	reqs := make(chan *wire.Request, 1)
	p := connect(t, funcs{request: func(r *wire.Request) { reqs <- r }}, wire.Options{})
	p.send(`{"id":1,"method":"m"}`)
	r := <-reqs
	start := time.Now()
	p.in.Close()
	<-r.Context().Done()
	if d := time.Since(start); d < wire.DefaultDrain {
		t.Errorf("gave up after %v", d)
	}
	if cause := context.Cause(r.Context()); !errors.Is(cause, wire.ErrClosed) {
		t.Error(cause)
	}
	<-p.conn.Done()
	for _, err := range []error{r.Reply(1), p.conn.Notify("n", nil), p.conn.Call(context.Background(), "c", nil, nil)} {
		if !errors.Is(err, wire.ErrClosed) {
			t.Error(err)
		}
	}
}

func TestCloseEndsRequestsAndCalls(t *testing.T) {
	reqs := make(chan *wire.Request, 1)
	p := connect(t, funcs{request: func(r *wire.Request) { reqs <- r }}, wire.Options{})
	p.send(`{"id":1,"method":"m"}`)
	r := <-reqs
	lost := make(chan error, 1)
	go func() { lost <- p.conn.Call(context.Background(), "ask", nil, nil) }()
	p.want(`{"jsonrpc":"2.0","id":"zuno-1","method":"ask"}`)
	p.conn.Notify("queued", strings.Repeat("q", 30_000))
	p.conn.Close()
	if got := p.recv(); !strings.Contains(got, "qqq") {
		t.Error("what was queued before Close is lost")
	}
	if err := <-lost; !errors.Is(err, wire.ErrClosed) {
		t.Error(err)
	}
	<-r.Context().Done()
	if cause := context.Cause(r.Context()); !errors.Is(cause, wire.ErrClosed) {
		t.Error(cause)
	}
	p.conn.Close() // again
}

func TestTheConnectionEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	r, w := io.Pipe()
	defer w.Close()
	c := wire.New(ctx, r, io.Discard, funcs{}, wire.Options{Logger: slog.New(slog.DiscardHandler)})
	cancel(errors.New("shutdown"))
	<-c.Done()
}

// A client that does not read does not hold up the sender, up to the bound.
func TestASlowReaderDoesNotBlock(t *testing.T) {
	p := connect(t, funcs{request: echo}, wire.Options{})
	const n, size = 400, 100_000 // 40 MB, far over a pipe's buffer
	text := strings.Repeat("u", size)
	for range n {
		if err := p.conn.Notify("u", text); err != nil {
			t.Fatal(err)
		}
	}
	// Requests are still read, and cancellation works.
	p.send(`{"id":1,"method":"m"}`)
	for range n {
		if got := p.recv(); len(got) < size {
			t.Fatal(got)
		}
	}
	p.want(`{"jsonrpc":"2.0","id":1,"result":"m"}`)
}

func TestAReaderThatIsTooSlowEndsTheConnection(t *testing.T) {
	log := make(records, 10)
	p := connect(t, funcs{}, wire.Options{MaxQueue: 1 << 20, Logger: slog.New(log)})
	text := strings.Repeat("u", 100_000)
	var err error
	for i := 0; err == nil; i++ {
		if i > 20 {
			t.Fatal("the queue has no bound")
		}
		err = p.conn.Notify("u", text)
	}
	if !errors.Is(err, wire.ErrSlowReader) && !errors.Is(err, wire.ErrClosed) {
		t.Error(err)
	}
	<-p.conn.Done()
	if err := p.conn.Err(); !errors.Is(err, wire.ErrSlowReader) {
		t.Error(err)
	}
	if got := <-log; got != "connection ends" {
		t.Error(got)
	}
}

func TestAWriteErrorEndsTheConnection(t *testing.T) {
	p := connect(t, funcs{}, wire.Options{})
	p.rd.Close()
	p.conn.Notify("u", nil)
	<-p.conn.Done()
	if p.conn.Err() == nil {
		t.Error("no error")
	}
}

// A bad line that is the first thing read is answered, however early it comes.
func TestABadFirstLine(t *testing.T) {
	for range 200 {
		r, w := io.Pipe()
		go func() { io.WriteString(w, "x\n"); w.Close() }()
		c := wire.New(context.Background(), r, failing{}, funcs{}, wire.Options{Logger: slog.New(slog.DiscardHandler)})
		<-c.Done()
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
