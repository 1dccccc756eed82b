package acp

import (
	"sync"

	"zuno/acp/schema"
)

// outlet is where a session's updates, and the answers that follow on them, wait for what must be told before them: the answer to
// a load or a resume, and the state that comes with it.
type outlet struct {
	mu   sync.Mutex
	mode outletMode
	held []func()
}

type outletMode uint8

const (
	outletOpen outletMode = iota
	outletShut            // what comes is history, which is not to be told
	outletHeld            // what comes is kept until the outlet opens
)

func (o *outlet) set(m outletMode) {
	o.mu.Lock()
	o.mode = m
	o.mu.Unlock()
}

// pass sends an update through the outlet, in order with all others.
func (o *outlet) pass(u schema.SessionUpdate, send func(schema.SessionUpdate)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch o.mode {
	case outletOpen:
		send(u)
	case outletHeld:
		o.held = append(o.held, func() { send(u) })
	}
}

// after runs fn when all updates before it have passed.
func (o *outlet) after(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mode == outletHeld {
		o.held = append(o.held, fn)
		return
	}
	fn()
}

// open sends these updates, then those that were held, and lets all others pass.
func (o *outlet) open(first []schema.SessionUpdate, send func(schema.SessionUpdate)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, u := range first {
		send(u)
	}
	for _, fn := range o.held {
		fn()
	}
	o.mode, o.held = outletOpen, nil
}
