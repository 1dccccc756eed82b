package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"zuno/commands"
	"zuno/internal/ledger"
	"zuno/internal/model"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// answerAll answers every request and every call from now on, and counts them.
func (b *bench) answerAll() {
	go func() {
		for {
			select {
			case s := <-b.provider.asked:
				s.finish()
			case r := <-b.runs:
				r.finish("ran")
			case <-b.provider.over:
				return
			}
		}
	}()
}

// text is all that the model is told.
func told(r *model.Request) string {
	var out strings.Builder
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			out.WriteString(string(m.Role) + ": " + p.Text + "\n")
		}
	}
	return out.String()
}

// A run that died with a call of every kind: what it started is uncertain, or an error when it was declared safe, and what
// had not begun is closed without a start. Its turn is failed, what it had taken has that receipt, what waits still
// waits, one notice says so, nothing starts by itself, and the model is told.
//
// spec: D041 D047 D049 D050 D051 D052
func TestRecoverySettlesWhatADeadRunLeft(t *testing.T) {
	b := newBench(t)
	b.set.Policy.Concurrency = 2
	x := b.session()
	x.prompt("go")
	x.asked().finish(tool("par", "1"), tool("safe", "2"), tool("safe", "3"), tool("never", "4"))
	x.ran()
	x.ran()
	awaitEvent[*event.CallStarted](x, 2)
	x.prompt("queued")
	y := x.crash()
	y.idle()
	y.quiet()
	h := y.history()
	settled := all[*event.CallSettled](h)
	if len(settled) != 2 || settled[0].Outcome != event.OutcomeUncertain || settled[1].Outcome != event.OutcomeError || settled[1].Class != "interrupted" {
		t.Errorf("settled %+v", settled)
	}
	blocked := all[*event.CallBlocked](h)
	if len(blocked) != 2 || blocked[0].Kind != event.BlockInterrupted || blocked[1].Kind != event.BlockInterrupted {
		t.Errorf("blocked %+v", blocked)
	}
	ended := all[*event.TurnEnded](h)
	if len(ended) != 1 || ended[0].State != "failed" || ended[0].Fault.Code != "interrupted" {
		t.Errorf("ended %+v", ended)
	}
	if got := y.receipts(); !slices.Equal(got, []string{"failed"}) {
		t.Errorf("receipts %v", got)
	}
	notices := all[*event.NoticeRaised](h)
	if len(notices) != 1 || notices[0].Code != commands.NoticeInterrupted || notices[0].Call != settled[0].ID || notices[0].Waiting != 1 {
		t.Errorf("notices %+v", notices)
	}
	y.view(func(v *projections.View) {
		if v.Root.Execution.Gate != nil || len(v.Root.Calls.Uncertain) != 1 || v.Root.Calls.Uncertain[0].Call != settled[0].ID {
			t.Errorf("gate %v, uncertain %v", v.Root.Execution.Gate, v.Root.Calls.Uncertain)
		}
	})
	y.prompt("more")
	st := y.asked()
	if text := told(st.request); !strings.Contains(text, "before any new mutation") || strings.Count(text, "user: ") != 2 || strings.Contains(text, "more") {
		t.Errorf("the model is told:\n%s", text)
	}
	st.finish(tool("never", "5"))
	y.ran().finish("tools run")
	y.asked().finish()
	st = y.asked()
	if !strings.Contains(told(st.request), "user: more") {
		t.Errorf("the third turn is told:\n%s", told(st.request))
	}
	st.finish()
	y.idle()
	if got := y.receipts(); !slices.Equal(got, []string{"failed", "completed", "completed"}) {
		t.Errorf("receipts %v", got)
	}
	started := map[string]int{}
	for _, e := range all[*event.CallStarted](y.history()) {
		if started[e.ID]++; started[e.ID] > 1 {
			t.Errorf("call %s started twice", e.ID)
		}
	}
}

