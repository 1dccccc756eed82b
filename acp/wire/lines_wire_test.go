package wire_test

import (
	"context"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"zuno/acp/wire"
)

// spec: D130
func TestIDsComeBackByteForByte(t *testing.T) {
	p := connect(t, funcs{request: echo}, wire.Options{})
	for _, id := range []string{
		`7`, `"7"`, `-3`, `7.0`, `""`, `0`, `1e3`, `18446744073709551616`, `null`,
		`"\u0061\/"`, `"a\"b\\"`, `"é"`, `"zuno-1"`, `"` + strings.Repeat("x", 5000) + `"`,
	} {
		p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"m"}`)
		p.want(`{"jsonrpc":"2.0","id":` + id + `,"result":"m"}`)
	}
}

const (
	parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error: not a line of JSON in UTF-8"}}`
	invalid    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: not a single request, notification or answer"}}`
)

// spec: D129
func TestBadLinesAreAnsweredAndTheConnectionGoesOn(t *testing.T) {
	p := connect(t, funcs{request: echo}, wire.Options{})
	for _, c := range []struct{ name, line, want string }{
		{"malformed", `{bad`, parseError},
		{"cut short", `{"jsonrpc":"2.0","id":1,"method":"m"`, parseError},
		{"two objects", `{"jsonrpc":"2.0","id":1,"method":"m"} {}`, parseError},
		{"lone quote", `"`, parseError},
		{"broken UTF-8 in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"\xff\"}}", parseError},
		{"broken UTF-8 in the id", "{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\",\"method\":\"m\"}", parseError},
		{"a surrogate as UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xed\xa0\x80\",\"method\":\"m\"}", parseError},
		{"a NUL", "\x00", parseError},
		{"nested too deep", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), parseError},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, invalid},
		{"empty batch", `[]`, invalid},
		{"string", `"m"`, invalid},
		{"number", `7`, invalid},
		{"null", `null`, invalid},
		{"no members", `{}`, invalid},
		{"only an id", `{"jsonrpc":"2.0","id":1}`, invalid},
		{"method a number", `{"jsonrpc":"2.0","id":1,"method":7}`, invalid},
		{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, invalid},
		{"method an object", `{"jsonrpc":"2.0","method":{}}`, invalid},
		{"id a boolean", `{"jsonrpc":"2.0","id":true,"method":"m"}`, invalid},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"m"}`, invalid},
		{"id an array", `{"jsonrpc":"2.0","id":[1],"method":"m"}`, invalid},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"m","result":1}`, invalid},
		{"error null alone", `{"jsonrpc":"2.0","id":1,"error":null}`, invalid},
		{"method in capitals", `{"jsonrpc":"2.0","id":1,"METHOD":"m"}`, invalid},
	} {
		p.send(c.line)
		if got := p.recv(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		p.send(`{"jsonrpc":"2.0","id":"after","method":"next"}`)
		p.want(`{"jsonrpc":"2.0","id":"after","result":"next"}`)
	}
}

// What is unusual but clear is understood.
//
// spec: D129
func TestUnusualLinesAreUnderstood(t *testing.T) {
	p := connect(t, funcs{request: func(r *wire.Request) { r.Reply(json.RawMessage(r.Params)) }}, wire.Options{})
	for _, c := range []struct{ line, want string }{
		{"\r\n\n   \n" + `{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}` + "\r", `[1]`},
		{"\t" + `{ "params" : { "a" : [ 1 , "]" ] } , "method":"m" , "id" : 1 }` + " ", `{"a":[1,"]"]}`},
		{`{"id":1,"method":"m"}`, `null`},
		{`{"id":1,"method":"m","params":null}`, `null`},
		{`{"\u0069d":1,"m\u0065thod":"m","params":"\\\""}`, `"\\\""`},
		{`{"id":9,"method":"x","method":"m","id":1,"params":{"z":1,"a":2.50}}`, `{"z":1,"a":2.50}`},
		{`{"id":1,"method":"m","error":null,"params":{}}`, `{}`},
	} {
		p.send(c.line)
		p.want(`{"jsonrpc":"2.0","id":1,"result":` + c.want + `}`)
	}
}

