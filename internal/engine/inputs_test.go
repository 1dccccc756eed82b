package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"zuno/commands"
	"zuno/internal/model"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// turn is the running turn.
func (x *session) turn() (id string) {
	x.t.Helper()
	x.view(func(v *projections.View) {
		if t := v.Root.Turns.Active; t != nil {
			id = t.ID
		}
	})
	return id
}

func steering(turn, text string) *commands.SteerInput {
	return &commands.SteerInput{Turn: turn, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText(text)}}}
}

// states are how inputs and turns ended, by id.
func (x *session) states() map[string]string {
	out := map[string]string{}
	for _, p := range x.history() {
		switch e := p.(type) {
		case *event.InputSettled:
			out[e.Input] += e.State
		case *event.TurnEnded:
			out[e.ID] += e.State
		}
	}
	return out
}

// The end of a turn races with a stop that names it, ten thousand times, while the next turn is about to begin. A stop that was
// accepted ended the named turn; one that was refused ended nothing; the turn after it never felt either.
//
// spec: A131 A132 A133
func TestExactCancelRacesTheEnd(t *testing.T) {
	const sessions, turns = 40, 250
	accepted := 0
	for range sessions {
		x := newBench(t).session()
		first := x.prompt("go")
		st := x.asked()
		inputs, named, errs := []string{first}, []string{x.turn()}, []error{}
		for i := range turns {
			inputs = append(inputs, x.later("next"))
			stopped := make(chan error)
			go func() {
				_, err := x.Do(context.Background(), fmt.Sprintf("stop:%d", i), "user", &commands.CancelTurn{Turn: named[i], Source: "user"})
				stopped <- err
			}()
			st.finish()
			errs = append(errs, <-stopped)
			st = x.asked()
			named = append(named, x.turn())
		}
		st.finish()
		x.idle()
		states := x.states()
		for i, err := range errs {
			want := "cancelled"
			switch {
			case err == nil:
				accepted++
			case code(err) == commands.CodeNothing, code(err) == commands.CodeStale:
				want = "completed"
			default:
				t.Fatal(err)
			}
			if states[named[i]] != want || states[inputs[i]] != want {
				t.Fatalf("stop %d was answered %v; its turn is %q, its input %q", i, err, states[named[i]], states[inputs[i]])
			}
		}
		if states[named[turns]] != "completed" || len(named) != len(inputs) {
			t.Fatalf("the last turn is %q, %d turns for %d inputs", states[named[turns]], len(named), len(inputs))
		}
		x.end()
	}
	if accepted == 0 || accepted == sessions*turns {
		t.Errorf("%d of %d stops were accepted: there was no race", accepted, sessions*turns)
	}
}

// A stop that names no turn finds also the input whose turn is about to begin, and does not reach what comes after it. One that
// names a turn, and the orderly end, leave it.
//
// spec: D246 A139
func TestStopBeforeTheTurnBegins(t *testing.T) {
	x := newBench(t).session()
	g := newGate(x)
	hold := func(c ...commands.Command) (answers []answer) { // all of them are decided in one batch
		x.n++
		first, _ := x.encode(fmt.Sprintf("hold:%d", x.n), "user", 0, notice(fmt.Sprintf("hold %d", x.n)))
		x.queue <- first
		<-g.arrived
		var queued []*request
		for i := range c {
			r, err := x.encode(fmt.Sprintf("held:%d:%d", x.n, i), "user", 0, c[i])
			if err != nil {
				t.Fatal(err)
			}
			x.queue <- r
			queued = append(queued, r)
		}
		x.mem.Before = nil
		g.open <- nil
		for _, r := range queued {
			answers = append(answers, <-r.done)
		}
		return answers
	}
	a := hold(admission("one"), &commands.CancelTurn{Turn: "turn_other", Source: "user"}, &commands.CancelTurn{Source: "shutdown"}, &commands.CancelTurn{Source: "user"}, &commands.CancelTurn{Source: "user"}, admission("two"))
	for i, want := range []string{"", commands.CodeNothing, commands.CodeNothing, "", commands.CodeNothing, ""} {
		if code(a[i].err) != want || want == "" && a[i].err != nil {
			t.Errorf("command %d is answered %v, want %q", i, a[i].err, want)
		}
	}
	st := x.asked()
	if text := told(st.request); text != "user: two\n" {
		t.Errorf("the model is told\n%s", text)
	}
	_ = st.text("answer")
	st.finish()
	x.idle()
	x.quiet()
	if got := x.receipts(); !slices.Equal(got, []string{"cancelled", "completed"}) {
		t.Errorf("receipts %v", got)
	}
	// What an earlier run left is not about to begin.
	x.later("three")
	x.asked()
	x.later("four")
	y := x.crash()
	if _, err := y.send(&commands.CancelTurn{Source: "user"}); code(err) != commands.CodeNothing {
		t.Errorf("an idle stop: %v", err)
	}
	y.idle()
	y.quiet()
}

