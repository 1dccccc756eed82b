package engine

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// Open gives the session, opening its journal if this process does not own it yet. It settles what earlier runs left
// behind and starts nothing else. The error is [ErrNotFound], a [*journal.InUse], a [*journal.Damaged] …
func (h *Host) Open(ctx context.Context, id string) (*Session, error) {
	s, _, err := h.openSeen(ctx, id, nil)
	return s, err
}

// OpenSeen is Open for an observer that is attached as with [Session.Attach]. A session that this process does not own yet is shown to
// it while it is read and verified, so that the first of a long history comes at once; where the file turns out to be damaged, the
// error comes after what was shown.
func (h *Host) OpenSeen(ctx context.Context, id string, o Observer) (*Session, error) {
	s, seen, err := h.openSeen(ctx, id, o)
	if err != nil || seen {
		return s, err
	}
	return s, s.Attach(o, true)
}

func (h *Host) openSeen(ctx context.Context, id string, o Observer) (s *Session, seen bool, err error) {
	if !ValidSessionID(id) {
		return nil, false, ErrNotFound
	}
	if err := h.enter(); err != nil {
		return nil, false, err
	}
	defer h.leave()
	for {
		h.mu.Lock()
		if s := h.sessions[id]; s != nil && !s.lost.Load() {
			h.mu.Unlock()
			return s, false, nil
		} else if s != nil { // it may append no more: only a fresh opening knows what is on disk
			h.mu.Unlock()
			if err := h.Close(ctx, id, "close"); err != nil {
				h.log.Warn("session given up", "session", id, "error", err)
			}
			continue
		}
		wait := h.opening[id]
		if wait == nil {
			wait = make(chan struct{})
			h.opening[id] = wait
			h.mu.Unlock()
			s, err := h.open(id, o)
			h.mu.Lock()
			if err == nil {
				h.sessions[id] = s
			}
			delete(h.opening, id)
			close(wait)
			h.mu.Unlock()
			return s, true, err
		}
		h.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

func (h *Host) open(id string, o Observer) (*Session, error) {
	h.sweepOnce()
	s := h.newSession(id, "", nil)
	s.begin()
	// The run's id must be known before the lock is taken, and differ from that of each earlier run; a seeded source
	// cannot know the head yet, so it counts the openings of this process and the owner file's last run.
	prior, _ := journal.ReadOwner(s.dir)
	s.run = h.ids.ULID("run:" + id + ":" + prior.Run)
	var cwd string
	shown := showTo(o)
	defer shown.end()
	file, err := journal.Open(s.dir, journal.Options{Run: s.run, Started: time.UnixMilli(h.clock.Now()), Fault: h.fault}, func(c *journal.Raw) error {
		if c.Number == 1 {
			if first, err := Decode(c); err == nil {
				for _, e := range first.Events {
					if created, ok := e.Payload.(*event.Created); ok {
						cwd = created.Cwd.String()
						if own, err := h.installation(); err != nil || created.Session != id || created.Installation != own {
							return errors.Join(err, &Foreign{Session: id}) // before anything else of it is looked at
						}
					}
				}
			}
		}
		if err := s.see(c); err != nil || o == nil {
			return err
		}
		d, err := Decode(c)
		if err == nil {
			shown.add(d)
		}
		return err
	})
	var foreign *Foreign
	if errors.As(err, &foreign) {
		return nil, foreign
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if errors.Is(err, projections.ErrUnknownEvent) {
		return nil, &journal.NewerError{File: s.dir, What: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	s.journal, s.log, s.salt, s.Cwd = file, file, file.Salt(), cwd
	fail := func(err error) (*Session, error) {
		return nil, errors.Join(err, file.Close())
	}
	v := s.folder.View
	installation, err := h.installation()
	if err != nil {
		return fail(err)
	}
	switch {
	case v.Corrupt != nil:
		return fail(&journal.Damaged{File: file.Path(), Commit: v.Corrupt.Commit, Reason: v.Corrupt.Why})
	case v.ID == "":
		return fail(ErrNotFound) // a crash before its first commit: nothing was ever accepted
	case v.ID != id || v.Created.Installation != installation:
		return fail(&Foreign{Session: id})
	}
	set, err := s.configured(&v.Policy)
	if err != nil {
		return fail(err)
	}
	s.settings.Store(set)
	served := s.serve()
	s.listed = v.Root.Updated
	s.writeSummary(true)
	shown.end() // what comes now comes after it
	if o != nil {
		s.observers = []Observer{o}
	}
	_, err = s.startRun(&commands.OpenSession{Run: s.run.String(), Build: h.build()}, nil)
	<-served
	if err != nil {
		s.server.Load().Close()
		return fail(err)
	}
	if r, ok := o.(Replayed); ok {
		if err := s.inOwner(r.Replayed); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Foreign is a session that was not created by this installation: it may be inspected, and nothing may be appended.
type Foreign struct{ Session string }

func (f *Foreign) Error() string {
	return "session " + f.Session + " belongs to another installation and can only be inspected"
}

// showing hands commits to an observer beside the reading of the journal, in their order.
type showing struct {
	batch []*Committed
	feed  chan []*Committed
	done  chan struct{}
}

// showBatch is how many commits are handed over together, but for the first, which comes at once.
const showBatch = 64

// showTo begins to show commits to an observer; with nil there is nobody, and nothing runs for it.
func showTo(o Observer) *showing {
	if o == nil {
		return &showing{}
	}
	s := &showing{feed: make(chan []*Committed, 4), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for batch := range s.feed {
			for _, c := range batch {
				o.Committed(c)
			}
		}
	}()
	return s
}

func (s *showing) add(c *Committed) {
	s.batch = append(s.batch, c)
	if len(s.batch) >= showBatch || c.Number <= showBatch/8 {
		s.feed <- s.batch
		s.batch = nil
	}
}

// end waits until everything was shown. It may be called again.
func (s *showing) end() {
	if s.feed == nil {
		return
	}
	if len(s.batch) > 0 {
		s.feed <- s.batch
	}
	close(s.feed)
	<-s.done
	s.feed = nil
}
