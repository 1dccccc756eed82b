package acp

import (
	"sync"

	"zuno/acp/schema"
)

// gate is where a session's updates, and the answers that follow on them, wait for what must be told before them: the answer to
// a load or a resume, and the state that comes with it.
type gate struct {
	mu   sync.Mutex
	mode gateMode
	held []func()
}

type gateMode uint8

const (
	gateOpen gateMode = iota
	gateShut          // what comes is history, which is not to be told
	gateHeld          // what comes is kept until the gate opens
)

func (g *gate) set(m gateMode) {
	g.mu.Lock()
	g.mode = m
	g.mu.Unlock()
}

// pass sends an update through the gate, in order with all others.
func (g *gate) pass(u schema.SessionUpdate, send func(schema.SessionUpdate)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch g.mode {
	case gateOpen:
		send(u)
	case gateHeld:
		g.held = append(g.held, func() { send(u) })
	}
}

// after runs fn when all updates before it have passed.
func (g *gate) after(fn func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mode == gateHeld {
		g.held = append(g.held, fn)
		return
	}
	fn()
}

// open sends these updates, then those that were held, and lets all others pass.
func (g *gate) open(first []schema.SessionUpdate, send func(schema.SessionUpdate)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, u := range first {
		send(u)
	}
	for _, fn := range g.held {
		fn()
	}
	g.mode, g.held = gateOpen, nil
}
