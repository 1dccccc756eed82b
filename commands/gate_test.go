package commands_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"zuno/commands"
	"zuno/internal/engine"
	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

var update = flag.Bool("update", false, "rewrite docs/gates.md")

const gatesPage = "../docs/gates.md"

// The vocabularies are those of the specification, written down a second time, each value once and in its order.
//
// spec: A192 A193 D251
func TestReasonsAndRecoveriesAreTheSpecifiedOnes(t *testing.T) {
	var reasons []string
	for _, g := range commands.Gates {
		reasons = append(reasons, g.Reason)
	}
	want := strings.Fields(`user authentication turn_budget uncertain_side_effect blocked waiting_human waiting_external no_progress
		no_executable_work execution_unavailable`)
	if !slices.Equal(reasons, want) {
		t.Errorf("reasons %v", reasons)
	}
	var recoveries []string
	used := map[commands.Recovery]bool{}
	for _, r := range commands.Recoveries {
		recoveries = append(recoveries, string(r))
	}
	want = strings.Fields(`resume_work resume_goal start_work resolve_human_request wait_for_event reauthenticate inspect_outcome
		review_budget inspect_session`)
	if !slices.Equal(recoveries, want) {
		t.Errorf("recoveries %v", recoveries)
	}
	for _, g := range commands.Gates {
		used[g.Recovery], used[g.Goal] = true, true
		if g.Meaning == "" || g.Clears == "" {
			t.Errorf("%s is not described", g.Reason)
		}
	}
	messages := map[string]bool{}
	for _, r := range commands.Recoveries {
		m := commands.GateMessage(r)
		if !strings.HasPrefix(m, "Input saved but not applied: ") || !strings.HasSuffix(m, "Do not send it again.") || messages[m] {
			t.Errorf("%s: %q", r, m)
		}
		messages[m] = true
		if !used[r] {
			t.Errorf("no gate has recovery %s", r)
		}
	}
	if commands.GateMessage("unheard_of") != commands.GateMessage(commands.RecoverInspectSession) {
		t.Error("an unknown recovery has a message of its own")
	}
}

// wakes is the wake table of the specification, written down a second time. A cell is what happens when the ids that the signal
// and the wait name are alike, and, where that differs, when they are not.
var wakes = map[string]map[commands.SignalKind][2]commands.Waking{
	"ready": {
		commands.SignalMessage: {"admit", "admit"}, commands.SignalQuery: {"admit", "admit"}, commands.SignalAnswer: {"admit", "reject"},
		commands.SignalResume: {"admit", "admit"}, commands.SignalCompletion: {"admit", "reject"}, commands.SignalAutomatic: {"admit", "admit"},
	},
	"waiting_human": {
		commands.SignalMessage: {"reject", "reject"}, commands.SignalQuery: {"admit", "admit"}, commands.SignalAnswer: {"resume", "reject"},
		commands.SignalResume: {"reject", "reject"}, commands.SignalCompletion: {"reject", "reject"}, commands.SignalAutomatic: {"reject", "reject"},
	},
	"waiting_external": {
		commands.SignalMessage: {"reject", "reject"}, commands.SignalQuery: {"admit", "admit"}, commands.SignalAnswer: {"reject", "reject"},
		commands.SignalResume: {"reject", "reject"}, commands.SignalCompletion: {"resume", "reject"}, commands.SignalAutomatic: {"reject", "reject"},
	},
	"paused": {
		commands.SignalMessage: {"reject", "reject"}, commands.SignalQuery: {"admit", "admit"}, commands.SignalAnswer: {"reject", "reject"},
		commands.SignalResume: {"resume", "resume"}, commands.SignalCompletion: {"reject", "reject"}, commands.SignalAutomatic: {"reject", "reject"},
	},
	"completed": {
		commands.SignalMessage: {"resume", "resume"}, commands.SignalQuery: {"resume", "resume"}, commands.SignalAnswer: {"resume", "resume"},
		commands.SignalResume: {"resume", "resume"}, commands.SignalCompletion: {"reject", "reject"}, commands.SignalAutomatic: {"reject", "reject"},
	},
}

var signals = []commands.SignalKind{
	commands.SignalMessage, commands.SignalQuery, commands.SignalAnswer, commands.SignalResume, commands.SignalCompletion, commands.SignalAutomatic,
}

