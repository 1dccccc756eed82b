package engine

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"zuno/commands"
	"zuno/internal/model"
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
	settings func(cwd string, c Choice) (*Settings, error)
	freeMiB  func(dir string) uint64
	sockets  []string
	fault    func(journal.Point) error
	unfenced bool
	decide   func(v *projections.View, typ string, payload []byte, texts event.Table, at commands.Stamp) commands.Decision

	mu       sync.Mutex
	sessions map[string]*Session
	opening  map[string]chan struct{}
	moving   int           // sessions that are being created, opened or closed
	quiet    chan struct{} // closed when none is; nil when nobody waits for that
	leaving  bool          // no session is created or opened any more

	swept sync.Once

	catalogue func() map[string]tools.Entry
}

// NewHost makes a host. Nothing is touched on disk.
func NewHost(o Options) *Host {
	h := &Host{
		data: o.Data, build: o.Build, clock: o.Clock, ids: o.IDs, tools: o.Tools, log: o.Log, settings: o.Settings,
		freeMiB: o.FreeMiB, sockets: o.Sockets, fault: o.Fault, unfenced: o.Unfenced, sessions: map[string]*Session{}, opening: map[string]chan struct{}{},
	}
	if h.decide = o.Decide; h.decide == nil {
		h.decide = commands.Decide
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
	set, err = h.settings(cwd, Choice{})
	if err != nil {
		return "", nil, err
	}
	return h.NewID(), set, nil
}

// NewID is the id of a session that does not exist yet.
func (h *Host) NewID() string {
	for n := 0; ; n++ {
		id := "ses_" + strings.ToLower(h.ids.ULID("session").String())
		if _, err := os.Lstat(filepath.Join(h.SessionsDir(), id)); err != nil || n > 1000 {
			return id
		}
	}
}

func (h *Host) newSession(id, cwd string, set *Settings) *Session {
	s := &Session{
		ID: id, Cwd: cwd, host: h, dir: filepath.Join(h.SessionsDir(), id), queue: make(chan *request, maxBatch),
		providers: map[event.ModelChoice]model.Provider{}, stopped: make(chan struct{}), encoder: event.NewEncoder(), running: map[string]*effect{}, refused: map[string]uint64{}, prepared: map[string]*tools.Prepared{},
	}
	s.settings.Store(set)
	return s
}

// enter says that a session is being created or opened, until the host is told by [Host.leave] that it is not any more. It is
// refused once the host shuts down: nobody would close the session.
func (h *Host) enter() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leaving {
		return ErrClosed
	}
	h.moving++
	return nil
}

func (h *Host) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.moving--; h.moving == 0 && h.quiet != nil {
		close(h.quiet)
		h.quiet = nil
	}
}

// Get gives a session that this process has open; nil when it has not.
func (h *Host) Get(id string) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

func (s *Session) outDir() string { return filepath.Join(s.dir, "out") }

// textDigest is how the session's journal names a text.
func (s *Session) textDigest(text string) journal.Hash {
	return journal.TextDigest(s.salt, []byte(text))
}
