package model_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"zuno/internal/model"
	"zuno/internal/model/fake"
	"zuno/internal/model/httpx"
)

// A body that is cut in the middle of a secret shows its beginning no more than the whole.
//
// spec: A103 D031
func TestNoPartOfASecretAtACut(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, body := range []string{
			strings.Repeat("\x00", httpx.MaxErrorBody-len(marker)/2) + marker,         // at the bound
			`{"error":{"message":"Incorrect key ` + marker[:len(marker)-3],            // where the connection ends
			`{"error":{"message":"Incorrect key ` + marker[:len(marker)/2] + "\x00\n", // and with something behind it
		} {
			a := w.ask(fake.Answer{Status: 401, Raw: body})
			if e := a.failure(t); strings.Contains(e.Reason, marker[:6]) {
				t.Errorf("shown: %s", e.Reason)
			}
		}
	})
}

// spec: D229
func TestAnErrorEventInAnyForm(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, raw := range []string{
			`data: {"object":"error","message":"too long","type":"BadRequestError","code":400}` + "\n\ndata: [DONE]\n\n",
			`event: error` + "\n" + `data: {"message":"too long","type":"BadRequestError"}` + "\n\n",
			`event: error` + "\n" + `data: {"detail":"too long","code":"BadRequestError"}` + "\n\n",
		} {
			a := w.ask(fake.Answer{Raw: raw})
			if e := a.failure(t); e.Kind != model.KindInside || e.Code != "BadRequestError" || e.Reason != "too long" || e.Retryable {
				t.Errorf("%s: got %+v", raw, e)
			}
		}
		a := w.ask(fake.Answer{Raw: "event: error\ndata: out of memory\n\n"})
		if e := a.failure(t); e.Kind != model.KindInside || e.Reason != "out of memory" {
			t.Errorf("got %+v", e)
		}
	})
}

// What cannot be read is told without the names of this program's types.
//
// spec: D229
func TestAnEventOfAnotherShape(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, data := range []string{`[1]`, `{"type":7,"choices":7}`, `"text"`} {
			a := w.ask(fake.Answer{Raw: "data: " + data + "\n\n"})
			if c := a.cut(t); !c.Retryable || strings.Contains(c.Reason, "Go ") || strings.Contains(c.Reason, "struct") {
				t.Errorf("%s: got %+v", data, c)
			}
		}
	})
}

// spec: D229
func TestASuccessThatIsPlainText(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := w.ask(fake.Answer{Raw: "upstream connect error, key " + marker, Header: http.Header{"Content-Type": {"text/plain"}}})
		if e := a.failure(t); e.Kind != model.KindContent || e.Status != 200 || !e.Retryable || !strings.Contains(e.Reason, "upstream connect error, key [secret]") {
			t.Errorf("got %+v", e)
		}
	})
}

// Nobody asked for a compressed answer; what cannot be read is neither a stream that broke off nor a reason.
//
// spec: D229
func TestACompressedAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		pack := func(s string) string {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write([]byte(s))
			_ = z.Close()
			return b.String()
		}
		h := http.Header{"Content-Encoding": {"gzip"}}
		a := w.ask(fake.Answer{Raw: pack(strings.Join(w.surface.Events(&fake.Answer{Text: []string{"all"}}), "")), Header: h})
		if e := a.failure(t); e.Kind != model.KindContent || e.Status != 200 || e.Retryable || !strings.Contains(e.Reason, "gzip") {
			t.Errorf("got %+v", e)
		}
		a = w.ask(fake.Answer{Status: 401, Raw: pack(`{"error":{"message":"no"}}`), Header: h})
		if e := a.failure(t); e.Kind != model.KindStatus || e.Status != 401 || !e.Auth || e.Reason != "unauthorized (its text is compressed with gzip, which was not asked for)" {
			t.Errorf("got %+v", e)
		}
		a = w.ask(fake.Answer{Text: []string{"all"}, Header: http.Header{"Content-Encoding": {"identity"}}})
		if r := a.whole(t); r.Finish != model.FinishStop {
			t.Errorf("got %+v", r)
		}
	})
}