// A call that waited for an answer when its process died is abandoned, and its question is put again, on its own and before
// anything wakes the session. The answer is recorded, once, and runs nothing.
//
// spec: D041 D047 D267
func TestRecoveryAsksAgainAndRunsNothing(t *testing.T) {
	x := newBench(t).session()
	x.SetAsker(newAsker())
	x.prompt("go")
	x.asked().finish(tool("asks", "1"))
	asked := awaitEvent[*event.PermissionAsked](x, 1)
	y := x.crash()
	y.idle()
	h := y.history()
	if a := all[*event.CallAbandoned](h); len(a) != 1 || a[0].Reason != event.BlockInterrupted {
		t.Errorf("abandoned %+v", a)
	}
	if a := all[*event.PermissionAnswered](h); len(a) != 0 {
		t.Errorf("answered before anybody was asked: %+v", a)
	}
	asker := newAsker()
	y.SetAsker(asker)
	if r := asker.asked(t); r.ID != asked[0].ID || r.Call != asked[0].Call || !r.Over {
		t.Errorf("asked %+v", r)
	}
	asker.answers <- event.VerdictAllow
	if a := awaitEvent[*event.PermissionAnswered](y, 1); a[0].ID != asked[0].ID || a[0].Verdict != event.VerdictAllow {
		t.Errorf("answered %+v", a[0])
	}
	y.idle()
	y.quiet()
	if n := len(all[*event.CallStarted](y.history())); n != 0 {
		t.Errorf("%d calls were started", n)
	}
	z := y.crash()
	again := newAsker()
	z.SetAsker(again)
	z.prompt("more")
	z.asked().finish()
	z.idle()
	if n := len(again.requests); n != 0 {
		t.Errorf("asked %d times after the answer", n)
	}
}

// Whoever comes next is asked, also when nothing was recorded since the question could not be put to the one before.
//
// spec: D267
func TestUndeliverableQuestionIsPutToTheNext(t *testing.T) {
	x := newBench(t).session()
	x.SetAsker(newAsker())
	x.prompt("go")
	x.asked().finish(tool("asks", "1"))
	asked := awaitEvent[*event.PermissionAsked](x, 1)
	y := x.crash()
	absent := newAsker()
	absent.answers <- event.VerdictUndeliverable
	y.SetAsker(absent)
	absent.asked(t)
	for over := false; !over; {
		if err := y.inOwner(func() { over = len(y.running) == 0 }); err != nil {
			t.Fatal(err)
		}
	}
	next := newAsker()
	y.SetAsker(next)
	if r := next.asked(t); r.ID != asked[0].ID {
		t.Errorf("asked %+v", r)
	}
	next.answers <- event.VerdictReject
	awaitEvent[*event.PermissionAnswered](y, 1)
}

// A question that cannot be put stays pending: it is not repeated with each commit, nor put where nobody can be asked, and
// comes again when the session is opened anew.
//
// spec: D267
func TestUndeliverableQuestionStaysPending(t *testing.T) {
	x := newBench(t).session()
	x.SetAsker(newAsker())
	x.prompt("go")
	x.asked().finish(tool("asks", "1"))
	asked := awaitEvent[*event.PermissionAsked](x, 1)
	y := x.crash()
	y.prompt("nobody is there")
	y.asked().finish()
	y.idle()
	asker := newAsker()
	asker.answers <- event.VerdictUndeliverable
	y.SetAsker(asker)
	asker.asked(t)
	y.prompt("more")
	y.asked().finish()
	y.idle()
	if n := len(asker.requests); n != 0 {
		t.Errorf("asked %d times more", n)
	}
	y.view(func(v *projections.View) {
		if p := v.Root.Permissions.Pending; len(p) != 1 || p[0].ID != asked[0].ID || !p[0].Abandoned {
			t.Errorf("pending %+v", p)
		}
	})
	z := y.crash()
	last := newAsker()
	z.SetAsker(last)
	if r := last.asked(t); r.ID != asked[0].ID {
		t.Errorf("asked %+v", r)
	}
	if err := z.close(t.Context(), "close"); err != nil { // with the question open
		t.Error(err)
	}
}

// A response that a dead run left open is cut; its parts stay in the journal and are no part of the model's history.
//
// spec: D047 D057
func TestRecoveryCutsOpenResponses(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	_ = st.text("half an answer")
	x.clock.advance(time.Second)
	awaitEvent[*event.ResponsePart](x, 1)
	y := x.crash()
	y.idle()
	h := y.history()
	if c := all[*event.ResponseCut](h); len(c) != 1 || c[0].Reason != event.CutInterrupted {
		t.Errorf("cut %+v", c)
	}
	y.prompt("again")
	st = y.asked()
	if strings.Contains(told(st.request), "half") {
		t.Errorf("the model is told:\n%s", told(st.request))
	}
	st.finish()
	y.idle()
}