// A steer and the end of its turn are decided in their order: it is admitted and the turn goes on with it, or it is refused and
// leaves nothing, in this turn and in any later one.
//
// spec: A057 A058 A059 A151
func TestSteerRacesTheEnd(t *testing.T) {
	for _, steerFirst := range []bool{true, false} {
		x := newBench(t).session()
		input := x.prompt("go")
		st := x.asked()
		_ = st.text("answer")
		turn := x.turn()
		var request string
		x.view(func(v *projections.View) { request = v.Root.Turns.Active.Request.ID })
		g := newGate(x)
		hold, _ := x.encode("hold", "user", 0, notice("hold"))
		x.queue <- hold
		<-g.arrived
		steer, _ := x.encode("steer", "user", 0, steering(turn, "and this"))
		end, _ := x.encode("end", "engine", 0, &commands.CompleteResponse{Request: request, Attempt: 1, Finish: "stop"})
		if steerFirst {
			x.queue <- steer
			x.queue <- end
		} else {
			x.queue <- end
			x.queue <- steer
		}
		x.mem.Before = nil
		g.open <- nil
		s, e := <-steer.done, <-end.done
		if e.err != nil {
			t.Fatal(e.err)
		}
		if steerFirst {
			next := x.asked()
			if text := told(next.request); !strings.HasSuffix(text, "user: and this\n") || x.turn() != turn {
				t.Errorf("turn %s goes on with\n%s", x.turn(), text)
			}
			st.cancelled(t)
			next.finish()
		} else {
			if code(s.err) != commands.CodeNoActiveTurn {
				t.Errorf("the late steer: %v", s.err)
			}
			st.cancelled(t)
			x.idle()
			x.quiet()
			if n := len(all[*event.InputAdmitted](x.history())); n != 1 {
				t.Errorf("%d inputs", n)
			}
			y := x.crash()
			y.prompt("next")
			next := y.asked()
			if text := told(next.request); strings.Contains(text, "and this") {
				t.Errorf("a refused steer reached a later turn:\n%s", text)
			}
			next.finish()
			x = y
		}
		x.idle()
		if states := x.states(); states[input] != "completed" {
			t.Errorf("the first input is %q", states[input])
		}
	}
}

// A steer whose append fails leaves nothing: neither the input nor its event, whatever the batch was.
//
// spec: A058
func TestSteerIsUndoneWithItsBatch(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	turn := x.turn()
	fail := true
	x.mem.Before = func([]*journal.Commit) error {
		if fail {
			fail = false
			return &journal.NotAppended{Cause: fmt.Errorf("no space")}
		}
		return nil
	}
	if _, err := x.send(steering(turn, "lost")); err == nil || code(err) != "" {
		t.Errorf("the steer is answered %v", err)
	}
	x.view(func(v *projections.View) {
		if n := len(v.Root.Inputs.Open); n != 1 {
			t.Errorf("%d inputs are open", n)
		}
	})
	st.finish()
	x.idle()
	x.quiet()
	if n := len(all[*event.InputAdmitted](x.history())); n != 1 {
		t.Errorf("%d inputs", n)
	}
}