// Every readiness with every signal, with the ids that fit and with each way in which they do not: blank, another's, only one of two.
//
// spec: D250 A196
func TestWakeIsTheSpecifiedTable(t *testing.T) {
	if len(wakes) != len(lifecycle.Execution.States()) {
		t.Errorf("the machine has states %v", lifecycle.Execution.States())
	}
	for _, state := range lifecycle.Execution.States() {
		r := commands.Readiness{State: state.String()}
		switch r.State {
		case "waiting_human":
			r.Request = "ask_1"
		case "waiting_external":
			r.Source, r.Cycle = "job_1", "cycle_1"
		}
		for _, kind := range signals {
			cell, ok := wakes[r.State][kind]
			if !ok {
				t.Errorf("%s × %s is in no table", r.State, kind)
			}
			fits := commands.Signal{Kind: kind, Request: "ask_1", Source: "job_1", Cycle: "cycle_1"}
			if got := commands.Wake(r, fits); got != cell[0] {
				t.Errorf("%s × %s: %s, want %s", r.State, kind, got, cell[0])
			}
			blank := commands.Signal{Kind: kind}
			if got := commands.Wake(r, blank); got != cell[1] {
				t.Errorf("%s × %s without ids: %s, want %s", r.State, kind, got, cell[1])
			}
			for _, other := range []commands.Signal{
				{Kind: kind, Request: "ask_2", Source: "job_2", Cycle: "cycle_1"},
				{Kind: kind, Request: "ask_2", Source: "job_1", Cycle: "cycle_2"},
				{Kind: kind, Request: "ask_2", Source: "job_1"},
				{Kind: kind, Request: "ask_2", Cycle: "cycle_1"},
			} {
				if strings.HasPrefix(r.State, "waiting") {
					if got := commands.Wake(r, other); got != cell[1] {
						t.Errorf("%s × %+v: %s, want %s", r.State, other, got, cell[1])
					}
				}
			}
		}
	}
	for _, kind := range signals { // a state of nobody clears nothing, and a wait for nothing is never over
		fits := commands.Signal{Kind: kind, Request: "", Source: "", Cycle: ""}
		if got := commands.Wake(commands.Readiness{State: "unheard_of"}, fits); got != commands.WakeReject {
			t.Errorf("an unknown state × %s: %s", kind, got)
		}
		for _, state := range []string{"waiting_human", "waiting_external"} {
			if got := commands.Wake(commands.Readiness{State: state}, fits); got == commands.WakeResume {
				t.Errorf("%s for nothing × %s: %s", state, kind, got)
			}
		}
	}
}

