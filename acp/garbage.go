package acp

import (
	"runtime/debug"
	"sync"
)

// replayGCPercent is how far the heap may grow while a history is read: nearly all of it is garbage at once, and collecting it as
// often as usual takes a third of the time.
const replayGCPercent = 400

var collector struct {
	mu      sync.Mutex
	replays int
	usual   int
}

// spareCollector lets garbage gather until the function that it gives is called. It is for the whole process, so replays count.
func spareCollector() (again func()) {
	c := &collector
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replays++; c.replays == 1 {
		c.usual = debug.SetGCPercent(replayGCPercent)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.replays--; c.replays == 0 {
			debug.SetGCPercent(c.usual)
		}
	}
}
