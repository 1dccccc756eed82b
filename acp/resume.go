package acp

import (
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
)

func (s *Server) resumeSession(r *wire.Request) {
	var p schema.ResumeSessionRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	cwd, servers, bad := opening(p.Cwd, p.McpServers)
	if bad == nil && !engine.ValidSessionID(p.SessionID) {
		bad = rpcError(engine.ErrNotFound)
	}
	if bad != nil {
		_ = r.ReplyError(bad)
		return
	}
	s.open(r, p.SessionID, cwd, func(x *session) bool { return x.resume(r, servers) })
}

// resume goes on with a session whose conversation the client has: it is sent none of it, before the answer or after, only
// the state that stands beside it.
func (x *session) resume(req *wire.Request, mcpServers []string) (opened bool) {
	ok, err := x.attach(req.Context(), true)
	if err != nil {
		_ = req.ReplyError(rpcError(err))
		return ok
	}
	x.mu.Lock()
	state := x.projector.State()
	x.mu.Unlock()
	_ = req.ReplyThen(schema.ResumeSessionResponse{Modes: modes(), ConfigOptions: x.options()}, func() { x.publish(mcpServers, state) })
	return true
}
