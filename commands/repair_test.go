package commands_test

import (
	"strings"
	"testing"

	"zuno/commands"
	"zuno/journal/event"
)

// ended makes a turn that ends as said and gives its id: completed, cancelled, or failed with this status and code.
func (o *owner) ended(state string, status uint64, code string) (turn, cycle string) {
	o.admit()
	t := o.begin()
	turn, cycle = t.ID, t.Cycle
	r := t.Request
	switch state {
	case "completed":
		o.must(&commands.CompleteResponse{Request: r.ID, Attempt: r.Attempt, Finish: "stop"})
	case "cancelled":
		o.must(&commands.CancelTurn{Source: "user"})
		o.must(&commands.CutResponse{Request: r.ID, Attempt: r.Attempt, Reason: event.CutCancelled})
	default:
		o.must(&commands.FailRequest{Request: r.ID, Attempt: r.Attempt, Fault: event.Failure{Code: code, Status: status}})
	}
	return turn, cycle
}

// blocked is a session with an input that a false block holds.
func blocked(t *testing.T) (o *owner, input string) {
	o = newOwner(t).create()
	turn, _ := o.ended("completed", 0, "")
	o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn})
	return o, o.admit()
}

// The grounds on which a block is false, and beside each the nearest block that may be right.
//
// spec: A232 A235
func TestGroundsOfAFalseBlock(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  string
		status uint64
		code   string
		cycle  string // that the block names; that of the turn when empty
		early  bool   // the input was sent before the turn had ended
		want   commands.Ground
	}{
		{"it completed", "completed", 0, "", "", false, commands.GroundSettled},
		{"it was cancelled", "cancelled", 0, "", "", false, commands.GroundSettled},
		{"another cycle", "failed", 400, "context_too_long", "cycle_other", false, commands.GroundCycle},
		{"a busy provider", "failed", 503, "overloaded", "", false, commands.GroundPassing},
		{"a limit of rate", "failed", 429, "rate_limited", "", false, commands.GroundPassing},
		{"a broken stream", "failed", 0, "response_cut", "", false, commands.GroundPassing},
		{"a busy provider, sent before", "failed", 503, "overloaded", "", true, ""},
		{"a refused key", "failed", 401, "authentication", "", false, ""},
		{"a refused request", "failed", 400, "context_too_long", "", false, ""},
		{"an unknown failure", "failed", 0, "internal", "", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOwner(t).create()
			var early string
			if c.early {
				o.admit()
				o.must(&commands.AdmitInput{Delivery: event.DeliverSteer, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("early")}}})
				early = o.root().Inputs.Open[1].ID
				o.begin()
				r := o.root().Turns.Active.Request
				o.must(&commands.FailRequest{Request: r.ID, Attempt: r.Attempt, Fault: event.Failure{Code: c.code, Status: c.status}})
				o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: o.root().Turns.Over.ID, Cycle: c.cycle})
				o.admit()
			} else {
				turn, _ := o.ended(c.state, c.status, c.code)
				o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn, Cycle: c.cycle})
				early = o.admit()
				if c.code == "internal" {
					o.admit()
				}
			}
			if in := o.root().Inputs.Get(early); in.Gate == nil { // it waited when the gate was raised, and met it since
				g, _ := commands.ExecutionGate(&o.root().Execution)
				o.forge(&event.InputGated{Input: early, Gate: g})
			}
			proof, why := commands.ProveRepair(o.root(), early)
			switch {
			case c.want == "" && (why == nil || why.Code != commands.CodeProtected):
				t.Errorf("%+v, %v", proof, why)
			case c.want != "" && (why != nil || proof.Ground != c.want || proof.Revision != o.root().Execution.Revision):
				t.Errorf("%+v, %v", proof, why)
			}
			kept, keptWhy := commands.ProveRepair(o.keep.View.Root, early) // the same of a view that keeps everything
			if (kept == nil) != (proof == nil) || kept != nil && *kept != *proof || keptWhy != nil && keptWhy.Code != why.Code {
				t.Errorf("%+v, %v in a view that keeps", kept, keptWhy)
			}
		})
	}
}

