package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"zuno/commands"
	"zuno/internal/model"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

// patience is how long a test waits for something that must come. It is never waited for in a test that passes.
const patience = 10 * time.Second

// fakeClock stands until it is moved.
type fakeClock struct {
	mu      sync.Mutex
	now     int64
	timers  []*fakeTimer
	waiting chan struct{} // gets one for each sleeper that begins to wait
	over    chan struct{} // the test has ended: nobody moves the clock any more, and nobody waits for it
}

type fakeTimer struct {
	at int64
	f  func()
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: 1_000_000, waiting: make(chan struct{}, 1000), over: make(chan struct{})}
}

func (c *fakeClock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) set(now int64) {
	c.mu.Lock()
	c.now = now
	c.mu.Unlock()
}

func (c *fakeClock) Committed() {}

func (c *fakeClock) AfterFunc(d time.Duration, f func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &fakeTimer{c.now + d.Milliseconds(), f}
	c.timers = append(c.timers, t)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timers = slices.DeleteFunc(c.timers, func(x *fakeTimer) bool { return x == t })
	}
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	stop := c.AfterFunc(d, func() { close(done) })
	defer stop()
	select {
	case c.waiting <- struct{}{}:
	case <-c.over:
	}
	select {
	case <-done:
		return nil
	case <-c.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// advance moves the clock and waits for what falls due, in order.
func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	until := c.now + d.Milliseconds()
	for {
		slices.SortStableFunc(c.timers, func(a, b *fakeTimer) int { return int(a.at - b.at) })
		if len(c.timers) == 0 || c.timers[0].at > until {
			break
		}
		t := c.timers[0]
		c.timers = c.timers[1:]
		c.now = max(c.now, t.at)
		c.mu.Unlock()
		t.f()
		c.mu.Lock()
	}
	c.now = until
	c.mu.Unlock()
}

// fakeIDs count.
type fakeIDs struct {
	mu sync.Mutex
	n  uint64
}

func (f *fakeIDs) ULID(string) (id journal.RunID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	binary.BigEndian.PutUint64(id[8:], f.n)
	return id
}

func (f *fakeIDs) Salt(string) []byte { return []byte("salt of sixteen.") }

// fakeStream is one request to the fake provider, which the test answers.
type fakeStream struct {
	ctx     context.Context
	request *model.Request
	do      chan func(emit func(model.Chunk) error)
	end     chan func() (*model.Response, error)
}

func (s *fakeStream) emit(c model.Chunk) (err error) {
	done := make(chan struct{})
	s.do <- func(emit func(model.Chunk) error) { err = emit(c); close(done) }
	<-done
	return err
}

func (s *fakeStream) text(text string) error {
	return s.emit(model.Chunk{Kind: model.ChunkText, Text: text})
}

func (s *fakeStream) finish(calls ...model.Call) {
	finish := "stop"
	if len(calls) > 0 {
		finish = "tool_calls"
	}
	s.end <- func() (*model.Response, error) { return &model.Response{Finish: finish, Calls: calls}, nil }
}

func (s *fakeStream) fail(err error) { s.end <- func() (*model.Response, error) { return nil, err } }

// cancelled waits until the engine no longer wants the answer, and gives up as a provider does.
func (s *fakeStream) cancelled(t *testing.T) {
	t.Helper()
	within(t, "the request to be cancelled", s.ctx.Done())
	s.fail(s.ctx.Err())
}

type fakeProvider struct {
	asked chan *fakeStream
	over  chan struct{} // the test has ended
}

func (p *fakeProvider) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) (*model.Response, error) {
	s := &fakeStream{ctx, r, make(chan func(func(model.Chunk) error)), make(chan func() (*model.Response, error), 1)}
	p.asked <- s
	for {
		select {
		case f := <-s.do:
			f(emit)
		case f := <-s.end:
			return f()
		case <-p.over:
			return nil, errors.New("the test is over")
		}
	}
}

// fakeRun is one run of a fake tool, which the test ends.
type fakeRun struct {
	ctx  context.Context
	tool string
	n    string
	env  tools.Env
	end  chan func() tools.Result
}

func (r *fakeRun) finish(text string) {
	r.end <- func() tools.Result { return tools.Result{Outcome: tools.OK, Text: text} }
}

func (r *fakeRun) cancelled(t *testing.T) {
	t.Helper()
	within(t, "the call to be cancelled", r.ctx.Done())
	r.end <- func() tools.Result { return tools.Result{Outcome: tools.Cancelled, Text: "stopped"} }
}

type fakeArgs struct {
	N string `json:"n"`
}

