package live

import (
	"context"
	"errors"
	"fmt"
	"os"

	"zuno/journal"
)

// errBusy: the owner answers too many others.
var errBusy = errors.New("the owner answers others")

// ask sends a request and gives the first message that is no request to wait. The owner's pid is what the kernel says of
// the socket's other end. The connection stays open for more messages when there is no error.
func ask(path, request string) (c *socket, h journal.Head, file *os.File, err error) {
	if c, err = dial(path); err != nil {
		return nil, h, nil, err
	}
	if h, file, err = c.ask(request); err != nil {
		c.close()
		return nil, h, nil, err
	}
	return c, h, file, nil
}

func (s *socket) ask(request string) (h journal.Head, file *os.File, err error) {
	if !allowed(s.uid, os.Geteuid()) {
		return h, nil, fmt.Errorf("the socket belongs to user %d", s.uid)
	}
	if err := s.send(request, nil, answerWait); err != nil {
		return h, nil, err
	}
	for range maxWaits {
		m, file, err := s.receive(answerWait)
		if err != nil {
			return h, nil, err
		}
		h, wait, err := answered(m)
		switch {
		case err == nil && !wait:
			return h, file, nil
		case file != nil:
			file.Close()
		}
		if err != nil {
			return h, nil, err
		}
	}
	return h, nil, errors.New("the owner only says that it works on it")
}

// answered reads the answer to a request.
func answered(m string) (h journal.Head, wait bool, err error) {
	word, rest, err := parse(m)
	switch {
	case err != nil:
	case word == wordHead:
		h, err = parseHead(rest)
	case word == wordWait:
		return h, true, nil
	case word == wordBusy:
		err = errBusy
	default:
		err = fmt.Errorf("the owner says: %.300q", rest)
	}
	return h, false, err
}

// backup gets a snapshot of the journal.
func backup(path string) (t *os.File, pid int, err error) {
	c, _, t, err := ask(path, wordBackup)
	if err != nil {
		return nil, 0, err
	}
	defer c.close()
	if t == nil {
		return nil, 0, errors.New("the owner sent no snapshot")
	}
	return t, c.pid, nil
}

// follow calls fn with the head and with each new one, until ctx or the connection ends.
func follow(ctx context.Context, path string, fn func(journal.Head)) error {
	c, h, _, err := ask(path, wordFollow)
	if err != nil {
		return err
	}
	defer c.close()
	defer context.AfterFunc(ctx, c.close)()
	// What fn takes its time for must not look to the owner like a peer that does not read.
	heads, done := make(chan journal.Head, 1), make(chan error, 1)
	heads <- h
	go func() {
		done <- c.heads(heads)
		close(heads)
	}()
	for h := range heads {
		fn(h)
	}
	return errors.Join(<-done, ctx.Err())
}

// heads receives to the end; in heads is only the newest that was not taken yet.
func (s *socket) heads(heads chan journal.Head) error {
	for {
		m, _, err := s.receive(0)
		if err != nil {
			return err
		}
		h, wait, err := answered(m)
		if err != nil {
			return err
		}
		if wait {
			continue
		}
		select {
		case <-heads:
		default:
		}
		heads <- h
	}
}