// Each near miss of an input that could be freed is refused by its own reason, and changes nothing: neither revision, gate nor receipt,
// nor is anything written.
//
// spec: A232 A233 A234 A235 A243 A205
func TestNearMissesOfARepairAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		code string
		make func(o *owner) (input string)
	}{
		{"an uncertain gate", commands.CodeUncertain, func(o *owner) string {
			o.hold(event.ExecutionChanged{Reason: commands.GateUncertain})
			return o.admit()
		}},
		{"a block over an unknown effect", commands.CodeUncertain, func(o *owner) string {
			o.admit()
			o.begin()
			call := o.respond(event.Allow)
			o.must(&commands.StartCall{ID: call, Attempt: 1})
			o.reopen()
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: o.root().Turns.Over.ID})
			return o.admit()
		}},
		{"a pause of the user", commands.CodeProtected, func(o *owner) string {
			o.hold(event.ExecutionChanged{Reason: commands.GateUser})
			return o.admit()
		}},
		{"authentication", commands.CodeProtected, func(o *owner) string {
			o.hold(event.ExecutionChanged{Reason: commands.GateAuthentication})
			return o.admit()
		}},
		{"a human is waited for", commands.CodeProtected, func(o *owner) string {
			o.hold(event.ExecutionChanged{Trigger: "wait_human", Waiting: "ask_1"})
			return o.admit()
		}},
		{"a reason of another build", commands.CodeProtected, func(o *owner) string {
			turn, _ := o.ended("completed", 0, "")
			o.hold(event.ExecutionChanged{Reason: "unheard_of", Cause: turn})
			return o.admit()
		}},
		{"a Goal's block", commands.CodeProtected, func(o *owner) string {
			turn, _ := o.ended("completed", 0, "")
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn, Goal: "goal_1"})
			return o.admit()
		}},
		{"no cause", commands.CodeMissing, func(o *owner) string {
			o.ended("completed", 0, "")
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked})
			return o.admit()
		}},
		{"an older cause", commands.CodeAmbiguous, func(o *owner) string {
			turn, _ := o.ended("completed", 0, "")
			o.ended("completed", 0, "")
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn})
			return o.admit()
		}},
		{"the input met another gate", commands.CodeAmbiguous, func(o *owner) string {
			turn, _ := o.ended("completed", 0, "")
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn})
			id := o.admit()
			o.forge(&event.ExecutionChanged{Trigger: "resume"}, &event.ExecutionChanged{Trigger: "pause", Reason: commands.GateBlocked, Cause: turn})
			return id
		}},
		{"not consumed", commands.CodeNotTaken, func(o *owner) string {
			turn, _ := o.ended("completed", 0, "")
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn})
			o.must(&commands.AdmitInput{Delivery: event.DeliverQueue, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("own")}}})
			return o.root().Inputs.Open[0].ID
		}},
		{"a control", commands.CodeNotUser, func(o *owner) string {
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked})
			return o.send(event.Control{Kind: event.ControlResume})
		}},
		{"of unknown provenance", commands.CodeNotUser, func(o *owner) string {
			turn, _ := o.ended("completed", 0, "")
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn})
			g, _ := commands.ExecutionGate(&o.root().Execution)
			o.forge(&event.InputAdmitted{ID: "inp_old", Trigger: event.TriggerLegacy}, &event.InputDeliveryBatch{Inputs: []string{"inp_old"}}, &event.InputGated{Input: "inp_old", Gate: g})
			return "inp_old"
		}},
		{"nothing holds it", commands.CodeNotHeld, func(o *owner) string {
			id := o.admit()
			o.forge(&event.InputDeliveryBatch{Inputs: []string{id}})
			return id
		}},
		{"a turn has taken it", commands.CodeBound, func(o *owner) string {
			id := o.admit()
			o.begin()
			return id
		}},
		{"completed", commands.CodeOver, func(o *owner) string { id := o.admit(); o.begin(); o.respond(); return id }},
		{"failed", commands.CodeOver, func(o *owner) string { o.ended("failed", 500, "x"); return o.keep.View.Root.Inputs.All[0].ID }},
		{"cancelled", commands.CodeOver, func(o *owner) string { o.ended("cancelled", 0, ""); return o.keep.View.Root.Inputs.All[0].ID }},
		{"never there", commands.CodeUnknown, func(o *owner) string { return "inp_none" }},
		{"a control waits", commands.CodeCompeting, func(o *owner) string {
			turn, _ := o.ended("completed", 0, "")
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn})
			id := o.admit()
			o.send(event.Control{Kind: event.ControlResume})
			return id
		}},
		{"a repair of another input waits", commands.CodeCompeting, func(o *owner) string {
			turn, _ := o.ended("completed", 0, "")
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn})
			id, other := o.admit(), o.root().Execution.Revision
			o.admit()
			o.must(&commands.RepairInput{Input: o.root().Inputs.Open[1].ID, Revision: other})
			return id
		}},
		{"an effect is not settled", commands.CodeCompeting, func(o *owner) string {
			turn, _ := o.ended("completed", 0, "")
			o.admit()
			o.begin()
			call := o.respond(event.Allow)
			o.must(&commands.StartCall{ID: call, Attempt: 1})
			o.hold(event.ExecutionChanged{Reason: commands.GateBlocked, Cause: turn})
			return o.admit()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOwner(t).create()
			id := c.make(o)
			before, commits := dump(o.root()), len(o.dumps)
			_, why := commands.ProveRepair(o.keep.View.Root, id)
			if why == nil || why.Code != c.code {
				t.Fatalf("%v, want %s", why, c.code)
			}
			d := o.do(&commands.RepairInput{Input: id, Revision: o.root().Execution.Revision})
			if d.Refusal == nil || len(d.Events) > 0 || len(o.dumps) != commits || dump(o.root()) != before {
				t.Errorf("%v, %d events", d.Refusal, len(d.Events))
			}
		})
	}
}

