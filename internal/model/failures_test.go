package model_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"zuno/internal/model"
	"zuno/internal/model/fake"
	"zuno/internal/model/httpx"
)

func header(name, value string) httpx.Header {
	return httpx.Header{Name: name, Value: func() string { return value }}
}

// spec: D222 A103
func TestStatuses(t *testing.T) {
	const rate = `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"req_body"}`
	for _, tt := range []struct {
		status    int
		body      string
		code      string
		retryable bool
		auth      bool
		reason    string
	}{
		{429, rate, "rate_limit_error", true, false, "slow down"},
		{429, `{"error":{"message":"no money","type":"insufficient_quota","code":"insufficient_quota"}}`, "insufficient_quota", false, false, "no money"},
		{500, `{"error":"flat text"}`, "", true, false, "flat text"},
		{502, "<html><head><title>502 Bad Gateway</title></head></html>", "", true, false, "502 Bad Gateway"},
		{503, "", "", true, false, "service unavailable"},
		{501, "", "", true, false, "not implemented"},
		{505, "", "", true, false, "http version not supported"},
		{429, "{}", "", true, false, "too many requests"},
		{500, `{"error":{}}`, "", true, false, "internal server error"},
		{500, `{"error":null}`, "", true, false, "internal server error"},
		{503, "upstream is away", "", true, false, "upstream is away"},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "overloaded_error", true, false, "Overloaded"},
		{408, "", "", true, false, "request timeout"},
		{400, `{"error":{"code":400,"message":"bad","type":"BadRequestError"}}`, "BadRequestError", false, false, "bad"},
		{401, `{"error":{"message":"no","code":"invalid_api_key"}}`, "invalid_api_key", false, true, "no"},
		{403, `{"message":"not you","code":7}`, "7", false, true, "not you"},
		{404, `{"detail":"Not Found"}`, "", false, false, "Not Found"},
		{422, `{"detail":[{"msg":"field required"}]}`, "", false, false, "field required"},
		{400, `[{"error":{"message":"in a list","status":"INVALID"}}]`, "", false, false, "in a list"},
		{201, "", "", false, false, "created"},
	} {
		onEach(t, func(t *testing.T, w *world) {
			a := w.ask(fake.Answer{Status: tt.status, Raw: tt.body + " "})
			e := a.failure(t)
			if e.Status != tt.status || e.Code != tt.code || e.Retryable != tt.retryable || e.Auth != tt.auth || !strings.Contains(e.Reason, tt.reason) {
				t.Errorf("%d %s: got %+v", tt.status, tt.body, e)
			}
			want := "req_fake"
			if tt.body == rate {
				want = "req_body"
			}
			if e.RequestID != want {
				t.Errorf("%d: request id %q", tt.status, e.RequestID)
			}
			if n := len(w.server.Requests()); n != 1 {
				t.Errorf("%d: %d attempts", tt.status, n)
			}
		})
	}
}

// spec: D223
func TestRetryAfter(t *testing.T) {
	const date = "Mon, 02 Jan 2006 15:04:05 GMT"
	for _, tt := range []struct {
		header http.Header
		now    int64
		want   time.Duration
	}{
		{http.Header{"Retry-After": {"3"}}, 0, 3 * time.Second},
		{http.Header{"Retry-After": {" 0.5 "}}, 0, 500 * time.Millisecond},
		{http.Header{"Retry-After": {"864000"}}, 0, 240 * time.Hour},
		{http.Header{"Retry-After": {"99999999999999999999"}}, 0, 365 * 24 * time.Hour},
		{http.Header{"Retry-After": {"-3"}}, 0, 0},
		{http.Header{"Retry-After": {"NaN"}}, 0, 0},
		{http.Header{"Retry-After": {"soon"}}, 0, 0},
		{http.Header{}, 0, 0},
		{http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"9"}}, 0, 250 * time.Millisecond},
		{http.Header{"Retry-After": {"Mon, 02 Jan 2006 15:04:15 GMT"}, "Date": {date}}, 1, 10 * time.Second},
		{http.Header{"Retry-After": {"Mon, 02 Jan 2006 15:04:15 GMT"}, "Date": nil}, 1136214240_000, 15 * time.Second},
		{http.Header{"Retry-After": {"Mon, 02 Jan 2006 15:04:00 GMT"}, "Date": {date}}, 1, 0},
	} {
		w := &world{t: t, surface: fake.Chat, make: surfaces[0].make, clock: &manual{now: tt.now}}
		a := w.ask(fake.Answer{Status: 429, Header: tt.header})
		if e := a.failure(t); e.RetryAfter != tt.want {
			t.Errorf("%v: got %v, want %v", tt.header, e.RetryAfter, tt.want)
		}
	}
}

