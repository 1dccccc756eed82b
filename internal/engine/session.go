package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"zuno/commands"
	"zuno/internal/live"
	"zuno/internal/model"
	"zuno/internal/prompt"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

// Session is one session and, once it is open, the only writer of its journal. Its methods are safe for concurrent use.
type Session struct {
	ID  string
	Cwd string

	host     *Host
	settings atomic.Pointer[Settings] // replaced together with the policy, in one commit
	dir      string
	run      journal.RunID
	runLabel string                      // the run's ordinal, as it stands in command ids: an ULID each time would be a tenth of the journal
	journal  *journal.File               // nil with an in-memory log
	server   atomic.Pointer[live.Server] // answers inspectors; nil where there is no socket
	log      journal.Log
	salt     []byte
	digester *prompt.Digester

	queue   chan *request
	stopped chan struct{} // the owner's goroutine is over

	// Owned by the owner's goroutine.
	folder    *projections.Folder
	providers map[event.ModelChoice]model.Provider // of each model that this run has used: a turn keeps the one it began with
	encoder   *event.Encoder
	index     map[uint64]uint64 // hash of a command id → commit
	lastAt    int64
	broken    error // effects have stopped; only a fresh open may append
	draining  bool  // nothing new is started
	closing   bool  // and the goroutine ends when nothing runs

	running map[string]*effect
	refused map[string]uint64 // step → head at which its fence was refused
	idle    []chan struct{}
	history *history
	listed  int64 // View.Root.Updated as it stands in summary.json
	titled  struct {
		digest journal.Hash
		text   string
	}

	lost    atomic.Bool // broken, as others see it
	leaving atomic.Bool // it is to be closed: what cannot be written is given up

	mu        sync.Mutex // guards what follows
	observers []Observer
	asker     Asker
	askerSet  chan struct{}   // closed when there is one; nil when nobody waits for one
	presented map[string]bool // left questions that this asker has been given
	prepared  map[string]*tools.Prepared
	streaming *stream // of the request that is open
	resolved  bool    // this run has recorded its prompt context
}

// Outcome is what became of a command.
type Outcome struct {
	Commit   uint64
	Events   []event.Payload // of the commit, in order
	Repeated bool            // the command had been decided before
}

// ErrClosed is a command to a session that is closed or being closed.
var ErrClosed = errors.New("the session is closed")

type request struct {
	id, actor string
	cause     uint64
	typ       string
	version   uint64
	body      []byte
	texts     *journal.Texts
	fence     bool   // it starts an effect
	call      func() // instead of a command: runs in the owner's goroutine, on durable state
	durable   func() // runs in the owner's goroutine once the command's commit is durable, before anybody sees it
	done      chan answer
}

type answer struct {
	Outcome
	err error
}

var encoders = sync.Pool{New: func() any { return event.NewEncoder() }}

func (s *Session) encode(id, actor string, cause uint64, c commands.Command) (*request, error) {
	r := commands.RuleOf(c)
	texts := journal.NewTexts(s.salt)
	e := encoders.Get().(*event.Encoder)
	body, err := e.Encode(c, texts)
	encoders.Put(e)
	if err != nil {
		return nil, fmt.Errorf("command %s: %w", r.Type, err)
	}
	return &request{id: id, actor: actor, cause: cause, typ: r.Type, version: r.Version, body: body, texts: texts, done: make(chan answer, 1)}, nil
}

// Do has the command decided and waits until the decision is durable. The error is a [*commands.Refusal], or says that
// the outcome is unknown or nothing was written; with the same id it may be tried again. Once the owner has taken
// the command, ctx ends only the waiting.
func (s *Session) Do(ctx context.Context, id, actor string, c commands.Command) (Outcome, error) {
	switch c.(type) {
	case *commands.AdmitInput, *commands.SteerInput:
		s.recordShown() // an editor has it before the message that it sends now, and so has a load
	}
	return s.do(ctx, id, actor, 0, c)
}

func (s *Session) do(ctx context.Context, id, actor string, cause uint64, c commands.Command) (Outcome, error) {
	r, err := s.encode(id, actor, cause, c)
	if err != nil {
		return Outcome{}, err
	}
	return s.submit(ctx, r, func() {})
}