// bench is a host with fakes all around.
type bench struct {
	t        *testing.T
	clock    *fakeClock
	ids      *fakeIDs
	provider *fakeProvider
	runs     chan *fakeRun
	registry *tools.Registry
	h        *Host
	set      *Settings
	options  Options
	free     uint64
	swapped  bool // the tools declare the opposite
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, clock: newFakeClock(), ids: &fakeIDs{}, provider: &fakeProvider{make(chan *fakeStream, 100), make(chan struct{})}, runs: make(chan *fakeRun, 100), free: 1 << 20}
	b.registry = b.tools("")
	b.set = &Settings{
		Worktree: "/w", Provider: b.provider, Sections: []event.SectionResolved{{ID: "kernel", Text: event.NewText("You are a test.")}},
		Policy: fakePolicy(),
	}
	b.options = Options{
		Data: t.TempDir(), Build: func() string { return "test" }, Clock: b.clock, IDs: b.ids,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Settings: func(string, Choice) (*Settings, error) { return b.set, nil },
		FreeMiB: func(string) uint64 { return b.free },
	}
	b.rebuild()
	t.Cleanup(b.end)
	return b
}

// end lets everything go that the test left waiting.
func (b *bench) end() {
	select {
	case <-b.provider.over:
	default:
		close(b.provider.over)
		close(b.clock.over)
	}
}

// fakePolicy lets everything run but asks, which asks.
func fakePolicy() event.Policy {
	return event.Policy{
		Agent: "build", Mode: event.ModeStandard, Concurrency: 3, Model: event.ModelChoice{Provider: "p", Name: "m"},
		Rules: []event.Rule{{Tool: "*", Action: event.Allow}, {Tool: "asks", Action: event.Ask}},
	}
}

// rebuild makes the host anew, as a new process would.
func (b *bench) rebuild() {
	b.options.Tools = b.registry
	b.h = NewHost(b.options)
}

// tools are the fakes: never and asks are exclusive and not to be repeated, safe and par overlap.
func (b *bench) tools(note string) *tools.Registry {
	r := tools.NewRegistry()
	for name, d := range map[string]event.Declaration{
		"never": {Effect: event.SideEffecting}, "asks": {Effect: event.SideEffecting},
		"safe": {Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe},
		"par":  {Effect: event.SideEffecting, Concurrency: event.ParallelSafe},
	} {
		if b.swapped && d.Replay == event.ReplaySafe {
			d = event.Declaration{}
		} else if b.swapped {
			d = event.Declaration{Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe}
		}
		tools.Register(r, tools.Spec[fakeArgs]{
			Name: name, Description: "A fake." + note, Declaration: d,
			Prepare: func(_ tools.Where, a fakeArgs) (tools.Prepared, *tools.Blocked) {
				return tools.Prepared{Title: name, Kind: "other", Run: func(ctx context.Context, env tools.Env) tools.Result {
					run := &fakeRun{ctx, name, a.N, env, make(chan func() tools.Result, 1)}
					b.runs <- run
					select {
					case f := <-run.end:
						return f()
					case <-b.provider.over:
						return tools.Result{Outcome: tools.Failed}
					}
				}}, nil
			},
		})
	}
	return r
}

// session is one session on a log in memory, with everything that was committed and shown.
type session struct {
	*bench
	*Session
	mem *journal.Memory
	obs *observer
	n   int
}

func (b *bench) session() *session {
	b.t.Helper()
	mem := &journal.Memory{}
	s := b.h.newSession("ses_00000000000000000000000001", "/w", b.set)
	s.salt = b.ids.Salt("")
	x := &session{bench: b, Session: s, mem: mem}
	x.run = b.ids.ULID("")
	x.log = mem
	x.Session.begin()
	x.start(&commands.OpenSession{Salt: event.NewText(string(s.salt)), Run: x.run.String(), Build: "test", Session: s.ID, Installation: "ins", Cwd: event.NewText("/w"), Worktree: event.NewText("/w")})
	return x
}

func (x *session) start(open *commands.OpenSession) {
	x.t.Helper()
	x.obs = &observer{t: x.t, news: make(chan struct{}, 1)}
	x.Session.observers = []Observer{x.obs}
	if _, err := x.startRun(open, nil); err != nil {
		x.t.Fatal(err)
	}
	s := x.Session
	x.t.Cleanup(func() {
		x.end()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.close(ctx, "shutdown"); errors.Is(err, context.DeadlineExceeded) {
			x.t.Error(err)
		}
	})
}

// crash leaves the session as a dead process would, whatever still runs, and opens its log again. What the dead run still
// sends goes to a log that is gone.
func (x *session) crash() *session {
	x.t.Helper()
	grave := x.mem.Before
	x.mem.Before = func(c []*journal.Commit) error {
		if len(c) > 0 && c[0].Run == x.run {
			return errors.New("the process is dead")
		}
		if grave != nil {
			return grave(c)
		}
		return nil
	}
	return x.reopen()
}