// An answer that drips keeps nobody: neither its error, nor what comes after its last word.
//
// spec: D222 D229
func TestADripIsNoProgress(t *testing.T) {
	drip := func(w *world, status int, body string) answer {
		const most = 500
		n := 0
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, body)
			for ; n < most && r.Context().Err() == nil; n++ {
				_, _ = io.WriteString(rw, ": \n\n")
				rw.(http.Flusher).Flush()
				time.Sleep(time.Millisecond) // until it is read
				w.clock.advance(time.Second)
			}
		}))
		o := w.options()
		o.BaseURL = s.URL
		a := ask(w.t.Context(), w.make(o), hello())
		s.Close()
		if n == most {
			w.t.Errorf("status %d: read to its end", status)
		}
		return a
	}
	onEach(t, func(t *testing.T, w *world) {
		w.t = t
		a := drip(w, 401, `{"error":{"message":"no"`)
		if e := a.failure(t); e.Status != 401 || e.Kind != model.KindStatus {
			t.Errorf("got %+v", e)
		}
		a = drip(w, 200, "<html>")
		if e := a.failure(t); e.Kind != model.KindHTML {
			t.Errorf("got %+v", e)
		}
	})
	w := &world{t: t, surface: fake.Chat, make: surfaces[0].make, clock: &manual{}}
	a := drip(w, 200, strings.Join(fake.Chat.Events(&fake.Answer{Text: []string{"all"}, NoDone: true, NoMarker: false}), ""))
	if r := a.whole(t); r.Finish != model.FinishStop {
		t.Errorf("got %+v", r)
	}
}

