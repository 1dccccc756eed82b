package commands_test

import (
	"testing"

	"zuno/commands"
	"zuno/journal/event"
)

// A fork is made before anything else happens in a session, names its source once, and takes nothing over that could
// permit anything.
//
// spec: D196
func TestWhatAForkRefuses(t *testing.T) {
	source := event.Forked{Session: "ses_source", Commit: 3}
	fresh := func() *owner {
		o := newOwner(t)
		o.must(&commands.OpenSession{Salt: event.NewText(string(o.salt)), Run: o.run.String(), Session: "ses_2", Cwd: event.NewText("/w")})
		return o
	}
	refused := func(name string, o *owner, c commands.Command, code string) {
		t.Helper()
		if d := o.do(c); d.Refusal == nil || d.Refusal.Code != code || len(d.Events) > 0 {
			t.Errorf("%s: %+v", name, d)
		}
	}
	refused("no session", newOwner(t), &commands.ForkSession{Source: source}, commands.CodeUnknown)
	begun := newOwner(t).create()
	refused("a session that has begun", begun, &commands.ForkSession{Source: source}, commands.CodeImpossible)
	refused("no fork", begun, &commands.CloseFork{}, commands.CodeImpossible)
	o := fresh()
	refused("no source", o, &commands.ForkSession{}, commands.CodeImpossible)
	refused("nothing in an item", o, &commands.ForkSession{Source: source, Items: make([]commands.ForkItem, 1)}, commands.CodeMalformed)
	two := commands.ForkItem{Titled: &event.Titled{Title: event.NewText("x")}, Notice: &event.NoticeRaised{ID: "note_1"}}
	refused("two things in an item", o, &commands.ForkSession{Source: source, Items: []commands.ForkItem{two}}, commands.CodeMalformed)
	allowed := commands.ForkItem{Call: &event.CallRequested{ID: "call_1", Permission: event.Allow}}
	refused("a permission", o, &commands.ForkSession{Source: source, Items: []commands.ForkItem{allowed}}, commands.CodeMalformed)
	o.must(&commands.ForkSession{Source: source})
	refused("the source twice", o, &commands.ForkSession{Source: source}, commands.CodeImpossible)
	refused("nothing in flight", o, &commands.CloseFork{}, commands.CodeNothing)
	for _, p := range []event.Payload{
		&event.PolicyResolved{}, &event.PermissionAsked{}, &event.PermissionAnswered{}, &event.ControlRequested{}, &event.Opened{}, &event.Created{},
		&event.SectionResolved{}, &event.CatalogueResolved{}, &event.Forked{},
	} {
		if _, ok := commands.ForkedEvent(p); ok {
			t.Errorf("a fork takes over %T", p)
		}
	}
}
