package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"zuno/commands"
	"zuno/internal/live"
	"zuno/internal/model"
	"zuno/internal/prompt"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

// Host holds the sessions that this process owns.
type Host struct {
	data     string
	build    func() string
	clock    Clock
	ids      IDs
	tools    *tools.Registry
	log      *slog.Logger
	settings func(cwd, model string) (*Settings, error)
	freeMiB  func(dir string) uint64
	sockets  []string
	fault    func(journal.Point) error
	unfenced bool

	mu       sync.Mutex
	sessions map[string]*Session
	opening  map[string]chan struct{}

	catalogue func() map[string]tools.Entry
}

// NewHost makes a host. Nothing is touched on disk.
func NewHost(o Options) *Host {
	h := &Host{
		data: o.Data, build: o.Build, clock: o.Clock, ids: o.IDs, tools: o.Tools, log: o.Log, settings: o.Settings,
		freeMiB: o.FreeMiB, sockets: o.Sockets, fault: o.Fault, unfenced: o.Unfenced, sessions: map[string]*Session{}, opening: map[string]chan struct{}{},
	}
	h.catalogue = sync.OnceValue(func() map[string]tools.Entry {
		m := map[string]tools.Entry{}
		for _, e := range h.tools.Catalogue() {
			m[e.Name] = e
		}
		return m
	})
	return h
}

func (h *Host) entry(tool string) (tools.Entry, bool) {
	e, ok := h.catalogue()[tool]
	return e, ok
}

func (h *Host) free(dir string) uint64 {
	if h.freeMiB == nil {
		return ^uint64(0) >> 1
	}
	return h.freeMiB(dir)
}

// Data is the data folder.
func (h *Host) Data() string { return h.data }

// SessionsDir is the folder of all sessions.
func (h *Host) SessionsDir() string { return filepath.Join(h.data, "sessions") }

// ErrNotFound is a session that does not exist.
var ErrNotFound = errors.New("no such session")

