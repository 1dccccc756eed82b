package acp

import (
	"sync"

	"zuno/acp/schema"
)

// gate is where a session's updates wait for what must be told before them: the answer to a load or a resume, and the state
// that follows on it.
type gate struct {
	mu   sync.Mutex
	mode gateMode
	held []schema.SessionUpdate
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
		g.held = append(g.held, u)
	}
}

// open sends these updates, then those that were held, and lets all others pass.
func (g *gate) open(first []schema.SessionUpdate, send func(schema.SessionUpdate)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, u := range append(first, g.held...) {
		send(u)
	}
	g.mode, g.held = gateOpen, nil
}
