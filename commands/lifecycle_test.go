package commands_test

import (
	"fmt"
	"testing"

	"zuno/commands"
	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// admit saves an input and gives its id.
func (o *owner) admit() string {
	for _, e := range o.must(&commands.AdmitInput{Delivery: event.DeliverSteer, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("hello")}}}) {
		if in, ok := e.(*event.InputAdmitted); ok {
			return in.ID
		}
	}
	o.t.Fatalf("nothing was admitted")
	return ""
}

// begin starts the turn of the first waiting input.
func (o *owner) begin() *projections.Turn {
	steps := engine.Next(o.view())
	if len(steps) != 1 || steps[0].Kind != engine.StepRequest {
		o.t.Fatalf("no request is wanted: %v", steps)
	}
	o.must(&commands.StartRequest{Input: steps[0].Input, Turn: steps[0].Turn, Number: steps[0].Number, Attempt: steps[0].Attempt})
	return o.root().Turns.Active
}

// respond completes the open request with calls of these permissions and gives the first call's id.
func (o *owner) respond(permissions ...event.Action) string {
	r := o.root().Turns.Active.Request
	c := &commands.CompleteResponse{Request: r.ID, Attempt: r.Attempt, Finish: "tool_calls"}
	for i, p := range permissions {
		c.Calls = append(c.Calls, commands.ResolvedCall{
			ID: commands.DeriveID("call", r.ID, fmt.Sprint(i)), Tool: "shell", Args: event.NewText("{}"),
			Permission: p, Rule: event.NewText("rule"), Declaration: event.Declaration{}.WithDefaults(),
		})
	}
	o.must(c)
	if len(c.Calls) == 0 {
		return ""
	}
	return c.Calls[0].ID
}

// forge appends events that no rule of this build makes.
func (o *owner) forge(events ...event.Payload) {
	o.sent++
	texts := journal.NewTexts(o.salt)
	c := &journal.Commit{
		Number: o.view().Number + 1, Run: o.run, At: o.at, Texts: texts,
		Command: journal.Command{ID: fmt.Sprintf("forged:%d", o.sent), Type: "test.forged", Version: 1, Actor: "test", Payload: []byte{0x80}},
	}
	for _, e := range events {
		b, err := event.NewEncoder().Encode(e, texts)
		if err != nil {
			o.t.Fatalf("%v", err)
		}
		c.Events = append(c.Events, journal.Event{Stream: 1, Type: event.TypeOf(e).Name, Payload: b})
		o.ledger.Take(e)
	}
	for _, f := range []*projections.Folder{o.lean, o.keep} {
		if err := f.Apply(c); err != nil {
			o.t.Fatalf("%v", err)
		}
	}
	if err := o.log.Append([]*journal.Commit{c}); err != nil {
		o.t.Fatalf("%v", err)
	}
	o.dumps = append(o.dumps, dump(o.view()))
}

// everything is every command that could be about the session now, for the call or input id.
func everything(o *owner, id string) (out []commands.Command) {
	r, turn, perm := &projections.Request{ID: "req_none", Attempt: 1}, "turn_none", "perm_none"
	if t := o.root().Turns.Active; t != nil {
		turn, r = t.ID, t.Request
	}
	if p := o.root().Permissions.Pending; len(p) > 0 {
		perm = p[0].ID
	}
	input := id
	if in := o.root().Inputs.Waiting(); in != nil && o.root().Inputs.Get(id) == nil {
		input = in.ID
	}
	out = append(out, &commands.StartRequest{Input: input, Number: 1, Attempt: 1},
		&commands.StartRequest{Turn: turn, Number: r.Number + 1, Attempt: 1},
		&commands.RecordPart{Request: r.ID, Attempt: r.Attempt, Kind: event.PartText, Text: event.NewText("x")},
		&commands.CompleteResponse{Request: r.ID, Attempt: r.Attempt, Finish: "stop"},
		&commands.CutResponse{Request: r.ID, Attempt: r.Attempt, Reason: event.CutStream},
		&commands.FailRequest{Request: r.ID, Attempt: r.Attempt},
		&commands.CancelTurn{Source: "user"}, &commands.CancelTurn{Turn: turn, Source: "user"}, &commands.CancelTurn{Source: "shutdown"},
		&commands.WithdrawInput{Input: input}, &commands.ObserveInput{Input: input},
		&commands.SteerInput{Turn: turn, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("more")}}},
		&commands.AskPermission{Call: id},
		&commands.StartCall{ID: id, Attempt: 1}, &commands.StartCall{ID: id, Attempt: 1, Full: true},
		&commands.RecoverSession{Run: o.run.String()},
		&commands.RepairInput{Input: input, Revision: o.root().Execution.Revision},
		&commands.AdmitInput{Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("more")}}})
	for _, v := range []event.Verdict{event.VerdictAllow, event.VerdictReject, event.VerdictCancelled, event.VerdictUnrecognized, event.VerdictUndeliverable} {
		out = append(out, &commands.AnswerPermission{Permission: perm, Verdict: v})
	}
	for _, outcome := range []event.Outcome{event.OutcomeOK, event.OutcomeError, event.OutcomeCancelled, event.OutcomeUncertain} {
		out = append(out, &commands.SettleCall{ID: id, Attempt: 1, Outcome: outcome})
	}
	return out
}

