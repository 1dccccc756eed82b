package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"zuno/commands"
	"zuno/internal/ledger"
	"zuno/internal/model"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

// A session on a log in memory, driven at random – prompts, stops, crashes, orderly ends, appends that fail, a model and
// tools that do anything – keeps what the invariants say, and comes to rest with one receipt for each input.
//
// spec: D037 D041 D047 D048 D067 D177
func TestRandomSessions(t *testing.T) {
	runs := 240
	if testing.Short() {
		runs = 10
	}
	seen := map[string]int{}
	for seed := range runs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomSession(t, rand.New(rand.NewPCG(uint64(seed), 7)), seen) })
	}
	if testing.Short() {
		return // ten sessions do not meet everything
	}
	for _, what := range []string{"ok", "error", "cancelled", "uncertain", "interrupted", "denied", "abandoned", "cut", "failed", "completed"} {
		if seen[what] == 0 {
			t.Errorf("in no session anything was %s: this test shows little (%v)", what, seen)
		}
	}
}

// world answers for the model, the tools and the user.
type world struct {
	mu    sync.Mutex
	r     *rand.Rand
	dead  map[journal.RunID]bool
	fails int // appends that are refused in a row
	calm  bool
	ran   map[string]int // effects of calls
	stuck chan struct{}  // offered by whoever hangs
}

// hang waits until it is no longer wanted, and says so to whoever waits for something to happen.
func (w *world) hang(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case w.stuck <- struct{}{}:
		case <-ctx.Done():
		}
	}
}

func (w *world) roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calm {
		return 0
	}
	return w.r.IntN(n)
}

// Stream answers with words, calls, a cut, an error, or not at all.
func (w *world) Stream(ctx context.Context, _ *model.Request, emit func(model.Chunk) error) (*model.Response, error) {
	for range w.roll(3) {
		if err := emit(model.Chunk{Kind: model.ChunkText, Text: "words\n"}); err != nil {
			return nil, err
		}
	}
	switch w.roll(12) {
	default:
		return &model.Response{Finish: "stop"}, nil
	case 1, 2, 3, 8, 9, 10:
		resp := &model.Response{Finish: "tool_calls"}
		for range 1 + w.roll(3) {
			name := []string{"safe", "never", "par", "asks", "unknown"}[w.roll(5)]
			if err := emit(model.Chunk{Kind: model.ChunkCall, Index: len(resp.Calls), CallID: "1", Tool: name}); err != nil {
				return nil, err
			}
			resp.Calls = append(resp.Calls, tool(name, "x"))
		}
		return resp, nil
	case 4:
		return nil, &model.Cut{Reason: "cut"}
	case 5:
		return nil, &model.Error{Status: 500, Reason: "no"}
	case 6:
		w.hang(ctx)
		return nil, ctx.Err()
	case 7:
		panic("a provider")
	}
}

func (w *world) AskPermission(ctx context.Context, _ PermissionRequest) (event.Verdict, string) {
	switch w.roll(4) {
	case 1:
		return event.VerdictReject, ""
	case 2:
		w.hang(ctx)
		return event.VerdictCancelled, ""
	}
	return event.VerdictAllow, ""
}

func (w *world) run(ctx context.Context, call string) tools.Result {
	w.mu.Lock()
	w.ran[call]++
	w.mu.Unlock()
	switch w.roll(5) {
	case 1:
		return tools.Result{Outcome: tools.Failed, Text: "failed"}
	case 2:
		w.hang(ctx)
		return tools.Result{Outcome: tools.Cancelled, Text: "stopped"}
	case 3:
		panic("a tool")
	}
	return tools.Result{Outcome: tools.OK, Text: "ok"}
}

// before is the log's hook: what a dead run sends is lost, and now and then there is no space.
func (w *world) before(c []*journal.Commit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead[c[0].Run] {
		return errors.New("the process is dead")
	}
	if !w.calm && w.fails == 0 && w.r.IntN(12) == 0 {
		w.fails = 1 + w.r.IntN(2)
	}
	if w.fails > 0 && c[0].Command.Type != "session.open" {
		w.fails--
		return &journal.NotAppended{Cause: errors.New("no space")}
	}
	return nil
}

