package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"zuno/acp/wire"
)

// call starts a Call whose outcome comes by channel.
func call(ctx context.Context, c *wire.Conn, method string, result any) <-chan error {
	done := make(chan error, 1)
	go func() { done <- c.Call(ctx, method, map[string]string{"a": "<b>"}, result) }()
	return done
}

// spec: D131
func TestNoAnswerButItsOwnResolvesACall(t *testing.T) {
	log := make(records, 20)
	p := connect(t, funcs{request: echo}, wire.Options{Logger: slog.New(log)})
	var result string
	done := call(context.Background(), p.conn, "session/request_permission", &result)
	p.want(`{"jsonrpc":"2.0","id":"zuno-1","method":"session/request_permission","params":{"a":"<b>"}}`)
	stray := []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`,
		`{"jsonrpc":"2.0","id":null,"result":"x"}`,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}`,
		`{"jsonrpc":"2.0","result":1}`,
		`{"jsonrpc":"2.0","id":0,"result":"x"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":"1","result":"x"}`,
		`{"jsonrpc":"2.0","id":"zuno-2","result":"x"}`,
		`{"jsonrpc":"2.0","id":"","result":"x"}`,
		`{"jsonrpc":"2.0","id":{},"result":"x"}`,
	}
	p.send(stray...)
	// A client's request under the call's id is the client's own.
	p.send(`{"jsonrpc":"2.0","id":"zuno-1","method":"m"}`)
	p.want(`{"jsonrpc":"2.0","id":"zuno-1","result":"m"}`)
	for range stray {
		if got := <-log; !strings.Contains(got, "dropped an answer") {
			t.Error(got)
		}
	}
	select {
	case err := <-done:
		t.Fatalf("resolved by a stray answer: %q %v", result, err)
	default:
	}
	p.send(`{"jsonrpc":"2.0","id":"zuno\u002d1","result":"mine"}`)
	if err := <-done; err != nil || result != "mine" {
		t.Fatal(result, err)
	}
	// Once only.
	p.send(`{"jsonrpc":"2.0","id":"zuno-1","result":"again"}`, `{"id":1,"method":"m"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":"m"}`)
}

func TestAnswersToCalls(t *testing.T) {
	p := connect(t, funcs{}, wire.Options{})
	for i, c := range []struct {
		answer string
		check  func(got json.RawMessage, err error) bool
	}{
		{`"result":{"z":1,"a":2.50}`, func(got json.RawMessage, err error) bool { return err == nil && string(got) == `{"z":1,"a":2.50}` }},
		{`"result":null`, func(got json.RawMessage, err error) bool { return err == nil && string(got) == `null` }},
		{`"result":1,"error":null`, func(got json.RawMessage, err error) bool { return err == nil && string(got) == `1` }},
		{`"error":{"code":-32002,"message":"no file","data":{"uri":"u"}}`, func(_ json.RawMessage, err error) bool {
			var e *wire.Error
			return errors.As(err, &e) && e.Code == wire.CodeResourceNotFound && e.Message == "no file" && string(e.Data.(json.RawMessage)) == `{"uri":"u"}`
		}},
		{`"error":"broken"`, func(_ json.RawMessage, err error) bool {
			var e *wire.Error
			return errors.As(err, &e) && e.Code == wire.CodeInternalError && string(e.Data.(json.RawMessage)) == `"broken"`
		}},
		{`"result":1,"error":{"code":5,"message":""}`, func(_ json.RawMessage, err error) bool {
			var e *wire.Error
			return errors.As(err, &e) && e.Code == 5
		}},
	} {
		var got json.RawMessage
		done := call(context.Background(), p.conn, "m", &got)
		var m struct{ ID json.RawMessage }
		json.Unmarshal([]byte(p.recv()), &m)
		p.send(`{"id":` + string(m.ID) + `,` + c.answer + `}`)
		if err := <-done; !c.check(got, err) {
			t.Errorf("%d: %s: got %s, %v", i, c.answer, got, err)
		}
	}
	var n int
	done := call(context.Background(), p.conn, "m", &n)
	p.recv()
	p.send(`{"id":"zuno-7","result":"no number"}`)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "decode the result") {
		t.Error(err)
	}
	if err := p.conn.Call(context.Background(), "m", func() {}, nil); err == nil {
		t.Error("params that are no JSON were sent")
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	log := make(records, 10)
	p := connect(t, funcs{request: echo}, wire.Options{Logger: slog.New(log)})
	turn := errors.New("turn was cancelled")
	for range 3 {
		ctx, cancel := context.WithCancelCause(context.Background())
		done := call(ctx, p.conn, "session/request_permission", nil)
		var m struct{ ID json.RawMessage }
		json.Unmarshal([]byte(p.recv()), &m)
		cancel(turn)
		if err := <-done; !errors.Is(err, context.Canceled) || !errors.Is(err, turn) {
			t.Fatal(err)
		}
		p.want(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + string(m.ID) + `}}`)
		// The late answer is dropped and the connection is well.
		p.send(`{"id":`+string(m.ID)+`,"error":{"code":-32800,"message":"cancelled"}}`, `{"id":1,"method":"m"}`)
		p.want(`{"jsonrpc":"2.0","id":1,"result":"m"}`)
		if got := <-log; !strings.Contains(got, "dropped an answer") {
			t.Error(got)
		}
	}
	// One that is over before it starts is not sent.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.conn.Call(ctx, "never", nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.conn.Notify("next", nil)
	p.want(`{"jsonrpc":"2.0","method":"next"}`)
}

func TestCallsInParallel(t *testing.T) {
	p := connect(t, funcs{}, wire.Options{})
	const n = 100
	errs := make(chan error, n)
	for range n {
		go func() {
			var got string
			err := p.conn.Call(context.Background(), "m", nil, &got)
			if err == nil && !strings.HasPrefix(got, "zuno-") {
				err = errors.New(got)
			}
			errs <- err
		}()
	}
	var ids []string
	for range n {
		var m struct{ ID string }
		json.Unmarshal([]byte(p.recv()), &m)
		ids = append(ids, m.ID)
	}
	for i := len(ids) - 1; i >= 0; i-- {
		p.send(`{"id":"` + ids[i] + `","result":"` + ids[i] + `"}`)
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