// spec: D131
func TestAnIDInUseIsRejected(t *testing.T) {
	reqs := make(chan *wire.Request, 10)
	p := connect(t, funcs{request: func(r *wire.Request) { reqs <- r }}, wire.Options{})
	for _, c := range []struct{ first, second, same string }{
		{`7`, `"7"`, `7`},
		{`"a/b"`, `"a//b"`, `"a\/\u0062"`},
		{`null`, `"null"`, `null`},
		{`"<\u2028"`, `1`, "\"\\u003c\u2028\""},
	} {
		p.send(`{"id":`+c.first+`,"method":"m"}`, `{"id":`+c.second+`,"method":"m"}`)
		first, second := <-reqs, <-reqs
		p.send(`{"id":` + c.same + `,"method":"n"}`)
		if got := p.recv(); !strings.Contains(got, `"id":null,"error":{"code":-32600`) || !strings.Contains(got, "in use") {
			t.Errorf("%s: got %s", c.first, got)
		}
		second.Reply(2)
		p.want(`{"jsonrpc":"2.0","id":` + c.second + `,"result":2}`)
		first.Reply(1)
		p.want(`{"jsonrpc":"2.0","id":` + c.first + `,"result":1}`)
		// Answered, so the id is free.
		p.send(`{"id":` + c.same + `,"method":"m"}`)
		(<-reqs).Reply(3)
		p.want(`{"jsonrpc":"2.0","id":` + c.same + `,"result":3}`)
	}
}

// 200 MB come in one line. What is allocated meanwhile is bounded by the line bound,
// whatever the line's length.
//
// spec: D152
func TestAHugeLineIsRefusedWithoutMemoryForIt(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ bound, most int }{{mib, 3 * mib}, {wire.DefaultMaxLine, wire.DefaultMaxLine + 8*mib}} {
		p := connect(t, funcs{request: echo}, wire.Options{MaxLine: c.bound})
		chunk := []byte(strings.Repeat("x", mib))
		p.send(`{"id":0,"method":"warm up"}`)
		p.recv()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		io.WriteString(p.in, `{"id":1,"method":"m","params":"`)
		for range 200 {
			if _, err := p.in.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
		p.send(`"}`)
		if got := p.recv(); !strings.Contains(got, `"id":null,"error":{"code":-32600`) {
			t.Fatalf("got %s", got)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(c.most) {
			t.Errorf("bound %d: %d bytes allocated for a line of 200 MiB", c.bound, n)
		}
		p.send(`{"id":2,"method":"next"}`)
		p.want(`{"jsonrpc":"2.0","id":2,"result":"next"}`)
	}
}

// A prompt of 10 MB passes with little more than two copies of itself.
func TestALargePromptIsCheap(t *testing.T) {
	got := make(chan int, 1)
	p := connect(t, funcs{notify: func(_ context.Context, _ string, params json.RawMessage) { got <- len(params) }}, wire.Options{})
	const size = 10 << 20
	line := `{"method":"m","params":"` + strings.Repeat("y", size) + `"}`
	p.send(`{"method":"warm up"}`)
	<-got
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.send(line)
	if n := <-got; n != size+2 {
		t.Fatalf("%d bytes of params", n)
	}
	runtime.ReadMemStats(&after)
	// The test's own line feed is one more copy.
	if n := after.TotalAlloc - before.TotalAlloc; n > 4*size {
		t.Errorf("%.1f bytes allocated for each byte of the line", float64(n)/size)
	} else {
		t.Logf("%.2f bytes allocated for each byte of the line, with the sender's copy", float64(n)/size)
	}
}

// spec: D129
func TestTheBoundIsExact(t *testing.T) {
	line := `{"id":1,"method":"m","params":"` + strings.Repeat("p", 100_000) + `"}`
	p := connect(t, funcs{request: echo}, wire.Options{MaxLine: len(line)})
	p.send(line)
	p.want(`{"jsonrpc":"2.0","id":1,"result":"m"}`)
	p.send(line + " ")
	if got := p.recv(); !strings.Contains(got, "-32600") {
		t.Errorf("got %s", got)
	}
}

// spec: D153
func TestUnknownMethodsAndNotifications(t *testing.T) {
	p := connect(t, funcs{request: func(r *wire.Request) {
		if r.Method == "known" {
			r.Reply(1)
			return
		}
		r.ReplyError(wire.Errorf(wire.CodeMethodNotFound, "method not found: %s", r.Method))
	}}, wire.Options{})
	p.send(`{"id":1,"method":"nope"}`, `{"method":"$/nope"}`, `{"method":"_x/y","params":7}`, `{"id":2,"method":"$/cancel_request","params":{"requestId":1}}`, `{"id":3,"method":"known"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: nope"}}`)
	p.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method not found: $/cancel_request"}}`)
	p.want(`{"jsonrpc":"2.0","id":3,"result":1}`)
}
