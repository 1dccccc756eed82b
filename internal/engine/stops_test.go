package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"zuno/commands"
	"zuno/internal/model"
	"zuno/journal/event"
	"zuno/projections"
)

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
