package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"zuno/journal"
)

// Server answers inspectors of one owned session. While there are none it is a goroutine that waits. A nil Server
// answers nobody.
type Server struct {
	journal  *journal.File
	path     string
	listener *socket
	ctx      context.Context
	end      context.CancelFunc
	work     sync.WaitGroup

	requests  chan struct{} // one for each that is being answered
	snapshots chan struct{} // one: the disk is the owner's first
	following atomic.Int32  // len(followers), for an owner that asks with each commit

	mu        sync.Mutex
	open      map[*socket]struct{}
	followers map[chan journal.Head]struct{}
}

// Serve listens for inspectors of the session whose journal f this process owns, in the first of the folders that is
// fit for it, and names the place in owner.json.
func Serve(f *journal.File, folders []string) (*Server, error) {
	name, err := socketName(f.Dir())
	if err != nil {
		return nil, err
	}
	s := &Server{
		journal: f, requests: make(chan struct{}, maxRequests), snapshots: make(chan struct{}, 1),
		open: map[*socket]struct{}{}, followers: map[chan journal.Head]struct{}{},
	}
	errs := []error{errors.New("no socket for inspection could be made")}
	for _, dir := range folders {
		err := prepare(dir)
		if err == nil {
			s.path = filepath.Join(dir, name)
			s.listener, err = listen(s.path)
		}
		if err == nil {
			break
		}
		errs = append(errs, err)
	}
	if s.listener == nil {
		return nil, errors.Join(errs...)
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.work.Go(s.accept)
	if err := f.SetSocket(s.path); err != nil {
		s.Close()
		return nil, fmt.Errorf("name the socket: %w", err)
	}
	return s, nil
}

// Close ends all connections and removes the socket. The journal must still be open: until it is closed no other owner
// can have taken the socket's name.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.end()
	s.listener.close()
	s.mu.Lock()
	for c := range s.open {
		c.close()
	}
	s.mu.Unlock()
	_ = os.Remove(s.path)
	s.work.Wait()
}

// Committed tells the followers of a durable head. It never waits for one: who is slow hears of the newest only.
func (s *Server) Committed(h journal.Head) {
	if s == nil || s.following.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.followers {
		select {
		case <-f: // what it has not taken yet is old
		default:
		}
		f <- h // has room: it holds one, and nobody else sends
	}
}

func (s *Server) accept() {
	for {
		c, err := s.listener.accept()
		switch {
		case s.ctx.Err() != nil:
			if c != nil {
				c.close()
			}
			return
		case err != nil: // no descriptors are left, say: not again at once
			select {
			case <-time.After(waitEvery):
			case <-s.ctx.Done():
			}
			continue
		}
		if !s.admit(c) {
			c.close()
		}
	}
}

// admit begins to answer c, if there is room.
func (s *Server) admit(c *socket) bool {
	if !allowed(c.uid, os.Geteuid()) {
		return false
	}
	select {
	case s.requests <- struct{}{}:
	default:
		_ = c.send(wordBusy, nil, time.Millisecond) // an empty buffer has room
		return false
	}
	s.mu.Lock()
	s.open[c] = struct{}{}
	s.mu.Unlock()
	s.work.Go(func() {
		s.answer(c)
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
		c.close()
	})
	return true
}

// answer gives up its place among the requests when it ends or begins to follow.
func (s *Server) answer(c *socket) {
	leave := sync.OnceFunc(func() { <-s.requests })
	defer leave()
	if s.ctx.Err() != nil { // it came while all others were being closed
		return
	}
	m, file, err := c.receive(answerWait)
	if file != nil {
		file.Close()
	}
	if err != nil {
		return
	}
	word, _, err := parse(m)
	switch {
	case err != nil:
		_ = c.send(wordError+" this owner speaks "+version, nil, answerWait)
	case word == wordHead:
		_ = c.send(headMessage(s.journal.Head()), nil, answerWait)
	case word == wordBackup:
		s.backup(c)
	case word == wordFollow:
		s.follow(c, leave)
	default:
		_ = c.send(wordError+" unknown request", nil, answerWait)
	}
}

type snapshot struct {
	file *os.File
	head journal.Head
	err  error
}

// backup hands a snapshot over. While it is being made the peer is told to wait; one that is gone is not worked for.
func (s *Server) backup(c *socket) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	made := make(chan snapshot)
	s.work.Go(func() {
		sn := s.snapshot(ctx)
		select {
		case made <- sn:
		case <-ctx.Done():
			if sn.file != nil {
				sn.file.Close()
			}
		}
	})
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	for {
		select {
		case sn := <-made:
			if sn.err != nil {
				_ = c.send(fmt.Sprintf("%s %.300v", wordError, sn.err), nil, answerWait)
				return
			}
			_ = c.send(headMessage(sn.head), sn.file, answerWait)
			sn.file.Close()
			return
		case <-tick.C:
			if c.send(wordWait, nil, answerWait) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// durableTicks is how many milliseconds a snapshot waits for the sync of its newest commit.
const durableTicks = 1000

// snapshot is one at a time, and gives nothing that is not durable.
func (s *Server) snapshot(ctx context.Context) (sn snapshot) {
	select {
	case s.snapshots <- struct{}{}:
		defer func() { <-s.snapshots }()
	case <-ctx.Done():
		return snapshot{err: ctx.Err()}
	}
	if sn.file, sn.head, sn.err = s.journal.Snapshot(); sn.err != nil {
		return sn
	}
	// The copy may have caught a commit in the middle of its sync.
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := 0; s.journal.Head().Number < sn.head.Number && sn.err == nil; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			sn.err = ctx.Err()
		}
		if n == durableTicks {
			sn.err = errors.New("its newest commit is not durable")
		}
	}
	if sn.err != nil {
		sn.file.Close()
		sn.file = nil
	}
	return sn
}

// follow tells each new head until the peer, or the session, is gone.
func (s *Server) follow(c *socket, leave func()) {
	heads := make(chan journal.Head, 1)
	s.mu.Lock()
	full := len(s.followers) >= maxFollowers
	if !full {
		s.followers[heads] = struct{}{}
		s.following.Add(1)
	}
	s.mu.Unlock()
	if full {
		_ = c.send(wordBusy, nil, answerWait)
		return
	}
	leave()
	defer func() {
		s.mu.Lock()
		delete(s.followers, heads)
		s.following.Add(-1)
		s.mu.Unlock()
	}()
	gone := make(chan struct{})
	s.work.Go(func() {
		_, file, _ := c.receive(0) // there is nothing to come but the end
		if file != nil {
			file.Close()
		}
		close(gone)
	})
	last := s.journal.Head()
	if c.send(headMessage(last), nil, answerWait) != nil {
		return
	}
	for {
		select {
		case h := <-heads:
			if h.Number <= last.Number {
				continue
			}
			if c.send(headMessage(h), nil, answerWait) != nil {
				return
			}
			last = h
		case <-gone:
			return
		case <-s.ctx.Done():
			return
		}
	}
}
