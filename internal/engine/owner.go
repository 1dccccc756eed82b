package engine

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// maxBatch bounds the commits of one transaction, and with it what a caller can wait for.
const maxBatch = 256

var indexSeed = maphash.MakeSeed()

func indexKey(id []byte) uint64 { return maphash.Bytes(indexSeed, id) }

// own is the only goroutine that touches view, index and log.
func (s *Session) own() {
	defer close(s.stopped)
	var batch []*request
	for {
		r, ok := <-s.queue
		if !ok {
			return
		}
		batch = s.drain(append(batch[:0], r))
		s.settle(batch)
		if s.closing && len(s.running) == 0 {
			return
		}
		clear(batch)
	}
}

// drain takes what has queued up. It yields while the queue still grows: those who were just answered come
// back with their next command, and share its fsync.
func (s *Session) drain(batch []*request) []*request {
	for n := len(s.queue); ; {
		runtime.Gosched()
		m := len(s.queue)
		if m == n {
			break
		}
		n = m
	}
	for len(batch) < maxBatch {
		select {
		case r := <-s.queue:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// settle decides the batch, makes it durable in one transaction, publishes it, and only then answers: a refusal too
// was decided on a state that must first be on disk.
func (s *Session) settle(batch []*request) {
	answers := make([]answer, len(batch))
	var commits []*journal.Commit
	start := 0
	flush := func(end int) {
		s.append(commits, batch[start:end], answers[start:end])
		for i := start; i < end; i++ {
			if batch[i].call != nil {
				batch[i].call()
			}
			batch[i].done <- answers[i]
		}
		commits, start = nil, end
	}
	for i, r := range batch {
		if r.call != nil {
			continue
		}
		c, a, defect := s.decide(r, commits)
		if defect != nil {
			// The view has seen an event that may not be: what was decided before is good and is kept, the rest is undone.
			s.host.log.Error("defect: decided events cannot be applied", "session", s.ID, "command", r.typ, "error", defect)
			if len(commits) > 0 {
				s.append(commits, batch[start:i], answers[start:i])
			}
			for ; start < i; start++ {
				if batch[start].call != nil {
					batch[start].call()
				}
				batch[start].done <- answers[start]
			}
			s.refold()
			commits = nil
			r.done <- answer{err: &commands.Refusal{Code: commands.CodeInternal, Reason: "internal error: " + defect.Error(), Next: "nothing was written; please report this with the log"}}
			start = i + 1 // whatever becomes of what follows
			continue
		}
		answers[i] = a
		if c != nil {
			commits = append(commits, c)
		}
	}
	flush(len(batch))
	s.reconcile()
	s.tellIdle()
	s.list()
}

// decide runs one command against the view as it is with all that was decided before it, applied in memory.
func (s *Session) decide(r *request, waiting []*journal.Commit) (c *journal.Commit, a answer, defect error) {
	if s.broken != nil {
		return nil, answer{err: s.broken}, nil
	}
	if r.fence && s.draining { // the stop of what runs was decided already, and would not find it
		return nil, answer{err: &commands.Refusal{Code: commands.CodeNotAdmitting, Reason: "the session is being closed"}}, nil
	}
	if n, ok := s.index[indexKey([]byte(r.id))]; ok {
		repeated, match, err := s.repeated(r, n, waiting)
		if match || err != nil {
			return nil, answer{repeated, err}, nil
		}
	}
	v := s.folder.View
	at := max(s.host.clock.Now(), s.lastAt)
	number := v.Number + 1
	d := s.host.decide(v, r.typ, r.body, r.texts.Entries, commands.Stamp{At: at, Command: r.id, Actor: r.actor, Commit: number})
	if d.Refusal != nil && len(d.Events) == 0 {
		return nil, answer{err: d.Refusal}, nil
	}
	c = &journal.Commit{
		Number: number, Run: s.run, At: at, Cause: r.cause, Texts: r.texts,
		Command: journal.Command{ID: r.id, Type: r.typ, Version: r.version, Actor: r.actor, Payload: r.body},
	}
	for _, p := range d.Events {
		payload, err := s.encoder.Encode(p, c.Texts)
		if err != nil {
			return nil, answer{}, err
		}
		c.Events = append(c.Events, journal.Event{Stream: 1, Type: event.TypeOf(p).Name, Payload: payload})
	}
	if err := s.folder.Apply(c); err != nil {
		return nil, answer{}, err
	}
	if v.Corrupt != nil {
		return nil, answer{}, v.Corrupt
	}
	s.index[indexKey([]byte(r.id))] = number
	s.lastAt = at
	s.host.clock.Committed()
	a = answer{Outcome: Outcome{Commit: number, Events: d.Events}}
	if d.Refusal != nil {
		a.err = d.Refusal
	}
	return c, a, nil
}

// repeated answers a command whose id is known: with the first outcome when the body is the same, else as a conflict. The
// index holds hashes only; match is false when the record shows that it was another id.
func (s *Session) repeated(r *request, n uint64, waiting []*journal.Commit) (o Outcome, match bool, err error) {
	check := func(id, typ string, body []byte, entries []journal.TextEntry) error {
		if id != r.id {
			return nil
		}
		match = true
		if typ != r.typ || !bytes.Equal(body, r.body) || !sameTexts(entries, r.texts.Entries) {
			return &commands.Refusal{Code: commands.CodeConflict, Reason: fmt.Sprintf("command id %q was used for something else in commit %d", r.id, n), Next: "use a new id"}
		}
		return nil
	}
	var d *Committed
	if h := s.log.Head().Number; n > h {
		c := waiting[n-h-1]
		if err = check(c.Command.ID, c.Command.Type, c.Command.Payload, c.Texts.Entries); err == nil {
			d, err = fromCommit(c)
		}
	} else {
		rerr := s.log.Read(n, func(c *journal.Raw) error {
			err := check(string(c.Command.ID), string(c.Command.Type), c.Command.Payload, c.Texts)
			if err == nil {
				d, err = Decode(c)
			}
			return err
		})
		err = errors.Join(err, rerr)
		var refusal *commands.Refusal
		if errors.As(err, &refusal) {
			err = refusal
		}
	}
	if err != nil || !match {
		return Outcome{}, match, err
	}
	o = Outcome{Commit: n, Repeated: true}
	for _, e := range d.Events {
		o.Events = append(o.Events, e.Payload)
	}
	return o, true, nil
}

// sameTexts compares a recorded table, which also holds the texts that the decision added, with a command's.
func sameTexts(recorded, own []journal.TextEntry) bool {
	if len(recorded) < len(own) {
		return false
	}
	for i := range own {
		if recorded[i] != own[i] {
			return false
		}
	}
	return true
}

// append makes the commits durable and publishes them. On failure nothing that was decided in the batch counts, refusals
// included: they saw a state that is not on disk.
func (s *Session) append(commits []*journal.Commit, batch []*request, answers []answer) {
	if len(commits) == 0 {
		return
	}
	if err := s.log.Append(commits); err != nil {
		s.host.log.Error("append failed", "session", s.ID, "error", err)
		for i, r := range batch {
			if r.call == nil {
				answers[i] = answer{err: err}
			}
		}
		if errors.Is(err, journal.ErrUnknownOutcome) {
			s.lose(err)
		}
		s.refold() // also then: readers see nothing that is not known to be durable
		return
	}
	for i, r := range batch {
		if r.durable != nil && answers[i].err == nil && !answers[i].Repeated {
			r.durable()
		}
	}
	s.server.Load().Committed(s.log.Head())
	s.mu.Lock()
	observers := s.observers
	s.mu.Unlock()
	for _, c := range commits {
		if len(observers) == 0 && s.history == nil {
			break
		}
		d, err := fromCommit(c)
		if err != nil {
			s.host.log.Error("defect: a commit of ours cannot be read", "session", s.ID, "commit", c.Number, "error", err)
			continue
		}
		if s.history != nil {
			s.history.add(d)
		}
		for _, o := range observers {
			o.Committed(d)
		}
	}
}

// refold goes back to what is on disk.
func (s *Session) refold() {
	if err := s.fold(); err != nil {
		s.lose(fmt.Errorf("session %s cannot be read back: %w", s.ID, err))
		s.host.log.Error("refold failed", "session", s.ID, "error", err)
	}
}

// lose marks the session as one that may append no more, and tells those who wait for something that will not come.
func (s *Session) lose(err error) {
	if s.broken != nil {
		return
	}
	s.broken = err
	s.lost.Store(true)
	s.mu.Lock()
	observers := s.observers
	s.mu.Unlock()
	for _, o := range observers {
		if l, ok := o.(Loser); ok {
			l.Lost(err)
		}
	}
}

func (s *Session) fold() error {
	s.begin()
	return s.log.Scan(1, s.see)
}

func (s *Session) begin() {
	s.folder = projections.NewFolder(projections.Options{})
	s.index = map[uint64]uint64{}
	s.lastAt = 0
	s.history = nil
}

// see folds one recorded commit into view and index.
func (s *Session) see(c *journal.Raw) error {
	s.index[indexKey(c.Command.ID)] = c.Number
	s.lastAt = c.At
	return s.folder.Commit(c)
}
