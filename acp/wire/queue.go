package wire

import (
	"io"
	"sync"
	"time"
)

// keepBuffer is the largest buffer that is kept for reuse after a burst.
const keepBuffer = 1 << 20

// queue takes whole lines from any goroutine, in order and without waiting, and
// has one goroutine write them. Lines that gathered during a write go out
// together in the next one.
type queue struct {
	w   io.Writer
	max int // bytes queued and not yet written, at most

	mu      sync.Mutex
	cond    sync.Cond // the writer waits on it
	room    sync.Cond // who adds many lines waits on it
	buf     []byte    // whole lines, queued
	spare   []byte    // the buffer that the last write used
	flight  int       // bytes in the running write
	written uint64    // writes so far
	closed  bool      // nothing more is taken
	err     error     // why it ended, if not by close

	done   chan struct{} // closed when the writer has ended
	onFail func(error)   // called once, in a goroutine of its own, for err
}

func newQueue(w io.Writer, max int, onFail func(error)) *queue {
	q := &queue{w: w, max: max, done: make(chan struct{}), onFail: onFail}
	q.cond.L, q.room.L = &q.mu, &q.mu
	return q
}

// put calls add under the queue's lock with the queued bytes; add appends one
// line. It returns ErrClosed, or ErrSlowReader when the bound is passed.
func (q *queue) put(add func(b []byte) []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return q.err
	}
	if q.closed {
		return ErrClosed
	}
	q.buf = add(q.buf)
	if len(q.buf)+q.flight > q.max {
		q.fail(ErrSlowReader)
		return q.err
	}
	q.cond.Signal()
	return nil
}

// patience is how long a peer may read nothing while somebody waits for room.
const patience = 30 * time.Second

// lines adds whole lines, and waits until there is room for them: half of the bound, so that what others put has room beside.
// A peer that reads nothing meanwhile ends the queue.
func (q *queue) lines(b []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.err == nil && !q.closed && len(q.buf)+q.flight > 0 && len(q.buf)+q.flight+len(b) > q.max/2 {
		written := q.written
		late := time.AfterFunc(patience, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			if q.written == written {
				q.fail(ErrSlowReader)
			}
		})
		q.room.Wait()
		late.Stop()
	}
	if q.err != nil {
		return q.err
	}
	if q.closed {
		return ErrClosed
	}
	q.buf = append(q.buf, b...)
	q.cond.Signal()
	return nil
}

// fail ends the queue at once. The lock is held.
func (q *queue) fail(err error) {
	if q.err == nil {
		q.err, q.buf, q.spare = err, nil, nil
		q.cond.Signal()
		q.room.Broadcast()
		go q.onFail(err)
	}
}

// run is the writer.
func (q *queue) run() {
	defer close(q.done)
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.buf) == 0 && !q.closed && q.err == nil {
			q.cond.Wait()
		}
		if q.err != nil || len(q.buf) == 0 {
			return
		}
		out := q.buf
		q.buf, q.spare, q.flight = q.spare[:0], nil, len(out)
		q.mu.Unlock()
		_, err := q.w.Write(out)
		q.mu.Lock()
		q.flight = 0
		q.written++
		q.room.Broadcast()
		if err != nil {
			if !q.closed {
				q.fail(err)
			}
			return
		}
		if cap(out) <= keepBuffer {
			q.spare = out
		}
	}
}

// close takes no more lines and waits up to d for the queued ones to be written.
func (q *queue) close(d time.Duration) {
	q.mu.Lock()
	q.closed = true
	q.cond.Signal()
	q.room.Broadcast()
	q.mu.Unlock()
	select {
	case <-q.done:
		return
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-q.done:
	case <-t.C:
	}
}