// page is docs/gates.md as the tables say it.
func page() string {
	var b strings.Builder
	b.WriteString(`# Gates

Generated from the tables in ` + "`commands/gate.go`, `commands/wake.go` and `commands/repair.go` by `go generate ./commands`" + `. Do not edit.

A gate holds the session's execution. A message that meets one is saved and enters the history; its receipt stays ` + "`recorded`" + ` and has
the gate beside it, and its prompt is answered with -32005. Reconnecting, another message and a newer build clear nothing.

## Reasons

| reason | recovery | of a Goal | meaning | what clears it |
| --- | --- | --- | --- | --- |
`)
	for _, g := range commands.Gates {
		fmt.Fprintf(&b, "| `%s` | `%s` | `%s` | %s | %s |\n", g.Reason, g.Recovery, g.Goal, g.Meaning, g.Clears)
	}
	b.WriteString("\n## Recoveries\n\nA recovery is a hint. It grants nothing, and no single command is promised to be enough. The message is what a person is told.\n\n| recovery | message |\n| --- | --- |\n")
	for _, r := range commands.Recoveries {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r, commands.GateMessage(r))
	}
	b.WriteString("\n## What may wake a session\n\n`admit` runs beside a gate and leaves it, `resume` clears the one that it satisfies, `reject` does nothing. Nothing else clears a gate.\n`/resume` has its own checks beside this table. Where a cell has two words, the second holds when the ids do not fit.\n\n|  |")
	for _, s := range signals {
		fmt.Fprintf(&b, " %s |", s)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(signals)) + "\n")
	for _, state := range lifecycle.Execution.States() {
		fmt.Fprintf(&b, "| `%s` |", state)
		r := commands.Readiness{State: state.String(), Request: "r", Source: "s", Cycle: "c"}
		for _, s := range signals {
			fits, not := commands.Wake(r, commands.Signal{Kind: s, Request: "r", Source: "s", Cycle: "c"}), commands.Wake(r, commands.Signal{Kind: s})
			if fits == not {
				fmt.Fprintf(&b, " %s |", fits)
			} else {
				fmt.Fprintf(&b, " %s, %s |", fits, not)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Grounds of a repair\n\nWhy a block is false. [repair.md](repair.md) has the whole proof.\n\n| ground | meaning |\n| --- | --- |\n")
	for _, g := range commands.Grounds {
		fmt.Fprintf(&b, "| `%s` | %s |\n", g.Ground, g.Meaning)
	}
	return b.String()
}

// spec: D251
func TestGatesPageIsFresh(t *testing.T) {
	if *update {
		if err := os.WriteFile(gatesPage, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(gatesPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != page() {
		t.Error("docs/gates.md is not what the tables say: run `go generate ./commands`")
	}
}

// hold raises a gate that no rule of this build raises.
func (o *owner) hold(e event.ExecutionChanged) {
	if e.Trigger == "" {
		e.Trigger = "pause"
	}
	e.Phase = "paused"
	o.forge(&e)
}

// send admits a native command and gives its id.
func (o *owner) send(c event.Control) string {
	out := o.must(&commands.AdmitInput{Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("/command")}}, Control: &c})
	return out[0].(*event.InputAdmitted).ID
}

// resumes tries /resume, and gives the decision.
func (o *owner) resumes(keyless bool) commands.Decision {
	id := o.send(event.Control{Kind: event.ControlResume})
	c := &commands.StartRequest{Input: id, Number: 1, Attempt: 1, Keyless: keyless}
	for _, in := range o.root().Resumable() {
		c.Inputs = append(c.Inputs, in.ID)
	}
	return o.do(c)
}

// Each check of /resume refuses alone: the attempt is recorded with its reason, the gate, its revision and the saved input stay. The
// same session without that one obstacle resumes.
//
// spec: A196 A198 T099 D252
func TestEachCheckOfResumeRefusesAlone(t *testing.T) {
	for _, c := range []struct {
		name    string
		gate    event.ExecutionChanged
		keyless bool
		code    string
		waiting string
	}{
		{"a human is waited for", event.ExecutionChanged{Trigger: "wait_human", Waiting: "ask_1"}, false, commands.CodeWait, "waiting_human"},
		{"something outside is waited for", event.ExecutionChanged{Trigger: "wait_external", Waiting: "job_1"}, false, commands.CodeWait, "waiting_external"},
		{"no key", event.ExecutionChanged{Reason: commands.GateAuthentication}, true, commands.CodeKeyless, ""},
		{"a budget", event.ExecutionChanged{Reason: commands.GateTurnBudget}, false, commands.CodeBlocked, ""},
		{"a block", event.ExecutionChanged{Reason: commands.GateBlocked}, false, commands.CodeBlocked, ""},
		{"a reason of another build", event.ExecutionChanged{Reason: "unheard_of"}, false, commands.CodeBlocked, "blocked"},
		{"nobody authorized work", event.ExecutionChanged{Reason: commands.GateNoExecutableWork}, false, commands.CodeBlocked, ""},
		{"no record of an unknown effect", event.ExecutionChanged{Reason: commands.GateUncertain}, false, commands.CodeUncertain, ""},
		{"a Goal's pause", event.ExecutionChanged{Reason: commands.GateUser, Goal: "goal_1"}, false, commands.CodeBlocked, ""},
		{"paused", event.ExecutionChanged{Reason: commands.GateUser}, false, "", ""},
		{"no progress", event.ExecutionChanged{Reason: commands.GateNoProgress}, false, "", ""},
		{"three deaths", event.ExecutionChanged{Reason: commands.GateExecutionUnavailable}, false, "", ""},
		{"a key", event.ExecutionChanged{Reason: commands.GateAuthentication}, false, "", ""},
		{"paused, no key", event.ExecutionChanged{Reason: commands.GateUser}, true, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOwner(t).create()
			o.hold(c.gate)
			saved := o.admit()
			before, revision := *o.root().Execution.Gate, o.root().Execution.Revision
			d := o.resumes(c.keyless)
			if c.code == "" {
				if d.Refusal != nil || o.root().Execution.Gate != nil || o.root().Inputs.Get(saved).Turn == "" {
					t.Errorf("refused: %v, gate %+v", d.Refusal, o.root().Execution.Gate)
				}
				return
			}
			if d.Refusal == nil || d.Refusal.Code != c.code {
				t.Fatalf("%v, want %s", d.Refusal, c.code)
			}
			refused := find[*event.AttemptRefused](d.Events)
			if len(refused) != 1 || refused[0].Attempt != "resume" || refused[0].Code != c.code || refused[0].Text.IsZero() {
				t.Errorf("recorded as %+v", refused)
			}
			x := &o.root().Execution
			if x.Gate == nil || *x.Gate != before || x.Revision != revision || o.root().Turns.Count != 0 {
				t.Errorf("revision %d → %d, gate %+v", revision, x.Revision, x.Gate)
			}
			in := o.root().Inputs.Get(saved)
			want := c.waiting
			if want == "" {
				want = c.gate.Reason
			}
			if !in.State.Is("recorded") || in.Gate == nil || in.Gate.Reason != want {
				t.Errorf("the saved input is %s, gate %+v", in.State, in.Gate)
			}
		})
	}
}

// A gate of another cycle's unknown effects: those of its own cycle count, whatever other cycles have on record.
//
// spec: A240 A198
func TestUncertaintyOfAnotherCycleProvesNothing(t *testing.T) {
	o := newOwner(t).create()
	o.admit()
	o.begin()
	call := o.respond(event.Allow)
	o.must(&commands.StartCall{ID: call, Attempt: 1})
	o.reopen()
	o.control(o.send(event.Control{Kind: event.ControlFinding, Call: call, Finding: event.FindingHappened}))
	o.hold(event.ExecutionChanged{Reason: commands.GateUncertain, Cycle: "cycle_of_old"})
	d := o.resumes(false)
	if d.Refusal == nil || d.Refusal.Code != commands.CodeUncertain || !strings.Contains(d.Refusal.Reason, commands.LegacyUncertainty) {
		t.Errorf("%v", d.Refusal)
	}
}

// What waits when a gate is raised, and what comes then, enters the history in the order of admission; what is queued does not.
//
// spec: A180 A183 A185
func TestHeldInputsEnterTheHistoryInOrder(t *testing.T) {
	o := newOwner(t).create()
	one := o.admit()
	o.must(&commands.AdmitInput{Delivery: event.DeliverQueue, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("own")}}})
	own := o.root().Inputs.Open[1].ID
	o.hold(event.ExecutionChanged{Reason: commands.GateUser})
	two := o.admit()
	batches := find[*event.InputDeliveryBatch](o.events)
	if len(batches) != 1 || !slices.Equal(batches[0].Inputs, []string{one, two}) || !o.root().Inputs.Get(own).State.Is("admitted") {
		t.Errorf("%+v", batches)
	}
	d := o.resumes(false)
	var applied []string
	for _, a := range find[*event.InputApplied](d.Events) {
		applied = append(applied, a.Input)
	}
	if d.Refusal != nil || len(applied) != 3 || !slices.Equal(applied[1:], []string{one, two}) || len(find[*event.InputDeliveryBatch](d.Events)) != 1 {
		t.Errorf("%v, applied %v", d.Refusal, applied)
	}
}

