package acp

import (
	"zuno/acp/schema"
	"zuno/acp/wire"
)

func (s *Server) resumeSession(r *wire.Request) {
	var p schema.ResumeSessionRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	s.reopen(r, p.SessionID, p.Cwd, p.McpServers, (*session).resume)
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