// driven is one machine with ways into each of its states.
type driven struct {
	machine *lifecycle.Machine
	// states are ways into each state; each gives the entity's id.
	states map[string][]func(o *owner) string
	// state finds the entity's state.
	state func(v *projections.View, id string) lifecycle.State
	// trigger is what an event does to the entity; empty for nothing.
	trigger func(p event.Payload, id string) lifecycle.Trigger
	// unreachable are edges of the table that no command of this build takes: state, trigger. They keep their place for
	// what is built later.
	unreachable map[string]bool
}

func dead(o *owner) { // the process died: the next run has begun, and has not recovered yet
	o.run[15]++
	o.must(&commands.OpenSession{Run: o.run.String(), Build: "test"})
}

// cases are the four machines. Beside the obvious way into a state there are those in which something else stands
// in the way of a step that the table has: a stop, a dead run.
func cases() []driven {
	waiting := func(o *owner) string { return o.admit() }
	running := func(o *owner) string { id := o.admit(); o.begin(); return id }
	cancelling := func(o *owner) string { id := running(o); o.must(&commands.CancelTurn{Source: "user"}); return id }
	left := func(o *owner) string { id := running(o); dead(o); return id }
	done := func(o *owner) string { id := running(o); o.respond(); return id }
	failed := func(o *owner) string {
		id := running(o)
		r := o.root().Turns.Active.Request
		o.must(&commands.FailRequest{Request: r.ID, Attempt: 1})
		return id
	}
	cancelled := func(o *owner) string {
		id := cancelling(o)
		r := o.root().Turns.Active.Request
		o.must(&commands.CutResponse{Request: r.ID, Attempt: 1, Reason: event.CutCancelled})
		return id
	}
	between := func(o *owner) string { // a turn between its calls and its next request
		id := running(o)
		call := o.respond(event.Allow)
		o.must(&commands.StartCall{ID: call, Attempt: 1})
		o.must(&commands.SettleCall{ID: call, Attempt: 1, Outcome: event.OutcomeOK})
		return id
	}
	requested := func(p event.Action) func(o *owner) string {
		return func(o *owner) string { running(o); return o.respond(p) }
	}
	asking := func(o *owner) string {
		id := requested(event.Ask)(o)
		o.must(&commands.AskPermission{Call: id})
		return id
	}
	answered := func(o *owner) string {
		id := asking(o)
		o.must(&commands.AnswerPermission{Permission: o.root().Permissions.Pending[0].ID, Verdict: event.VerdictAllow})
		return id
	}
	started := func(o *owner) string {
		id := requested(event.Allow)(o)
		o.must(&commands.StartCall{ID: id, Attempt: 1})
		return id
	}
	settled := func(x event.Outcome) func(o *owner) string {
		return func(o *owner) string {
			id := started(o)
			o.must(&commands.SettleCall{ID: id, Attempt: 1, Outcome: x})
			return id
		}
	}
	after := func(way func(o *owner) string, c func(o *owner) commands.Command) func(o *owner) string {
		return func(o *owner) string { id := way(o); o.must(c(o)); return id }
	}
	stop := func(*owner) commands.Command { return &commands.CancelTurn{Source: "user"} }
	gated := func(trigger lifecycle.Trigger) func(o *owner) string {
		return func(o *owner) string {
			o.admit()
			o.forge(&event.ExecutionChanged{Trigger: string(trigger)})
			return "session"
		}
	}
	turnOf := func(way func(o *owner) string) func(o *owner) string {
		return func(o *owner) string { way(o); return o.root().Turns.Last }
	}
	session := func(way func(o *owner) string) func(o *owner) string {
		return func(o *owner) string { way(o); return "session" }
	}
	return []driven{
		{
			machine: lifecycle.Input,
			states: map[string][]func(o *owner) string{
				"admitted": {waiting, func(o *owner) string { done(o); return o.admit() }},
				"recorded": {func(o *owner) string {
					id := o.admit()
					o.forge(&event.InputDeliveryBatch{Inputs: []string{id}})
					return id
				}},
				"applied":   {running, cancelling, left, between},
				"completed": {done}, "failed": {failed}, "cancelled": {cancelled},
			},
			state: func(v *projections.View, id string) lifecycle.State {
				for _, in := range v.Root.Inputs.All {
					if in.ID == id {
						return in.State
					}
				}
				return lifecycle.State{}
			},
			trigger: func(p event.Payload, id string) lifecycle.Trigger {
				switch e := p.(type) {
				case *event.InputDeliveryBatch:
					if len(e.Inputs) == 1 && e.Inputs[0] == id {
						return lifecycle.InputRecorded
					}
				case *event.InputApplied:
					if e.Input == id {
						return lifecycle.InputApplied
					}
				case *event.InputSettled:
					if e.Input == id {
						return lifecycle.Trigger(e.State)
					}
				}
				return ""
			},
			unreachable: map[string]bool{"admitted failed": true, "recorded failed": true},
		},
		{
			machine: lifecycle.Turn,
			states: map[string][]func(o *owner) string{
				"running":   {turnOf(running), turnOf(cancelling), turnOf(left), turnOf(between)},
				"completed": {turnOf(done)}, "failed": {turnOf(failed)}, "cancelled": {turnOf(cancelled)},
			},
			state: func(v *projections.View, id string) lifecycle.State {
				for _, t := range v.Root.Turns.All {
					if t.ID == id {
						return t.State
					}
				}
				return lifecycle.State{}
			},
			trigger: func(p event.Payload, id string) lifecycle.Trigger {
				if e, ok := p.(*event.TurnEnded); ok && e.ID == id {
					return lifecycle.Trigger(e.State)
				}
				return ""
			},
		},
		{
			machine: lifecycle.Call,
			states: map[string][]func(o *owner) string{
				"requested":  {requested(event.Allow), requested(event.Ask), func(o *owner) string { id := requested(event.Allow)(o); dead(o); return id }},
				"asking":     {asking, answered, func(o *owner) string { id := asking(o); dead(o); return id }},
				"started":    {started, after(started, stop), func(o *owner) string { id := started(o); dead(o); return id }},
				"settled_ok": {settled(event.OutcomeOK)}, "settled_error": {settled(event.OutcomeError)},
				"settled_cancelled": {settled(event.OutcomeCancelled)}, "settled_uncertain": {settled(event.OutcomeUncertain)},
				"blocked":   {requested(event.Deny), after(requested(event.Allow), stop)},
				"abandoned": {after(asking, stop), after(answered, stop)},
			},
			state: func(v *projections.View, id string) lifecycle.State {
				for _, c := range v.Root.Calls.All {
					if c.ID == id {
						return c.State
					}
				}
				return lifecycle.State{}
			},
			trigger: func(p event.Payload, id string) lifecycle.Trigger {
				switch e := p.(type) {
				case *event.CallBlocked:
					if e.ID == id {
						return lifecycle.CallBlock
					}
				case *event.PermissionAsked:
					if e.Call == id {
						return lifecycle.CallAsk
					}
				case *event.CallAbandoned:
					if e.ID == id {
						return lifecycle.CallAbandon
					}
				case *event.CallStarted:
					if e.ID == id {
						return lifecycle.CallStart
					}
				case *event.CallSettled:
					if e.ID == id {
						return lifecycle.Trigger(e.Outcome)
					}
				}
				return ""
			},
		},
		{
			machine: lifecycle.Execution,
			states: map[string][]func(o *owner) string{
				"ready":            {session(waiting), session(running), session(between), session(cancelling), session(left)},
				"completed":        {session(done), func(o *owner) string { done(o); o.admit(); return "session" }},
				"waiting_human":    {gated(lifecycle.ExecutionWaitHuman)},
				"waiting_external": {gated(lifecycle.ExecutionWaitExternal)},
				"paused":           {gated(lifecycle.ExecutionPause)},
			},
			state: func(v *projections.View, _ string) lifecycle.State { return v.Root.Execution.State },
			trigger: func(p event.Payload, _ string) lifecycle.Trigger {
				if e, ok := p.(*event.ExecutionChanged); ok {
					return lifecycle.Trigger(e.Trigger)
				}
				return ""
			},
			unreachable: map[string]bool{
				"ready wait_human": true, "ready wait_external": true, "ready pause": true, "completed pause": true,
				"waiting_human pause": true, "waiting_external pause": true, "waiting_human resume": true, "waiting_external resume": true, "paused resume": true,
			},
		},
	}
}