// submit waits for what becomes of an encoded command, and calls queued when that has its place in the order of decisions.
func (s *Session) submit(ctx context.Context, r *request, queued func()) (Outcome, error) {
	if err := s.enqueue(ctx, r); err != nil {
		return Outcome{}, err
	}
	queued()
	return s.answered(ctx, r)
}

// answered waits for what becomes of a command that is queued.
func (s *Session) answered(ctx context.Context, r *request) (Outcome, error) {
	select {
	case a := <-r.done:
		return a.Outcome, a.err
	case <-s.stopped:
		select { // the owner may have answered just before it stopped
		case a := <-r.done:
			return a.Outcome, a.err
		default:
			return Outcome{}, ErrClosed
		}
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	}
}

// Decided gives what a command id has led to, durably; false when it is new.
func (s *Session) Decided(id string) (o Outcome, ok bool, err error) {
	late := s.inOwner(func() {
		n, known := s.index[indexKey([]byte(id))]
		if !known {
			return
		}
		err = s.log.Read(n, func(c *journal.Raw) error {
			if string(c.Command.ID) != id {
				return nil // another id with the same hash
			}
			d, err := Decode(c)
			if err != nil {
				return err
			}
			ok, o = true, Outcome{Commit: n, Repeated: true}
			for _, e := range d.Events {
				o.Events = append(o.Events, e.Payload)
			}
			return nil
		})
	})
	return o, ok, errors.Join(late, err)
}

func (s *Session) enqueue(ctx context.Context, r *request) error {
	select {
	case s.queue <- r:
		return nil
	case <-s.stopped:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inOwner runs fn in the owner's goroutine, after what was queued before it is durable.
func (s *Session) inOwner(fn func()) error { return s.inOwnerWithin(context.Background(), fn) }

// inOwnerWithin is inOwner for who waits no longer than ctx: an append can take as long as the disk wants. Then fn may still run.
func (s *Session) inOwnerWithin(ctx context.Context, fn func()) error {
	r := &request{call: fn, done: make(chan answer, 1)}
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
		return nil
	case <-s.stopped:
		select {
		case <-r.done:
			return nil
		default:
			return ErrClosed
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Read runs fn on the durable view. fn must neither keep nor change it.
func (s *Session) Read(fn func(v *projections.View)) error {
	return s.inOwner(func() { fn(s.folder.View) })
}

// Head is the newest durable commit.
func (s *Session) Head() journal.Head { return s.log.Head() }

// Dir is the session's folder.
func (s *Session) Dir() string { return s.dir }

// Attach makes o follow the session. With replay, it is first given every commit so far; nothing is missed in between.
func (s *Session) Attach(o Observer, replay bool) error {
	var err error
	return errors.Join(s.inOwner(func() {
		if replay {
			err = s.log.Scan(1, func(c *journal.Raw) error {
				d, err := Decode(c)
				if err != nil {
					return err
				}
				o.Committed(d)
				return nil
			})
			if err != nil {
				return
			}
			if r, ok := o.(Replayed); ok {
				r.Replayed()
			}
		}
		s.mu.Lock()
		s.observers = append(s.observers, o)
		s.mu.Unlock()
	}), err)
}

// Detach ends what Attach began.
func (s *Session) Detach(o Observer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range s.observers {
		if x == o {
			s.observers = append(s.observers[:i:i], s.observers[i+1:]...)
			return
		}
	}
}

func (s *Session) live(l Live) {
	s.mu.Lock()
	observers := s.observers
	s.mu.Unlock()
	for _, o := range observers {
		o.Live(l)
	}
}

// Idle waits until nothing runs and nothing is about to. A question that a dead process has left may still be open.
func (s *Session) Idle(ctx context.Context) error {
	wait := make(chan struct{})
	if err := s.inOwnerWithin(ctx, func() {
		s.idle = append(s.idle, wait)
		s.tellIdle()
	}); err != nil {
		return err
	}
	select {
	case <-wait:
		return nil
	case <-s.stopped:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Session) tellIdle() {
	for _, e := range s.running {
		if e.step.Kind != StepPresent { // nothing waits for the answer to a question of a dead process
			return
		}
	}
	for _, w := range s.idle {
		close(w)
	}
	s.idle = nil
}
