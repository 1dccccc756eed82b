package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"zuno/commands"
)

// Close stops the session's running turn, waits for what runs to be settled, and gives up its journal. It is a no-op for a
// session that is not open. Source says who wants it: close, shutdown.
func (h *Host) Close(ctx context.Context, id, source string) error {
	h.mu.Lock()
	s := h.sessions[id]
	if s != nil {
		delete(h.sessions, id)
		h.moving++
	}
	h.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.closeThen(ctx, source, h.leave)
}

// Shutdown closes every session, also those that are just being created or opened, and waits for those that are being closed
// already: whoever ends the process next leaves nothing behind that runs. No session is created or opened after it.
func (h *Host) Shutdown(ctx context.Context, source string) error {
	h.mu.Lock()
	h.leaving = true
	if h.moving > 0 && h.quiet == nil {
		h.quiet = make(chan struct{})
	}
	quiet := h.quiet
	h.mu.Unlock()
	first := make(chan error, 1)
	go func() { first <- h.closeAll(ctx, source) }()
	var late error
	if quiet != nil {
		select {
		case <-quiet:
		case <-ctx.Done():
			late = fmt.Errorf("a session is still being opened or closed: %w", ctx.Err())
		}
	}
	return errors.Join(<-first, late, h.closeAll(ctx, source))
}

func (h *Host) closeAll(ctx context.Context, source string) error {
	h.mu.Lock()
	var ids []string
	for id := range h.sessions {
		ids = append(ids, id)
	}
	h.mu.Unlock()
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { errs[i] = h.Close(ctx, id, source) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *Session) close(ctx context.Context, source string) error {
	return s.closeThen(ctx, source, func() {})
}

// closeThen calls ended when the journal is given up, which may be after it has returned: what does not stop, and a disk that hangs,
// are waited for no longer than ctx lets it. The stop is decided in any case, also where nobody waits for it.
func (s *Session) closeThen(ctx context.Context, source string, ended func()) error {
	s.leaving.Store(true)
	closed := make(chan error, 1)
	go func() {
		defer ended()
		closed <- s.wind(source)
	}()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("session %s still runs something that does not stop: %w", s.ID, ctx.Err())
	}
}

// wind stops what runs, waits for it, and gives up the journal.
func (s *Session) wind(source string) error {
	ctx := context.Background()
	_ = s.inOwner(func() { s.draining = true })
	_, err := s.do(ctx, "engine:close:"+s.runLabel, "engine", 0, &commands.CancelTurn{Source: source})
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		err = nil // nothing ran
	}
	if _, e := s.do(ctx, "engine:closed:"+s.runLabel, "engine", 0, &commands.CloseRun{Run: s.run.String()}); e != nil && !errors.As(e, &refusal) {
		s.host.log.Debug("orderly end not recorded", "session", s.ID, "error", e)
	}
	s.stop()
	return errors.Join(err, s.shut())
}

// stop ends the owner's goroutine once nothing runs any more, and waits for that. Nothing new is started.
func (s *Session) stop() {
	s.leaving.Store(true)
	_ = s.inOwner(func() { s.closing = true })
	<-s.stopped
}

func (s *Session) shut() error {
	s.writeSummary(false)
	s.server.Load().Close()
	return s.log.Close()
}
