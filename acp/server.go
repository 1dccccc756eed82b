package acp

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
)

// shutdownLimit bounds the orderly stop at the end of input: a command gets two seconds to end by itself.
const shutdownLimit = 5 * time.Second

// Server serves one connection.
type Server struct {
	host    *engine.Host
	ids     engine.IDs
	log     *slog.Logger
	version string
	conn    *wire.Conn

	diagnostics io.Writer // what must be told and has no answer: one line each

	mu       sync.Mutex
	sessions map[string]*session
	ready    bool        // initialize was answered
	terminal atomic.Bool // the client draws terminals by _meta; a client may say so more than once
}

// NewServer makes a server; Serve runs it. Diagnostics, one line each, go where the log may not be seen: standard error.
func NewServer(host *engine.Host, ids engine.IDs, log *slog.Logger, diagnostics io.Writer, version string) *Server {
	return &Server{host: host, ids: ids, log: log, diagnostics: diagnostics, version: version, sessions: map[string]*session{}}
}

// Serve speaks with one client until the end of its input, then stops what runs and gives up every session.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	begun := make(chan struct{})
	s.conn = wire.New(ctx, in, out, startGate{s, begun}, wire.Options{Logger: s.log})
	close(begun)
	<-s.conn.Done()
	s.unfollow()
	stop, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	return s.host.Shutdown(stop, "shutdown")
}

// startGate holds the first message until the server knows its connection.
type startGate struct {
	*Server
	begun chan struct{}
}

func (g startGate) Request(ctx context.Context, r *wire.Request) {
	<-g.begun
	g.Server.Request(ctx, r)
}

func (g startGate) Notify(ctx context.Context, method string, params json.RawMessage) {
	<-g.begun
	g.Server.Notify(ctx, method, params)
}

// Request takes a request in the order of the wire. What can take long goes on in the session's own goroutine.
func (s *Server) Request(_ context.Context, r *wire.Request) {
	if r.Method != schema.MethodInitialize && !s.ready {
		_ = r.ReplyError(wire.Errorf(wire.CodeInvalidRequest, "%s came before initialize", r.Method))
		return
	}
	switch r.Method {
	case schema.MethodInitialize:
		s.initialize(r)
	case schema.MethodSessionNew:
		s.newSession(r)
	case schema.MethodSessionLoad:
		s.loadSession(r)
	case schema.MethodSessionResume:
		s.resumeSession(r)
	case schema.MethodSessionDelete:
		s.deleteSession(r)
	case schema.MethodSessionList:
		r.Go(func() { s.listSessions(r) })
	case schema.MethodSessionPrompt:
		s.prompt(r)
	case methodSteer, methodSteerAlias:
		s.steer(r)
	case schema.MethodSessionClose:
		s.closeSession(r)
	case schema.MethodSessionSetMode:
		s.setMode(r)
	case schema.MethodSessionSetConfigOption:
		s.setOption(r)
	default:
		_ = r.ReplyError(wire.Errorf(wire.CodeMethodNotFound, "method not found: %s", r.Method))
	}
}

// Notify takes a notification in the order of the wire. Unknown ones are ignored.
func (s *Server) Notify(_ context.Context, method string, params json.RawMessage) {
	if method != schema.MethodSessionCancel {
		return
	}
	s.cancel(params)
}

func short(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
