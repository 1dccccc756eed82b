package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"zuno/acp/wire"
)

// records is a slog.Handler that hands each message to a channel.
type records chan string

func (r records) Enabled(context.Context, slog.Level) bool { return true }
func (r records) Handle(_ context.Context, rec slog.Record) error {
	select {
	case r <- rec.Message:
	default:
	}
	return nil
}
func (r records) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r records) WithGroup(string) slog.Handler      { return r }

func TestEachRequestIsAnsweredOnce(t *testing.T) {
	log := make(records, 10)
	second := make(chan error, 1)
	p := connect(t, funcs{request: func(r *wire.Request) {
		r.Reply(1)
		second <- r.ReplyError(errors.New("too late"))
	}}, wire.Options{Logger: slog.New(log)})
	p.send(`{"id":1,"method":"m"}`, `{"id":2,"method":"m"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":1}`)
	p.want(`{"jsonrpc":"2.0","id":2,"result":1}`)
	if err := <-second; !errors.Is(err, wire.ErrAnswered) {
		t.Error(err)
	}
	if got := <-log; !strings.Contains(got, "second answer") {
		t.Error(got)
	}
}

func TestAnswersRace(t *testing.T) {
	p := connect(t, funcs{request: func(r *wire.Request) {
		for i := range 8 {
			r.Go(func() { r.Reply(i) })
		}
	}}, wire.Options{})
	for i := range 100 {
		p.send(fmt.Sprintf(`{"id":%d,"method":"m"}`, i))
		if got := p.recv(); !strings.HasPrefix(got, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":`, i)) {
			t.Fatal(got)
		}
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	var e *wire.Error
	replies := map[string]func(*wire.Request) error{
		"typed": func(r *wire.Request) error { return r.ReplyError(wire.Errorf(wire.CodeAuthRequired, "log in")) },
		"wrapped": func(r *wire.Request) error {
			return r.ReplyError(fmt.Errorf("open: %w", wire.Errorf(-32002, "session not found").With(map[string]string{"reason": "unknown"})))
		},
		"plain":       func(r *wire.Request) error { return r.ReplyError(errors.New("disk <full>")) },
		"nil":         func(r *wire.Request) error { return r.ReplyError(nil) },
		"typed nil":   func(r *wire.Request) error { return r.ReplyError(e) },
		"bad data":    func(r *wire.Request) error { return r.ReplyError(wire.Errorf(1, "m").With(func() {})) },
		"withdrawn":   func(r *wire.Request) error { return r.ReplyError(fmt.Errorf("prompt: %w", wire.ErrWithdrawn)) },
		"bad result":  func(r *wire.Request) error { return r.Reply(make(chan int)) },
		"nil result":  func(r *wire.Request) error { return r.Reply(nil) },
		"html result": func(r *wire.Request) error { return r.Reply("<a> & \u2028") },
		"raw result":  func(r *wire.Request) error { return r.Reply(json.RawMessage("{\n \"a\": \"\u2029\u20ac\"\n}")) },
		"decode":      func(r *wire.Request) error { return r.ReplyError(r.Decode(new(struct{ A int }))) },
	}
	p := connect(t, funcs{request: func(r *wire.Request) { replies[r.Method](r) }}, wire.Options{})
	for _, c := range [][2]string{
		{"typed", `"error":{"code":-32000,"message":"log in"}`},
		{"wrapped", `"error":{"code":-32002,"message":"session not found","data":{"reason":"unknown"}}`},
		{"plain", `"error":{"code":-32603,"message":"disk <full>"}`},
		{"nil", `"error":{"code":-32603,"message":"internal error"}`},
		{"typed nil", `"error":{"code":-32603,"message":"internal error"}`},
		{"bad data", `"error":{"code":1,"message":"m"}`},
		{"withdrawn", `"error":{"code":-32800,"message":"request was withdrawn by the client"}`},
		{"bad result", `"error":{"code":-32603,"message":"the result of bad result cannot be encoded"}`},
		{"nil result", `"result":null`},
		{"html result", `"result":"<a> & \u2028"`},
		{"raw result", `"result":{"a":"\u2029€"}`},
		{"decode", `"error":{"code":-32602,"message":"invalid params: A must be a whole number, not a JSON string"}`},
	} {
		p.send(`{"id":1,"method":"` + c[0] + `","params":{"A":"x"}}`)
		p.want(`{"jsonrpc":"2.0","id":1,` + c[1] + `}`)
	}
}

func TestAPanicIsAnsweredAndTheConnectionLives(t *testing.T) {
	log := make(records, 10)
	p := connect(t, funcs{
		request: func(r *wire.Request) {
			switch r.Method {
			case "inline":
				panic("inline")
			case "go":
				r.Go(func() { panic("in a goroutine") })
			case "answered":
				r.Reply(1)
				panic("after the answer")
			default:
				r.Reply("alive")
			}
		},
		notify: func(context.Context, string, json.RawMessage) { panic("notified") },
	}, wire.Options{Logger: slog.New(log)})
	p.send(`{"id":1,"method":"inline"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error in inline"}}`)
	p.send(`{"id":1,"method":"go"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error in go"}}`)
	p.send(`{"method":"n"}`, `{"id":1,"method":"answered"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":1}`)
	p.send(`{"id":1,"method":"m"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":"alive"}`)
	for range 4 {
		if got := <-log; got != "handler panicked" {
			t.Error(got)
		}
	}
}

func TestWithdrawal(t *testing.T) {
	reqs := make(chan *wire.Request, 10)
	p := connect(t, funcs{request: func(r *wire.Request) { reqs <- r }}, wire.Options{})
	p.send(`{"id":7,"method":"a"}`, `{"id":"7","method":"b"}`)
	number, text := <-reqs, <-reqs

	// The JSON type counts, and nothing else ends a context.
	p.send(`{"method":"$/cancel_request","params":{"requestId":7.0}}`, `{"method":"$/cancel_request"}`,
		`{"method":"$/cancel_request","params":7}`, `{"method":"$/cancel_request","params":{"requestId":"\u0037"}}`)
	<-text.Context().Done()
	if cause := context.Cause(text.Context()); !errors.Is(cause, wire.ErrWithdrawn) {
		t.Fatal(cause)
	}
	if number.Context().Err() != nil {
		t.Fatal("the number was withdrawn with the string")
	}
	p.send(`{"method":"$/cancel_request","params":{"requestId":7}}`)
	<-number.Context().Done()

	// Still to be answered, once.
	text.ReplyError(context.Cause(text.Context()))
	p.want(`{"jsonrpc":"2.0","id":"7","error":{"code":-32800,"message":"request was withdrawn by the client"}}`)
	number.Reply("partial")
	p.want(`{"jsonrpc":"2.0","id":7,"result":"partial"}`)

	// A cancellation that crossed the answer does not reach the next user of the id.
	p.send(`{"method":"$/cancel_request","params":{"requestId":7}}`, `{"id":7,"method":"c"}`)
	again := <-reqs
	if again.Context().Err() != nil {
		t.Fatal("a new request was withdrawn by an old cancellation")
	}
	again.Reply(1)
	p.want(`{"jsonrpc":"2.0","id":7,"result":1}`)
	<-again.Context().Done()
	if cause := context.Cause(again.Context()); !errors.Is(cause, wire.ErrAnswered) {
		t.Error(cause)
	}
}

// What after sends follows the answer, though others are sending all the time.
//
// spec: D133
func TestWhatFollowsAnAnswerFollowsIt(t *testing.T) {
	var c *wire.Conn
	stop := make(chan struct{})
	var noise sync.WaitGroup
	p := connect(t, funcs{request: func(r *wire.Request) {
		<-stop
		r.Go(func() {
			r.ReplyThen(map[string]string{"sessionId": r.ID}, func() { c.Notify("session/update", r.Params) })
		})
	}}, wire.Options{})
	c = p.conn
	close(stop)
	for range 4 {
		noise.Go(func() {
			for range 500 {
				c.Notify("noise", nil)
			}
		})
	}
	for i := range 200 {
		p.send(fmt.Sprintf(`{"id":%d,"method":"session/new","params":{"of":%d}}`, i, i))
	}
	answered := map[string]bool{}
	for updates := 0; updates < 200; {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Of json.RawMessage }
		}
		json.Unmarshal([]byte(p.recv()), &m)
		switch {
		case m.ID != nil:
			answered[string(m.ID)] = true
		case m.Method == "session/update":
			updates++
			if !answered[string(m.Params.Of)] {
				t.Fatalf("update of %s precedes its answer", m.Params.Of)
			}
		}
	}
	noise.Wait()
}

