package main

import (
	"context"
	"sync"
	"time"
)

// realClock is the machine's.
type realClock struct{}

func (realClock) Now() int64 { return time.Now().UnixMilli() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (realClock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

func (realClock) Committed() {}

// testClock starts at a fixed instant, advances one millisecond with each commit, and jumps over every wait, so that
// golden scripts run the real binary without sleeping and give the same records each time.
type testClock struct {
	mu     sync.Mutex
	now    int64
	waited int64 // of now
	timers []*testTimer
}

type testTimer struct {
	at int64
	f  func()
}

// testEpoch is where the test clock starts: 2030-01-01 00:00:00 UTC.
const testEpoch = 1893456000000

func newTestClock() *testClock { return &testClock{now: testEpoch} }

func (c *testClock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Elapsed is what was waited for.
func (c *testClock) Elapsed() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited
}

// Committed moves the clock on. It fires no timer: only a wait does, so that what a timer does has its place in the order.
func (c *testClock) Committed() {
	c.mu.Lock()
	c.now++
	c.mu.Unlock()
}

// jump ends a wait: it fires, in order, what falls due before the end.
func (c *testClock) jump(ms int64) {
	c.mu.Lock()
	until := c.now + ms
	c.waited += ms
	for {
		next := -1
		for i, t := range c.timers {
			if t.at <= until && (next < 0 || t.at < c.timers[next].at) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		t := c.timers[next]
		c.timers = append(c.timers[:next], c.timers[next+1:]...)
		c.now = max(c.now, t.at)
		c.mu.Unlock()
		t.f()
		c.mu.Lock()
	}
	c.now = max(c.now, until)
	c.mu.Unlock()
}

func (c *testClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.jump(max(d.Milliseconds(), 0))
	return nil
}

func (c *testClock) AfterFunc(d time.Duration, f func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &testTimer{c.now + d.Milliseconds(), f}
	c.timers = append(c.timers, t)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, x := range c.timers {
			if x == t {
				c.timers = append(c.timers[:i], c.timers[i+1:]...)
				return
			}
		}
	}
}