// The revision is the execution's and must be the present one. A queued control is not queued again; once anything moved on the
// repair is refused.
//
// spec: A227 A228 A231 A250 A251 A252 A254 A256
func TestOneControlIsQueuedForOneRevision(t *testing.T) {
	o, id := blocked(t)
	revision := o.root().Execution.Revision
	for _, n := range []uint64{0, revision - 1, revision + 1, o.root().Inputs.Get(id).Sequence} {
		if d := o.do(&commands.RepairInput{Input: id, Revision: n}); d.Refusal == nil || d.Refusal.Code != commands.CodeStale {
			t.Errorf("revision %d of %d: %v", n, revision, d.Refusal)
		}
	}
	messages, gate := dump(o.root().Transcript), *o.root().Execution.Gate
	out := o.must(&commands.RepairInput{Input: id, Revision: revision})
	in, ok := out[0].(*event.InputAdmitted)
	if len(out) != 1 || !ok || in.Trigger != event.TriggerRecovery || in.Control.Kind != event.ControlRecover || in.Control.Input != id || in.Control.Revision != revision || in.Control.Actor == "" {
		t.Fatalf("%+v", out)
	}
	x := &o.root().Execution
	if x.Revision != revision || *x.Gate != gate || dump(o.root().Transcript) != messages || !o.root().Inputs.Get(id).State.Is("recorded") || o.root().Inputs.Get(id).Gate == nil {
		t.Errorf("queuing changed %+v", x)
	}
	proof, why := commands.ProveRepair(o.root(), id)
	if why != nil || proof.Queued != in.ID {
		t.Errorf("%+v, %v", proof, why)
	}
	if d := o.do(&commands.RepairInput{Input: id, Revision: revision}); d.Refusal == nil || d.Refusal.Code != commands.CodeNothing {
		t.Errorf("queued twice: %v", d.Refusal)
	}
	o.recovers(in.ID)
	if _, why := commands.ProveRepair(o.root(), id); why == nil || why.Code != commands.CodeBound {
		t.Errorf("while it runs: %v", why)
	}
	o.respond()
	if _, why := commands.ProveRepair(o.keep.View.Root, id); why == nil || why.Code != commands.CodeOver {
		t.Errorf("after it: %v", why)
	}
}

// recovers carries out a queued repair.
func (o *owner) recovers(control string) commands.Decision {
	c := &commands.StartRequest{Input: control, Number: 1, Attempt: 1}
	for _, in := range o.root().Freed(o.root().Inputs.Get(control).Control) {
		c.Inputs = append(c.Inputs, in.ID)
	}
	return o.do(c)
}

// Carrying it out proves everything again, clears exactly that block, and binds the input without its text a second time.
//
// spec: A201 A202 A204 A257
func TestAQueuedRepairBindsTheInput(t *testing.T) {
	o, id := blocked(t)
	out := o.must(&commands.RepairInput{Input: id, Revision: o.root().Execution.Revision})
	control := out[0].(*event.InputAdmitted).ID
	d := o.recovers(control)
	if d.Refusal != nil || o.root().Execution.Gate != nil || len(find[*event.InputDeliveryBatch](d.Events)) != 1 || o.root().Inputs.Get(id).Turn == "" {
		t.Fatalf("%v %+v", d.Refusal, d.Events)
	}
	if b := find[*event.InputDeliveryBatch](d.Events)[0].Inputs; len(b) != 1 || b[0] != control {
		t.Errorf("taken into the history: %v", b)
	}
	if c := find[*event.ControlRequested](d.Events); len(c) != 1 || !c[0].Text.IsZero() || c[0].Kind != string(event.ControlRecover) {
		t.Errorf("%+v", c)
	}
	if s := find[*event.TurnStarted](d.Events); len(s) != 1 || s[0].Trigger != event.TriggerRecovery {
		t.Errorf("%+v", s)
	}
}