// Updates that a turn sent are all written before its answer.
//
// spec: D132 D133
func TestUpdatesPrecedeTheAnswer(t *testing.T) {
	var c *wire.Conn
	ready := make(chan struct{})
	p := connect(t, funcs{request: func(r *wire.Request) {
		<-ready
		r.Go(func() {
			for i := range 50 {
				c.Notify("u", []int{i})
			}
			r.Reply("done")
		})
	}}, wire.Options{})
	c = p.conn
	close(ready)
	for range 20 {
		p.send(`{"id":1,"method":"prompt"}`)
		for i := range 50 {
			p.want(fmt.Sprintf(`{"jsonrpc":"2.0","method":"u","params":[%d]}`, i))
		}
		p.want(`{"jsonrpc":"2.0","id":1,"result":"done"}`)
	}
}

// spec: D132
func TestOrderOf20000Notifications(t *testing.T) {
	const n = 20_000
	var c *wire.Conn
	ready, ended := make(chan struct{}), make(chan int, 1)
	next, inversions := 0, 0
	p := connect(t, funcs{notify: func(_ context.Context, _ string, params json.RawMessage) {
		<-ready
		if string(params) != fmt.Sprintf("[%d]", next) {
			inversions++
		}
		next++
		c.Notify("back", params) // in the order in which they came
		if next == n {
			ended <- inversions
		}
	}}, wire.Options{})
	c = p.conn
	close(ready)
	go func() {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{\"method\":\"out\",\"params\":[%d]}\n", i)
		}
		p.in.WriteString(b.String())
	}()
	for i := range n {
		if got, want := p.recv(), fmt.Sprintf(`{"jsonrpc":"2.0","method":"back","params":[%d]}`, i); got != want {
			t.Fatalf("got %s want %s", got, want)
		}
	}
	if i := <-ended; i != 0 {
		t.Errorf("%d inversions", i)
	}
}

// Calls, notifications and answers of one goroutine keep their order.
//
// spec: D132
func TestOrderAcrossKinds(t *testing.T) {
	reqs := make(chan *wire.Request, 1)
	p := connect(t, funcs{request: func(r *wire.Request) { reqs <- r }}, wire.Options{})
	for i := range 100 {
		p.send(`{"id":1,"method":"m"}`)
		r := <-reqs
		done := make(chan error, 1)
		p.conn.Notify("first", nil)
		go func() {
			done <- p.conn.Call(context.Background(), "second", nil, nil)
			r.Reply(nil)
			p.conn.Notify("last", nil)
		}()
		p.want(`{"jsonrpc":"2.0","method":"first"}`)
		p.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":"zuno-%d","method":"second"}`, i+1))
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"zuno-%d","result":null}`, i+1))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		p.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
		p.want(`{"jsonrpc":"2.0","method":"last"}`)
	}
}