// ValidSessionID says that id can be the name of a session's folder. Everything else is refused before any file is touched.
func ValidSessionID(id string) bool {
	rest, ok := strings.CutPrefix(id, "ses_")
	if !ok || len(rest) != 26 {
		return false
	}
	for _, c := range rest {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// Reserve makes a session that exists only in this process: it has no folder, journal or lock until its first command
// is accepted by [Host.Create].
func (h *Host) Reserve(cwd string) (id string, set *Settings, err error) {
	set, err = h.settings(cwd, "")
	if err != nil {
		return "", nil, err
	}
	for n := 0; ; n++ {
		id = "ses_" + strings.ToLower(h.ids.ULID("session").String())
		if _, err := os.Lstat(filepath.Join(h.SessionsDir(), id)); err != nil || n > 1000 {
			return id, set, nil
		}
	}
}

// Create makes a reserved session durable with its first command: session.opened, policy.resolved and
// the command are three commits of one transaction. o follows from the first of them; nil for nobody.
func (h *Host) Create(id, cwd string, set *Settings, o Observer, commandID, actor string, first commands.Command) (*Session, Outcome, error) {
	installation, err := h.installation()
	if err != nil {
		return nil, Outcome{}, err
	}
	s := h.newSession(id, cwd, set)
	s.salt = h.ids.Salt(id)
	s.run = h.ids.ULID("run:" + id + ":")
	file, err := journal.Create(s.dir, journal.Options{Run: s.run, Started: time.UnixMilli(h.clock.Now()), Fault: h.fault})
	if err != nil {
		return nil, Outcome{}, fmt.Errorf("the session cannot be saved: %w", err)
	}
	s.journal, s.log = file, file
	served := s.serve()
	s.begin()
	if o != nil {
		s.observers = []Observer{o}
	}
	out, err := s.startRun(&commands.OpenSession{
		Salt: event.NewText(string(s.salt)), Run: s.run.String(), Build: h.build(), Session: id, Installation: installation,
		Cwd: event.NewText(cwd), Worktree: event.NewText(set.Worktree),
	}, &firstCommand{commandID, actor, first})
	<-served
	if err != nil {
		s.server.Load().Close()
		_ = s.log.Close()
		if !errors.Is(err, journal.ErrUnknownOutcome) { // nothing was accepted: the panel is as unused as before
			_ = os.RemoveAll(s.dir)
		}
		return nil, Outcome{}, err
	}
	h.mu.Lock()
	h.sessions[id] = s
	h.mu.Unlock()
	return s, out, nil
}

type firstCommand struct {
	id, actor string
	command   commands.Command
}

func (h *Host) newSession(id, cwd string, set *Settings) *Session {
	return &Session{
		ID: id, Cwd: cwd, host: h, settings: set, dir: filepath.Join(h.SessionsDir(), id), queue: make(chan *request, maxBatch),
		providers: map[event.ModelChoice]model.Provider{}, stopped: make(chan struct{}), encoder: event.NewEncoder(), running: map[string]*effect{}, refused: map[string]uint64{}, prepared: map[string]*tools.Prepared{},
	}
}

// startRun begins a run: its commands are queued before the owner starts, so that they share one transaction.
func (s *Session) startRun(open *commands.OpenSession, first *firstCommand) (Outcome, error) {
	h := s.host
	s.digester = prompt.NewDigester(s.salt)
	s.providers[s.settings.Policy.Model] = s.settings.Provider
	s.runLabel = strconv.FormatUint(s.folder.View.Run.Count+1, 10)
	queue := []struct {
		id string
		c  commands.Command
	}{
		{"engine:open:" + s.run.String(), open},
		{"engine:recover:" + s.runLabel, &commands.RecoverSession{Run: s.run.String()}},
		{"engine:policy:" + s.runLabel, &commands.ResolvePolicy{Policy: s.settings.Policy}},
	}
	var waits []*request
	for _, q := range queue {
		r, err := s.encode(q.id, "engine", 0, q.c)
		if err != nil {
			return Outcome{}, err
		}
		waits = append(waits, r)
		s.queue <- r
	}
	if first != nil {
		r, err := s.encode(first.id, first.actor, 0, first.command)
		if err != nil {
			return Outcome{}, err
		}
		waits = append(waits, r)
		s.queue <- r
	}
	go s.own()
	var last answer
	for i, r := range waits {
		last = <-r.done
		var refusal *commands.Refusal
		nothing := errors.As(last.err, &refusal) && refusal.Code == commands.CodeNothing
		if last.err != nil && !(nothing && i < len(queue)) {
			h.log.Debug("run not begun", "session", s.ID, "error", last.err)
			_ = s.stop(context.Background())
			return Outcome{}, last.err
		}
	}
	return last.Outcome, nil
}

// context is what the prompt's sections and the tool catalogue are today. It is recorded before the run's first request.
func (s *Session) context() *commands.ResolveContext {
	c := &commands.ResolveContext{Sections: s.settings.Sections}
	for _, t := range s.host.tools.Catalogue() {
		c.Tools = append(c.Tools, event.ToolEntry{
			Name: t.Name, Description: event.NewText(t.Description), Schema: event.NewText(string(t.Schema)),
			SchemaDigest: t.SchemaDigest, Declaration: t.Declaration,
		})
	}
	return c
}

// Open gives the session, opening its journal if this process does not own it yet. It settles what earlier runs left
// behind and starts nothing else. The error is [ErrNotFound], a [*journal.InUse], a [*journal.Damaged] …
func (h *Host) Open(ctx context.Context, id string) (*Session, error) {
	if !ValidSessionID(id) {
		return nil, ErrNotFound
	}
	for {
		h.mu.Lock()
		if s := h.sessions[id]; s != nil && !s.lost.Load() {
			h.mu.Unlock()
			return s, nil
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
			s, err := h.open(id)
			h.mu.Lock()
			if err == nil {
				h.sessions[id] = s
			}
			delete(h.opening, id)
			close(wait)
			h.mu.Unlock()
			return s, err
		}
		h.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (h *Host) open(id string) (*Session, error) {
	s := h.newSession(id, "", nil)
	s.begin()
	// The run's id must be known before the lock is taken, and differ from that of each earlier run; a seeded source
	// cannot know the head yet, so it counts the openings of this process and the owner file's last run.
	prior, _ := journal.ReadOwner(s.dir)
	s.run = h.ids.ULID("run:" + id + ":" + prior.Run)
	var cwd string
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
		return s.see(c)
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
	if s.settings, err = s.configured(&v.Policy); err != nil {
		return fail(err)
	}
	served := s.serve()
	s.listed = v.Root.Updated
	s.writeSummary(true)
	_, err = s.startRun(&commands.OpenSession{Run: s.run.String(), Build: h.build()}, nil)
	<-served
	if err != nil {
		s.server.Load().Close()
		return fail(err)
	}
	return s, nil
}

// Foreign is a session that was not created by this installation: it may be inspected, and nothing may be appended.
type Foreign struct{ Session string }

func (f *Foreign) Error() string {
	return "session " + f.Session + " belongs to another installation and can only be inspected"
}

// Get gives a session that this process has open; nil when it has not.
func (h *Host) Get(id string) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// Close stops the session's running turn, waits for what runs to be settled, and gives up its journal. It is a no-op for a
// session that is not open. Source says who wants it: close, shutdown.
func (h *Host) Close(ctx context.Context, id, source string) error {
	h.mu.Lock()
	s := h.sessions[id]
	delete(h.sessions, id)
	h.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.close(ctx, source)
}

// Shutdown closes every session.
func (h *Host) Shutdown(ctx context.Context, source string) error {
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
	s.leaving.Store(true)
	_ = s.inOwnerWithin(ctx, func() { s.draining = true })
	_, err := s.do(ctx, "engine:close:"+s.runLabel, "engine", 0, &commands.CancelTurn{Source: source})
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		err = nil // nothing ran
	}
	if late := s.stop(ctx); late != nil {
		go func() { // the journal is given up when the last effect has ended
			<-s.stopped
			_ = s.shut()
		}()
		return errors.Join(err, late)
	}
	return errors.Join(err, s.shut())
}

// stop ends the owner's goroutine once nothing runs any more. Nothing new is started. It waits as long as ctx lets it.
func (s *Session) stop(ctx context.Context) error {
	s.leaving.Store(true)
	go func() { _ = s.inOwner(func() { s.closing = true }) }() // whether or not anybody waits for it
	select {
	case <-s.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("session %s still runs something that does not stop: %w", s.ID, ctx.Err())
	}
}

func (s *Session) shut() error {
	s.writeSummary(false)
	s.server.Load().Close()
	return s.log.Close()
}

// serve lets inspectors read the session while it is owned, once the channel is closed: it takes a third of the time of a
// commit, which is being made meanwhile. Without a socket they read a copy of its file.
func (s *Session) serve() <-chan struct{} {
	done := make(chan struct{})
	if len(s.host.sockets) == 0 {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		server, err := live.Serve(s.journal, s.host.sockets)
		if err != nil {
			s.host.log.Warn("inspectors have to read copies of the journal", "session", s.ID, "error", err)
			return
		}
		s.server.Store(server)
	}()
	return done
}

func (s *Session) outDir() string { return filepath.Join(s.dir, "out") }

// textDigest is how the session's journal names a text.
func (s *Session) textDigest(text string) journal.Hash {
	return journal.TextDigest(s.salt, []byte(text))
}

// installation is this data folder's own id, made with its first session.
func (h *Host) installation() (string, error) {
	path := filepath.Join(h.data, "installation")
	for range 2 {
		b, err := os.ReadFile(path)
		if err == nil && len(b) > 0 {
			return strings.TrimSpace(string(b)), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("data folder %s cannot be used (set ZUNO_DATA_DIR to one that can): %w", h.data, err)
		}
		if err := h.makeInstallation(path); err != nil {
			return "", fmt.Errorf("data folder %s cannot be written (set ZUNO_DATA_DIR to one that can): %w", h.data, err)
		}
	}
	return "", fmt.Errorf("data folder %s has no readable installation id", h.data)
}

func (h *Host) makeInstallation(path string) error {
	if err := makePrivate(h.SessionsDir()); err != nil {
		return err
	}
	half, err := os.CreateTemp(h.data, ".installation-*")
	if err != nil {
		return err
	}
	defer os.Remove(half.Name())
	_, err = half.WriteString("ins_" + strings.ToLower(h.ids.ULID("installation").String()) + "\n")
	err = errors.Join(err, half.Sync(), half.Close())
	if err == nil {
		err = os.Link(half.Name(), path) // never over one that another process just made
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o700); err != nil {
			return err
		}
	}
	return nil
}
