package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/commands"
	"zuno/internal/engine"
	"zuno/internal/live"
	"zuno/journal"
)

// follower draws a session that another process owns, as its owner commits. It reads and never writes.
type follower struct {
	x    *session
	dir  string
	pid  atomic.Int64 // of the owner that was seen last
	seen uint64       // the newest commit that was drawn; only who reads has it
	stop context.CancelFunc

	mu   sync.Mutex
	over bool // nothing is drawn any more
}

// view opens the session as one that can only be looked at. Where its owner answers nobody, it stays in use.
func (x *session) view(inUse *journal.InUse, quiet bool) (ok bool, err error) {
	f := &follower{x: x, dir: filepath.Join(x.server.host.SessionsDir(), x.id)}
	f.pid.Store(int64(inUse.PID))
	if o, err := journal.ReadOwner(f.dir); err != nil || o.Socket == "" || o.PID == os.Getpid() {
		return false, inUse
	}
	x.mu.Lock()
	x.engine, x.settings = nil, nil
	x.mu.Unlock()
	x.beginReplay(quiet)
	if err := f.read(); err != nil {
		x.failReplay()
		return false, errors.Join(inUse, err)
	}
	x.Replayed()
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	x.mu.Lock()
	x.follower = f
	x.mu.Unlock()
	go f.follow(ctx)
	return true, nil
}

// read draws what was committed since the last time.
func (f *follower) read() error {
	file, source, err := live.Open(journal.Inspection{Path: f.dir, Fold: func(c *journal.Raw) error {
		if c.Number <= f.seen {
			return nil
		}
		d, err := engine.Decode(c)
		if err == nil {
			err = f.draw(d)
		}
		if err == nil {
			f.seen = c.Number
		}
		return err
	}})
	if source.PID != 0 {
		f.pid.Store(int64(source.PID))
	}
	if err != nil {
		return err
	}
	return file.Close()
}

var errLeft = errors.New("nobody looks any more")

func (f *follower) draw(c *engine.Committed) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return errLeft
	}
	f.x.Committed(c)
	return nil
}

func (f *follower) follow(ctx context.Context) {
	err := live.Follow(ctx, f.dir, func(h journal.Head) {
		if h.Number <= f.seen {
			return
		}
		if err := f.read(); err != nil && !errors.Is(err, errLeft) {
			f.x.server.log.Warn("a followed session cannot be read", "session", f.x.id, "error", err)
		}
	})
	if ctx.Err() == nil {
		f.x.server.log.Warn("a session is not followed any more", "session", f.x.id, "error", err)
	}
}

// leave ends the view. When it returns, nothing more is drawn.
func (f *follower) leave() {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.stop()
}

// notice tells, once, what the view is.
func (f *follower) notice() schema.SessionUpdate {
	return notice(noticeMeta{"info", commands.NoticeReadOnly}, fmt.Sprintf("Session %s is in use by process %d. This is a live view of it: what that process does appears here, and prompts are not taken. To go on here, close it there and load it again.", f.x.id, f.pid.Load()))
}

// refusal is the answer to whatever would change the session.
func (f *follower) refusal() *wire.Error {
	pid := int(f.pid.Load())
	text := fmt.Sprintf("session %s is in use by pid %d, and this view of it takes no requests; close it there, then load it again", f.x.id, pid)
	if owned, err := journal.Owned(f.dir); err == nil && !owned {
		text = fmt.Sprintf("pid %d has given up session %s, of which this is a view; load it again to go on with it", pid, f.x.id)
	}
	return (&wire.Error{Code: wire.CodeInUse, Message: text}).With(map[string]any{"reason": "inUse", "pid": pid})
}

// leaveView ends the view of the session, if it is one.
func (x *session) leaveView() {
	x.mu.Lock()
	f := x.follower
	x.follower = nil
	x.mu.Unlock()
	if f != nil {
		f.leave()
	}
}

// readOnly refuses a request that a view does not take, and says so.
func (x *session) readOnly(r *wire.Request) bool {
	x.mu.Lock()
	f := x.follower
	x.mu.Unlock()
	if f == nil {
		return false
	}
	switch r.Method {
	case schema.MethodSessionLoad, schema.MethodSessionResume, schema.MethodSessionClose, schema.MethodSessionDelete:
		return false
	}
	_ = r.ReplyError(f.refusal())
	return true
}

// unfollow ends all views, when the connection has ended.
func (s *Server) unfollow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		x.leaveView()
	}
}