// In every state of every machine every command is tried. What is decided takes only steps that the table has, and each
// step of the table is taken by some command, or stands in the list of those that no command takes yet.
//
// spec: D060 D061 D062 D063 D064
func TestDecideRefusesExactlyOffTheTable(t *testing.T) {
	for _, m := range cases() {
		t.Run(m.machine.Name, func(t *testing.T) {
			taken := map[string]bool{}
			for _, s := range m.machine.States() {
				if len(m.states[s.String()]) == 0 {
					t.Errorf("no way into %s", s)
				}
				for way, build := range m.states[s.String()] {
					probe := newOwner(t).create()
					n := len(everything(probe, build(probe)))
					for i := range n {
						o := newOwner(t).create()
						id := build(o)
						if got := m.state(o.keep.View, id); got != s {
							t.Fatalf("way %d into %s leads to %s", way, s, got)
						}
						c := everything(o, id)[i]
						d := o.do(c) // an event off the table would mark the view corrupt, which ends the test
						at := s
						for _, e := range d.Events {
							trigger := m.trigger(e, id)
							if trigger == "" {
								continue
							}
							to, ok := m.machine.Fold(at, trigger)
							if !ok {
								t.Errorf("%s: %T in way %d takes %s, which the table does not have", at, c, way, trigger)
							}
							taken[at.String()+" "+string(trigger)] = true
							at = to
						}
						if got := m.state(o.keep.View, id); got != at {
							t.Errorf("%T in %s: the events lead to %s, the view says %s", c, s, at, got)
						}
						if d.Refusal != nil && at != s {
							t.Errorf("%T was refused in %s and moved it to %s", c, s, at)
						}
					}
				}
			}
			for _, s := range m.machine.States() {
				for _, trigger := range m.machine.Triggers() {
					name := s.String() + " " + string(trigger)
					switch can := m.machine.Can(s, trigger); {
					case can && !taken[name] && !m.unreachable[name]:
						t.Errorf("%s: no command takes it", name)
					case m.unreachable[name] && (taken[name] || !can):
						t.Errorf("%s stands in the list of steps that no command takes: strike it", name)
					}
				}
			}
		})
	}
}

