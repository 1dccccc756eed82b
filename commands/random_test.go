package commands_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"zuno/commands"
	"zuno/internal/engine"
	"zuno/internal/seeded"
	"zuno/journal/event"
	"zuno/projections"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("rapid.nofailfile", "true") // a seeded defect is found on purpose
	_ = flag.Set("rapid.steps", "60")
	_ = flag.Set("rapid.shrinktime", "2s")
	os.Exit(m.Run())
}

// call draws a call of a response.
func call(t *rapid.T, request string, position int) commands.ResolvedCall {
	c := commands.ResolvedCall{
		ID: commands.DeriveID("call", request, fmt.Sprint(position)), Tool: rapid.SampledFrom([]string{"read", "write", "shell"}).Draw(t, "tool"),
		Args: event.NewText(fmt.Sprintf(`{"n":%d}`, position)), Title: event.NewText("call"), Kind: "other", Rule: event.NewText("rule"),
		Permission: rapid.SampledFrom([]event.Action{event.Allow, event.Allow, event.Ask, event.Deny}).Draw(t, "permission"),
		Declaration: event.Declaration{
			Replay:      rapid.SampledFrom([]event.Replay{event.ReplayNever, event.ReplaySafe}).Draw(t, "replay"),
			Concurrency: rapid.SampledFrom([]event.Concurrency{event.Exclusive, event.ParallelSafe}).Draw(t, "concurrency"),
		}.WithDefaults(),
		Reusable: rapid.Bool().Draw(t, "reusable"), // the tools have one resource, so grants are met again
		Accesses: []event.Access{{Kind: event.AccessExecute, Place: event.PlaceNone, Name: event.NewText("make")}},
	}
	if rapid.IntRange(0, 9).Draw(t, "blocked") == 0 {
		c.Permission, c.Blocked, c.BlockText = "", event.InvalidArguments, event.NewText("wrong")
	}
	if c.Permission == event.Deny {
		c.BlockText = event.NewText("denied")
	}
	return c
}

func text(t *rapid.T) event.Text {
	return event.NewText(rapid.SampledFrom([]string{"", "one", "two words\n", "ä longer text"}).Draw(t, "text"))
}

func parts(t *rapid.T) (out []commands.Part) {
	for range rapid.IntRange(0, 2).Draw(t, "parts") {
		out = append(out, commands.Part{Kind: rapid.SampledFrom([]event.PartKind{event.PartText, event.PartReasoning}).Draw(t, "kind"), Text: text(t)})
	}
	return out
}

// wrong makes an id stale now and then.
func wrong(t *rapid.T, id string) string {
	if rapid.IntRange(0, 7).Draw(t, "wrong") == 0 {
		return id + "x"
	}
	return id
}

