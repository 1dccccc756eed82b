package httpx

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

var errTooMuch = errors.New("the answer is larger than what is taken of one")

// body reads an answer and notices when nothing comes. Only the time inside Read counts: while the reader is busy with what
// came, nothing is amiss.
type body struct {
	ctx  context.Context
	resp *http.Response
	r    *bufio.Reader // over the body itself
	left int64

	clock Clock
	fire  func()

	mu      sync.Mutex
	idle    time.Duration
	reading bool
	since   int64
	over    bool
	cancel  func()
}

func newBody(resp *http.Response, clock Clock, idle time.Duration, fire func()) *body {
	b := &body{ctx: resp.Request.Context(), resp: resp, left: MaxStream, clock: clock, idle: idle, fire: fire}
	b.r = bufio.NewReaderSize(source{b}, 64<<10)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arm(idle)
	return b
}

// source is what the buffer reads from.
type source struct{ b *body }

func (s source) Read(p []byte) (int, error) {
	b := s.b
	if b.left <= 0 {
		return 0, errTooMuch
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	b.mark(true)
	n, err := b.resp.Body.Read(p)
	b.mark(false)
	b.left -= int64(n)
	return n, err
}

func (b *body) Read(p []byte) (int, error) { return b.r.Read(p) }

// first is the first byte that is no white space, which stays to be read. A byte order mark counts as white space.
func (b *body) first() (byte, error) {
	for {
		c, err := b.r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			continue
		}
		return c, b.r.UnreadByte()
	}
}

// beginning is what is there already of what is to be read, bounded.
func (b *body) beginning() string {
	p, _ := b.r.Peek(min(b.r.Buffered(), 512))
	return string(p)
}

func (b *body) mark(reading bool) {
	now := b.clock.Now()
	b.mu.Lock()
	b.reading, b.since = reading, now
	b.mu.Unlock()
}

// arm runs under the lock.
func (b *body) arm(d time.Duration) { b.cancel = b.clock.AfterFunc(d, b.check) }

func (b *body) check() {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch waited := time.Duration(now-b.since) * time.Millisecond; {
	case b.over:
	case !b.reading:
		b.arm(b.idle)
	case waited >= b.idle:
		b.over = true
		b.fire()
	default:
		b.arm(b.idle - waited)
	}
}

// hurry shortens the wait.
func (b *body) hurry(idle time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || idle >= b.idle {
		return
	}
	b.idle = idle
	b.cancel()
	b.arm(idle)
}

func (b *body) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.cancel()
}

// all is what a body holds, up to most bytes.
func (b *body) all(most int64) ([]byte, error) { return io.ReadAll(io.LimitReader(b, most)) }