// Each change of the execution raises its revision, and no refused command does.
//
// spec: D061
func TestExecutionHasARevision(t *testing.T) {
	o := newOwner(t).create()
	want := uint64(0)
	step := func(changes uint64) {
		t.Helper()
		if want += changes; o.root().Execution.Revision != want {
			t.Errorf("revision %d, want %d", o.root().Execution.Revision, want)
		}
	}
	o.admit()
	step(0)
	turn := o.begin()
	step(1)
	if x := o.root().Execution; x.Phase != "running" || x.Cycle != turn.Cycle || x.Identity.Model != "m" || x.Mode != "work" {
		t.Errorf("while a turn runs: %+v", x)
	}
	o.do(&commands.CancelTurn{Turn: "another"})
	step(0)
	o.respond()
	step(1)
	if x := o.root().Execution; !x.State.Is("completed") {
		t.Errorf("after it: %+v", x)
	}
	o.admit()
	if again := o.begin(); again.Cycle == turn.Cycle {
		t.Error("the next turn has the same cycle")
	}
	step(1)
}

// spec: D061
func TestGateIsSetAndLiftedWithTheState(t *testing.T) {
	o := newOwner(t).create()
	for _, trigger := range []lifecycle.Trigger{lifecycle.ExecutionWaitHuman, lifecycle.ExecutionWaitExternal, lifecycle.ExecutionPause} {
		o.forge(&event.ExecutionChanged{Trigger: string(trigger), Reason: "why", Waiting: "who"})
		g := o.root().Execution.Gate
		if g == nil || g.Reason != "why" || g.Waiting != "who" || g.Revision != o.root().Execution.Revision || g.Raised != o.view().Number {
			t.Errorf("%s: gate %+v", trigger, g)
		}
		o.admit()
		if steps := engine.Next(o.view()); len(steps) != 0 {
			t.Errorf("%s: %v is wanted behind the gate", trigger, steps)
		}
		o.forge(&event.ExecutionChanged{Trigger: string(lifecycle.ExecutionResume)})
		if g := o.root().Execution.Gate; g != nil {
			t.Errorf("%s: gate %+v after resume", trigger, g)
		}
		if steps := engine.Next(o.view()); len(steps) != 1 {
			t.Errorf("%s: %v is wanted after resume", trigger, steps)
		}
	}
}

