package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"zuno/commands"
	"zuno/internal/model"
	"zuno/journal/event"
	"zuno/projections"
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
