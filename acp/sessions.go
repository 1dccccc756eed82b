package acp

import (
	"zuno/acp/wire"
	"zuno/internal/engine"
)

// maxSessions is how many sessions a connection has open at a time.
const maxSessions = 32

// session gives an open session of the connection; nil where it is none.
func (s *Server) session(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil && !x.over {
		return x
	}
	return nil
}

// post gives an open session something to do for a request, in the order of the wire.
func (s *Server) post(r *wire.Request, id string, fn func(x *session)) {
	x := s.session(id)
	if x == nil {
		_ = r.ReplyError(rpcError(engine.ErrNotFound))
		return
	}
	x.post(r, func() { fn(x) })
}

// open makes the session one of the connection's, if it is not yet, and has fn open it. Where fn says that it did not come
// to that, the session is none of the connection's any more.
func (s *Server) open(r *wire.Request, id, cwd string, fn func(x *session) (opened bool)) {
	s.mu.Lock()
	x := s.sessions[id]
	if x == nil || x.over {
		open := 0
		for _, other := range s.sessions {
			if !other.over {
				open++
			}
		}
		if open >= maxSessions {
			s.mu.Unlock()
			_ = r.ReplyError(wire.Errorf(wire.CodeInternalError, "%d sessions are open, and one connection has no more; close one of them with session/close first", open).With(map[string]any{"reason": "tooManySessions", "limit": maxSessions}))
			return
		}
	}
	if x == nil {
		x = newSession(s, id, cwd)
		s.sessions[id] = x
	}
	x.over = false // it may be about to close: then it is opened again after that
	x.opening++
	s.mu.Unlock()
	opened := false
	if !x.post(r, func() {
		defer func() { s.opened(x, opened) }()
		opened = fn(x)
	}) {
		s.opened(x, true) // it is as open as before
	}
}

func (s *Server) opened(x *session, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.opening--
	if !ok && x.opening == 0 {
		x.over = true
	}
	s.drop(x)
}

// closing takes the session away from the connection and has fn give it up, which says whether it did.
func (s *Server) closing(r *wire.Request, x *session, fn func() bool) {
	s.mu.Lock()
	x.over = true
	s.mu.Unlock()
	ended := func(gone bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !gone {
			x.over = false
		}
		s.drop(x)
	}
	if !x.post(r, func() {
		gone := true
		defer func() { ended(gone) }()
		gone = fn()
	}) {
		ended(false)
	}
}

// drop forgets a session that is over, unless a request waits to open it again.
func (s *Server) drop(x *session) {
	if x.over && x.opening == 0 && s.sessions[x.id] == x {
		delete(s.sessions, x.id)
	}
}