// Every way in which a steer is refused leaves the head as it was.
//
// spec: A053 A054 A055 A056 D252
func TestRefusedSteerWritesNothing(t *testing.T) {
	x := newBench(t).session()
	refused := func(c *commands.SteerInput, want string) {
		t.Helper()
		x.view(func(*projections.View) {})
		head := x.Head()
		if _, err := x.send(c); code(err) != want {
			t.Errorf("refused with %v, want %s", err, want)
		}
		if x.Head() != head {
			t.Error("something was written")
		}
	}
	refused(steering("turn_none", "x"), commands.CodeNoActiveTurn)
	x.prompt("go")
	st := x.asked()
	refused(steering("turn_none", "x"), commands.CodeTurnMismatch)
	refused(&commands.SteerInput{Turn: x.turn()}, commands.CodeEmpty)
	st.finish(tool("never", "1"))
	run := x.ran()
	turn := x.turn()
	x.must(&commands.CancelTurn{Source: "user"})
	refused(steering(turn, "x"), commands.CodeNotSteerable)
	run.cancelled(t)
	x.idle()
	refused(steering(turn, "x"), commands.CodeNoActiveTurn)
	// The turn of a native control.
	x.must(&commands.AdmitInput{Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("/resume")}}, Control: &event.Control{Kind: event.ControlResume}})
	st = x.asked()
	refused(steering(x.turn(), "x"), commands.CodeNotSteerable)
	st.finish()
	x.idle()
	// A turn that only discusses.
	if err := x.close(t.Context(), "shutdown"); err != nil {
		t.Fatal(err)
	}
	if err := x.mem.Reopen(); err != nil {
		t.Fatal(err)
	}
	x.forge(&event.ExecutionChanged{Trigger: string(lifecycle.ExecutionPause), Phase: "paused", Reason: commands.GateUncertain, Goal: "goal_1"})
	x = x.reopen()
	x.prompt("what happened?")
	st = x.asked()
	x.view(func(v *projections.View) {
		if v.Root.Turns.Active == nil || !v.Root.Turns.Active.Discussion {
			t.Error("this is no discussion")
		}
	})
	refused(steering(x.turn(), "x"), commands.CodeNotSteerable)
	_ = st.text("answer")
	st.finish()
	x.idle()
}

// A stop while a delivery is pending: what the turn had applied is cancelled, what it had not runs next, each in a turn of its
// own, in order, and no text reaches the model twice.
//
// spec: D246 A036
func TestStopKeepsWhatWasNotApplied(t *testing.T) {
	x := newBench(t).session()
	one := x.prompt("one")
	x.asked().finish(tool("never", "1"))
	run := x.ran()
	two := x.prompt("two")
	run.finish("ok")
	st := x.asked() // the safe point: two is applied
	if text := told(st.request); !strings.HasSuffix(text, "user: two\n") {
		t.Errorf("at the safe point the model is told\n%s", text)
	}
	three, four := x.prompt("three"), find[*event.InputAdmitted](x.must(steering(x.turn(), "four")).Events).ID
	queued := x.later("five")
	x.must(&commands.CancelTurn{Source: "user"})
	st.cancelled(t)
	for _, want := range []string{"three", "four", "five"} {
		st = x.asked()
		text := told(st.request)
		if !strings.HasSuffix(text, "user: "+want+"\n") || strings.Count(text, want) != 1 || strings.Count(text, "user: two\n") != 1 {
			t.Errorf("the turn of %s is told\n%s", want, text)
		}
		_ = st.text("answer")
		st.finish()
	}
	x.idle()
	x.quiet()
	states := x.states()
	for id, want := range map[string]string{one: "cancelled", two: "cancelled", three: "completed", four: "completed", queued: "completed"} {
		if states[id] != want {
			t.Errorf("input %s is %q, want %s", id, states[id], want)
		}
	}
}

