package main

import (
	"context"
	"testing"
	"time"
)

// TestTestClock: it starts at a fixed instant, moves one millisecond with each commit, and a wait jumps to its end at once,
// past every deadline on the way, in their order.
//
// spec: D103
func TestTestClock(t *testing.T) {
	c := newTestClock()
	if got := time.UnixMilli(c.Now()).UTC().Format(time.RFC3339Nano); got != "2030-01-01T00:00:00Z" {
		t.Errorf("it starts at %s", got)
	}
	c.Committed()
	c.Committed()
	if got := c.Now() - testEpoch; got != 2 {
		t.Errorf("two commits later it is %d ms later", got)
	}
	var fired []int64
	note := func() { fired = append(fired, c.Now()-testEpoch) }
	c.AfterFunc(60*time.Second, note)
	c.AfterFunc(20*time.Second, note)
	stopped := c.AfterFunc(30*time.Second, note)
	c.AfterFunc(500*time.Second, note)
	stopped()
	real := time.Now()
	if err := c.Sleep(context.Background(), 120*time.Second); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(real); took > 10*time.Second {
		t.Errorf("waiting for two minutes took %v", took)
	}
	if len(fired) != 2 || fired[0] != 20_002 || fired[1] != 60_002 {
		t.Errorf("fired at %v", fired)
	}
	if got := c.Now() - testEpoch; got != 120_002 {
		t.Errorf("after the wait it is %d", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Sleep(ctx, time.Hour); err == nil || c.Now()-testEpoch != 120_002 {
		t.Error("a wait that is over before it begins moves nothing")
	}
}
