package acp

import (
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
)

// modes are those that exist: build alone.
func modes() *schema.SessionModeState {
	return &schema.SessionModeState{CurrentModeID: "build", AvailableModes: []schema.SessionMode{{ID: "build", Name: "Build", Description: "Work in the worktree."}}}
}

func (s *Server) setMode(r *wire.Request) {
	var p schema.SetSessionModeRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	switch {
	case s.session(p.SessionID) == nil:
		_ = r.ReplyError(rpcError(engine.ErrNotFound))
	case p.ModeID != "build":
		_ = r.ReplyError(invalid("there is no mode %q; the only mode is build", short(p.ModeID)))
	default:
		_ = r.Reply(schema.SetSessionModeResponse{})
	}
}
