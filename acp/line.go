package acp

import (
	"sync"

	"zuno/acp/wire"
)

const (
	// maxWaiting is how many requests of a session may wait for those before them.
	maxWaiting = 1024
	// spareNotices is how many stops may wait beside a full line: whoever wants to stop is not to be kept waiting.
	spareNotices = 64
)

// line is what a session has to do for its client, in the order of the wire, one thing at a time. Adding to it never
// waits, so that a session that is stuck holds up neither the others nor who reads the connection.
type line struct {
	mu      sync.Mutex
	waiting []func()
	moving  bool // a goroutine works it off
}

// add puts fn at the end of the line, unless so many wait already.
func (l *line) add(fn func(), most int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= most {
		return false
	}
	l.waiting = append(l.waiting, fn)
	if !l.moving {
		l.moving = true
		go l.work()
	}
	return true
}

func (l *line) work() {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.waiting, l.moving = nil, false
			l.mu.Unlock()
			return
		}
		fn := l.waiting[0]
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		fn()
	}
}

// post gives the session something to do for a request, in the order of the wire. A request that finds the line full is refused,
// and fn does not run.
func (x *session) post(r *wire.Request, fn func()) bool {
	ok := x.line.add(func() {
		r.Run(func() {
			if !x.readOnly(r) {
				fn()
			}
		})
	}, maxWaiting)
	if !ok {
		_ = r.ReplyError(wire.Errorf(wire.CodeInternalError, "%d requests of session %s wait already; send this again when some are answered", maxWaiting, x.id).With(map[string]any{"reason": "tooManyRequests", "limit": maxWaiting}))
	}
	return ok
}