// Inputs that were admitted and never applied keep their order. The next wake runs them, each as a turn of its own, before
// the input that woke them.
//
// spec: D048 D049
func TestQueuedInputsRunWithTheNextWake(t *testing.T) {
	x := newBench(t).session()
	x.prompt("first")
	x.asked()
	x.prompt("second")
	x.prompt("third")
	y := x.crash()
	y.idle()
	y.quiet()
	z := y.reopen() // opening twice starts nothing either, and says nothing more
	z.idle()
	z.quiet()
	if n := len(all[*event.NoticeRaised](z.history())); n != 1 {
		t.Errorf("%d notices", n)
	}
	z.prompt("fourth")
	for i, want := range []string{"second", "third", "fourth"} {
		st := z.asked()
		last := st.request.Messages[len(st.request.Messages)-1]
		if last.Role != model.RoleUser || last.Parts[0].Text != want {
			t.Errorf("turn %d is for %+v, want %s", i, last, want)
		}
		_ = st.text("answer")
		st.finish()
	}
	z.idle()
	z.quiet()
	if got := z.receipts(); !slices.Equal(got, []string{"failed", "completed", "completed", "completed"}) {
		t.Errorf("receipts %v", got)
	}
	turns, cycles := map[string]bool{}, map[string]bool{}
	for _, e := range all[*event.TurnStarted](z.history()) {
		turns[e.ID], cycles[e.Cycle] = true, true
	}
	if len(turns) != 4 || len(cycles) != 4 {
		t.Errorf("%d turns in %d cycles", len(turns), len(cycles))
	}
}

// forge appends events that no rule of this build makes. The session is not open.
func (x *session) forge(events ...event.Payload) {
	x.t.Helper()
	texts := journal.NewTexts(x.mem.Salt())
	c := &journal.Commit{Run: x.run, At: x.clock.Now(), Texts: texts, Command: journal.Command{ID: "forged", Type: "test.forged", Version: 1, Actor: "test", Payload: []byte{0x80}}}
	for _, e := range events {
		b, err := event.NewEncoder().Encode(e, texts)
		if err != nil {
			x.t.Fatal(err)
		}
		c.Events = append(c.Events, journal.Event{Stream: 1, Type: event.TypeOf(e).Name, Payload: b})
	}
	if err := x.mem.Append([]*journal.Commit{c}); err != nil {
		x.t.Fatal(err)
	}
}

// An input that was recorded and not applied when its run died keeps its place; its turn runs with the next wake, and its
// text is not inserted a second time.
//
// spec: D048 D060
func TestRecordedInputIsNotInsertedTwice(t *testing.T) {
	x := newBench(t).session()
	x.prompt("first")
	x.asked().finish()
	x.idle()
	if err := x.close(t.Context(), "shutdown"); err != nil {
		t.Fatal(err)
	}
	if err := x.mem.Reopen(); err != nil {
		t.Fatal(err)
	}
	x.forge(&event.InputAdmitted{ID: "inp_recorded", Trigger: event.TriggerUser, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("recorded words")}}},
		&event.InputDeliveryBatch{Inputs: []string{"inp_recorded"}})
	y := x.reopen()
	y.idle()
	y.quiet()
	y.prompt("next")
	st := y.asked()
	if text := told(st.request); strings.Count(text, "recorded words") != 1 || strings.Contains(text, "next") {
		t.Errorf("the recorded input's turn is told:\n%s", text)
	}
	_ = st.text("answer")
	st.finish()
	st = y.asked()
	if text := told(st.request); strings.Count(text, "recorded words") != 1 || !strings.HasSuffix(text, "user: next\n") {
		t.Errorf("the next turn is told:\n%s", text)
	}
	st.finish()
	y.idle()
	if n := len(all[*event.InputDeliveryBatch](y.history())); n != 3 {
		t.Errorf("%d delivery batches", n)
	}
}

// Recovery goes by what was declared and resolved when the call was made, whatever registry and configuration say today.
//
// spec: D033 D034
func TestRecoveryUsesTheRecordedDeclaration(t *testing.T) {
	for _, swapped := range []bool{false, true} {
		b := newBench(t)
		b.swapped = swapped
		b.registry = b.tools("")
		b.rebuild()
		x := b.session()
		x.prompt("go")
		want := []event.Outcome{event.OutcomeError, event.OutcomeUncertain}
		if swapped { // par is safe, and safe is an exclusive call that may not be repeated
			x.asked().finish(tool("par", "1"), tool("par", "2"))
			want[1] = event.OutcomeError
		} else {
			x.asked().finish(tool("safe", "1"), tool("par", "2"))
		}
		x.ran()
		x.ran()
		awaitEvent[*event.CallStarted](x, 2)
		// Today each is called the opposite, and nothing is allowed any more.
		b.swapped = !swapped
		b.registry = b.tools("")
		b.set = &Settings{Policy: event.Policy{Agent: "build", Mode: event.ModeStrict, Concurrency: 1, Headless: true}, Worktree: "/w", Provider: b.provider}
		b.rebuild()
		if e, ok := b.h.entry("par"); !ok || (e.Declaration.Replay == event.ReplaySafe) == swapped {
			t.Fatal("the declarations are not swapped")
		}
		y := x.crash()
		y.idle()
		var got []event.Outcome
		for _, s := range all[*event.CallSettled](y.history()) {
			got = append(got, s.Outcome)
		}
		if !slices.Equal(got, want) {
			t.Errorf("swapped %v: settled as %v, want %v", swapped, got, want)
		}
		for _, c := range all[*event.CallRequested](y.history()) {
			d := c.Declaration
			if d.Effect == "" || d.Replay == "" || d.Concurrency == "" || c.SchemaDigest == (journal.Hash{}) || c.ArgsDigest == (journal.Hash{}) {
				t.Errorf("call %s lacks a fact: %+v", c.Tool, c)
			}
		}
	}
}