// spec: D229
func TestAnErrorInsideASuccess(t *testing.T) {
	for _, tt := range []struct {
		inside    string
		code      string
		retryable bool
		auth      bool
	}{
		{`{"type":"error","error":{"type":"overloaded_error","message":"why"}}`, "overloaded_error", true, false},
		{`{"error":{"message":"why","type":"server_error","code":null}}`, "server_error", true, false},
		{`{"error":{"message":"why","code":502}}`, "502", true, false},
		{`{"error":{"message":"why","code":"401"}}`, "401", false, true},
		{`{"type":"error","code":"rate_limit_exceeded","message":"why","error":{"code":"rate_limit_exceeded","message":"why"}}`, "rate_limit_exceeded", true, false},
		{`{"type":"error","error":{"type":"authentication_error","message":"why"}}`, "authentication_error", false, true},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"why"}}`, "invalid_request_error", false, false},
	} {
		onEach(t, func(t *testing.T, w *world) {
			for _, f := range []fake.Answer{{Text: []string{"so far"}, Inside: tt.inside}, {Raw: tt.inside}, {Raw: "\n " + tt.inside, Header: http.Header{"Content-Type": {"text/event-stream"}}}} {
				a := w.ask(f)
				e := a.failure(t)
				if e.Kind != model.KindInside || e.Status != 200 || e.Code != tt.code || e.Retryable != tt.retryable || e.Auth != tt.auth || e.Reason != "why" || e.RequestID != "req_fake" {
					t.Errorf("%s: got %+v", tt.inside, e)
				}
				if want := strings.Join(f.Text, ""); a.words(model.ChunkText) != want {
					t.Errorf("%s: shown %q", tt.inside, a.words(model.ChunkText))
				}
			}
		})
	}
}

// spec: D229
func TestAResponseThatFailed(t *testing.T) {
	w := &world{t: t, surface: fake.Responses, make: surfaces[1].make, clock: &manual{}}
	a := w.ask(fake.Answer{Raw: `data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"why"}}}` + "\n\n"})
	if e := a.failure(t); e.Code != "server_error" || !e.Retryable || e.Reason != "why" {
		t.Errorf("got %+v", e)
	}
}

// spec: D229
func TestAPageInsteadOfAnAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := w.ask(fake.Answer{Raw: "\n<!DOCTYPE html><html><title>Sign in\n</title>", Header: http.Header{"Content-Type": {"text/html"}}})
		e := a.failure(t)
		if e.Kind != model.KindHTML || e.Status != 200 || e.Retryable || e.Reason != "the answer is an HTML page, not JSON: Sign in" {
			t.Errorf("got %+v", e)
		}
		a = w.ask(fake.Answer{Raw: `{"hello": 1}`})
		if w.surface == fake.Chat {
			a.cut(t)
		} else if e := a.failure(t); e.Kind != model.KindContent || e.Retryable {
			t.Errorf("got %+v", e)
		}
		a = w.ask(fake.Answer{Raw: " "})
		if c := a.cut(t); !c.Retryable {
			t.Errorf("got %+v", c)
		}
	})
}

// A redirect would carry the key and the conversation elsewhere.
//
// spec: D222
func TestNoRedirectIsFollowed(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		elsewhere := fake.Start(w.surface, fake.Answer{})
		defer elsewhere.Close()
		a := w.ask(fake.Answer{Status: 307, Header: http.Header{"Location": {elsewhere.BaseURL() + w.surface.Path() + "?k=" + marker}}})
		e := a.failure(t)
		if e.Kind != model.KindRedirect || e.Retryable || strings.Contains(e.Reason, marker) || !strings.Contains(e.Reason, elsewhere.BaseURL()) {
			t.Errorf("got %+v", e)
		}
		if len(elsewhere.Requests()) != 0 {
			t.Error("the redirect was followed")
		}
	})
}

// spec: D222 D229 A107
func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := l.Addr().String()
	_ = l.Close()
	onEach(t, func(t *testing.T, w *world) {
		o := w.options()
		o.BaseURL = "http://" + refused + "/v1?key=" + marker
		a := ask(t.Context(), w.make(o), hello())
		e := a.failure(t)
		if e.Kind != model.KindConnect || !e.Retryable || e.Status != 0 || e.Code != "" || e.RequestID != "" || strings.Contains(e.Error(), marker) || !strings.Contains(e.Reason, "refused") {
			t.Errorf("got %+v", e)
		}

		s := fake.StartTLS(w.surface, fake.Answer{})
		defer s.Close()
		o.BaseURL = s.BaseURL()
		a = ask(t.Context(), w.make(o), hello())
		if e := a.failure(t); e.Kind != model.KindTLS || e.Retryable || e.Status != 0 || !strings.Contains(e.Reason, "certificate") {
			t.Errorf("got %+v", e)
		}
		w.serve(fake.Answer{})
		o.BaseURL = strings.Replace(w.server.BaseURL(), "http:", "https:", 1)
		a = ask(t.Context(), w.make(o), hello())
		if e := a.failure(t); e.Kind != model.KindTLS || e.Retryable {
			t.Errorf("got %+v", e)
		}

		o.BaseURL = "hunter2"
		a = ask(t.Context(), w.make(o), hello())
		if e := a.failure(t); e.Kind != model.KindRequest || strings.Contains(e.Reason, "hunter2") {
			t.Errorf("got %+v", e)
		}
	})
}

// A connection that is closed before an answer began.
//
// spec: D222
func TestTheConnectionBreaksBeforeAnAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan struct{}, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_ = c.Close()
		}
	}()
	w := &world{t: t, clock: &manual{}}
	o := w.options()
	o.BaseURL = "http://" + l.Addr().String()
	a := ask(t.Context(), surfaces[0].make(o), hello())
	if e := a.failure(t); e.Kind != model.KindConnect || !e.Retryable || len(accepted) != 1 {
		t.Errorf("got %+v after %d connections", e, len(accepted))
	}
}

// waits asks a server that stalls, lets time pass as soon as it does, and gives the error.
func (w *world) waits(o httpx.Options, pass time.Duration) answer {
	done := make(chan answer)
	go func() { done <- ask(w.t.Context(), w.make(o), hello()) }()
	<-w.server.Arrived
	for {
		select {
		case a := <-done:
			return a
		default:
			w.clock.advance(pass)
			runtime.Gosched()
		}
	}
}

// forever is longer than any test lets pass.
const forever = 1_000_000 * time.Hour

// spec: D222 D229
func TestTimeouts(t *testing.T) {
	never := make(chan struct{})
	onEach(t, func(t *testing.T, w *world) {
		w.serve(fake.Answer{Stall: never, StallAt: -1})
		a := w.waits(w.options(), time.Second)
		if e := a.failure(t); e.Kind != model.KindHeaderTimeout || !e.Retryable || e.Status != 0 || w.clock.Now() < 330_000 {
			t.Errorf("got %+v at %d", e, w.clock.Now())
		}
		<-w.server.Gone

		for _, at := range []int{0, 1, 200} {
			w.serve(fake.Answer{Text: []string{"so far", "and on"}, Stall: never, StallAt: at})
			before := w.clock.Now()
			o := w.options()
			o.HeaderTimeout = forever
			a = w.waits(o, time.Second)
			if e := a.failure(t); e.Kind != model.KindIdleTimeout || !e.Retryable || e.RequestID != "req_fake" || w.clock.Now() < before+120_000 {
				t.Errorf("stalled at %d: got %+v", at, e)
			}
			<-w.server.Gone
		}

		w.serve(fake.Answer{Text: []string{"so far", "and on"}, Stall: never, StallAt: 100})
		o := w.options()
		o.Timeout, o.ChunkTimeout, o.HeaderTimeout = 50*time.Millisecond, forever, forever
		a = w.waits(o, time.Millisecond)
		if e := a.failure(t); e.Kind != model.KindTotalTimeout || !e.Retryable {
			t.Errorf("got %+v", e)
		}

		w.serve(fake.Answer{Status: 500, Raw: `{"error":{"message":"why","type":"x"}}`, Stall: never, StallAt: 5})
		o = w.options()
		o.HeaderTimeout = forever
		a = w.waits(o, time.Second)
		if e := a.failure(t); e.Kind != model.KindStatus || e.Status != 500 || !e.Retryable {
			t.Errorf("an error whose body stalls: got %+v", e)
		}
	})
}

// The time that the caller takes to record what came is not the provider's.
//
// spec: D222
func TestASlowReaderIsNoTimeout(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.serve(rich())
		r, err := w.make(w.options()).Stream(t.Context(), hello(), func(model.Chunk) error {
			w.clock.advance(time.Hour)
			return nil
		})
		if err != nil || r.Finish != model.FinishCalls {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

// A server that has said its last word but keeps the connection open does not hold the answer up.
//
// spec: D228 D229
func TestAServerThatDoesNotHangUp(t *testing.T) {
	never := make(chan struct{})
	w := &world{t: t, surface: fake.Chat, make: surfaces[0].make, clock: &manual{}}
	whole := strings.Join(fake.Chat.Events(&fake.Answer{Text: []string{"all"}, NoDone: true}), "")
	w.serve(fake.Answer{Raw: whole, Stall: never, StallAt: len(whole)})
	o := w.options()
	o.HeaderTimeout, o.ChunkTimeout = forever, forever
	a := w.waits(o, time.Second)
	if r := a.whole(t); r.Finish != model.FinishStop || a.words(model.ChunkText) != "all" {
		t.Errorf("got %+v", r)
	}
}

// spec: D228
func TestTheFinishMarkerIsMissing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, f := range []fake.Answer{{NoMarker: true}, {NoMarker: true, NoDone: true}, {NoMarker: true, Abort: true}} {
			f.Text, f.Calls = []string{"so far"}, []fake.Call{{ID: "1", Tool: "read", Args: []string{`{"a":`}}}
			a := w.ask(f)
			if c := a.cut(t); !c.Retryable || c.Reason == "" || c.RequestID != "req_fake" || a.words(model.ChunkText) != "so far" {
				t.Errorf("got %+v", c)
			}
		}
	})
}

// For a chat the finish reason is the marker; many servers leave the line [DONE] out.
//
// spec: D228
func TestDoneIsNotTheMarker(t *testing.T) {
	w := &world{t: t, surface: fake.Chat, make: surfaces[0].make, clock: &manual{}}
	for _, abort := range []bool{false, true} {
		a := w.ask(fake.Answer{Text: []string{"all"}, NoDone: true, Abort: abort})
		if r := a.whole(t); r.Finish != model.FinishStop || a.words(model.ChunkText) != "all" {
			t.Errorf("got %+v", r)
		}
	}
}

// Wherever a stream ends, properly for HTTP or not, its end is a cut or the whole answer; and what was shown is a beginning of it.
//
// spec: D228
func TestCutAnywhere(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		f := rich()
		size := len(strings.Join(w.surface.Events(&f), ""))
		w.serve()
		p := w.make(w.options())
		const step = 11 // each byte without a connection is shown beside the decoders
		cuts := 0
		for at := 1; at < size; at += step {
			f := rich()
			f.CutAt, f.Abort, f.Whole = at, at%2 == 0, at%3 == 0
			w.server.Push(f)
			a := ask(t.Context(), p, hello())
			if !strings.HasPrefix("I read two files: \"ä\n…\".", a.words(model.ChunkText)) {
				t.Fatalf("cut at %d: shown %q", at, a.words(model.ChunkText))
			}
			if a.err == nil {
				if len(a.response.Calls) != 2 || a.response.Calls[1].Args != `{"path":"b.txt"}` {
					t.Fatalf("cut at %d: got %+v", at, a.response)
				}
				continue
			}
			cuts++
			if c := a.cut(t); !c.Retryable {
				t.Fatalf("cut at %d: got %+v", at, c)
			}
		}
		if cuts < size/step/2 {
			t.Errorf("only %d cuts of %d", cuts, size)
		}
	})
}

// spec: D228
func TestAnEventThatIsNoJSON(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		good := strings.Join(w.surface.Events(&fake.Answer{Text: []string{"so far"}, NoMarker: true, NoDone: true}), "")
		for _, bad := range []string{`{"choices":`, `{"type":`, "nonsense " + marker, strings.Repeat(`{"type":[`, 20000)} {
			a := w.ask(fake.Answer{Raw: good + "data: " + bad + "\n\n"})
			if c := a.cut(t); !c.Retryable || strings.Contains(c.Reason, marker) || a.words(model.ChunkText) != "so far" {
				t.Errorf("%.20s: got %+v", bad, c)
			}
		}
	})
}

// spec: D229
func TestAProxyThatBuffers(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		f := rich()
		f.Whole = true
		a := w.ask(f)
		if r := a.whole(t); len(r.Calls) != 2 || a.words(model.ChunkText) == "" {
			t.Errorf("got %+v", r)
		}
	})
}

// What came is passed on while the rest is still awaited.
//
// spec: D215
func TestChunksAreNotHeldBack(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		f := fake.Answer{Text: []string{"first ", "second"}}
		events := w.surface.Events(&f)
		at := 0
		for _, e := range events {
			if at += len(e); strings.Contains(e, "first ") {
				break
			}
		}
		release := make(chan struct{})
		f.Stall, f.StallAt = release, at
		w.serve(f)
		var got []string
		_, err := w.make(w.options()).Stream(t.Context(), hello(), func(c model.Chunk) error {
			if got = append(got, c.Text); len(got) == 1 {
				close(release)
			}
			return nil
		})
		if err != nil || strings.Join(got, "|") != "first |second" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// spec: D222
func TestCancellationClosesTheConnection(t *testing.T) {
	never := make(chan struct{})
	onEach(t, func(t *testing.T, w *world) {
		for _, at := range []int{-1, 0, 100} {
			w.serve(fake.Answer{Text: []string{"so far", "and on"}, Stall: never, StallAt: at})
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-w.server.Arrived; cancel() }()
			a := ask(ctx, w.make(w.options()), hello())
			if c := a.cut(t); !errors.Is(a.err, context.Canceled) || c.Retryable {
				t.Errorf("got %v", a.err)
			}
			select {
			case <-w.server.Gone:
			case <-t.Context().Done():
			}
		}
	})
}

// spec: D222
func TestTheCallerEndsTheStream(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		own := errors.New("the journal is full")
		w.serve(rich())
		_, err := w.make(w.options()).Stream(t.Context(), hello(), func(model.Chunk) error { return own })
		var c *model.Cut
		if !errors.As(err, &c) || !errors.Is(err, own) || c.Retryable {
			t.Errorf("got %v", err)
		}
	})
}

// spec: A103 D031
func TestNothingShowsASecret(t *testing.T) {
	const inHeader, inQuery = "header-MARKER-value", "query-MARKER/+value"
	body := fmt.Sprintf("key %s header %s query %s escaped query-MARKER%%2F%%2Bvalue split sk-marker-\x00KEY-01234\u200b56789 Bearer abcdefghijkl.mno sk-%s ", marker, inHeader, inQuery, strings.Repeat("z", 20))
	onEach(t, func(t *testing.T, w *world) {
		quoted := strconv.Quote(strings.ReplaceAll(strings.ReplaceAll(body, "\x00", ""), "\u200b", ""))
		for _, f := range []fake.Answer{
			{Status: 503, Raw: body},
			{Status: 401, Raw: `{"error":{"message":` + quoted + `,"code":` + quoted + `},"request_id":"` + marker + `"}`},
			{Status: 500, Raw: "<title>" + body + "</title>"},
			{Status: 500, Header: http.Header{"X-Request-Id": {marker}}},
			{Status: 302, Header: http.Header{"Location": {"/" + marker}}},
			{Text: []string{"x"}, Inside: `{"error":{"message":` + quoted + `,"type":"` + marker + `"}}`},
			{Raw: `{"error":` + quoted + `}`},
			{Raw: "<title>" + body + "</title>"},
		} {
			w.serve(f)
			o := w.options()
			o.Headers = append(o.Headers, header("X-Own", inHeader))
			o.BaseURL += "?key=query-MARKER%2F%2Bvalue"
			a := ask(t.Context(), w.make(o), hello())
			e := a.failure(t)
			for _, text := range []string{e.Error(), e.Reason, e.Code, e.RequestID, fmt.Sprintf("%+v %#v", *e, *e)} {
				for _, secret := range []string{marker, "MARKER", "abcdefghijkl.mno", "zzzzz"} {
					if strings.Contains(text, secret) {
						t.Errorf("%+v: %q is shown: %s", f, secret, text)
					}
				}
			}
			if len(e.Reason) > httpx.MaxReason {
				t.Errorf("a reason of %d bytes", len(e.Reason))
			}
		}
	})
}

// spec: A103
func TestReasonsAreBoundedAndOneLine(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := w.ask(fake.Answer{Status: 500, Raw: "a\x1b[31m\r\nb\x07" + strings.Repeat("é", 1<<20)})
		e := a.failure(t)
		if !strings.HasPrefix(e.Reason, "a[31m  bé") || len(e.Reason) > httpx.MaxReason || !strings.HasSuffix(e.Reason, "é…") {
			t.Errorf("got %d bytes: %.40q", len(e.Reason), e.Reason)
		}
	})
}

// spec: D229
func TestBounds(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		many := func(n int) (calls []fake.Call) {
			for i := range n {
				calls = append(calls, fake.Call{ID: strconv.Itoa(i), Tool: "t", Args: []string{"{}"}})
			}
			return calls
		}
		pieces := func(total, size int) (texts []string) {
			for range total / size {
				texts = append(texts, strings.Repeat("x", size))
			}
			return texts
		}
		for name, f := range map[string]fake.Answer{
			"event": {Text: pieces(9<<20, 9<<20)},
			"text":  {Reasoning: pieces(8<<20, 256<<10), Text: append(pieces(8<<20, 256<<10), "x")},
			"calls": {Calls: many(httpx.MaxCalls + 1)},
			"args":  {Calls: []fake.Call{{ID: "1", Tool: "t", Args: append(pieces(1<<20, 128<<10), "x")}}},
			"name":  {Calls: []fake.Call{{ID: "1", Tool: strings.Repeat("x", 300)}}},
			"id":    {Calls: []fake.Call{{ID: strings.Repeat("x", 600), Tool: "t"}}},
			"blank": {Raw: " data" + strings.Repeat("\n", 9<<20)},
		} {
			f.Whole = true
			a := w.ask(f)
			if e := a.failure(t); e.Kind != model.KindLimit || e.Retryable {
				t.Errorf("%s: got %+v", name, e)
			}
		}
		a := w.ask(fake.Answer{Whole: true, Calls: many(httpx.MaxCalls)})
		if r := a.whole(t); len(r.Calls) != httpx.MaxCalls {
			t.Errorf("got %d calls", len(r.Calls))
		}
	})
}

// Proxies are read once a process, so a process of its own shows that they are honoured; those of the loopback never are.
//
// spec: D217
func TestProxiesOfTheEnvironment(t *testing.T) {
	const name = "ZUNO_TEST_PROXIED"
	if os.Getenv(name) != "" {
		w := &world{t: t, clock: &manual{}}
		o := w.options()
		o.BaseURL = "http://model.invalid/v1"
		a := ask(t.Context(), surfaces[0].make(o), hello())
		if r := a.whole(t); r.Finish != model.FinishStop {
			t.Errorf("got %+v", r)
		}
		return
	}
	s := fake.Start(fake.Chat, fake.Answer{Text: []string{"through the proxy"}})
	defer s.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxiesOfTheEnvironment$")
	cmd.Env = append(os.Environ(), name+"=1", "HTTP_PROXY="+strings.TrimSuffix(s.BaseURL(), "/v1"), "NO_PROXY=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(s.Requests()) != 1 {
		t.Errorf("the proxy saw %d requests", len(s.Requests()))
	}
}
