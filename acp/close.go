package acp

import (
	"context"

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
	x := s.session(p.SessionID)
	if x == nil {
		_ = r.ReplyError(rpcError(engine.ErrNotFound))
		return
	}
	s.closing(r, x, func() bool { return x.close(r) })
}

// Why a session is given up: what a stop of its turn has as its source.
const (
	sourceClose  = "close"
	sourceDelete = "delete"
)

// close ends the session's running work and gives up its journal.
func (x *session) close(req *wire.Request) (gone bool) {
	if err := x.release(req.Context(), sourceClose); err != nil {
		_ = req.ReplyError(rpcError(err))
		return true // it is no session of the connection any more, even where something of it does not stop
	}
	_ = req.Reply(schema.CloseSessionResponse{})
	return true
}

// release gives up what the connection has of the session.
func (x *session) release(ctx context.Context, source string) error {
	x.leaveView()
	x.mu.Lock()
	s := x.engine
	x.engine, x.settings = nil, nil
	x.mu.Unlock()
	if s == nil {
		return nil
	}
	err := x.server.host.Close(ctx, x.id, source)
	x.left(source, err != nil)
	return err
}
