package engine

import (
	"fmt"
	"strings"
	"testing"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

func steering(turn, text string) *commands.SteerInput {
	return &commands.SteerInput{Turn: turn, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText(text)}}}
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
