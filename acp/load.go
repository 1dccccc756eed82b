package acp

import (
	"errors"
	"fmt"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
)

func (s *Server) loadSession(r *wire.Request) {
	var p schema.LoadSessionRequest
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
	s.open(r, p.SessionID, cwd, func(x *session) bool { return x.load(r, servers) })
}

// load replays everything, answers, and follows the session from then on.
func (x *session) load(req *wire.Request, mcpServers []string) (opened bool) {
	x.mu.Lock()
	s := x.engine
	reserved := x.settings != nil && s == nil
	x.mu.Unlock()
	if reserved { // a panel that was never used, unless it is unknown what became of its first input
		_, err := x.server.host.Open(req.Context(), x.id)
		reserved = errors.Is(err, engine.ErrNotFound)
	}
	if reserved { // there is nothing to replay
		_ = req.ReplyThen(schema.LoadSessionResponse{Modes: modes(), ConfigOptions: settingsOptions(x.settings)}, func() { x.announce(mcpServers) })
		return true
	}
	if s != nil {
		s.Detach(x)
	}
	s, err := x.server.host.Open(req.Context(), x.id) // the one that is open, unless it may append no more
	if err != nil {
		_ = req.ReplyError(rpcError(err))
		return false
	}
	x.mu.Lock()
	x.engine = s
	waiting, own, told := x.waiting, x.own, x.told
	x.reset()
	x.waiting, x.own, x.told = waiting, own, told
	x.replaying, x.projector.Replay = true, true
	x.mu.Unlock()
	err = s.Attach(x, true)
	x.mu.Lock()
	x.replaying, x.places, x.projector.Replay = false, nil, false
	x.projector.Usage()
	x.mu.Unlock()
	x.server.log.Info("session replayed", "audience", "diagnostic", "session", x.id, "head", s.Head().Number, "error", err)
	if err != nil {
		_ = req.ReplyError(rpcError(fmt.Errorf("session %s cannot be replayed: %w", x.id, err)))
		return true
	}
	_ = req.ReplyThen(schema.LoadSessionResponse{Modes: modes(), ConfigOptions: sessionOptions(s)}, func() {
		x.announce(mcpServers)
		s.SetAsker(x) // only now: a client answers questions about a session that it knows
	})
	return true
}
