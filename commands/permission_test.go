package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"zuno/commands"
	"zuno/journal/event"
)

func find[T event.Payload](events []event.Payload) (all []T) {
	for _, e := range events {
		if x, ok := e.(T); ok {
			all = append(all, x)
		}
	}
	return all
}

// asks ends the open request with calls that ask; each is "tool resource", and one that begins with "!" may not be reused.
func (o *owner) asks(calls ...string) (requested []*event.CallRequested) {
	r := o.root().Turns.Active.Request
	c := &commands.CompleteResponse{Request: r.ID, Attempt: r.Attempt, Finish: "tool_calls"}
	for i, what := range calls {
		what, once := strings.CutPrefix(what, "!")
		tool, resource, _ := strings.Cut(what, " ")
		c.Calls = append(c.Calls, commands.ResolvedCall{
			ID: commands.DeriveID("call", r.ID, fmt.Sprint(i)), Tool: tool, Args: event.NewText(`{"n":` + fmt.Sprint(o.sent) + `}`),
			Permission: event.Ask, Rule: event.NewText("default"), Reusable: !once, Declaration: event.Declaration{}.WithDefaults(),
			Accesses: []event.Access{{Kind: event.AccessExecute, Place: event.PlaceNone, Name: event.NewText(resource)}},
		})
	}
	return find[*event.CallRequested](o.must(c))
}

// settleAll ends what is open, so that the next response can come.
func (o *owner) settleAll() {
	for len(o.root().Calls.Open) > 0 {
		c := o.root().Calls.Open[0]
		if c.State.Is("requested") && c.Permission == event.Ask {
			p := find[*event.PermissionAsked](o.must(&commands.AskPermission{Call: c.ID}))
			o.must(&commands.AnswerPermission{Permission: p[0].ID, Verdict: event.VerdictReject, Option: event.OptionRejectOnce})
			continue
		}
		o.must(&commands.StartCall{ID: c.ID, Attempt: 1})
		o.must(&commands.SettleCall{ID: c.ID, Attempt: 1, Outcome: event.OutcomeOK})
	}
	t := o.root().Turns.Active
	o.must(&commands.StartRequest{Turn: t.ID, Number: t.Requests + 1, Attempt: 1})
}

// An answer for the session stands for every later call of the same tool with the same resources, also in a later run, and for
// no other. Calls of the same response that wait for the same question are answered by it.
//
// spec: D265
func TestGrantForTheSession(t *testing.T) {
	o := newOwner(t).create()
	o.admit()
	o.begin()
	calls := o.asks("shell make", "shell make test", "shell make")
	asked := find[*event.PermissionAsked](o.must(&commands.AskPermission{Call: calls[0].ID}))
	out := o.must(&commands.AnswerPermission{Permission: asked[0].ID, Verdict: event.VerdictAllow, Option: event.OptionAllowSession})
	answers := find[*event.PermissionAnswered](out)
	if len(answers) != 2 || !answers[0].Session || answers[0].Option != event.OptionAllowSession || answers[1].Call != calls[2].ID || answers[1].Grant != asked[0].ID || answers[1].Session {
		t.Fatalf("answered %+v", answers)
	}
	if d := o.do(&commands.StartCall{ID: calls[1].ID, Attempt: 1}); d.Refusal == nil {
		t.Error("another command was covered")
	}
	o.settleAll()
	check := func(when string) {
		t.Helper()
		again := o.asks("shell make", "write make", "shell make ", "!shell make")
		if again[0].Permission != event.Allow || !strings.Contains(again[0].Rule.String(), asked[0].ID) {
			t.Errorf("%s: the equal call is %s by %q", when, again[0].Permission, again[0].Rule.String())
		}
		for _, c := range again[1:] {
			if c.Permission != event.Ask {
				t.Errorf("%s: %s is %s by %q", when, c.Tool, c.Permission, c.Rule.String())
			}
		}
		o.settleAll()
	}
	check("in the same run")
	o.reopen()
	o.admit()
	o.begin()
	check("after a restart")
}

// What is not on offer cannot be chosen: an answer for the session about a call that may not be reused is a denial, recorded as
// unrecognized.
//
// spec: D265
func TestGrantThatWasNotOffered(t *testing.T) {
	o := newOwner(t).create()
	o.admit()
	o.begin()
	calls := o.asks("!shell make")
	asked := find[*event.PermissionAsked](o.must(&commands.AskPermission{Call: calls[0].ID}))
	out := o.must(&commands.AnswerPermission{Permission: asked[0].ID, Verdict: event.VerdictAllow, Option: event.OptionAllowSession})
	if a := find[*event.PermissionAnswered](out); len(a) != 1 || a[0].Verdict != event.VerdictUnrecognized || a[0].Session {
		t.Errorf("answered %+v", a)
	}
	if b := find[*event.CallBlocked](out); len(b) != 1 || b[0].Kind != event.Denied {
		t.Errorf("blocked %+v", b)
	}
	if n := len(o.root().Permissions.Grants); n != 0 {
		t.Errorf("%d grants", n)
	}
}

// The answer to a question whose process died is recorded and touches nothing; it may still be a grant for what comes.
//
// spec: D267
func TestLateAnswerIsRecorded(t *testing.T) {
	for option, wanted := range map[string]struct {
		verdict event.Verdict
		grants  int
	}{
		event.OptionAllowOnce:    {event.VerdictAllow, 0},
		event.OptionAllowSession: {event.VerdictAllow, 1},
		event.OptionRejectOnce:   {event.VerdictReject, 0},
	} {
		o := newOwner(t).create()
		o.admit()
		o.begin()
		calls := o.asks("shell make")
		asked := find[*event.PermissionAsked](o.must(&commands.AskPermission{Call: calls[0].ID}))
		o.reopen()
		if p := o.root().Permissions.Pending; len(p) != 1 || !p[0].Abandoned || len(o.root().Calls.Open) != 0 {
			t.Fatalf("pending %+v", p)
		}
		out := o.must(&commands.AnswerPermission{Permission: asked[0].ID, Verdict: wanted.verdict, Option: option})
		if len(out) != 1 || len(o.root().Permissions.Pending) != 0 || len(o.root().Permissions.Grants) != wanted.grants {
			t.Errorf("%s: %d events, %d pending, %d grants", option, len(out), len(o.root().Permissions.Pending), len(o.root().Permissions.Grants))
		}
	}
}
