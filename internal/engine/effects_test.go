package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"zuno/commands"
	"zuno/internal/model"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

// The start of a call is durable before its effect begins, and its settlement before the next request.
//
// spec: D042 D056
func TestEffectsAreFenced(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	var commits []string
	g := newGate(x)
	st.finish(tool("never", "1"))
	for range 3 { // the response, the start, the settlement
		c := <-g.arrived
		commits = append(commits, c[0].Command.Type)
		x.quiet() // neither the tool nor the provider knows of what is not durable
		g.open <- nil
		if c[0].Command.Type == "call.start" {
			x.ran().finish("done")
		}
	}
	c := <-g.arrived
	commits = append(commits, c[0].Command.Type)
	x.quiet()
	x.mem.Before = nil
	g.open <- nil
	x.asked().finish()
	x.idle()
	if want := []string{"response.complete", "call.start", "call.settle", "request.start"}; !slices.Equal(commits, want) {
		t.Errorf("commits %v, want %v", commits, want)
	}
}

// A start that was sent before under the same id is a repetition: the effect is not run, and the turn goes on without it.
//
// spec: D043 D036
func TestRepeatedStartRunsNothing(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	g := newGate(x)
	st.finish(tool("never", "1"))
	<-g.arrived
	// While the response is not durable yet, its call's start is in the queue already, under the engine's own id.
	id := callID(&event.RequestStarted{ID: find[*event.RequestStarted](x.history()).ID, Attempt: 1}, 0)
	start, err := x.encode("engine:call:"+id+"/1:"+x.runLabel, "engine", 0, &commands.StartCall{ID: id, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	x.queue <- start
	x.mem.Before = nil
	g.open <- nil
	if a := <-start.done; a.err != nil || a.Repeated {
		t.Fatalf("the first start: %+v", a)
	}
	x.asked().finish() // the model is told
	x.idle()
	x.quiet()
	settled := all[*event.CallSettled](x.history())
	if len(settled) != 1 || settled[0].Outcome != event.OutcomeUncertain {
		t.Errorf("settled %+v", settled)
	}
}

// Results are recorded in the order of the calls, whatever ends first; each call runs once.
//
// spec: D037 D042
func TestResultsAreRecordedInCallOrder(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	x.asked().finish(tool("safe", "1"), tool("safe", "2"), tool("safe", "3"))
	runs := map[string]*fakeRun{}
	for range 3 {
		r := x.ran()
		runs[r.n] = r
	}
	if len(runs) != 3 {
		t.Fatalf("runs %v", runs)
	}
	runs["3"].finish("third")
	runs["2"].finish("second")
	x.view(func(v *projections.View) {
		if len(v.Root.Calls.Open) != 3 {
			t.Errorf("%d calls are open while the first runs", len(v.Root.Calls.Open))
		}
	})
	runs["1"].finish("first")
	st := x.asked()
	var texts []string
	for _, e := range all[*event.CallSettled](x.history()) {
		texts = append(texts, e.Text.String())
	}
	if want := []string{"first", "second", "third"}; !slices.Equal(texts, want) {
		t.Errorf("recorded %v", texts)
	}
	results := st.request.Messages[len(st.request.Messages)-1]
	if len(results.Parts) != 3 || results.Parts[0].Text != "first" || results.Parts[2].Text != "third" {
		t.Errorf("the model is told %+v", results)
	}
	st.finish()
	x.idle()
	x.quiet()
}

// An exclusive call is a barrier on both sides, and calls that overlap are bounded by the policy.
//
// spec: D035 D037
func TestBarriersAndBound(t *testing.T) {
	b := newBench(t)
	b.set.Policy.Concurrency = 2
	x := b.session()
	x.prompt("go")
	x.asked().finish(tool("safe", "1"), tool("par", "2"), tool("safe", "3"), tool("never", "4"), tool("safe", "5"))
	one, two := x.ran(), x.ran()
	if one.n == "2" {
		one, two = two, one
	}
	awaitEvent[*event.CallStarted](x, 2)
	x.quiet() // two overlap, the third waits
	one.finish("1")
	three := x.ran()
	if three.n != "3" {
		t.Fatalf("%s ran", three.n)
	}
	x.quiet()
	three.finish("3")
	two.finish("2")
	four := x.ran()
	if four.n != "4" || x.settledNow() != 3 {
		t.Errorf("the exclusive call %s ran when %d were settled", four.n, x.settledNow())
	}
	x.quiet() // nothing beside it
	four.finish("4")
	five := x.ran()
	if five.n != "5" || x.settledNow() != 4 {
		t.Errorf("%s ran when %d were settled", five.n, x.settledNow())
	}
	five.finish("5")
	x.asked().finish()
	x.idle()
}

func (x *session) settledNow() int { return len(all[*event.CallSettled](x.history())) }

// A stop while the provider streams: the request is cancelled and cut, the input gets its receipt, nothing runs.
//
// spec: D037
func TestCancelWhileStreaming(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	if err := st.text("some words"); err != nil {
		t.Fatal(err)
	}
	x.must(&commands.CancelTurn{Source: "user"})
	within(t, "the request to be cancelled", st.ctx.Done())
	if err := st.text("more"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the stop a chunk is answered with %v", err)
	}
	st.cancelled(t)
	x.idle()
	x.quiet()
	h := x.history()
	cuts := all[*event.ResponseCut](h)
	if len(cuts) != 1 || cuts[0].Reason != event.CutCancelled {
		t.Errorf("cut %+v", cuts)
	}
	if got := x.receipts(); !slices.Equal(got, []string{"cancelled"}) {
		t.Errorf("receipts %v", got)
	}
	x.view(func(v *projections.View) {
		if v.Root.Turns.Active != nil || len(v.Root.Calls.Open) != 0 {
			t.Error("the turn is still there")
		}
	})
	// The provider that completes after all: its response is recorded and its calls do not run.
	x.prompt("again")
	st = x.asked()
	x.must(&commands.CancelTurn{Source: "user"})
	st.finish(tool("never", "1"))
	x.idle()
	x.quiet()
	if blocked := all[*event.CallBlocked](x.history()); len(blocked) != 1 || blocked[0].Kind != event.BlockCancelled {
		t.Errorf("blocked %+v", blocked)
	}
	if got := x.receipts(); !slices.Equal(got, []string{"cancelled", "cancelled"}) {
		t.Errorf("receipts %v", got)
	}
}

// A stop while the user is asked: the call is abandoned, and the answer that comes too late runs nothing.
//
// spec: D037 D046
func TestCancelWhileAskingAndLateAnswer(t *testing.T) {
	x := newBench(t).session()
	asker := newAsker()
	x.SetAsker(asker)
	x.prompt("go")
	x.asked().finish(tool("asks", "1"), tool("never", "2"))
	p := asker.asked(t)
	x.must(&commands.CancelTurn{Source: "user"})
	x.idle()
	head := x.Head()
	if _, err := x.send(&commands.AnswerPermission{Permission: p.ID, Verdict: event.VerdictAllow}); code(err) != commands.CodeStale {
		t.Errorf("the late answer: %v", err)
	}
	x.idle()
	x.quiet()
	h := x.history()
	if x.Head() != head || len(all[*event.CallStarted](h)) != 0 {
		t.Error("something was written or started")
	}
	if a := all[*event.CallAbandoned](h); len(a) != 1 || a[0].Reason != event.BlockCancelled {
		t.Errorf("abandoned %+v", a)
	}
	if a := all[*event.PermissionAnswered](h); len(a) != 1 || a[0].Verdict != event.VerdictCancelled {
		t.Errorf("answered %+v", a)
	}
	if got := x.receipts(); !slices.Equal(got, []string{"cancelled"}) {
		t.Errorf("receipts %v", got)
	}
}

// Each answer to a question does what it says, and only an allowed call runs.
//
// spec: D037
func TestPermissionAnswers(t *testing.T) {
	for v, runs := range map[event.Verdict]bool{event.VerdictAllow: true, event.VerdictReject: false, event.VerdictCancelled: false, event.VerdictUnrecognized: false} {
		x := newBench(t).session()
		asker := newAsker()
		x.SetAsker(asker)
		x.prompt("go")
		x.asked().finish(tool("asks", "1"))
		asker.answers <- v
		asker.asked(t)
		if runs {
			x.ran().finish("ran")
		}
		x.asked().finish()
		x.idle()
		x.quiet()
		if n := len(all[*event.CallBlocked](x.history())); (n == 0) != runs {
			t.Errorf("%s: %d blocked", v, n)
		}
	}
}

// Questions are asked one at a time, before anything runs, and nobody is asked twice.
//
// spec: D035
func TestQuestionsComeFirst(t *testing.T) {
	x := newBench(t).session()
	asker := newAsker()
	x.SetAsker(asker)
	x.prompt("go")
	x.asked().finish(tool("safe", "1"), tool("asks", "2"), tool("asks", "3"))
	first := asker.asked(t)
	x.quiet()
	if len(asker.requests) != 0 {
		t.Error("two questions at once")
	}
	asker.answers <- event.VerdictAllow
	second := asker.asked(t)
	if second.Call == first.Call || second.ID == first.ID {
		t.Errorf("asked %v after %v", second, first)
	}
	x.quiet()
	asker.answers <- event.VerdictReject
	x.ran().finish("1")
	x.ran().finish("2")
	x.asked().finish()
	x.idle()
	if n := len(all[*event.PermissionAsked](x.history())); n != 2 || len(asker.requests) != 0 {
		t.Errorf("%d questions", n)
	}
}

// A stop while calls run: each is cancelled, all are settled, and only the last of them ends the turn.
//
// spec: D037
func TestCancelRunningCalls(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	x.asked().finish(tool("safe", "1"), tool("par", "2"), tool("never", "3"))
	one, two := x.ran(), x.ran()
	if one.n == "2" {
		one, two = two, one
	}
	x.must(&commands.CancelTurn{Source: "user"})
	two.cancelled(t)
	x.view(func(v *projections.View) {
		if v.Root.Turns.Active == nil || !v.Root.Turns.Active.Cancelling {
			t.Error("the turn ended while a call runs")
		}
	})
	if _, err := x.send(&commands.CancelTurn{Source: "user"}); code(err) != commands.CodeStopping {
		t.Errorf("a second stop: %v", err)
	}
	one.cancelled(t)
	x.idle()
	x.quiet()
	h := x.history()
	if s := all[*event.CallSettled](h); len(s) != 2 || s[0].Outcome != event.OutcomeCancelled || s[1].Outcome != event.OutcomeCancelled {
		t.Errorf("settled %+v", s)
	}
	if s := all[*event.CallBlocked](h); len(s) != 1 || s[0].Kind != event.BlockCancelled {
		t.Errorf("blocked %+v", s)
	}
	if got := x.receipts(); !slices.Equal(got, []string{"cancelled"}) {
		t.Errorf("receipts %v", got)
	}
}

// 63 MiB free: the call is refused and says why. 65 MiB: it runs.
//
// spec: D042 D097
func TestFreeSpaceIsChecked(t *testing.T) {
	for free, runs := range map[uint64]bool{63: false, 64: true, 65: true} {
		b := newBench(t)
		b.free = free
		x := b.session()
		x.prompt("go")
		x.asked().finish(tool("never", "1"))
		if runs {
			x.ran().finish("ran")
		}
		st := x.asked()
		st.finish()
		x.idle()
		x.quiet()
		if s := all[*event.CallBlocked](x.history()); (len(s) == 0) != runs || len(s) == 1 && s[0].Kind != event.Unavailable {
			t.Errorf("%d MiB: blocked %+v", free, s)
		}
	}
}

// While nothing can be written, starts and results wait and are tried again: nothing runs twice and nothing is lost.
//
// spec: D042 D043
func TestFullDiskDelaysAndLosesNothing(t *testing.T) {
	x := newBench(t).session()
	var mu sync.Mutex
	refuse := ""
	times := 0
	x.mem.Before = func(c []*journal.Commit) error {
		mu.Lock()
		defer mu.Unlock()
		for i := range c {
			if c[i].Command.Type == refuse {
				if times++; times < 3 {
					return &journal.NotAppended{Cause: errors.New("no space")}
				}
				refuse = ""
			}
		}
		return nil
	}
	fail := func(typ string) { mu.Lock(); refuse, times = typ, 0; mu.Unlock() }
	retry := func() {
		for range 2 {
			<-x.clock.waiting
			x.clock.advance(retryEvery)
		}
	}
	fail("request.start")
	x.prompt("go")
	retry()
	st := x.asked()
	if len(st.request.Tools) != 4 || len(st.request.Sections) != 1 {
		t.Errorf("the request lacks its context: %d tools, %d sections", len(st.request.Tools), len(st.request.Sections))
	}
	fail("response.part")
	long := make([]byte, commitSize)
	for i := range long {
		long[i] = 'a'
	}
	written := make(chan error, 1)
	go func() { written <- st.text(string(long)) }()
	retry()
	if err := <-written; err != nil {
		t.Error(err)
	}
	fail("response.complete")
	st.finish(tool("never", "1"))
	retry()
	fail("call.start")
	retryStart := x.clock.waiting
	<-retryStart
	x.quiet()
	x.clock.advance(retryEvery)
	<-retryStart
	x.clock.advance(retryEvery)
	run := x.ran()
	fail("call.settle")
	run.finish("done")
	retry()
	st = x.asked()
	if got := st.request.Messages; len(got) != 3 || got[1].Parts[0].Text != string(long) || got[2].Parts[0].Text != "done" {
		t.Errorf("the model sees %d messages", len(got))
	}
	st.finish()
	x.idle()
	x.quiet()
	h := x.history()
	if a, b, c := len(all[*event.CallStarted](h)), len(all[*event.CallSettled](h)), len(all[*event.ResponsePart](h)); a != 1 || b != 1 || c != 1 {
		t.Errorf("%d starts, %d settlements, %d parts", a, b, c)
	}
}

// A tool, a provider and an asker that panic: the session goes on, and what was open is closed.
//
// spec: D037
func TestPanicsAreContained(t *testing.T) {
	x := newBench(t).session()
	asker := panicAsker{}
	x.SetAsker(asker)
	x.prompt("tool")
	x.asked().finish(tool("never", "1"))
	x.ran().end <- func() tools.Result { panic("a tool") }
	st := x.asked()
	if s := all[*event.CallSettled](x.history()); len(s) != 1 || s[0].Outcome != event.OutcomeUncertain {
		t.Errorf("a tool that panicked is settled as %+v", s)
	}
	st.finish(tool("asks", "2"))
	st = x.asked()
	if s := all[*event.CallBlocked](x.history()); len(s) != 1 || s[0].Kind != event.Denied {
		t.Errorf("a question whose asker panicked is %+v", s)
	}
	_ = st.text("words")
	st.end <- func() (*model.Response, error) { panic("a provider") }
	x.idle()
	if got := x.receipts(); !slices.Equal(got, []string{"failed"}) {
		t.Errorf("receipts %v", got)
	}
	x.prompt("again")
	x.asked().finish()
	x.idle()
	if got := x.receipts(); !slices.Equal(got, []string{"failed", "completed"}) {
		t.Errorf("receipts %v", got)
	}
}

type panicAsker struct{}

func (panicAsker) AskPermission(context.Context, PermissionRequest) (event.Verdict, string) {
	panic("an asker")
}

// A response that the journal cannot take (its calls clash) fails the turn; it does not wait for ever.
//
// spec: D024
func TestUnrecordableResponseEndsItsTurn(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	// The owner takes another end of this request for its own: the real one is refused as a conflict.
	req := find[*event.RequestStarted](x.history())
	st2, _ := x.encode("engine:request:"+find[*event.InputAdmitted](x.history()).ID+"/1/1:"+x.runLabel+":complete", "engine", 0, notice("an id that is taken"))
	x.queue <- st2
	if a := <-st2.done; a.err != nil {
		t.Fatal(a.err, req)
	}
	st.finish()
	x.idle()
	if got := x.receipts(); !slices.Equal(got, []string{"failed"}) {
		t.Errorf("receipts %v", got)
	}
}

// Two sessions of one host: while one cannot write, the other goes on.
//
// spec: D088
func TestSessionsDoNotHoldEachOtherUp(t *testing.T) {
	b := newBench(t)
	x, y := b.session(), b.session()
	g := newGate(x)
	held := make(chan error, 1)
	go func() { _, err := x.send(admission("held")); held <- err }()
	<-g.arrived
	y.prompt("free")
	b.asked().finish(tool("never", "1"))
	b.ran().finish("ran")
	b.asked().finish()
	y.idle()
	if got := y.receipts(); !slices.Equal(got, []string{"completed"}) {
		t.Errorf("receipts %v", got)
	}
	select {
	case err := <-held:
		t.Errorf("the held session answered %v", err)
	default:
	}
	x.mem.Before = nil
	g.open <- nil
	if err := <-held; err != nil {
		t.Error(err)
	}
	b.asked().finish()
	x.idle()
}

// Closing settles what runs: requests are cut, calls cancelled, questions abandoned; queued inputs keep their place.
//
// spec: D037
func TestCloseSettlesWhatRuns(t *testing.T) {
	for _, what := range []string{"request", "call", "question", "nothing"} {
		x := newBench(t).session()
		x.SetAsker(newAsker())
		if what != "nothing" {
			x.prompt("go")
			x.prompt("queued")
		}
		over := make(chan error, 1)
		shut := func() { go func() { over <- x.close(context.Background(), "close") }() }
		switch what {
		case "request":
			st := x.asked()
			shut()
			st.cancelled(t)
		case "call":
			x.asked().finish(tool("never", "1"))
			r := x.ran()
			shut()
			r.cancelled(t)
		case "question":
			x.asked().finish(tool("asks", "1"))
			awaitEvent[*event.PermissionAsked](x, 1)
			shut()
		default:
			shut()
		}
		if err := <-over; err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := x.send(notice("after")); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: a command after the end: %v", what, err)
		}
		f := projections.NewFolder(projections.Options{})
		if err := x.mem.Scan(1, func(c *journal.Raw) error { return f.Commit(c) }); err != nil {
			t.Fatal(err)
		}
		v := f.View
		waiting := 1
		if what == "nothing" {
			waiting = 0
		}
		if v.Corrupt != nil || v.Root.Turns.Active != nil || len(v.Root.Calls.Open) != 0 || len(v.Root.Permissions.Pending) != 0 || len(v.Root.Inputs.Open) != waiting {
			t.Errorf("%s: left behind %+v", what, v.Root)
		}
		x.quiet()
	}
}

// An effect that does not stop holds a close up only as long as its caller waits, also on a full disk; so does a disk that
// does not answer.
//
// spec: D037
func TestCloseIsBounded(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	x.asked().finish(tool("never", "1"))
	run := x.ran()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- x.close(ctx, "shutdown") }()
	within(t, "the call to be cancelled", run.ctx.Done())
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("closed with %v", err)
	}
	run.finish("at last")
	within(t, "the end of the session", x.stopped)

	y := newBench(t).session()
	y.prompt("go")
	st := y.asked()
	y.mem.Before = func([]*journal.Commit) error { return &journal.NotAppended{Cause: errors.New("no space")} }
	go func() { over <- y.close(context.Background(), "shutdown") }()
	st.cancelled(t)
	for {
		select {
		case <-y.clock.waiting:
			y.clock.advance(retryEvery)
			continue
		case err := <-over:
			var full *journal.NotAppended
			if !errors.As(err, &full) {
				t.Errorf("closed on a full disk with %v", err)
			}
		}
		break
	}

	z := newBench(t).session()
	g := newGate(z)
	go func() { _, _ = z.Do(context.Background(), "held", "user", notice("held")) }()
	<-g.arrived
	for what, wait := range map[string]func(context.Context) error{
		"idle": z.Idle, "close": func(ctx context.Context) error { return z.close(ctx, "shutdown") },
	} {
		ctx, cancel := context.WithCancel(context.Background())
		go func() { over <- wait(ctx) }()
		cancel()
		ends(t, func() {
			if err := <-over; !errors.Is(err, context.Canceled) {
				t.Errorf("%s on a disk that does not answer: %v", what, err)
			}
		})
	}
	g.open <- nil
	within(t, "the end of the session", z.stopped)
}