// Of the messages that were saved under a Goal's uncertainty a load claims the last one, with the gate that it met, once: it is in the
// history already, and those before it stay as they are.
//
// spec: A248 A244
func TestTheLastSavedQuestionIsClaimedOnce(t *testing.T) {
	o := newOwner(t).create()
	o.hold(event.ExecutionChanged{Reason: commands.GateUncertain})
	older, last := o.admit(), o.admit()
	o.forge(&event.ExecutionChanged{Trigger: "resume"}, &event.ExecutionChanged{Trigger: "pause", Reason: commands.GateUncertain, Goal: "goal_1"})
	if o.must(&commands.CloseRun{Run: o.run.String()}); len(engine.Next(o.view())) != 1 {
		t.Fatal("nothing is claimed")
	}
	o.reopen()
	turn := o.begin()
	if !turn.Discussion || len(turn.Inputs) != 1 || turn.Inputs[0] != last {
		t.Fatalf("%+v", turn)
	}
	if n := len(find[*event.InputDeliveryBatch](o.events)); n != 2 {
		t.Errorf("%d batches: the text was taken in again", n)
	}
	o.respond()
	for range 2 {
		if steps := engine.Next(o.view()); len(steps) > 0 {
			t.Errorf("%+v", steps)
		}
		o.reopen()
	}
	if in := o.root().Inputs.Get(older); in == nil || !in.State.Is("recorded") || o.root().Execution.Gate == nil {
		t.Errorf("the older one is %+v", in)
	}
}

// A run that ends in good order while inputs wait has died of nothing, however often.
//
// spec: D253
func TestAnOrderlyEndIsNoDeath(t *testing.T) {
	o := newOwner(t).create()
	o.admit()
	for range 4 {
		o.must(&commands.CloseRun{Run: o.run.String()})
		o.reopen()
		o.admit()
	}
	if died := find[*event.RunDied](o.events); len(died) > 0 || o.root().Execution.Gate != nil {
		t.Errorf("%+v", died)
	}
	for range 3 { // and without a word it has, each time
		o.reopen()
		o.admit()
	}
	if died := find[*event.RunDied](o.events); len(died) != 3 || o.root().Execution.Gate == nil {
		t.Errorf("%d deaths, gate %+v", len(died), o.root().Execution.Gate)
	}
}
