package engine

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"zuno/journal"
	"zuno/projections"
	"zuno/tools"
)

// leaves waits until the host takes no more sessions.
func (b *bench) leaves() {
	for {
		b.h.mu.Lock()
		leaving := b.h.leaving
		b.h.mu.Unlock()
		if leaving {
			return
		}
		runtime.Gosched()
	}
}

// A session that is being created when the process is to end is stopped like all others: its input is saved, its turn does not go
// on behind the back of whoever shuts down, and its journal is given up.
//
// spec: D142 A068
func TestShutdownWaitsForASessionThatIsBeingCreated(t *testing.T) {
	b := newBench(t)
	syncing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.options.Fault = func(p journal.Point) error {
		if p == journal.PointBeforeSync {
			once.Do(func() { close(syncing); <-release })
		}
		return nil
	}
	b.rebuild()
	var id string
	created, down := make(chan error, 1), make(chan error, 1)
	go func() {
		var err error
		_, id, err = b.create(nil, "acp:1", admission("hello"))
		created <- err
	}()
	within(t, "the first sync", syncing)
	go func() { down <- b.h.Shutdown(t.Context(), "shutdown") }()
	b.leaves()
	close(release)
	go func() { // the turn may have begun
		select {
		case r := <-b.provider.asked:
			r.cancelled(t)
		case <-b.provider.over:
		}
	}()
	if err := <-created; err != nil {
		t.Fatal(err)
	}
	if err := <-down; err != nil {
		t.Fatal(err)
	}
	if b.h.Get(id) != nil {
		t.Error("the session is still open")
	}
	if _, _, err := b.create(nil, "acp:2", admission("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("a session is created after the end: %v", err)
	}
	if _, err := b.h.Open(t.Context(), id); !errors.Is(err, ErrClosed) {
		t.Errorf("a session is opened after the end: %v", err)
	}
	b.rebuild()
	s, err := b.h.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Read(func(v *projections.View) {
		if v.Root.Turns.Ended == "failed" || v.Root.Execution.Deaths.Count > 0 {
			t.Errorf("it ended like a process that died: turn %q, deaths %+v", v.Root.Turns.Ended, v.Root.Execution.Deaths)
		}
	}); err != nil {
		t.Error(err)
	}
	if err := b.h.Shutdown(t.Context(), "shutdown"); err != nil {
		t.Error(err)
	}
}

// A session that is just being closed is none of the host's any more, and its command still runs: the end of the process waits
// for that, too, also where nobody waits for the closing any more.
//
// spec: D142
func TestShutdownWaitsForASessionThatIsBeingClosed(t *testing.T) {
	t.Run("patient", func(t *testing.T) { shutdownWhileClosing(t, t.Context()) })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	t.Run("gone", func(t *testing.T) { shutdownWhileClosing(t, gone) })
}

func shutdownWhileClosing(t *testing.T, closing context.Context) {
	b := newBench(t)
	_, id, err := b.create(nil, "acp:1", admission("hello"))
	if err != nil {
		t.Fatal(err)
	}
	b.asked().finish(tool("never", "1"))
	run := b.ran()
	closed, down := make(chan error, 1), make(chan error, 1)
	go func() { closed <- b.h.Close(closing, id, "close") }()
	within(t, "the stop of the command", run.ctx.Done())
	go func() { down <- b.h.Shutdown(t.Context(), "shutdown") }()
	for waits := false; !waits; runtime.Gosched() {
		select {
		case err := <-down:
			t.Fatalf("the process would end while the command runs: %v", err)
		default:
			b.h.mu.Lock()
			waits = b.h.quiet != nil
			b.h.mu.Unlock()
		}
	}
	run.end <- func() tools.Result { return tools.Result{Outcome: tools.Cancelled} }
	if err := <-closed; err != nil && !errors.Is(err, closing.Err()) {
		t.Error(err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	b.rebuild()
	s, err := b.h.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Read(func(v *projections.View) {
		if v.Root.Turns.Ended != "cancelled" {
			t.Errorf("the turn ended as %q", v.Root.Turns.Ended)
		}
	}); err != nil {
		t.Error(err)
	}
}
