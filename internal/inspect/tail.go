package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"zuno/internal/live"
	"zuno/journal"
)

// TailOptions say what of a journal is shown.
type TailOptions struct {
	Most   *int // only the last events; nil for all
	Follow bool // go on with what is committed from now on
}

// Tail writes one line for each event of the journal at path, indented by how far its commit is from the one that came
// from outside: below the commit that caused it. With Follow it ends with ctx, which is no error.
func Tail(ctx context.Context, path string, w io.Writer, o TailOptions) error {
	t := newTailer(w, o)
	f := &fileFeed{path: path}
	if err := t.look(f); err != nil || !o.Follow {
		return err
	}
	err := f.Follow(ctx, func() error { return t.look(f) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// feed gives a journal's commits as they come.
type feed interface {
	// Lines calls fn with each commit from that number on, as export shows it.
	Lines(from uint64, fn func(line *node) error) error
	// Follow calls fn whenever there may be more, until ctx ends or fn fails, and gives that error.
	Follow(ctx context.Context, fn func() error) error
}

// fileFeed reads the journal anew at each look, so that nobody waits for who follows.
type fileFeed struct {
	path   string
	looked bool
}

func (f *fileFeed) Lines(from uint64, fn func(*node) error) error {
	file, err := f.open()
	if err != nil {
		return unwrapped(err)
	}
	if file.Head().Number < from {
		return file.Close()
	}
	return errors.Join(linesFrom(file, from, fn), file.Close())
}

// open tells of an owner the first time only.
func (f *fileFeed) open() (*journal.File, error) {
	if !f.looked {
		f.looked = true
		return open(f.path, nothing)
	}
	file, _, err := live.Open(journal.Inspection{Path: f.path, Fold: nothing})
	return file, err
}

func (f *fileFeed) Follow(ctx context.Context, fn func() error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := live.Follow(ctx, f.path, func(journal.Head) {
		if err := fn(); err != nil {
			stop(err)
		}
	})
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return unwrapped(err)
}

// linesFrom gives the commits of a journal from that number on, as export shows them.
func linesFrom(file *journal.File, from uint64, fn func(line *node) error) error {
	return journal.Export(&since{file, from}, &lineWriter{fn: func(b []byte) error {
		line, err := parse(b)
		if err != nil {
			return err
		}
		return fn(line)
	}}, journal.ExportOptions{})
}

// since is a log from one of its commits on.
type since struct {
	journal.Log
	from uint64
}

func (s *since) Scan(_ uint64, fn func(*journal.Raw) error) error { return s.Log.Scan(s.from, fn) }

// tailer writes lines, and keeps what the next ones need: how deep each commit stands.
type tailer struct {
	out   *bufio.Writer
	seen  uint64
	depth []uint8 // by commit, from 1
	most  *int
	last  []string // while only the last lines are wanted
}

func newTailer(w io.Writer, o TailOptions) *tailer {
	return &tailer{out: bufio.NewWriter(w), most: o.Most}
}

const (
	// deepest is the last level that is drawn; a longer chain goes on there, and says how deep it is.
	deepest   = 16
	tailFacts = 110 // characters of what an event says
)

// look writes what has come since the last time.
func (t *tailer) look(f feed) error {
	if err := f.Lines(t.seen+1, t.line); err != nil {
		return err
	}
	t.flushLast()
	return t.out.Flush()
}

func (t *tailer) line(line *node) error {
	number, cause := line.get("number").uint(), line.get("cause").uint()
	depth := uint8(0)
	if cause > 0 && cause <= uint64(len(t.depth)) {
		depth = min(t.depth[cause-1], 254) + 1
	}
	t.depth = append(t.depth, depth)
	t.seen = number
	inline(line)
	after := ""
	if cause > 0 {
		after = fmt.Sprintf(" ← commit %d", cause)
	}
	for _, e := range line.get("events").children() {
		t.write(tailLine(line, e, depth, after))
		after = ""
	}
	return nil
}

func (t *tailer) write(s string) {
	if t.most == nil {
		_, _ = t.out.WriteString(s) // Flush has the error
		return
	}
	t.last = append(t.last, s)
	if n := len(t.last); n > 2*(*t.most+64) {
		t.last = slices.Clone(t.last[n-*t.most:])
	}
}

// flushLast ends the choice of the last lines: all that come now are wanted.
func (t *tailer) flushLast() {
	if t.most == nil {
		return
	}
	for _, s := range t.last[max(len(t.last)-*t.most, 0):] {
		_, _ = t.out.WriteString(s)
	}
	t.most, t.last = nil, nil
}

func tailLine(line, e *node, depth uint8, after string) string {
	indent := strings.Repeat("  ", int(min(depth, deepest)))
	if depth > deepest {
		indent += fmt.Sprintf("(%d) ", depth)
	}
	name := short(e.get("type").text(), 100)
	if s := e.get("stream").text(); s != "1" {
		name = "stream " + s + ": " + name
	}
	at := strings.Replace(strings.TrimSuffix(line.get("at").text(), "Z"), "T", " ", 1)
	s := fmt.Sprintf("%-12s %s  %s%s  %s", "commit "+line.get("number").text(), at, indent, name, short(facts(e.get("payload")), tailFacts))
	return strings.TrimRight(s, " ") + after + "\n"
}
