package acp

import (
	"context"
	"errors"
	"fmt"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
	"zuno/journal"
)

func (s *Server) loadSession(r *wire.Request) {
	var p schema.LoadSessionRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	s.reopen(r, p.SessionID, p.Cwd, p.McpServers, (*session).load)
}

// reopen checks what a request names that opens a session which exists, and has it opened.
func (s *Server) reopen(r *wire.Request, id, cwd string, list []schema.McpServer, open func(*session, *wire.Request, []string) bool) {
	cwd, servers, bad := opening(cwd, list)
	if bad == nil && !engine.ValidSessionID(id) {
		bad = rpcError(engine.ErrNotFound)
	}
	if bad != nil {
		_ = r.ReplyError(bad)
		return
	}
	s.open(r, id, cwd, func(x *session) bool { return open(x, r, servers) })
}

// load replays everything, answers, tells the present state, and follows the session from then on.
func (x *session) load(req *wire.Request, mcpServers []string) (opened bool) {
	ok, err := x.attach(req.Context(), false)
	if err != nil {
		_ = req.ReplyError(rpcError(err))
		return ok
	}
	_ = req.ReplyThen(schema.LoadSessionResponse{Modes: modes(), ConfigOptions: x.options()}, func() { x.publish(mcpServers, nil) })
	return true
}

// attach opens the session for this connection, and has its history drawn unless it is quiet. Updates that come after the
// history are held until [session.publish] lets them go. ok says that the session is open, also where err says what went wrong.
func (x *session) attach(ctx context.Context, quiet bool) (ok bool, err error) {
	x.mu.Lock()
	was := x.engine
	reserved := x.settings != nil && was == nil
	x.mu.Unlock()
	if reserved { // a panel that was never used, unless it is unknown what became of its first input
		if _, err := x.server.host.Open(ctx, x.id); errors.Is(err, engine.ErrNotFound) {
			x.outlet.set(outletHeld)
			return true, nil // there is nothing to replay
		}
	}
	x.leaveView()
	if quiet && was != nil {
		s, err := x.server.host.Open(ctx, x.id) // the one that is open, unless it may append no more
		if err == nil && s == was {             // what it was told so far stands
			x.outlet.set(outletHeld)
			return true, nil
		}
	}
	if was != nil {
		was.Detach(x)
		defer func() {
			if err != nil { // it is not followed any more
				x.Lost(err)
			}
		}()
	}
	defer spareCollector()()
	x.beginReplay(quiet)
	s, err := x.server.host.OpenSeen(ctx, x.id, x)
	if err != nil {
		x.failReplay()
		var inUse *journal.InUse
		if errors.As(err, &inUse) {
			return x.view(inUse, quiet)
		}
		if s != nil {
			return true, fmt.Errorf("session %s cannot be replayed: %w", x.id, err)
		}
		return false, err
	}
	x.mu.Lock()
	x.engine = s
	x.mu.Unlock()
	x.server.log.Info("session replayed", "audience", "diagnostic", "session", x.id, "head", s.Head().Number)
	return true, nil
}

// beginReplay forgets what was drawn of the session, but not what this client asked for.
func (x *session) beginReplay(quiet bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	waiting, own, told := x.waiting, x.own, x.told
	x.reset()
	x.waiting, x.own, x.told, x.lost = waiting, own, told, nil
	x.replaying, x.projector.Replay = true, true
	if quiet {
		x.outlet.set(outletShut)
		return
	}
	x.replay = newReplay(x.id, x.server.conn.Lines)
}

func (x *session) endReplay() {
	x.mu.Lock()
	x.projector.Replay = false
	x.projector.Usage()
	if x.replay != nil {
		if err := x.replay.end(); err != nil {
			x.server.log.Debug("history not sent", "session", x.id, "error", err)
		}
	}
	x.replaying, x.places, x.replay = false, nil, nil
	x.mu.Unlock()
}

// Replayed ends the history: what comes from here on is new, and waits for the answer. So do the answers to prompts that are over
// by now.
func (x *session) Replayed() {
	x.endReplay()
	x.outlet.set(outletHeld)
	x.mu.Lock()
	defer x.mu.Unlock()
	for input := range x.waiting {
		if r := x.receipts.by[input]; r != nil && r.Answerable() {
			x.done(r)
		}
	}
}

// failReplay ends a history that did not come to its end. What was not told yet is not told any more.
func (x *session) failReplay() {
	x.mu.Lock()
	x.replaying, x.places, x.replay, x.projector.Replay = false, nil, nil, false
	x.mu.Unlock()
	x.outlet.open(nil, x.tell)
}
