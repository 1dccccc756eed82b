package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// notice is a command that is possible at any time and causes one event: the policy under another agent's name.
func notice(text string) *commands.ResolvePolicy {
	p := fakePolicy()
	p.Agent = text
	return &commands.ResolvePolicy{Policy: p}
}

func code(err error) string {
	var r *commands.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// gate holds appends back.
type gate struct {
	arrived chan []*journal.Commit
	open    chan error
}

func newGate(x *session) *gate {
	g := &gate{make(chan []*journal.Commit), make(chan error)}
	newGateOn(x, g)
	return g
}

func newGateOn(x *session, g *gate) {
	x.mem.Before = func(c []*journal.Commit) error {
		select {
		case g.arrived <- c:
		case <-x.provider.over:
			return nil
		}
		select {
		case err := <-g.open:
			return err
		case <-x.provider.over:
			return nil
		}
	}
}

// Eight writers arrive while an append is held: all of them wait, readers of the head see the old one, and their commits
// are one transaction.
//
// spec: D044 D088 D030
func TestGroupCommit(t *testing.T) {
	x := newBench(t).session()
	g := newGate(x)
	old := x.Head()
	var wg sync.WaitGroup
	var mu sync.Mutex
	answered := 0
	write := func(id string) {
		wg.Go(func() {
			if _, err := x.Do(context.Background(), id, "user", notice(id)); err != nil {
				t.Error(err)
			}
			mu.Lock()
			answered++
			mu.Unlock()
		})
	}
	write("first")
	first := <-g.arrived
	queued := make(chan struct{})
	for i := range 8 {
		write(fmt.Sprintf("writer %d", i))
	}
	go func() { // the owner is inside the append, so the queue only grows
		for len(x.queue) < 8 {
			select {
			case <-x.stopped:
				return
			default:
			}
		}
		close(queued)
	}()
	within(t, "eight writers in the queue", queued)
	read := make(chan uint64, 1)
	go func() { _ = x.Read(func(v *projections.View) { read <- v.Number }) }()
	if x.Head() != old {
		t.Error("the head moved before the append returned")
	}
	mu.Lock()
	if answered > 0 {
		t.Error("a writer was answered before the append returned")
	}
	mu.Unlock()
	select {
	case n := <-read:
		t.Errorf("Read saw commit %d while it was not durable", n)
	default:
	}
	g.open <- nil
	if len(first) != 1 {
		t.Errorf("the first transaction has %d commits", len(first))
	}
	second := <-g.arrived
	if len(second) != 8 {
		t.Errorf("eight writers share a transaction of %d commits", len(second))
	}
	if n := x.Head().Number; n != old.Number+1 {
		t.Errorf("head %d while the second transaction waits", n)
	}
	g.open <- nil
	wg.Wait()
	if n := <-read; n < old.Number+1 {
		t.Errorf("Read saw commit %d", n)
	}
	if n := x.Head().Number; n != old.Number+9 {
		t.Errorf("head %d at the end", n)
	}
}

// A refusal that was decided on a state that is not yet durable waits for it, and writes nothing.
//
// spec: D044 D046 D087
func TestRefusalWaitsForTheFsyncOfItsBatch(t *testing.T) {
	x := newBench(t).session()
	g := newGate(x)
	first := make(chan error, 1)
	go func() {
		_, err := x.Do(context.Background(), "first", "user", notice("first"))
		first <- err
	}()
	<-g.arrived
	// Both share the next batch: a change, and a cancel that is refused since no turn runs.
	second, refused := make(chan error, 1), make(chan error, 1)
	r1, _ := x.encode("second", "user", 0, notice("second"))
	r2, _ := x.encode("refused", "user", 0, &commands.CancelTurn{})
	x.queue <- r1
	x.queue <- r2
	go func() { a := <-r1.done; second <- a.err }()
	go func() { a := <-r2.done; refused <- a.err }()
	g.open <- nil
	if c := <-g.arrived; len(c) != 1 || c[0].Command.ID != "second" {
		t.Fatalf("the batch holds %v", c)
	}
	select {
	case err := <-refused:
		t.Errorf("the refusal %v came before the fsync", err)
	default:
	}
	g.open <- nil
	if err := <-refused; code(err) != commands.CodeNothing {
		t.Errorf("refused as %v", err)
	}
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	x.mem.Before = nil
	head := x.Head()
	for _, c := range []commands.Command{&commands.CancelTurn{}, &commands.CancelTurn{Turn: "turn_x"}, &commands.AdmitInput{}, &commands.AnswerPermission{Permission: "p", Verdict: event.VerdictAllow}, &commands.StartCall{ID: "c"}} {
		if _, err := x.send(c); code(err) == "" {
			t.Errorf("%T: %v", c, err)
		}
	}
	if x.Head() != head {
		t.Error("a refused command was written")
	}
	// The refused id was not taken: what was impossible is decided anew.
	in := x.prompt("now there is a turn")
	x.asked()
	if _, err := x.Do(context.Background(), "refused", "user", &commands.CancelTurn{}); err != nil {
		t.Errorf("the retry of a refused command: %v (%s)", err, in)
	}
}

// The same id and body is answered with the first outcome, another body is a conflict: live, within one batch, and after
// the session was opened again.
//
// spec: D085 D086
func TestRepeatedAndConflictingIDs(t *testing.T) {
	x := newBench(t).session()
	ctx := context.Background()
	first, err := x.Do(ctx, "acp:1", "user", notice("words"))
	if err != nil || first.Repeated {
		t.Fatal(first, err)
	}
	check := func(x *session) {
		t.Helper()
		head := x.Head()
		again, err := x.Do(ctx, "acp:1", "user", notice("words"))
		if err != nil || !again.Repeated || again.Commit != first.Commit || len(again.Events) != 1 || find[*event.PolicyResolved](again.Events).Policy.Agent != "words" {
			t.Errorf("repeated: %+v, %v", again, err)
		}
		for _, other := range []commands.Command{notice("other words"), &commands.CancelTurn{}, admission("words")} {
			if _, err := x.Do(ctx, "acp:1", "user", other); code(err) != commands.CodeConflict {
				t.Errorf("another body: %v", err)
			}
		}
		if x.Head() != head {
			t.Error("something was written")
		}
	}
	check(x)
	// Within one batch: the owner is held, so that all three are decided together.
	g := newGate(x)
	hold, _ := x.encode("hold", "user", 0, notice("hold"))
	x.queue <- hold
	<-g.arrived
	var rs []*request
	for _, c := range []commands.Command{notice("batch"), notice("batch"), notice("other")} {
		r, _ := x.encode("acp:2", "user", 0, c)
		rs = append(rs, r)
		x.queue <- r
	}
	g.open <- nil
	if c := <-g.arrived; len(c) != 1 {
		t.Errorf("%d commits of one id", len(c))
	}
	g.open <- nil
	a, b, c := <-rs[0].done, <-rs[1].done, <-rs[2].done
	if a.err != nil || a.Repeated || b.err != nil || !b.Repeated || b.Commit != a.Commit || code(c.err) != commands.CodeConflict {
		t.Errorf("in one batch: %+v, %+v, %+v", a, b, c)
	}
	x.mem.Before = nil
	check(x.reopen())
}

// Every command of a history is sent again, under its id and with its body: all are repeated and nothing is written.
//
// spec: D085
func TestWholeHistoryIsRepeated(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	x.asked().finish(tool("safe", "1"), tool("never", "2"))
	x.ran().finish("one")
	x.ran().finish("two")
	x.asked().finish()
	x.idle()
	y := x.reopen()
	y.idle()
	head := y.Head()
	n := 0
	err := y.mem.Scan(1, func(c *journal.Raw) error {
		texts := journal.NewTexts(y.salt)
		for i := range c.Texts {
			b, err := c.Body(i)
			if err != nil {
				return err
			}
			texts.Add(append([]byte(nil), b...))
		}
		// The command's own texts come first; a caller has only them.
		r := commands.RuleByName(string(c.Command.Type))
		cmd, err := r.Decode(c.Command.Payload, c.Texts)
		if err != nil {
			return err
		}
		body, err := event.NewEncoder().Encode(cmd, texts)
		if err != nil {
			return err
		}
		req := &request{id: string(c.Command.ID), typ: r.Type, version: r.Version, body: body, texts: texts, done: make(chan answer, 1)}
		y.queue <- req
		a := <-req.done
		if a.err != nil || !a.Repeated || a.Commit != c.Number || len(a.Events) != len(c.Events) {
			t.Errorf("commit %d (%s): %+v", c.Number, c.Command.Type, a)
		}
		n++
		return nil
	})
	if err != nil || n < 10 {
		t.Fatal(n, err)
	}
	if y.Head() != head {
		t.Error("something was written")
	}
	y.quiet()
}

// The clock jumps back: the stamp of commits does not fall, and a retry under another time is still a repetition.
//
// spec: D023
func TestStampNeverFalls(t *testing.T) {
	x := newBench(t).session()
	ctx := context.Background()
	x.clock.set(5_000_000)
	first, err := x.Do(ctx, "retry", "user", notice("x"))
	if err != nil {
		t.Fatal(err)
	}
	x.clock.set(17)
	x.must(notice("later"))
	again, err := x.Do(ctx, "retry", "user", notice("x"))
	if err != nil || !again.Repeated || again.Commit != first.Commit {
		t.Errorf("the retry: %+v %v", again, err)
	}
	y := x.reopen() // the clock is still behind
	y.must(notice("after"))
	last := int64(0)
	err = y.mem.Scan(1, func(c *journal.Raw) error {
		if c.At < last {
			t.Errorf("commit %d is of %d, after %d", c.Number, c.At, last)
		}
		last = c.At
		return nil
	})
	if err != nil || last != 5_000_000 {
		t.Errorf("the last stamp is %d (%v)", last, err)
	}
}

// badRule makes the next decisions of this type cause an event that the fold rejects, by changing the view under the
// owner: the rule sees a state that the fold does not.
func badEvent(x *session) commands.Command {
	// A turn that exists only for the decision: the fold of a refolded view does not know it.
	x.view(func(v *projections.View) {
		v.Root.Turns.Active = &projections.Turn{
			ID: "turn_forged", State: lifecycle.Turn.Initial, Run: v.Run.ID, Cancelling: false,
			Request: &projections.Request{ID: "req_forged", Attempt: 1, Open: false, Number: 1},
		}
		v.Root.Execution.State = lifecycle.Execution.State("paused")
		v.Root.Calls.Open = append(v.Root.Calls.Open, &projections.Call{ID: "call_forged", Turn: "turn_forged", State: lifecycle.Call.State("asking"), Permission: event.Allow})
		v.Root.Permissions.Pending = append(v.Root.Permissions.Pending, &projections.Permission{ID: "perm_forged", Call: "call_other"})
	})
	// The rule answers for call_other; the fold finds no such call.
	return &commands.AnswerPermission{Permission: "perm_forged", Verdict: event.VerdictReject}
}

// An event that Apply rejects: nothing is written, the view is that of the journal again, the caller hears of an internal
// error, and the next command works. What was decided before it in the same batch stays decided.
//
// spec: D024
func TestRejectedEventIsInternal(t *testing.T) {
	x := newBench(t).session()
	g := newGate(x)
	good, _ := x.encode("good", "user", 0, notice("good"))
	later, _ := x.encode("later", "user", 0, notice("later"))
	hold, _ := x.encode("hold", "user", 0, notice("hold"))
	x.mem.Before = nil
	bad := badEvent(x)
	newGateOn(x, g)
	x.queue <- hold
	<-g.arrived
	b, _ := x.encode("bad", "user", 0, bad)
	x.queue <- good
	x.queue <- b
	x.queue <- later
	g.open <- nil
	if c := <-g.arrived; len(c) != 1 || c[0].Command.ID != "good" {
		t.Fatalf("before the defect %v", c)
	}
	g.open <- nil
	if c := <-g.arrived; len(c) != 1 || c[0].Command.ID != "later" {
		t.Fatalf("after the defect %v", c)
	}
	// The second half of the batch cannot be written: that says nothing about the first.
	g.open <- &journal.NotAppended{Cause: errors.New("full")}
	if a := <-good.done; a.err != nil {
		t.Errorf("what was durable before the defect is answered with %v", a.err)
	}
	if a := <-b.done; code(a.err) != commands.CodeInternal {
		t.Errorf("the defect is answered with %v", a.err)
	}
	var full *journal.NotAppended
	if a := <-later.done; !errors.As(a.err, &full) {
		t.Errorf("what was not written is answered with %v", a.err)
	}
	x.mem.Before = nil
	x.view(func(v *projections.View) {
		if v.Corrupt != nil || v.Root.Turns.Active != nil || v.Number != x.Head().Number {
			t.Errorf("after the defect the view is at %d of %d, corrupt %v, turn %v", v.Number, x.Head().Number, v.Corrupt, v.Root.Turns.Active)
		}
	})
	x.must(notice("next"))
	x.prompt("and a turn")
	x.asked().finish()
	x.idle()
}

// What could not be written is refused and undone: the view is that of the journal, and the same id may be tried again.
//
// spec: D087 D088
func TestNotAppendedIsUndone(t *testing.T) {
	x := newBench(t).session()
	head := x.Head()
	full := true
	x.mem.Before = func([]*journal.Commit) error {
		if full {
			return &journal.NotAppended{Cause: errors.New("no space")}
		}
		return nil
	}
	_, err := x.Do(context.Background(), "acp:1", "user", admission("hello"))
	var not *journal.NotAppended
	if !errors.As(err, &not) {
		t.Fatalf("answered with %v", err)
	}
	x.view(func(v *projections.View) {
		if len(v.Root.Inputs.Open) != 0 || v.Number != head.Number {
			t.Errorf("the view still has %d inputs at commit %d", len(v.Root.Inputs.Open), v.Number)
		}
	})
	if x.Head() != head {
		t.Error("the head moved")
	}
	x.quiet()
	full = false
	o, err := x.Do(context.Background(), "acp:1", "user", admission("hello"))
	if err != nil || o.Repeated {
		t.Fatalf("the retry: %+v %v", o, err)
	}
	x.asked().finish()
	x.idle()
	if got := x.receipts(); len(got) != 1 || got[0] != "completed" {
		t.Errorf("receipts %v", got)
	}
}

// After a sync of unknown outcome every waiting caller is told so, effects stop, nothing more is taken, readers see only
// what is known to be durable, and opening again shows what is there.
//
// spec: D042 D044
func TestUnknownOutcome(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	head := x.Head()
	var during []byte
	x.mem.After = func([]*journal.Commit) error { during = append(during, 1); return journal.ErrUnknownOutcome }
	_, err := x.Do(context.Background(), "lost", "user", notice("lost"))
	if !errors.Is(err, journal.ErrUnknownOutcome) {
		t.Fatalf("answered with %v", err)
	}
	st.cancelled(t)
	x.idle()
	for _, c := range []commands.Command{notice("more"), admission("more"), &commands.CancelTurn{}} {
		if _, err := x.send(c); !errors.Is(err, journal.ErrUnknownOutcome) {
			t.Errorf("%T is answered with %v", c, err)
		}
	}
	if x.Head() != head || len(during) != 1 {
		t.Errorf("head %v, %d appends", x.Head(), len(during))
	}
	x.view(func(v *projections.View) {
		if v.Number != head.Number {
			t.Errorf("Read shows commit %d, and only %d is known to be durable", v.Number, head.Number)
		}
	})
	x.quiet()
	x.mem.After = nil
	y := x.reopen()
	o, err := y.Do(context.Background(), "lost", "user", notice("lost"))
	if err != nil || !o.Repeated {
		t.Errorf("the same id after opening again: %+v %v", o, err)
	}
	y.idle()
	if got := y.receipts(); len(got) != 1 || got[0] != "failed" {
		t.Errorf("receipts %v", got)
	}
}

// A race of two commands is settled by their order alone: the second is decided on what the first did.
//
// spec: D025 D030
func TestRaceIsSettledByOrder(t *testing.T) {
	for _, answerFirst := range []bool{true, false} {
		x := newBench(t).session()
		asker := newAsker()
		x.SetAsker(asker)
		x.prompt("go")
		x.asked().finish(tool("asks", "1"))
		p := asker.asked(t)
		g := newGate(x)
		hold, _ := x.encode("hold", "user", 0, notice("hold"))
		x.queue <- hold
		<-g.arrived
		answer, _ := x.encode("answer", "user", 0, &commands.AnswerPermission{Permission: p.ID, Verdict: event.VerdictAllow})
		stop, _ := x.encode("stop", "user", 0, &commands.CancelTurn{})
		if answerFirst {
			x.queue <- answer
			x.queue <- stop
		} else {
			x.queue <- stop
			x.queue <- answer
		}
		x.mem.Before = nil
		g.open <- nil
		a, s := <-answer.done, <-stop.done
		if s.err != nil || answerFirst != (a.err == nil) {
			t.Errorf("answer first %v: answer %v, stop %v", answerFirst, a.err, s.err)
		}
		x.idle()
		x.quiet()
		if n := len(all[*event.CallStarted](x.history())); n != 0 {
			t.Errorf("answer first %v: %d calls started", answerFirst, n)
		}
	}
}