// A final response with a delivery pending, and a stop before the request that would take it: the turn ends there, and the
// delivery runs next.
//
// spec: D246 A060
func TestStopAtAFinalThatGoesOn(t *testing.T) {
	x := newBench(t).session()
	x.prompt("one")
	st := x.asked()
	_ = st.text("final")
	turn := x.turn()
	steered := find[*event.InputAdmitted](x.must(steering(turn, "two")).Events).ID
	g := newGate(x)
	st.finish()
	batch := <-g.arrived // the response's own commit: the turn goes on
	if last := batch[len(batch)-1].Command.Type; last != "response.complete" {
		t.Fatalf("%s is appended", last)
	}
	stop, _ := x.encode("stop", "user", 0, &commands.CancelTurn{Turn: turn, Source: "user"})
	x.queue <- stop
	x.mem.Before = nil
	g.open <- nil
	if a := <-stop.done; a.err != nil {
		t.Fatal(a.err)
	}
	next := x.asked()
	if text := told(next.request); strings.Count(text, "user: two\n") != 1 || !strings.HasSuffix(text, "user: two\n") {
		t.Errorf("the model is told\n%s", text)
	}
	if x.turn() == turn {
		t.Error("the stopped turn goes on")
	}
	next.finish()
	x.idle()
	if states := x.states(); states[turn] != "cancelled" || states[steered] != "completed" {
		t.Errorf("turn %q, steered %q", states[turn], states[steered])
	}
}

// Withdrawing at a safe point the one thing for which a turn went on ends it as completed; the answer that it had given stands.
// Withdrawing one of several has the request made anew with the others.
//
// spec: A064 A065 A066 A151
func TestWithdrawAtASafePoint(t *testing.T) {
	for _, others := range []int{0, 1} {
		x := newBench(t).session()
		one := x.prompt("one")
		st := x.asked()
		_ = st.text("final")
		turn := x.turn()
		gone := x.prompt("gone")
		for range others {
			x.prompt("stays")
		}
		g := newGate(x)
		st.finish()
		<-g.arrived
		take, _ := x.encode("withdraw", "user", 0, &commands.WithdrawInput{Input: gone})
		x.queue <- take
		x.mem.Before = nil
		g.open <- nil
		if a := <-take.done; a.err != nil {
			t.Fatal(a.err)
		}
		if others > 0 {
			st = x.asked()
			if text := told(st.request); !strings.HasSuffix(text, "user: stays\n") || strings.Contains(text, "gone") || x.turn() != turn {
				t.Errorf("the turn goes on with\n%s", text)
			}
			st.finish()
		}
		x.idle()
		x.quiet()
		states := x.states()
		if states[one] != "completed" || states[gone] != "cancelled" || states[turn] != "completed" {
			t.Errorf("%d others: %v", others, states)
		}
	}
}

// Of several inputs that a turn has applied each can be withdrawn: it alone is over, and history keeps it. The last one stops the
// turn.
//
// spec: A064 A065 A066
func TestWithdrawAppliedInputs(t *testing.T) {
	x := newBench(t).session()
	one := x.prompt("one")
	x.asked().finish(tool("never", "1"))
	run := x.ran()
	two := x.prompt("two")
	run.finish("ok")
	st := x.asked()
	turn := x.turn()
	x.must(&commands.WithdrawInput{Input: one})
	if st.ctx.Err() != nil || x.turn() != turn {
		t.Error("the turn was stopped, and another input's work with it")
	}
	if _, err := x.send(&commands.WithdrawInput{Input: one}); code(err) != commands.CodeNothing {
		t.Errorf("withdrawn twice: %v", err)
	}
	next := x.later("next")
	x.must(&commands.WithdrawInput{Input: two})
	st.cancelled(t)
	st = x.asked()
	if text := told(st.request); strings.Count(text, "user: one\n") != 1 || strings.Count(text, "user: two\n") != 1 {
		t.Errorf("history lost what was withdrawn:\n%s", text)
	}
	// A late withdrawal of an input whose turn is over does not touch the one that runs.
	if _, err := x.send(&commands.WithdrawInput{Input: two}); code(err) != commands.CodeNothing || st.ctx.Err() != nil {
		t.Errorf("a late withdrawal: %v", err)
	}
	st.finish()
	x.idle()
	states := x.states()
	if states[one] != "cancelled" || states[two] != "cancelled" || states[next] != "completed" || states[turn] != "cancelled" {
		t.Errorf("%v", states)
	}
}

