package engine

import (
	"context"
	"errors"
	"runtime"
	"strconv"

	"zuno/journal"
)

// pendingPart is a part that is being recorded while nobody waits for it.
type pendingPart struct {
	done chan struct{}
	err  error // when done is closed
}

func (s *Session) setStreaming(st *stream) {
	s.mu.Lock()
	s.streaming = st
	s.mu.Unlock()
}

// recordShown has recorded what an unfinished response has shown so far, before whatever is queued next; both share an fsync.
func (s *Session) recordShown() {
	s.mu.Lock()
	st := s.streaming
	s.mu.Unlock()
	if st != nil {
		st.record()
	}
}

// patientTries is how often record looks whether the stream is free. It is busy for long only while a part of it is being written,
// and a message must not wait for a disk that is full.
const patientTries = 1000

// record queues what was shown, and does not wait for it.
func (st *stream) record() {
	for try := 0; !st.mu.TryLock(); try++ {
		if try == patientTries {
			return
		}
		runtime.Gosched()
	}
	defer st.mu.Unlock()
	if st.over || st.failed != nil || st.unshown == 0 || st.pending != nil && !st.pending.over() {
		return
	}
	if st.failed = st.recorded(); st.failed != nil {
		return
	}
	part := st.take(st.unshown)
	st.parts++
	name := "part" + strconv.Itoa(st.parts)
	c := st.recording(part)
	r, err := st.s.encode(st.s.commandID(st.e, name), "engine", st.cause, c)
	if err == nil {
		err = st.s.enqueue(context.Background(), r)
	}
	if err != nil {
		st.failed = err
		return
	}
	p := &pendingPart{done: make(chan struct{})}
	st.pending = p
	go func() {
		defer close(p.done)
		_, p.err = st.s.answered(context.Background(), r)
		var full *journal.NotAppended
		if errors.As(p.err, &full) { // as with every part: what was shown is recorded, however long the disk is full
			p.err = st.s.report(st.e, name, st.cause, c)
		}
	}()
}

func (p *pendingPart) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// recorded waits for the part that nobody has waited for yet. The lock is held; nothing that it waits for takes it.
func (st *stream) recorded() error {
	p := st.pending
	if p == nil {
		return nil
	}
	st.pending = nil
	<-p.done
	return p.err
}