func randomSession(t *testing.T, r *rand.Rand, seen map[string]int) {
	b := newBench(t)
	w := &world{r: rand.New(rand.NewPCG(r.Uint64(), 1)), dead: map[journal.RunID]bool{}, ran: map[string]int{}, stuck: make(chan struct{})}
	go func() { // whoever waits for the clock gets on
		for {
			select {
			case <-b.clock.waiting:
				b.clock.advance(retryEvery)
			case <-b.provider.over:
				return
			}
		}
	}()
	b.set.Provider = w
	b.registry = tools.NewRegistry()
	for name, d := range map[string]event.Declaration{
		"never": {}, "asks": {}, "par": {Concurrency: event.ParallelSafe},
		"safe": {Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe},
	} {
		tools.Register(b.registry, tools.Spec[fakeArgs]{
			Name: name, Description: "A fake.", Declaration: d,
			Prepare: func(tools.Where, fakeArgs) (tools.Prepared, *tools.Blocked) {
				return tools.Prepared{Kind: "other", Run: func(ctx context.Context, env tools.Env) tools.Result { return w.run(ctx, env.CallID) }}, nil
			},
		})
	}
	b.rebuild()
	x := b.session()
	if err := x.inOwner(func() { x.mem.Before = w.before }); err != nil {
		t.Fatal(err)
	}
	x.SetAsker(w)
	admitted := map[string]bool{}
	for range 40 {
		if r.IntN(3) > 0 { // let something happen
			rest := make(chan struct{})
			s := x.Session
			go func() { _ = s.Idle(t.Context()); close(rest) }()
			select {
			case <-x.obs.news:
			case <-rest:
			case <-w.stuck:
			}
		}
		switch r.IntN(10) {
		case 0, 1, 2:
			if o, err := x.send(admission("go")); err == nil {
				admitted[find[*event.InputAdmitted](o.Events).ID] = true
			}
		case 4:
			_, _ = x.send(&commands.CancelTurn{Source: "user"})
		case 5:
			if r.IntN(2) == 0 {
				x.view(func(v *projections.View) { check(t, v) })
			}
		case 6: // the process dies between two appends
			old := x
			if err := old.inOwner(func() { w.mu.Lock(); w.dead[old.run] = true; w.mu.Unlock() }); err != nil {
				t.Fatal(err)
			}
			x = old.reopen()
			x.SetAsker(w)
			x.view(func(v *projections.View) {
				check(t, v)
				if len(v.Root.Calls.Open) != 0 || v.Root.Turns.Active != nil {
					t.Error("opening left something open")
				}
			})
		case 7:
			if r.IntN(2) == 0 {
				_ = x.close(t.Context(), "shutdown")
				x = x.reopen()
				x.SetAsker(w)
			}
		}
	}
	w.mu.Lock()
	w.calm, w.fails = true, 0
	w.mu.Unlock()
	_, _ = x.send(&commands.CancelTurn{Source: "user"}) // whatever waits for ever
	o, err := x.send(admission("last"))
	if err != nil {
		t.Fatal(err)
	}
	admitted[find[*event.InputAdmitted](o.Events).ID] = true
	x.idle()
	held := false
	x.view(func(v *projections.View) { held = v.Root.Execution.Gate != nil })
	if held { // three runs died at the same step
		seen["held"]++
		look(t, x, admitted)
		o, err := x.send(&commands.AdmitInput{Blocks: admission("/resume").Blocks, Control: &event.Control{Kind: event.ControlResume}})
		if err != nil {
			t.Fatal(err)
		}
		admitted[find[*event.InputAdmitted](o.Events).ID] = true
		x.idle()
	}
	events := x.history()
	settled, started := map[string]int{}, map[string]int{}
	for _, e := range all[*event.InputSettled](events) {
		settled[e.Input]++
	}
	for _, e := range all[*event.CallStarted](events) {
		started[e.ID]++
	}
	for _, p := range events {
		switch e := p.(type) {
		case *event.CallSettled:
			seen[string(e.Outcome)]++
		case *event.CallBlocked:
			seen[string(e.Kind)]++
		case *event.CallAbandoned:
			seen["abandoned"]++
		case *event.ResponseCut:
			seen["cut"]++
		case *event.InputSettled:
			seen[e.State]++
		}
	}
	for id := range admitted {
		if settled[id] != 1 {
			t.Errorf("input %s has %d receipts", id, settled[id])
		}
	}
	if len(admitted) != len(all[*event.InputAdmitted](events)) {
		t.Errorf("%d inputs were accepted, the journal has %d", len(admitted), len(all[*event.InputAdmitted](events)))
	}
	w.mu.Lock()
	for id, n := range w.ran {
		if n != 1 || started[id] != 1 {
			t.Errorf("call %s ran %d times and was started %d times", id, n, started[id])
		}
	}
	w.mu.Unlock()
	f := projections.NewFolder(projections.Options{})
	if err := x.mem.Scan(1, func(c *journal.Raw) error { return f.Commit(c) }); err != nil {
		t.Fatal(err)
	}
	check(t, f.View)
	want, _ := json.Marshal(f.View)
	x.view(func(v *projections.View) {
		if got, _ := json.Marshal(v); string(got) != string(want) {
			t.Errorf("the live view is not the fold of the journal:\n%s\n%s", got, want)
		}
		req, _, err := x.modelRequest(Step{})
		if err != nil {
			t.Fatal(err)
		}
		if wrong := ledger.BadHistory(req); wrong != "" {
			t.Error(wrong)
		}
	})
}

// look records what the user found out about every call whose effect is unknown.
func look(t *testing.T, x *session, admitted map[string]bool) {
	var open []string
	x.view(func(v *projections.View) {
		for _, u := range v.Root.Calls.Uncertain {
			if u.Open() {
				open = append(open, u.Call)
			}
		}
	})
	for _, id := range open {
		c := &event.Control{Kind: event.ControlFinding, Call: id, Finding: event.FindingHappened, Note: event.NewText("I looked.")}
		o, err := x.send(&commands.AdmitInput{Blocks: admission("/inspect-outcome").Blocks, Control: c})
		if err != nil {
			t.Fatal(err)
		}
		admitted[find[*event.InputAdmitted](o.Events).ID] = true
	}
	x.idle()
}

// check is what holds of every durable view.
func check(t *testing.T, v *projections.View) {
	t.Helper()
	s := v.Root
	if v.Corrupt != nil {
		t.Fatalf("corrupt: %v", v.Corrupt)
	}
	if s.Turns.Active == nil && (len(s.Calls.Open) > 0 || len(owned(s)) > 0) {
		t.Errorf("no turn runs, and %d calls and %d questions are open", len(s.Calls.Open), len(owned(s)))
	}
	for _, in := range s.Inputs.Open {
		if in.Turn != "" && (s.Turns.Active == nil || s.Turns.Active.ID != in.Turn) {
			t.Errorf("input %s belongs to turn %s, which is over", in.ID, in.Turn)
		}
	}
}

// owned are the pending questions about calls that wait for them: all but those that a dead process has left.
func owned(s *projections.Session) (out []*projections.Permission) {
	for _, p := range s.Permissions.Pending {
		if !p.Abandoned {
			out = append(out, p)
		}
	}
	return out
}