// A journal that ends at any of its commits – the process died right after that fsync – opens, settles what is open, starts
// nothing, and goes on with the next prompt until every input has its one receipt.
//
// spec: D041 D047 D048 D049 D175
func TestEveryPrefixOfAJournalRecovers(t *testing.T) {
	b := newBench(t)
	x := b.session()
	asker := newAsker()
	x.SetAsker(asker)
	x.prompt("one")
	x.later("two")
	st := x.asked()
	_ = st.text("words")
	x.clock.advance(time.Second)
	st.finish(tool("safe", "1"), tool("par", "2"), tool("asks", "3"), tool("never", "4"))
	asker.asked(t)
	asker.answers <- event.VerdictAllow
	x.ran().finish("a")
	x.ran().finish("b")
	x.ran().finish("c")
	x.ran().finish("d")
	x.asked().finish(tool("asks", "5"))
	asker.asked(t)
	x.must(&commands.CancelTurn{Source: "user"})
	st = x.asked()
	_ = st.text("cut")
	st.fail(&model.Cut{Reason: "broken"})
	x.idle()
	head := x.Head().Number
	if head < 20 {
		t.Fatalf("only %d commits", head)
	}
	b.answerAll()
	startedBefore := map[string]int{}
	for n := uint64(1); n <= head; n++ {
		mem := &journal.Memory{}
		err := x.mem.Scan(1, func(r *journal.Raw) error {
			if r.Number > n {
				return nil
			}
			texts := journal.NewTexts(x.salt)
			for i := range r.Texts {
				body, err := r.Body(i)
				if err != nil {
					return err
				}
				texts.Add(body)
			}
			c := &journal.Commit{Run: r.Run, At: r.At, Cause: r.Cause, Texts: texts, Command: journal.Command{
				ID: string(r.Command.ID), Type: string(r.Command.Type),
				Version: r.Command.Version, Actor: string(r.Command.Actor), Payload: r.Command.Payload,
			}}
			for _, e := range r.Events {
				c.Events = append(c.Events, journal.Event{Stream: e.Stream, Type: string(e.Type), Payload: e.Payload})
			}
			return mem.Append([]*journal.Commit{c})
		})
		if err != nil {
			t.Fatal(err)
		}
		dead := &session{bench: b, Session: x.Session, mem: mem, n: 1000 * int(n)}
		for _, e := range all[*event.CallStarted](dead.history()) {
			startedBefore[e.ID]++
		}
		y := dead.reopen()
		y.SetAsker(asker)
		y.idle()
		var waiting int
		y.view(func(v *projections.View) {
			s := v.Root
			waiting = len(s.Inputs.Open)
			if v.Corrupt != nil || s.Turns.Active != nil || len(s.Calls.Open) > 0 || len(owned(s)) > 0 || len(Next(v)) > len(s.Permissions.Pending) {
				t.Errorf("prefix %d: after opening corrupt %v, turn %v, %d calls", n, v.Corrupt, s.Turns.Active, len(s.Calls.Open))
			}
		})
		y.prompt("more")
		y.idle()
		y.view(func(v *projections.View) {
			if len(v.Root.Inputs.Open) != 0 || v.Root.Turns.Active != nil {
				t.Errorf("prefix %d: %d inputs are left", n, len(v.Root.Inputs.Open))
			}
		})
		h := y.history()
		if a, r := len(all[*event.InputAdmitted](h)), len(y.receipts()); a != r || a < waiting+1 {
			t.Errorf("prefix %d: %d inputs, %d receipts", n, a, r)
		}
		started := map[string]int{}
		for _, e := range all[*event.CallStarted](h) {
			if started[e.ID]++; started[e.ID] > 1 {
				t.Errorf("prefix %d: call %s started twice", n, e.ID)
			}
		}
		// Each result finds its call in the model's history, in order.
		y.view(func(*projections.View) {
			req, _, err := y.modelRequest(Step{})
			if err != nil {
				t.Fatal(err)
			}
			if wrong := ledger.BadHistory(req); wrong != "" {
				t.Errorf("prefix %d: %s", n, wrong)
			}
		})
	}
	if len(startedBefore) != 4 {
		t.Errorf("calls that were started in some prefix: %v", startedBefore)
	}
}