func (x *session) reopen() *session {
	x.t.Helper()
	if err := x.mem.Reopen(); err != nil {
		x.t.Fatal(err)
	}
	s := x.h.newSession(x.ID, "/w", x.set)
	y := &session{bench: x.bench, Session: s, mem: x.mem, n: x.n}
	y.log, y.salt, y.run = x.mem, x.mem.Salt(), x.ids.ULID("")
	if err := s.fold(); err != nil {
		x.t.Fatal(err)
	}
	y.start(&commands.OpenSession{Run: y.run.String(), Build: "test"})
	return y
}

func (x *session) send(c commands.Command) (Outcome, error) {
	x.n++
	return x.Do(context.Background(), fmt.Sprintf("test:%d", x.n), "user", c)
}

func (x *session) must(c commands.Command) Outcome {
	x.t.Helper()
	o, err := x.send(c)
	if err != nil {
		x.t.Fatalf("%T: %v", c, err)
	}
	return o
}

func admission(text string) *commands.AdmitInput {
	return &commands.AdmitInput{Delivery: event.DeliverSteer, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText(text)}}}
}

// prompt admits an input and gives its id.
func (x *session) prompt(text string) string {
	x.t.Helper()
	return find[*event.InputAdmitted](x.must(admission(text)).Events).ID
}

// later admits an input that waits for its own turn.
func (x *session) later(text string) string {
	x.t.Helper()
	c := admission(text)
	c.Delivery = event.DeliverQueue
	return find[*event.InputAdmitted](x.must(c).Events).ID
}

// asked waits for the next request to the provider.
func (b *bench) asked() *fakeStream {
	b.t.Helper()
	select {
	case s := <-b.provider.asked:
		return s
	case <-time.After(patience):
		b.t.Fatal("no request came")
		return nil
	}
}

// ran waits for the next run of a tool.
func (b *bench) ran() *fakeRun {
	b.t.Helper()
	select {
	case r := <-b.runs:
		return r
	case <-time.After(patience):
		b.t.Fatal("no tool ran")
		return nil
	}
}

// quiet says that neither provider nor tool was asked for anything. It is called when nothing runs any more.
func (b *bench) quiet() {
	b.t.Helper()
	select {
	case s := <-b.provider.asked:
		b.t.Errorf("a request came: %v", s.request.Messages)
	case r := <-b.runs:
		b.t.Errorf("tool %s ran", r.tool)
	default:
	}
}

func (x *session) idle() {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := x.Idle(ctx); err != nil {
		x.t.Fatalf("not idle: %v", err)
	}
}

func within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("waited in vain for " + what)
	}
}

func tool(name, n string) model.Call {
	return model.Call{ID: "1", Tool: name, Args: fmt.Sprintf(`{"n":%q}`, n)}
}

// history gives all events of the log.
func (x *session) history() (out []event.Payload) {
	x.t.Helper()
	err := x.mem.Scan(1, func(r *journal.Raw) error {
		c, err := Decode(r)
		if err == nil {
			for i := range c.Events {
				out = append(out, c.Events[i].Payload)
			}
		}
		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return out
}

// all gives the events of one type.
func all[T event.Payload](events []event.Payload) (out []T) {
	for _, e := range events {
		if t, ok := e.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// receipts are the terminal receipts of the inputs, in order.
func (x *session) receipts() (out []string) {
	for _, e := range all[*event.InputSettled](x.history()) {
		out = append(out, e.State)
	}
	return out
}

func (x *session) view(fn func(v *projections.View)) {
	x.t.Helper()
	if err := x.Read(fn); err != nil {
		x.t.Fatal(err)
	}
}

// observer collects what is committed and shown.
type observer struct {
	t    *testing.T
	mu   sync.Mutex
	seen []*Committed
	live []Live
	mark []int // commits seen when each live update came
	news chan struct{}
}

func (o *observer) Committed(c *Committed) {
	o.mu.Lock()
	o.seen = append(o.seen, c)
	o.mu.Unlock()
	o.tell()
}

func (o *observer) Live(l Live) {
	o.mu.Lock()
	o.live = append(o.live, l)
	o.mark = append(o.mark, len(o.seen))
	o.mu.Unlock()
	o.tell()
}

func (o *observer) tell() {
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// await waits until ok is true of what was seen.
func (o *observer) await(what string, ok func(events []event.Payload, live []Live) bool) {
	o.t.Helper()
	deadline := time.After(patience)
	for {
		o.mu.Lock()
		var events []event.Payload
		for _, c := range o.seen {
			for i := range c.Events {
				events = append(events, c.Events[i].Payload)
			}
		}
		done := ok(events, o.live)
		o.mu.Unlock()
		if done {
			return
		}
		select {
		case <-o.news:
		case <-deadline:
			o.t.Fatal("waited in vain for " + what)
		}
	}
}

// awaitEvent waits for n events of type T.
func awaitEvent[T event.Payload](x *session, n int) []T {
	x.t.Helper()
	var found []T
	x.obs.await(fmt.Sprintf("%d of %T", n, *new(T)), func(events []event.Payload, _ []Live) bool {
		found = all[T](events)
		return len(found) >= n
	})
	return found
}
