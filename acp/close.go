package acp

import (
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
)

func (s *Server) closeSession(r *wire.Request) {
	var p schema.CloseSessionRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	s.mu.Lock()
	x := s.sessions[p.SessionID]
	delete(s.sessions, p.SessionID)
	s.mu.Unlock()
	if x == nil {
		_ = r.ReplyError(rpcError(engine.ErrNotFound))
		return
	}
	x.post(func() { x.close(r) })
}

// close ends the session's running work and gives up its journal.
func (x *session) close(req *wire.Request) {
	x.mu.Lock()
	s := x.engine
	x.mu.Unlock()
	if s != nil {
		if err := x.server.host.Close(req.Context(), x.id, "close"); err != nil {
			_ = req.ReplyError(rpcError(err))
			return
		}
	}
	_ = req.Reply(schema.CloseSessionResponse{})
}
