package fake

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Surface is what a server speaks.
type Surface string

// The surfaces.
const (
	Chat      Surface = "chat"
	Responses Surface = "responses"
	Messages  Surface = "messages"
)

// Path is where a surface's requests go, below a base URL that ends in /v1.
func (s Surface) Path() string {
	return map[Surface]string{Chat: "/chat/completions", Responses: "/responses", Messages: "/messages"}[s]
}

// Request is what a server was asked.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                string
}

// Server answers the requests of one surface, in order, with the answers that it was given. One that has none left answers
// with status 400.
type Server struct {
	Surface Surface
	// Arrived gets a value for each request, and Gone for each answer whose client went away before its end.
	Arrived, Gone chan struct{}

	http     *httptest.Server
	mu       sync.Mutex
	answers  []Answer
	requests []Request
}

// Start starts a server on the loopback.
func Start(s Surface, answers ...Answer) *Server { return start(s, httptest.NewServer, answers) }

// StartTLS starts one whose certificate nobody trusts.
func StartTLS(s Surface, answers ...Answer) *Server { return start(s, httptest.NewTLSServer, answers) }

func start(s Surface, with func(http.Handler) *httptest.Server, answers []Answer) *Server {
	f := &Server{Surface: s, answers: answers, Arrived: make(chan struct{}, 64), Gone: make(chan struct{}, 64)}
	f.http = with(http.HandlerFunc(f.serve))
	return f
}

// BaseURL is the base of the server's addresses.
func (f *Server) BaseURL() string { return f.http.URL + "/v1" }

// Close ends the server and its connections.
func (f *Server) Close() {
	f.http.CloseClientConnections()
	f.http.Close()
}

// Push adds answers.
func (f *Server) Push(answers ...Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = append(f.answers, answers...)
}

// Requests is what was asked so far.
func (f *Server) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Request(nil), f.requests...)
}

func (f *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a, ok := f.next(Request{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), string(body)})
	tell(f.Arrived)
	switch {
	case !ok:
		a = Answer{Status: http.StatusBadRequest, Raw: `{"error":{"message":"no answer is left","type":"fake_exhausted"}}`}
	case r.URL.Path != "/v1"+f.Surface.Path():
		a = Answer{Status: http.StatusNotFound, Raw: `{"error":{"message":"no such path","type":"not_found_error"}}`}
	}
	f.answer(w, r, &a)
}

func (f *Server) next(r Request) (Answer, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r)
	if len(f.answers) == 0 {
		return Answer{}, false
	}
	a := f.answers[0]
	f.answers = f.answers[1:]
	return a, true
}

func (f *Server) answer(w http.ResponseWriter, r *http.Request, a *Answer) {
	events := f.Surface.Events(a)
	if a.Stall != nil && a.StallAt < 0 && !f.stall(r, a) {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if a.Raw != "" && strings.HasPrefix(strings.TrimSpace(a.Raw), "{") {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("X-Request-Id", "req_fake")
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	sent := 0
	put := func(s string) bool {
		if a.CutAt > 0 && sent+len(s) > a.CutAt {
			s = s[:a.CutAt-sent]
		}
		sent += len(s)
		_, err := io.WriteString(w, s)
		return err == nil
	}
	flush := func() { w.(http.Flusher).Flush() }
	if a.Stall != nil && a.StallAt == 0 {
		flush()
		if !f.stall(r, a) {
			return
		}
	}
	for _, e := range events {
		if a.Stall != nil && a.StallAt > sent && a.StallAt <= sent+len(e) {
			at := a.StallAt - sent
			put(e[:at])
			flush()
			if !f.stall(r, a) {
				return
			}
			e = e[at:]
		}
		if !put(e) {
			tell(f.Gone)
			return
		}
		if !a.Whole {
			flush()
		}
	}
	if a.Abort {
		flush()
		panic(http.ErrAbortHandler)
	}
}

// tell does not wait: nobody need listen.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// stall waits; it is false when the client has gone.
func (f *Server) stall(r *http.Request, a *Answer) bool {
	select {
	case <-a.Stall:
		return true
	case <-r.Context().Done():
		tell(f.Gone)
		return false
	}
}
