package acp

import (
	"zuno/acp/schema"
	"zuno/acp/wire"
)

func (s *Server) deleteSession(r *wire.Request) {
	var p schema.DeleteSessionRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	if x := s.session(p.SessionID); x != nil {
		s.closing(r, x, func() bool { return x.delete(r) })
		return
	}
	r.Go(func() {
		if err := s.host.Delete(r.Context(), p.SessionID); err != nil {
			_ = r.ReplyError(rpcError(err))
			return
		}
		_ = r.Reply(schema.DeleteSessionResponse{})
	})
}

// delete removes a session that is open here. One that another process owns stays as it is, and open; one of our own is closed
// also where it cannot be removed.
func (x *session) delete(req *wire.Request) (gone bool) {
	if err := x.server.host.Delete(req.Context(), x.id); err != nil {
		x.mu.Lock()
		gone = x.engine != nil
		x.mu.Unlock()
		if gone {
			_ = x.release(req.Context(), sourceClose)
		}
		_ = req.ReplyError(rpcError(err))
		return gone
	}
	_ = x.release(req.Context(), sourceDelete) // the host has closed it
	_ = req.Reply(schema.DeleteSessionResponse{})
	return true
}