// A queued repair whose evidence is gone is refused and says so; gate, revision and input stay as they are.
//
// spec: D252 A231 A233
func TestAQueuedRepairIsRefusedWhenTheEvidenceIsGone(t *testing.T) {
	for name, change := range map[string]func(o *owner, turn string){
		"another revision": func(o *owner, turn string) {
			o.forge(&event.ExecutionChanged{Trigger: "resume"}, &event.ExecutionChanged{Trigger: "pause", Reason: commands.GateBlocked, Cause: turn})
		},
		"another revision of the same": func(o *owner, turn string) {
			o.forge(&event.ExecutionChanged{Trigger: "resume"}, &event.ExecutionChanged{Trigger: "pause", Reason: commands.GateBlocked, Cause: turn})
			g, _ := commands.ExecutionGate(&o.root().Execution)
			for _, in := range o.root().Inputs.Open {
				if in.Control == nil {
					o.forge(&event.InputGated{Input: in.ID, Gate: g})
				}
			}
		},
		"a real gate": func(o *owner, turn string) {
			o.forge(&event.ExecutionChanged{Trigger: "resume"}, &event.ExecutionChanged{Trigger: "pause", Reason: commands.GateUser})
		},
		"no gate": func(o *owner, turn string) { o.forge(&event.ExecutionChanged{Trigger: "resume"}) },
	} {
		t.Run(name, func(t *testing.T) {
			o, id := blocked(t)
			out := o.must(&commands.RepairInput{Input: id, Revision: o.root().Execution.Revision})
			change(o, o.root().Turns.Over.ID)
			revision, turns := o.root().Execution.Revision, o.root().Turns.Count
			d := o.recovers(out[0].(*event.InputAdmitted).ID)
			refused := find[*event.AttemptRefused](d.Events)
			if d.Refusal == nil || len(refused) != 1 || refused[0].Attempt != "repair" || strings.TrimSpace(refused[0].Code) == "" {
				t.Fatalf("%v %+v", d.Refusal, d.Events)
			}
			if in := o.root().Inputs.Get(id); o.root().Execution.Revision != revision || o.root().Turns.Count != turns || !in.State.Is("recorded") {
				t.Errorf("%s at revision %d", in.State, o.root().Execution.Revision)
			}
			if notes := find[*event.NoticeRaised](d.Events); len(notes) != 1 || notes[0].Code != commands.NoticeRepair {
				t.Errorf("told by %+v", notes)
			}
			if settled := find[*event.InputSettled](d.Events); len(settled) != 1 || settled[0].State != "failed" {
				t.Errorf("%+v", settled)
			}
		})
	}
}

// An attempt that was refused is no part of a repair's evidence.
//
// spec: D252
func TestARefusedAttemptChangesNoEvidence(t *testing.T) {
	o, id := blocked(t)
	before, why := commands.ProveRepair(o.root(), id)
	if why != nil {
		t.Fatal(why)
	}
	if d := o.resumes(false); d.Refusal == nil || len(find[*event.AttemptRefused](d.Events)) != 1 {
		t.Fatalf("%v", d.Refusal)
	}
	after, why := commands.ProveRepair(o.root(), id)
	if why != nil || *after != *before {
		t.Errorf("%+v became %+v (%v)", before, after, why)
	}
}

// A provider that fails while a gate stands leaves the gate: of a turn that was running when it was raised, and of one that only
// discusses.
//
// spec: A177
func TestAFailureLeavesEveryGate(t *testing.T) {
	for _, g := range commands.Gates {
		t.Run(g.Reason, func(t *testing.T) {
			o := newOwner(t).create()
			o.admit()
			r := o.begin().Request
			e := event.ExecutionChanged{Reason: g.Reason}
			switch g.Reason {
			case commands.GateWaitingHuman, commands.GateWaitingExternal:
				e = event.ExecutionChanged{Trigger: strings.Replace(g.Reason, "waiting", "wait", 1), Waiting: "x_1"}
			}
			o.hold(e)
			gate := *o.root().Execution.Gate
			d := o.do(&commands.FailRequest{Request: r.ID, Attempt: r.Attempt, Fault: event.Failure{Code: "busy", Status: 503}})
			if ended := find[*event.TurnEnded](d.Events); len(ended) != 1 || ended[0].State != "failed" {
				t.Fatalf("%v %+v", d.Refusal, d.Events)
			}
			if x := o.root().Execution; x.Gate == nil || *x.Gate != gate || x.Revision != gate.Revision {
				t.Errorf("%+v became %+v", gate, x.Gate)
			}
		})
	}
	o := newOwner(t).create()
	o.hold(event.ExecutionChanged{Reason: commands.GateUncertain, Goal: "goal_1"})
	o.admit()
	turn := o.begin()
	gate := *o.root().Execution.Gate
	o.must(&commands.FailRequest{Request: turn.Request.ID, Attempt: 1, Fault: event.Failure{Code: "busy", Status: 503}})
	if x := o.root().Execution; !turn.Discussion || x.Gate == nil || *x.Gate != gate || x.Revision != gate.Revision {
		t.Errorf("discussion %v, gate %+v", turn.Discussion, x.Gate)
	}
}