// anyCall picks one of the calls that ever were, mostly an open one.
func anyCall(t *rapid.T, o *owner) (id string, attempt uint64) {
	var ids []string
	for id := range o.ledger.Requested {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if open := o.ledger.Open(); len(open) > 0 && rapid.IntRange(0, 4).Draw(t, "any call") > 0 {
		ids = open
	}
	if len(ids) == 0 {
		t.Skip("no call")
	}
	id = rapid.SampledFrom(ids).Draw(t, "call")
	attempt = rapid.SampledFrom([]uint64{1, 1, 1, 1, 2}).Draw(t, "attempt")
	return id, attempt
}

// actions are what drivers, clients and crashes can do. Most of what they send is wanted now, some is late or wrong.
func actions(o *owner) map[string]func(*rapid.T) {
	request := func(t *rapid.T) (string, uint64) {
		if a := o.root().Turns.Active; a != nil && a.Request != nil {
			return wrong(t, a.Request.ID), rapid.SampledFrom([]uint64{1, 1, 1, 2}).Draw(t, "attempt")
		}
		return "req_none", 1
	}
	common := map[string]func(*rapid.T){
		"admit": func(t *rapid.T) {
			blocks := []event.Block{{Type: event.BlockText, Text: text(t)}}
			if rapid.IntRange(0, 9).Draw(t, "empty") == 0 {
				blocks = nil
			}
			o.do(&commands.AdmitInput{Delivery: event.DeliverSteer, Blocks: blocks, Title: text(t)})
		},
		"next": func(t *rapid.T) { // what the driver would do
			steps := slices.DeleteFunc(engine.Next(o.view()), func(s engine.Step) bool { return s.Open })
			if len(steps) == 0 {
				t.Skip("nothing to do")
			}
			st := rapid.SampledFrom(steps).Draw(t, "step")
			switch st.Kind {
			case engine.StepRequest:
				o.startStep(st)
			case engine.StepControl:
				o.control(st.Input)
			case engine.StepAsk:
				o.must(&commands.AskPermission{Call: st.Call})
			case engine.StepCall:
				o.must(&commands.StartCall{ID: st.Call, Attempt: st.Attempt, Full: rapid.IntRange(0, 9).Draw(t, "full") == 0})
			}
		},
		"start request": func(t *rapid.T) {
			c := &commands.StartRequest{Number: rapid.Uint64Range(1, 2).Draw(t, "n"), Attempt: 1}
			if a := o.root().Turns.Active; a != nil {
				c.Turn = wrong(t, a.ID)
			}
			if in := o.root().Inputs.Open; len(in) > 0 && rapid.Bool().Draw(t, "by input") {
				c.Input = wrong(t, rapid.SampledFrom(in).Draw(t, "input").ID)
			}
			o.do(c)
		},
		"part": func(t *rapid.T) {
			id, attempt := request(t)
			o.do(&commands.RecordPart{Request: id, Attempt: attempt, Kind: event.PartText, Text: text(t)})
		},
		"complete": func(t *rapid.T) {
			id, attempt := request(t)
			c := &commands.CompleteResponse{Request: id, Attempt: attempt, Finish: "stop", Parts: parts(t)}
			for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
				c.Calls = append(c.Calls, call(t, id, i+1))
			}
			o.do(c)
		},
		"cut": func(t *rapid.T) {
			id, attempt := request(t)
			o.do(&commands.CutResponse{Request: id, Attempt: attempt, Reason: event.CutStream, Detail: event.NewText("cut"), Parts: parts(t)})
		},
		"fail": func(t *rapid.T) {
			id, attempt := request(t)
			o.do(&commands.FailRequest{Request: id, Attempt: attempt, Fault: event.Failure{Code: "provider", Reason: text(t)}})
		},
		"ask":   func(t *rapid.T) { id, _ := anyCall(t, o); o.do(&commands.AskPermission{Call: id}) },
		"start": func(t *rapid.T) { id, n := anyCall(t, o); o.do(&commands.StartCall{ID: id, Attempt: n}) },
		"settle": func(t *rapid.T) {
			id, n := anyCall(t, o)
			c := &commands.SettleCall{ID: id, Attempt: n, Text: text(t), Outcome: rapid.SampledFrom([]event.Outcome{
				event.OutcomeOK, event.OutcomeError, event.OutcomeCancelled, event.OutcomeUncertain, "start",
			}).Draw(t, "outcome")}
			if rapid.Bool().Draw(t, "file") {
				c.Files = []event.File{{Path: event.NewText("/w/a"), Change: rapid.SampledFrom([]event.Change{event.ChangeRead, event.ChangeModify, event.ChangeDelete}).Draw(t, "change")}}
			}
			o.do(c)
		},
		"answer": func(t *rapid.T) {
			id := "perm_none"
			if p := o.root().Permissions.Pending; len(p) > 0 {
				id = wrong(t, p[0].ID)
			}
			o.do(&commands.AnswerPermission{Permission: id, Verdict: rapid.SampledFrom([]event.Verdict{
				event.VerdictAllow, event.VerdictAllow, event.VerdictReject, event.VerdictCancelled, event.VerdictUnrecognized, event.VerdictUndeliverable,
			}).Draw(t, "verdict"), Option: rapid.SampledFrom([]string{event.OptionAllowOnce, event.OptionAllowSession}).Draw(t, "option")})
		},
		"cancel": func(t *rapid.T) {
			c := &commands.CancelTurn{Source: "user"}
			if a := o.root().Turns.Active; a != nil && rapid.Bool().Draw(t, "named") {
				c.Turn = wrong(t, a.ID)
			}
			o.do(c)
		},
		"steer": func(t *rapid.T) {
			c := &commands.SteerInput{Turn: "turn_none", Blocks: []event.Block{{Type: event.BlockText, Text: text(t)}}}
			if a := o.root().Turns.Active; a != nil {
				c.Turn = wrong(t, a.ID)
			}
			before := dump(o.view())
			if d := o.do(c); d.Refusal != nil && (len(d.Events) > 0 || dump(o.view()) != before) {
				t.Fatalf("a refused steer left something behind")
			}
		},
		"queue": func(t *rapid.T) {
			o.do(&commands.AdmitInput{Delivery: event.DeliverQueue, Blocks: []event.Block{{Type: event.BlockText, Text: text(t)}}})
		},
		"withdraw": func(t *rapid.T) {
			if in := o.root().Inputs.Open; len(in) > 0 {
				o.do(&commands.WithdrawInput{Input: wrong(t, rapid.SampledFrom(in).Draw(t, "input").ID)})
			}
		},
		"observe": func(t *rapid.T) {
			if in := o.root().Inputs.Open; len(in) > 0 {
				o.do(&commands.ObserveInput{Input: wrong(t, rapid.SampledFrom(in).Draw(t, "input").ID)})
			}
		},
		"command": func(t *rapid.T) {
			c := &event.Control{Kind: rapid.SampledFrom([]event.ControlKind{event.ControlResume, event.ControlInspect, event.ControlFinding}).Draw(t, "kind")}
			if c.Kind == event.ControlFinding {
				c.Call = "call_none"
				if u := o.root().Calls.Uncertain; len(u) > 0 {
					c.Call = wrong(t, rapid.SampledFrom(u).Draw(t, "call").Call)
				}
				c.Finding = rapid.SampledFrom([]event.Finding{event.FindingHappened, event.FindingDidNotHappen, event.FindingUnknown}).Draw(t, "finding")
				c.Note = text(t)
			}
			o.do(&commands.AdmitInput{Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("/command")}}, Control: c})
		},
		"close": func(t *rapid.T) {
			if rapid.IntRange(0, 2).Draw(t, "really") == 0 {
				o.do(&commands.CancelTurn{Source: "shutdown"})
				o.do(&commands.CloseRun{Run: o.run.String()})
				o.reopen()
			}
		},
		"crash": func(t *rapid.T) {
			if rapid.IntRange(0, 2).Draw(t, "really") == 0 {
				o.reopen()
			}
		},
	}
	rare := []func(*rapid.T){
		func(t *rapid.T) { o.do(&commands.RecoverSession{Run: o.run.String()}) },
		func(t *rapid.T) { o.do(&commands.OpenSession{Run: "again", Session: "ses_2"}) },
		func(t *rapid.T) {
			o.do(&commands.ResolvePolicy{Policy: policy(rapid.Uint64Range(1, 3).Draw(t, "bound"))})
		},
		func(t *rapid.T) {
			o.do(&commands.ResolveContext{Sections: []event.SectionResolved{{ID: "kernel", Text: text(t)}}, Tools: []event.ToolEntry{{Name: "read", Description: text(t)}}})
		},
	}
	common["rare"] = func(t *rapid.T) { rapid.SampledFrom(rare).Draw(t, "which")(t) }
	// What a driver wants next, so that histories get somewhere.
	for _, again := range []string{"next", "complete", "settle", "start"} {
		common[again+" once more"] = common[again]
	}
	common["next a third time"], common["start a third time"] = common["next"], common["start"]
	return common
}

