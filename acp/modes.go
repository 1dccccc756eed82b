package acp

import (
	"zuno/acp/schema"
	"zuno/acp/wire"
)

// modeBuild is the mode in which work is done; there is no other one.
const modeBuild = "build"

func modes() *schema.SessionModeState {
	return &schema.SessionModeState{CurrentModeID: modeBuild, AvailableModes: []schema.SessionMode{{ID: modeBuild, Name: "Build", Description: "Work in the worktree."}}}
}

func (s *Server) setMode(r *wire.Request) {
	var p schema.SetSessionModeRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	s.post(r, p.SessionID, func(x *session) {
		if p.ModeID != modeBuild {
			_ = r.ReplyError(invalid("there is no mode %q; the only mode is %s", short(p.ModeID), modeBuild))
			return
		}
		_ = r.ReplyThen(schema.SetSessionModeResponse{}, x.modeSet)
	})
}

// modeSet tells of a mode in both forms: some clients know modes, others only options, and some wait for the update of what
// they set themselves.
func (x *session) modeSet() {
	x.update(schema.ModeUpdate(modeBuild))
	x.update(schema.ConfigUpdate(x.options()...))
}