// What still waits for the clock when a test ends holds nothing up: the result of a run that died, say, which could not be
// recorded at once.
func TestEndLetsGoWhoWaitsForTheClock(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	x.mem.Before = func([]*journal.Commit) error { return &journal.NotAppended{Cause: errors.New("no space")} }
	st.finish()
	within(t, "the result to wait", x.clock.waiting)
	x.end()
	ends(t, func() { _ = x.close(context.Background(), "shutdown") })
}

// What Next lists is called for once per state, and Next is a function.
//
// spec: D035
func TestNextOfAnyViewIsAFunction(t *testing.T) {
	x := newBench(t).session()
	x.SetAsker(newAsker())
	same := func() []Step {
		var a, b []Step
		x.view(func(v *projections.View) { a, b = Next(v), Next(v) })
		if !slices.Equal(a, b) {
			t.Errorf("%v and %v", a, b)
		}
		return a
	}
	if s := same(); len(s) != 0 {
		t.Errorf("an empty session wants %v", s)
	}
	in := x.prompt("go")
	st := x.asked()
	if s := same(); len(s) != 1 || !s[0].Open || s[0].Key != "request:"+in+"/1/1" {
		t.Errorf("while the model is asked: %v", s)
	}
	st.finish(tool("asks", "1"))
	awaitEvent[*event.PermissionAsked](x, 1)
	if s := same(); len(s) != 1 || s[0].Kind != StepAsk || !s[0].Open {
		t.Errorf("while the user is asked: %v", s)
	}
	x.must(&commands.CancelTurn{Source: "user"})
	if s := same(); len(s) != 0 {
		t.Errorf("after the stop: %v", s)
	}
}