// property runs random commands; the owner checks the invariants after each, and the whole journal at the end.
func property(decide decideFunc) func(t *rapid.T) {
	return func(t *rapid.T) {
		o := newOwner(t)
		o.decide = decide
		o.create()
		t.Repeat(actions(o))
		o.refold(rapid.IntRange(0, len(o.dumps)).Draw(t, "split"))
	}
}

// Random commands against commands and projections, with all invariants after each.
//
// spec: D021 D030 D035 D036 D041 D056 D067 D177
func TestRandomCommands(t *testing.T) {
	for range 3 {
		rapid.Check(t, property(commands.Decide))
	}
}

// Each rule with a defect is found, and shrunk to a story that a reader can follow. (A history has up to a hundred commands
// before; shrinking is bounded in time.)
//
// spec: D177
func TestSeededDefectsAreFoundAndShrunk(t *testing.T) {
	if found, _ := seeded.Find(1, func(*rapid.T) {}); found {
		t.Fatal("what is not there is found")
	}
	defer flag.Set("rapid.shrinktime", "2s")
	_ = flag.Set("rapid.shrinktime", "6s")
	without := func(d commands.Decision, drop func(event.Payload) bool) commands.Decision {
		d.Events = slices.DeleteFunc(slices.Clone(d.Events), drop)
		return d
	}
	for name, decide := range map[string]decideFunc{
		"a cut turn leaves its input without a receipt": func(v *projections.View, typ string, b []byte, x event.Table, at commands.Stamp) commands.Decision {
			d := commands.Decide(v, typ, b, x, at)
			if typ != "response.cut" {
				return d
			}
			return without(d, func(p event.Payload) bool { _, ok := p.(*event.InputSettled); return ok })
		},
		"recovery lets a started call stand": func(v *projections.View, typ string, b []byte, x event.Table, at commands.Stamp) commands.Decision {
			d := commands.Decide(v, typ, b, x, at)
			if typ != "session.recover" {
				return d
			}
			return without(d, func(p event.Payload) bool { _, ok := p.(*event.CallSettled); return ok })
		},
		"a started call is started again": func(v *projections.View, typ string, b []byte, x event.Table, at commands.Stamp) commands.Decision {
			d := commands.Decide(v, typ, b, x, at)
			if typ == "call.start" && d.Refusal != nil && d.Refusal.Code == commands.CodeImpossible && len(v.Root.Calls.Open) > 0 && v.Root.Calls.Open[0].State.Is("started") {
				return commands.Decision{Events: []event.Payload{&event.CallStarted{ID: v.Root.Calls.Open[0].ID, Attempt: 1}}}
			}
			return d
		},
		"a decision changes the view": func(v *projections.View, typ string, b []byte, x event.Table, at commands.Stamp) commands.Decision {
			if typ == "turn.cancel" && v.Root.Turns.Active != nil {
				v.Root.Turns.Active.Cancelling = true
			}
			return commands.Decide(v, typ, b, x, at)
		},
		"a decision is no function of what it is given": func() decideFunc {
			n := 0
			return func(v *projections.View, typ string, b []byte, x event.Table, at commands.Stamp) commands.Decision {
				if n++; typ == "input.admit" {
					at.Command += fmt.Sprint(n)
				}
				return commands.Decide(v, typ, b, x, at)
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			found, story := seeded.Find(40, property(decide))
			if !found {
				t.Fatal("not found")
			}
			steps := strings.Count(story, "[rapid] draw action:")
			if steps == 0 || steps > 200 { // a run has hundreds; how far shrinking comes in its time depends on the machine
				t.Errorf("shrunk to %d commands:\n%s", steps, story)
			}
		})
	}
}