// Every event type has a fold or is inert, and some rule emits it. What rules emit is collected from all that the tests
// of the machines drive, and from a few commands beside.
//
// spec: D068
func TestEveryEventTypeIsFoldedAndEmitted(t *testing.T) {
	emitted := map[string]bool{}
	collect := func(o *owner) {
		for _, e := range o.events {
			emitted[event.TypeOf(e).Name] = true
		}
	}
	for _, m := range cases() {
		for _, ways := range m.states {
			for _, build := range ways {
				probe := newOwner(t).create()
				n := len(everything(probe, build(probe)))
				for i := range n {
					o := newOwner(t).create()
					id := build(o)
					o.do(everything(o, id)[i])
					collect(o)
				}
			}
		}
	}
	collect(heldAndInspected(t))
	w := newOwner(t).create()
	w.admit()
	w.reopen()
	w.must(&commands.ObserveInput{Input: w.root().Inputs.Open[0].ID})
	collect(w)
	o := newOwner(t).create()
	o.do(&commands.ResolveContext{Sections: []event.SectionResolved{{ID: "kernel", Text: event.NewText("x")}}, Tools: []event.ToolEntry{{Name: "read"}}})
	o.do(&commands.ResolvePolicy{Policy: event.Policy{Retry: event.RetryPolicy{MaxAttempts: 3, WindowMS: 60_000}}})
	o.do(&commands.AdmitInput{Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("x")}}, Title: event.NewText("title")})
	o.do(&commands.StartRequest{Input: o.root().Inputs.Open[0].ID, Number: 1, Attempt: 1})
	request := o.root().Turns.Active.Request.ID
	o.do(&commands.FailRequest{Request: request, Attempt: 1, Fault: event.Failure{Code: "busy", Status: 503}, Retryable: true})
	o.do(&commands.EndBackoff{Request: request, Attempt: 2})
	collect(o)
	f := newOwner(t)
	f.must(&commands.OpenSession{Salt: event.NewText(string(f.salt)), Run: f.run.String(), Session: "ses_2", Cwd: event.NewText("/w")})
	f.must(&commands.ForkSession{Source: event.Forked{Session: "ses_source", Commit: 3}})
	collect(f)
	for _, name := range unfoldedOrUnemitted(event.Types(), emitted) {
		t.Error(name)
	}
	// An unused type would be found.
	if found := unfoldedOrUnemitted([]*event.Type{{Kind: 60000, Name: "session.unused.1"}}, emitted); len(found) != 2 {
		t.Errorf("an unused type is found as %v", found)
	}
}

// heldAndInspected is a session with a call of unknown effect whose resume is refused until the user has looked, and that ends
// in good order with an input waiting.
func heldAndInspected(t *testing.T) *owner {
	o := newOwner(t).create()
	o.admit()
	o.begin()
	call := o.respond(event.Allow)
	o.must(&commands.StartCall{ID: call, Attempt: 1})
	o.reopen()
	command := func(c event.Control) string {
		out := o.must(&commands.AdmitInput{Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("/command")}}, Control: &c})
		return out[0].(*event.InputAdmitted).ID
	}
	if d := o.do(&commands.StartRequest{Input: command(event.Control{Kind: event.ControlResume}), Number: 1, Attempt: 1}); d.Refusal == nil || d.Refusal.Code != commands.CodeUncertain {
		t.Fatalf("resume over a call of unknown effect: %v", d.Refusal)
	}
	o.control(command(event.Control{Kind: event.ControlInspect}))
	o.control(command(event.Control{Kind: event.ControlFinding, Call: call, Finding: event.FindingHappened}))
	o.admit()
	o.must(&commands.CloseRun{Run: o.run.String()})
	return o
}

func unfoldedOrUnemitted(types []*event.Type, emitted map[string]bool) (wrong []string) {
	inert := map[string]bool{}
	for _, name := range projections.Inert {
		inert[name] = true
	}
	for _, typ := range types {
		if typ.Current() != typ {
			continue
		}
		if projections.Folded(typ) == inert[typ.Name] {
			wrong = append(wrong, fmt.Sprintf("%s: folded %v, inert %v", typ.Name, projections.Folded(typ), inert[typ.Name]))
		}
		if !emitted[typ.Name] {
			wrong = append(wrong, typ.Name+": no rule emits it")
		}
	}
	return wrong
}