// spec: D215 D230
func TestCallsAtOneIndex(t *testing.T) {
	w := &world{t: t, surface: fake.Responses, make: surfaces[1].make, clock: &manual{}}
	one := func(id, args string) string {
		return `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"` + id + `","name":"read","arguments":""}}` + "\n\n" +
			`data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"` + args + `"}` + "\n\n" +
			`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"` + id + `","name":"read","arguments":"` + args + `"}}` + "\n\n"
	}
	end := `data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n"
	a := w.ask(fake.Answer{Raw: one("a", `{\"n\":1}`) + one("b", `{\"n\":2}`) + end})
	if r := a.whole(t); len(r.Calls) != 2 || r.Calls[0] != (model.Call{ID: "a", Tool: "read", Args: `{"n":1}`}) || r.Calls[1] != (model.Call{ID: "b", Tool: "read", Args: `{"n":2}`}) {
		t.Errorf("got %+v", r.Calls)
	}
	a = w.ask(fake.Answer{Raw: one("a", `{\"n\":1}`) + one("a", `{\"n\":1}`) + end})
	for _, c := range a.whole(t).Calls[1:] {
		if c.Defect != model.DefectDuplicate {
			t.Errorf("got %+v", c)
		}
	}
}

// A proxy that gathers a stream may leave its last event only, which repeats the whole answer.
//
// spec: D215 D229
func TestOnlyTheLastEventOfAResponse(t *testing.T) {
	w := &world{t: t, surface: fake.Responses, make: surfaces[1].make, clock: &manual{}}
	const output = `[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"whole"}]},` +
		`{"type":"function_call","call_id":"a","name":"read","arguments":"{\"n\":1}"}]`
	message := `data: {"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"whole"}]}}` + "\n\n"
	for _, raw := range []string{
		`data: {"type":"response.completed","response":{"status":"completed","output":` + output + `}}` + "\n\n",
		message + `data: {"type":"response.completed","response":{"status":"completed","output":` + output + `}}` + "\n\n",
	} {
		a := w.ask(fake.Answer{Raw: raw})
		r := a.whole(t)
		if a.words(model.ChunkText) != "whole" || len(r.Calls) != 1 || r.Calls[0] != (model.Call{ID: "a", Tool: "read", Args: `{"n":1}`}) || r.Finish != model.FinishCalls {
			t.Errorf("%s: got %q, %+v", raw, a.words(model.ChunkText), r)
		}
	}
	a := w.ask(fake.Answer{Raw: message + `data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n"})
	if r := a.whole(t); a.words(model.ChunkText) != "whole" || r.Lack != "" {
		t.Errorf("got %q, %+v", a.words(model.ChunkText), r)
	}
	a = w.ask(fake.Answer{Text: []string{"in ", "pieces"}, Calls: []fake.Call{{ID: "a", Tool: "read", Args: []string{"{}"}}}})
	if r := a.whole(t); a.words(model.ChunkText) != "in pieces" || len(r.Calls) != 1 {
		t.Errorf("got %q, %+v", a.words(model.ChunkText), r)
	}
}

// A server that names a call in each piece of its arguments costs no more than one that names it once.
//
// spec: D230
func TestACallNamedInEachPiece(t *testing.T) {
	w := &world{t: t, surface: fake.Chat, make: surfaces[0].make, clock: &manual{}}
	var b strings.Builder
	piece := func(args string) {
		b.WriteString(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"write","arguments":"` + args + `"}}]}}]}` + "\n\n")
	}
	piece(`{\"content\":\"`)
	for range 60_000 {
		piece("0123456789")
	}
	piece(`\"}`)
	b.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n")
	began := time.Now()
	a := w.ask(fake.Answer{Raw: b.String()})
	if r := a.whole(t); len(r.Calls) != 1 || r.Calls[0].Defect != "" {
		t.Errorf("got %d calls", len(r.Calls))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A call does not run without arguments that came for another place, and one that the next takes the place of keeps its own.
//
// spec: D230
func TestBlocksInDisorder(t *testing.T) {
	w := &world{t: t, surface: fake.Messages, make: surfaces[2].make, clock: &manual{}}
	event := func(s string) string { return "data: " + s + "\n\n" }
	a := w.ask(fake.Answer{Raw: event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}`) +
		event(`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}}`) + event(`{"type":"message_stop"}`)})
	if c := a.cut(t); !c.Retryable {
		t.Errorf("got %+v", c)
	}
	a = w.ask(fake.Answer{Raw: event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"read","input":{"n":1}}}`) +
		event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"b","name":"read","input":{"n":2}}}`) + event(`{"type":"message_stop"}`)})
	if r := a.whole(t); len(r.Calls) != 2 || r.Calls[0].Args != `{"n":1}` || r.Calls[1].Args != `{"n":2}` {
		t.Errorf("got %+v", r.Calls)
	}
}

// A server that is there but speaks something else is not called out of reach.
//
// spec: D229
func TestAnAnswerThatIsNoHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, "HELLO "+marker+"\r\n\r\n")
			_ = c.Close()
		}
	}()
	onEach(t, func(t *testing.T, w *world) {
		o := w.options()
		o.BaseURL = "http://" + l.Addr().String()
		a := ask(t.Context(), w.make(o), hello())
		if e := a.failure(t); e.Kind != model.KindConnect || !e.Retryable || !strings.HasPrefix(e.Reason, "the connection broke before an answer began: ") || strings.Contains(e.Reason, marker) {
			t.Errorf("got %+v", e)
		}
	})
}

// What cannot be sent is no server that is away: it is told at once, and not tried again.
//
// spec: D216 D222
func TestWhatCannotBeSent(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.serve()
		for _, key := range []string{"hunter2\x01more", "hunter2\nmore", "hunter2\x7f"} {
			o := w.options()
			o.Key = func() string { return key }
			a := ask(t.Context(), w.make(o), hello())
			if e := a.failure(t); e.Kind != model.KindRequest || e.Retryable || !e.Auth || strings.Contains(e.Reason, "hunter2") || !strings.Contains(e.Reason, "_API_KEY") {
				t.Errorf("got %+v", e)
			}
			o = w.options()
			o.Headers = append(o.Headers, header("X-Own", key))
			a = ask(t.Context(), w.make(o), hello())
			if e := a.failure(t); e.Kind != model.KindRequest || e.Retryable || strings.Contains(e.Reason, "hunter2") || !strings.Contains(e.Reason, "X-Own") {
				t.Errorf("got %+v", e)
			}
		}
		for _, base := range []string{"http://127.0.0.1:99999/v1", "http://127.0.0.1:0/v1", "http://[::1/v1", "http:///v1"} {
			o := w.options()
			o.BaseURL = base
			a := ask(t.Context(), w.make(o), hello())
			if e := a.failure(t); e.Kind != model.KindRequest || e.Retryable || !strings.Contains(e.Reason, "baseURL") {
				t.Errorf("%s: got %+v", base, e)
			}
		}
		if n := len(w.server.Requests()); n != 0 {
			t.Errorf("the server was asked %d times", n)
		}
	})
}