// What a turn that fails had not applied runs next, as its own turn.
//
// spec: A173 A174 D246
func TestFailureLeavesWhatWasNotApplied(t *testing.T) {
	x := newBench(t).session()
	one := x.prompt("one")
	st := x.asked()
	two := x.prompt("two")
	st.fail(&model.Error{Code: "bad_request", Status: 400, Reason: "no"})
	st = x.asked()
	if text := told(st.request); !strings.HasSuffix(text, "user: two\n") {
		t.Errorf("the model is told\n%s", text)
	}
	_ = st.text("answer")
	st.finish()
	x.idle()
	x.view(func(v *projections.View) {
		if v.Root.Execution.Gate != nil {
			t.Error("the session is held")
		}
	})
	if states := x.states(); states[one] != "failed" || states[two] != "completed" {
		t.Errorf("%v", states)
	}
}

// An input that is sent again in a later process asks for work like a new one, once, and is no other input.
//
// spec: A044
func TestObservedInputGoesOn(t *testing.T) {
	x := newBench(t).session()
	x.prompt("first")
	x.asked()
	second, third := x.later("second"), x.later("third")
	y := x.crash()
	y.idle()
	y.quiet()
	if _, err := y.send(&commands.ObserveInput{Input: "inp_none"}); code(err) != commands.CodeNothing {
		t.Errorf("an input that never was: %v", err)
	}
	y.must(&commands.ObserveInput{Input: third})
	st := y.asked()
	if text := told(st.request); !strings.HasSuffix(text, "user: second\n") { // in order: nothing is overtaken
		t.Errorf("the model is told\n%s", text)
	}
	head := y.Head()
	if _, err := y.send(&commands.ObserveInput{Input: third}); code(err) != commands.CodeNothing || y.Head() != head {
		t.Errorf("a session at work: %v", err)
	}
	_ = st.text("answer")
	st.finish()
	st = y.asked()
	_ = st.text("answer")
	st.finish()
	y.idle()
	y.quiet()
	if states := y.states(); states[second] != "completed" || states[third] != "completed" {
		t.Errorf("%v", states)
	}
	if _, err := y.send(&commands.ObserveInput{Input: third}); code(err) != commands.CodeNothing {
		t.Errorf("an input that is over: %v", err)
	}
	if n := len(all[*event.InputAdmitted](y.history())); n != 3 {
		t.Errorf("%d inputs", n)
	}
}

// Withdrawals race with the request that would take their inputs along, and with the one that begins their turn. What the model is
// sent is what the journal says of it: the digests are those of the request, and it holds the inputs that were applied to it.
//
// spec: A064 A065 D245 D248
func TestWithdrawalsRaceWithRequests(t *testing.T) {
	x := newBench(t).session()
	const rounds = 150
	x.prompt("begin")
	st := x.asked()
	said := map[string]string{} // input → what it says
	taken := 0
	for i := range rounds {
		_ = st.text("answer")
		var inputs []string
		for _, name := range []string{"a", "b", "c"} {
			text := fmt.Sprintf("round %d %s.", i, name)
			id := x.prompt(text)
			said[id] = text
			inputs = append(inputs, id)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, id := range inputs[:2] {
				_, _ = x.Do(context.Background(), "withdraw:"+id, "user", &commands.WithdrawInput{Input: id})
			}
		}()
		st.finish()
		st = x.asked()
		<-done
		x.view(func(v *projections.View) {
			started := all[*event.RequestStarted](x.history())
			last := started[len(started)-1]
			if got := event.RequestDigests(x.digester.Digest(st.request)); got.Request != last.Digests.Request {
				t.Errorf("round %d: the request has the digest %v, recorded is %v", i, got.Request, last.Digests.Request)
			}
			applied := map[string]bool{}
			for _, a := range all[*event.InputApplied](x.history()) {
				applied[a.Input] = true
			}
			text := told(st.request)
			for id, words := range said {
				if want := map[bool]int{true: 1}[applied[id]]; strings.Count(text, words) != want {
					t.Errorf("round %d: %q is told %d times, want %d", i, words, strings.Count(text, words), want)
				}
			}
		})
		for _, id := range inputs[:2] {
			if strings.Contains(told(st.request), said[id]) {
				taken++
			}
		}
		if t.Failed() {
			return
		}
	}
	_ = st.text("answer")
	st.finish()
	x.idle()
	x.quiet()
	for id := range said {
		if n := len(x.states()[id]); n == 0 {
			t.Errorf("input %s has no receipt", id)
		}
	}
	t.Logf("%d of %d were taken before they were withdrawn", taken, 2*rounds)
}

