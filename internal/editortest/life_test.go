package editortest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"zuno/acp"
	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/internal/engine"
	"zuno/internal/model"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

// life is one process of the agent: a host, a server and the editor's connection to it. It ends in good order, or it dies: then its
// disk is copied as it is at that instant, nothing that it says reaches the editor any more, and nothing that it does counts.
// Everything that it does from then on happens beside the copy that the next life begins with.
type life struct {
	m      *machine
	n      uint64
	dir    string
	host   *engine.Host
	editor *client.Client
	out    *io.PipeWriter // to the editor
	in     *io.PipeWriter // from it
	served chan struct{}
	ids    uint64

	// Guarded by the machine's lock, like everything below.
	dead      bool
	crashIn   int // passes of points until it dies; 0 when it is not to
	streams   []*stream
	runs      []*run
	ended     map[string]bool // calls whose tools have ended
	questions []*question
	sleepers  map[chan struct{}]int64 // until when
	followed  bool                    // the machine sees its commits
}

// stream is a request to the model that waits for the machine, run a tool that has had its effect, question a request for
// permission.
type (
	stream struct {
		emit func(model.Chunk) error
		do   chan func() (resp *model.Response, err error, over bool)
		said bool // the editor shows words of it that are not durable
	}
	run struct {
		call string
		end  chan func() tools.Result
	}
	question struct {
		call   string
		answer chan string // an option, or "" for cancelled
	}
)

type arguments struct {
	N string `json:"n"`
}

// begin starts a process on a data folder.
func (m *machine) begin(dir string) {
	m.lives++
	l := &life{m: m, n: m.lives, dir: dir, served: make(chan struct{}), sleepers: map[chan struct{}]int64{}, ended: map[string]bool{}}
	registry := tools.NewRegistry()
	for name, d := range map[string]event.Declaration{
		"never": {Effect: event.SideEffecting}, "asks": {Effect: event.SideEffecting},
		"safe": {Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe},
		"par":  {Effect: event.SideEffecting, Concurrency: event.ParallelSafe},
	} {
		tools.Register(registry, tools.Spec[arguments]{
			Name: name, Description: "A tool.", Declaration: d,
			Prepare: func(_ tools.Where, a arguments) (tools.Prepared, *tools.Blocked) {
				return tools.Prepared{Title: name + " " + a.N, Kind: "other", Run: func(ctx context.Context, env tools.Env) tools.Result {
					return l.run(ctx, env.CallID, a.N)
				}}, nil
			},
		})
	}
	settings := &engine.Settings{
		Worktree: m.cwd, Provider: l, Sections: []event.SectionResolved{{ID: "kernel", Text: event.NewText("You are a test.")}},
		Policy: event.Policy{
			Agent: "build", Mode: event.ModeStandard, Concurrency: 3, Model: event.ModelChoice{Provider: "p", Name: "m", Context: 1000},
			Rules: []event.Rule{{Tool: "*", Action: event.Allow}, {Tool: "asks", Action: event.Ask}},
		},
	}
	log := slog.New(slog.DiscardHandler)
	l.host = engine.NewHost(engine.Options{
		Data: dir, Build: func() string { return "test" }, Clock: l, IDs: l, Tools: registry, Log: log, Fault: l.point,
		Settings: func(string, engine.Choice) (*engine.Settings, error) { return settings, nil },
		Decide:   m.defect.decide, Unfenced: m.defect.unfenced,
	})
	fromEditor, toAgent := io.Pipe()
	fromAgent, toEditor := io.Pipe()
	l.in, l.out = toAgent, toEditor
	m.mu.Lock()
	m.life = l
	m.answers = map[string]int{}
	m.mu.Unlock()
	go func() {
		defer close(l.served)
		_ = acp.NewServer(l.host, l, log, io.Discard, "test").Serve(context.Background(), fromEditor, spoken{l})
		_ = toEditor.Close()
	}()
	l.editor = client.Over(client.Config{Permission: l.ask, Tap: m}, fromAgent, toAgent)
}

// end waits until a life is over, dead or not.
func (l *life) end() {
	_ = l.in.Close()
	<-l.served
}

