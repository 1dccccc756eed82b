package engine

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"zuno/commands"
	"zuno/internal/model"
	"zuno/journal/event"
)

const (
	showEvery   = time.Second / 60 // live text is coalesced to this rate
	commitEvery = time.Second      // what is shown becomes durable after this time
	commitSize  = 4 << 10          // or this many bytes
)

// stream takes the chunks of one attempt: it shows them at once, coalesced, and commits them in parts. Order is kept: text
// is shown before the commit that holds it, and a part before the one after it.
type stream struct {
	s       *Session
	e       *effect
	request *event.RequestStarted
	cause   uint64

	mu      sync.Mutex
	kind    event.PartKind
	shown   bytes.Buffer // not yet committed; its first unshown byte is at unshown
	unshown int
	last    int64  // when text was last shown
	later   func() // stops the timer that will show what came since; nil when none will
	due     int    // counts the timers of commits; only the last one counts
	parts   int
	offset  map[LiveKind]int // bytes shown
	cards   []event.CutCall
	cancel  []func() // timers
	over    bool
	failed  error // a part could not be recorded
	pending *pendingPart

	entry       uint64 // of the scripted model
	conditional bool
}

func newStream(s *Session, e *effect, r *event.RequestStarted, cause uint64) *stream {
	return &stream{s: s, e: e, request: r, cause: cause, offset: map[LiveKind]int{}, last: s.host.clock.Now() - showEvery.Milliseconds()}
}

// emit takes a chunk.
func (st *stream) emit(c model.Chunk) error {
	if err := st.e.ctx.Err(); err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.failed != nil {
		return st.failed
	}
	if c.Entry != 0 {
		st.entry, st.conditional = c.Entry, c.Conditional
	}
	switch c.Kind {
	case model.ChunkText:
		st.text(event.PartText, c.Text)
	case model.ChunkReasoning:
		st.text(event.PartReasoning, c.Text)
	case model.ChunkCall:
		st.show()
		id := callID(st.request, c.Index)
		st.cards = append(st.cards, event.CutCall{ID: id, Tool: c.Tool})
		st.s.live(Live{Kind: LiveCall, Turn: st.request.Turn, Request: st.request.ID, Attempt: st.request.Attempt, Call: id, Tool: c.Tool})
	case model.ChunkArgs:
	}
	return st.failed
}

func (st *stream) text(kind event.PartKind, text string) {
	if text == "" {
		return
	}
	if st.kind != kind && st.shown.Len() > 0 {
		st.commit(st.shown.Len())
	}
	st.kind = kind
	now := st.s.host.clock.Now()
	if st.shown.Len() == 0 {
		st.dueLater()
	}
	st.shown.WriteString(text)
	switch {
	case now-st.last >= showEvery.Milliseconds():
		st.show()
	case st.later == nil:
		st.showLater()
	}
	for st.shown.Len() >= commitSize {
		st.commit(lineEnd(st.shown.Bytes()[:commitSize]))
	}
}

// after runs fn later, under the lock, unless the stream is over or stop was called.
func (st *stream) after(d time.Duration, fn func()) (stop func()) {
	stopped := false // the timer may have fired already, and wait for the lock
	cancel := st.s.host.clock.AfterFunc(d, func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		if !st.over && !stopped {
			fn()
		}
	})
	st.cancel = append(st.cancel, cancel)
	if len(st.cancel) > 64 { // those before have fired
		st.cancel = append(st.cancel[:0], st.cancel[len(st.cancel)-8:]...)
	}
	return func() {
		stopped = true
		cancel()
	}
}

// lineEnd is where to cut: after the last line end where there is one, else at the end of the last whole character.
func lineEnd(b []byte) int {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return wholeRunes(b)
}

// wholeRunes is the length of b without a UTF-8 sequence that is still incomplete at its end.
func wholeRunes(b []byte) int {
	n := len(b)
	for i := 1; i <= 4 && i <= n; i++ {
		c := b[n-i]
		if c < 0x80 {
			return n
		}
		if c >= 0xc0 {
			if width := utf8Width(c); width > i {
				return n - i
			}
			return n
		}
	}
	return n
}

func utf8Width(c byte) int {
	switch {
	case c >= 0xf0:
		return 4
	case c >= 0xe0:
		return 3
	}
	return 2
}

// showLater has shown what came, unless something is shown before: words that come steadily are shown by those that follow
// them, and a process that is idle in between is not woken for a timer.
func (st *stream) showLater() { st.later = st.after(showEvery, st.show) }

// show brings what has come since the last time to the observers.
func (st *stream) show() {
	if st.later != nil {
		st.later()
		st.later = nil
	}
	b := st.shown.Bytes()[st.unshown:]
	if len(b) == 0 {
		return
	}
	kind := LiveText
	if st.kind == event.PartReasoning {
		kind = LiveReasoning
	}
	n := wholeRunes(b)
	if n == 0 || st.over {
		n = len(b)
	}
	st.s.live(Live{Kind: kind, Turn: st.request.Turn, Request: st.request.ID, Attempt: st.request.Attempt, Offset: st.offset[kind], Text: string(b[:n])})
	st.offset[kind] += n
	st.unshown += n
	st.last = st.s.host.clock.Now()
}

// commit makes the first n bytes durable. It waits for that, so that a provider never runs ahead of the journal.
func (st *stream) commit(n int) {
	if n <= 0 || n > st.shown.Len() {
		n = st.shown.Len()
	}
	if n == 0 {
		return
	}
	if st.unshown < n {
		st.show()
	}
	if st.failed = st.recorded(); st.failed != nil {
		return
	}
	part := st.take(n)
	st.parts++
	// What was shown is recorded, however long the disk is full. A part that cannot be recorded ends the attempt.
	st.failed = st.s.report(st.e, "part"+strconv.Itoa(st.parts), st.cause,
		st.recording(part))
	if st.shown.Len() > 0 {
		st.dueLater()
	}
}

// dueLater has what is shown from now on committed after a while, unless a commit takes it before.
func (st *stream) dueLater() {
	st.due++
	due := st.due
	st.after(commitEvery, func() {
		if due == st.due { // else it was armed for a text that is gone
			st.commit(lineEnd(st.shown.Bytes()))
		}
	})
}

// recording is the command that makes a part durable.
func (st *stream) recording(p commands.Part) *commands.RecordPart {
	return &commands.RecordPart{Request: st.request.ID, Attempt: st.request.Attempt, Kind: p.Kind, Text: p.Text, Entry: st.entry, Conditional: st.conditional}
}

func (st *stream) take(n int) commands.Part {
	p := commands.Part{Kind: st.kind, Text: event.NewText(string(st.shown.Bytes()[:n]))}
	st.shown.Next(n)
	st.unshown = max(st.unshown-n, 0)
	return p
}

// end shows what is left and gives it, to be committed with the end of the attempt.
func (st *stream) end() []commands.Part {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.over = true
	for _, c := range st.cancel {
		c()
	}
	_ = st.recorded() // whatever became of it, what is left comes after it
	if st.shown.Len() == 0 {
		return nil
	}
	st.show()
	return []commands.Part{st.take(st.shown.Len())}
}
