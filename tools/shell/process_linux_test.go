package shell

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// Nothing of a call stays: no descriptor, no goroutine, no zombie.
func TestNothingLeaks(t *testing.T) {
	s := newSession(t)
	s.env.Progress = func([]byte) {}
	s.env.Shell.HardCeilingMS = 50
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(entries)
	}
	commands := []string{"true", "sleep 1000 & true", "exit 3", "exec sleep 1000", "nosuch", "cat"}
	for _, command := range commands { // whatever is made once is made now
		s.run(command)
	}
	fds, routines := descriptors(), runtime.NumGoroutine()
	for range 5 {
		for _, command := range commands {
			s.run(command)
		}
	}
	if got := descriptors(); got != fds {
		t.Errorf("%d descriptors, were %d", got, fds)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > routines; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Errorf("%d goroutines, were %d", runtime.NumGoroutine(), routines)
			break
		}
	}
	for _, pid := range processes() {
		if s, ok := readStat(pid); ok && s.parent == os.Getpid() && !s.alive {
			t.Errorf("zombie %d", pid)
		}
	}
}
