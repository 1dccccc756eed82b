package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zuno/commands"
	"zuno/internal/forge"
	"zuno/journal/event"
	"zuno/projections"
)

// gateStories are, for each reason, what happened around its gate. Each goes on from a session with one turn.
var gateStories = map[string][][]event.Payload{
	commands.GateUser:           {{pause(commands.GateUser, "", "")}},
	commands.GateAuthentication: {{pause(commands.GateAuthentication, "", "")}, {refusedResume(commands.CodeKeyless, "the provider has no key")}},
	commands.GateTurnBudget:     {{pause(commands.GateTurnBudget, "", "goal_1")}},
	commands.GateUncertain: {
		{
			&event.ExecutionChanged{Trigger: "begin", Phase: "running", Cycle: "cycle_2"}, &event.InputAdmitted{ID: "inp_2", Trigger: event.TriggerUser},
			&event.TurnStarted{ID: "turn_2", Cycle: "cycle_2"}, &event.RequestStarted{ID: "req_2", Turn: "turn_2", Number: 1, Attempt: 1},
			&event.ResponseCompleted{Request: "req_2", Attempt: 1, Finish: "tool_calls", Calls: 1, Parts: projections.PartsDigest(nil)},
			&event.CallRequested{ID: "call_2", Turn: "turn_2", Request: "req_2", Attempt: 1, Tool: "shell", Title: event.NewText("make deploy"), Declaration: event.Declaration{}.WithDefaults()},
			&event.CallStarted{ID: "call_2", Attempt: 1},
			&event.CallSettled{ID: "call_2", Attempt: 1, Outcome: event.OutcomeUncertain, Text: event.NewText("It may have happened.")},
			&event.TurnEnded{ID: "turn_2", State: "failed", Fault: event.Failure{Code: "interrupted"}},
			&event.ExecutionChanged{Trigger: "complete", Phase: "completed"}, pause(commands.GateUncertain, "", ""),
		},
		{refusedResume(commands.CodeUncertain, "the effect of call_2 (shell) is unknown")},
		{&event.CallInspected{Call: "call_2", Finding: event.FindingUnknown, Note: event.NewText("I could not see.")}},
	},
	commands.GateBlocked: {
		{pause(commands.GateBlocked, lastTurn, "")},
		{
			&event.InputAdmitted{ID: "inp_3", Trigger: event.TriggerUser, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("Are you there?")}}},
			&event.InputDeliveryBatch{Inputs: []string{"inp_3"}},
			&event.InputGated{Input: "inp_3", Gate: event.ExecutionGate{Reason: commands.GateBlocked, Recovery: "inspect_session", Revision: 3, Cycle: lastTurn}},
		},
		{refusedResume(commands.CodeBlocked, "execution is held")},
		{&event.AttemptRefused{Attempt: "repair", Input: "inp_3", Code: commands.CodeStale, Text: event.NewText("the execution is at revision 4, not 3")}},
	},
	commands.GateWaitingHuman: {
		{&event.ExecutionChanged{Trigger: "begin", Phase: "running", Cycle: "cycle_2"}, &event.ExecutionChanged{Trigger: "wait_human", Phase: "waiting", Waiting: "ask_1"}},
		{refusedResume(commands.CodeWait, "a question waits for your answer")},
	},
	commands.GateWaitingExternal: {
		{&event.ExecutionChanged{Trigger: "begin", Phase: "running", Cycle: "cycle_2"}, &event.ExecutionChanged{Trigger: "wait_external", Phase: "waiting", Waiting: "job_1"}},
	},
	commands.GateNoProgress:       {{pause(commands.GateNoProgress, "", "goal_1")}},
	commands.GateNoExecutableWork: {{pause(commands.GateNoExecutableWork, "", "")}},
	commands.GateExecutionUnavailable: {
		{&event.RunDied{Run: "run_0", Step: "request:inp_1"}},
		{&event.RunDied{Run: "run_1", Step: "call:shell:0123"}},
		{&event.RunDied{Run: "run_2", Step: "call:shell:0123"}},
		{&event.RunDied{Run: "run_3", Step: "call:shell:0123"}, pause(commands.GateExecutionUnavailable, "", "")},
	},
}

// lastTurn stands for the id of the session's turn, and for that of its cycle.
const lastTurn = "LAST"

func pause(reason, cause, goal string) *event.ExecutionChanged {
	return &event.ExecutionChanged{Trigger: "pause", Phase: "paused", Reason: reason, Cause: cause, Goal: goal}
}

func refusedResume(code, text string) event.Payload {
	return &event.AttemptRefused{Attempt: "resume", Input: "inp_9", Code: code, Text: event.NewText(text)}
}

// For each reason: the event that raised the gate, the command that caused it, what was known then, what clears it, and which attempts
// were refused and why.
//
// spec: D269
func TestExplainGateOfEachReason(t *testing.T) {
	p := newPlace(t, "gates")
	source := p.folder(p.run("Do it.", "7"))
	for _, g := range commands.Gates {
		t.Run(g.Reason, func(t *testing.T) {
			stories := gateStories[g.Reason]
			if stories == nil {
				t.Fatal("no story")
			}
			dir := filepath.Join(t.TempDir(), filepath.Base(source))
			if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
			r, err := Fold(dir, ReplayOptions{})
			if err != nil {
				t.Fatal(err)
			}
			last := r.View.Root.Turns.Over
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			for _, events := range stories {
				for _, e := range events {
					switch x := e.(type) {
					case *event.ExecutionChanged:
						x.Cause = strings.Replace(x.Cause, lastTurn, last.ID, 1)
					case *event.InputGated:
						x.Gate.Cycle = strings.Replace(x.Gate.Cycle, lastTurn, last.Cycle, 1)
					}
				}
				if err := forge.Append(dir, forge.Of(events...)...); err != nil {
					t.Fatal(err)
				}
			}
			got := p.ok("explain", "gate", dir)
			golden := filepath.Join("testdata", "gates", g.Reason+".txt")
			if *updatePage {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || got != string(want) {
				t.Errorf("%v\n%s", err, got)
			}
			for _, part := range []string{"raised ", "command ", "known ", g.Meaning, "What clears it: ", "Recovery: "} {
				if !strings.Contains(got, part) {
					t.Errorf("%q is missing", part)
				}
			}
		})
	}
}