// die is the end of a process by SIGKILL. The machine's lock is held, and nothing writes to the journal meanwhile.
func (l *life) die() {
	if l.dead {
		return
	}
	l.dead = true
	next := filepath.Join(l.m.base, "life"+strconv.FormatUint(l.n, 10))
	if err := os.CopyFS(next, os.DirFS(l.dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		l.m.wrongLocked("the disk cannot be copied: %v", err)
	}
	l.m.next = next
	_ = l.out.Close()
	l.m.signal()
}

// point is passed around each append, in the goroutine that appends, and inside of effects, in theirs.
func (l *life) point(p journal.Point) error {
	l.m.mu.Lock()
	due := false
	if l.crashIn > 0 && !l.dead {
		l.crashIn--
		due = l.crashIn == 0
	}
	inside := slices.Contains([]journal.Point{
		engine.PointRequestFenced, engine.PointResponseEnded, engine.PointQuestionFenced, engine.PointQuestionEnded,
		engine.PointCallFenced, engine.PointCallEnded,
	}, p)
	if due && !inside {
		l.die()
	}
	l.m.mu.Unlock()
	if due && inside {
		l.kill()
	}
	return nil
}

// kill has the process die between two appends.
func (l *life) kill() {
	s := l.host.Get(l.m.sessionID())
	die := func() {
		l.m.mu.Lock()
		l.die()
		l.m.mu.Unlock()
	}
	if s == nil || s.Read(func(*projections.View) { die() }) != nil { // in the goroutine of the owner, who appends nothing meanwhile
		die()
	}
}

// spoken is the agent's standard output: what a dead one says is lost.
type spoken struct{ l *life }

func (s spoken) Write(p []byte) (int, error) {
	m := s.l.m
	m.mu.Lock()
	dead := s.l.dead
	m.mu.Unlock()
	if dead {
		return len(p), nil
	}
	said := p
	if m.says != nil {
		said = m.says(p)
	}
	if _, err := s.l.out.Write(said); err != nil {
		return 0, err
	}
	return len(p), nil
}

// The clock: it stands until the machine moves it.

func (l *life) Now() int64 {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.m.now++
	return l.m.now
}

func (l *life) Committed() {}

func (l *life) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	over := make(chan struct{})
	l.m.mu.Lock()
	l.sleepers[over] = l.m.now + d.Milliseconds()
	l.m.signal()
	l.m.mu.Unlock()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		l.m.mu.Lock()
		delete(l.sleepers, over)
		l.m.mu.Unlock()
		return ctx.Err()
	}
}

// AfterFunc is for what is written down later: here that is never before the end.
func (l *life) AfterFunc(time.Duration, func()) (stop func()) { return func() {} }

// The ids count.

func (l *life) ULID(string) (id journal.RunID) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.ids++
	binary.BigEndian.PutUint64(id[:], l.n)
	binary.BigEndian.PutUint64(id[8:], l.ids)
	return id
}

func (l *life) Salt(string) []byte { return []byte("salt of sixteen.") }

// Stream is the model: it waits for the machine's word.
func (l *life) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) (*model.Response, error) {
	s := &stream{emit: emit, do: make(chan func() (*model.Response, error, bool))}
	l.m.mu.Lock()
	l.m.asked(l, r)
	l.m.mu.Unlock()
	for {
		l.m.mu.Lock()
		l.streams = append(l.streams, s)
		l.m.signal()
		l.m.mu.Unlock()
		select {
		case f := <-s.do:
			if resp, err, over := f(); over {
				return resp, err
			}
		case <-ctx.Done():
			l.m.mu.Lock()
			l.streams = without(l.streams, s)
			l.m.mu.Unlock()
			return nil, ctx.Err()
		}
	}
}

// run has its effect at once, and ends when the machine says so.
func (l *life) run(ctx context.Context, call, n string) tools.Result {
	r := &run{call, make(chan func() tools.Result, 1)}
	l.m.mu.Lock()
	if !l.dead {
		l.m.ran[n]++
		if l.m.defect.twice {
			l.m.ran[n]++
		}
	}
	if l.m.defect.unfenced { // its start is not recorded before it ends
		l.m.mu.Unlock()
		return tools.Result{Outcome: tools.OK, Text: "ok"}
	}
	l.runs = append(l.runs, r)
	l.m.signal()
	l.m.mu.Unlock()
	select {
	case f := <-r.end:
		return f()
	case <-ctx.Done():
		l.m.mu.Lock()
		l.runs = without(l.runs, r)
		l.m.mu.Unlock()
		return tools.Result{Outcome: tools.Cancelled, Text: "stopped"}
	}
}

// ask is the user.
func (l *life) ask(ctx context.Context, r *schema.RequestPermissionRequest) (option string, ok bool) {
	q := &question{r.ToolCall.ToolCallID, make(chan string, 1)}
	l.m.mu.Lock()
	l.questions = append(l.questions, q)
	l.m.signal()
	l.m.mu.Unlock()
	select {
	case option = <-q.answer:
		return option, option != ""
	case <-ctx.Done():
		l.m.mu.Lock()
		l.questions = without(l.questions, q)
		l.m.signal()
		l.m.mu.Unlock()
		return event.OptionAllowOnce, true // a client that is stubborn sends it nevertheless
	}
}

func without[T comparable](all []T, x T) []T {
	return slices.DeleteFunc(all, func(y T) bool { return y == x })
}