// The work of a session goes on when nobody looks on any more: that of a prompt, and that of a resume.
//
// spec: A040 A209
func TestWorkOutlivesItsObserver(t *testing.T) {
	x := newBench(t).session()
	first := x.prompt("go")
	st := x.asked()
	x.Detach(x.obs)
	st.finish(tool("never", "1"))
	x.ran().finish("ok")
	x.asked().fail(&model.Error{Code: "bad_request", Status: 400, Reason: "no"})
	x.idle()
	resume := find[*event.InputAdmitted](x.must(&commands.AdmitInput{Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("/resume")}}, Control: &event.Control{Kind: event.ControlResume}}).Events).ID
	x.asked().finish(tool("never", "2"))
	x.ran().finish("ok")
	st = x.asked()
	_ = st.text("answer")
	st.finish()
	x.idle()
	if states := x.states(); states[first] != "failed" || states[resume] != "completed" {
		t.Errorf("%v", states)
	}
}

// A session is closed in the moment in which a turn is about to begin. Either the turn began first and is cancelled, or it does not
// begin and its input waits for the next run: it never fails.
//
// spec: D246 D142
func TestCloseRacesTheBeginning(t *testing.T) {
	ended := map[string]int{}
	for range 400 {
		x := newBench(t).session()
		id := x.prompt("go")
		done := make(chan error, 1)
		go func() { done <- x.close(t.Context(), "close") }()
		for closed := false; !closed; {
			select {
			case st := <-x.provider.asked:
				st.cancelled(t)
			case err := <-done:
				closed = true
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		state := x.states()[id]
		ended[state]++
		if state != "" && state != "cancelled" {
			t.Fatalf("the input is %q: %+v", state, all[*event.InputSettled](x.history()))
		}
		if err := x.mem.Reopen(); err != nil {
			t.Fatal(err)
		}
		x.end()
	}
	if ended[""] == 0 || ended["cancelled"] == 0 {
		t.Errorf("there was no race: %v", ended)
	}
}

// A final response without an answer goes on for what waits. Where that is withdrawn the turn has no answer, and says so.
//
// spec: A064 A151
func TestWithdrawAfterNoAnswer(t *testing.T) {
	for _, words := range []string{"", "answer"} {
		x := newBench(t).session()
		one := x.prompt("one")
		st := x.asked()
		gone := x.prompt("gone")
		g := newGate(x)
		lack, want := model.LackAnswer, "failed" // thoughts only
		if words != "" {
			lack, want = "", "completed"
		}
		st.end <- func() (*model.Response, error) { return &model.Response{Finish: "stop", Lack: lack}, nil }
		<-g.arrived
		take, _ := x.encode("withdraw", "user", 0, &commands.WithdrawInput{Input: gone})
		x.queue <- take
		x.mem.Before = nil
		g.open <- nil
		if a := <-take.done; a.err != nil {
			t.Fatal(a.err)
		}
		x.idle()
		x.quiet()
		if states := x.states(); states[one] != want || states[gone] != "cancelled" {
			t.Errorf("lack %q: %v", lack, states)
		}
	}
}
