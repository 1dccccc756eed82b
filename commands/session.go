package commands

import (
	"zuno/journal/event"
	"zuno/projections"
)

// OpenSession begins a run. The first one also creates the session; its salt is the journal's first text.
type OpenSession struct {
	Salt         event.Text `msgpack:"salt"` // first: its place in the table is 0
	Run          string     `msgpack:"run"`
	Build        string     `msgpack:"build"`
	Session      string     `msgpack:"session"` // set when it is created
	Installation string     `msgpack:"installation"`
	Cwd          event.Text `msgpack:"cwd"`
	Worktree     event.Text `msgpack:"worktree"`
}

// RecoverSession settles what earlier runs left behind, before anything else happens in a run.
type RecoverSession struct {
	Run string `msgpack:"run"`
}

// ResolvePolicy records the effective policy.
type ResolvePolicy struct {
	Policy event.Policy `msgpack:"policy"`
}

// ResolveContext records the prompt's sections and the tool catalogue.
type ResolveContext struct {
	Sections []event.SectionResolved `msgpack:"sections"`
	Tools    []event.ToolEntry       `msgpack:"tools"`
}

var sessionRules = rules{
	rule("session.open", 1, openSession),
	rule("session.recover", 1, recoverSession),
	rule("policy.resolve", 1, resolvePolicy),
	rule("context.resolve", 1, resolveContext),
}

func openSession(v *projections.View, c *OpenSession, at Stamp) Decision {
	opened := &event.Opened{Run: c.Run, Build: c.Build}
	switch {
	case v.ID == "" && c.Session == "":
		return refuse(CodeUnknown, "the session has not been created")
	case v.ID != "" && c.Session != "":
		return refuse(CodeImpossible, "session %s exists", v.ID)
	case c.Session == "":
		return events(opened)
	}
	return events(opened, &event.Created{Session: c.Session, Installation: c.Installation, Cwd: c.Cwd, Worktree: c.Worktree})
}

// recoverSession: a started effect of an earlier run is uncertain, or merely interrupted when its recorded
// declaration says that it was safe; its turn is over, and so is what the turn had taken. Nothing of it is started again.
func recoverSession(v *projections.View, c *RecoverSession, at Stamp) Decision {
	s := v.Root
	t := s.Turns.Active
	if t == nil {
		return recoverQueue(s, at)
	}
	if t.Run == v.Run.ID {
		return refuse(CodeNothing, "no earlier run left anything behind")
	}
	var out []event.Payload
	var what string
	for _, call := range s.Calls.Open {
		switch {
		case call.State.Is("started") && call.Declaration.Replay == event.ReplaySafe:
			out = append(out, &event.CallSettled{
				ID: call.ID, Attempt: call.Attempt, Outcome: event.OutcomeError, Class: "interrupted",
				Text: event.NewText("The agent stopped while this ran. It changes nothing, so it may simply be called again."),
			})
		case call.State.Is("started"):
			what = call.ID
			out = append(out, &event.CallSettled{
				ID: call.ID, Attempt: call.Attempt, Outcome: event.OutcomeUncertain, Class: "interrupted",
				Text: event.NewText("The agent stopped while this ran: its effect may have happened in full, in part or not at all. Inspect the state that it would have changed before any new mutation; do not simply run it again."),
			})
		case call.State.Is("asking"): // a question that is pending stays so: it is put again, and its answer is recorded
			out = append(out, &event.CallAbandoned{ID: call.ID, Reason: event.BlockInterrupted})
		default:
			out = append(out, closeUnstarted(s, call, event.BlockInterrupted)...)
		}
	}
	fault := event.Failure{Code: "interrupted", Reason: event.NewText("the agent's process ended while this ran")}
	if r := t.Request; r != nil && r.Open {
		out = append(out, &event.ResponseCut{Request: r.ID, Attempt: r.Attempt, Reason: event.CutInterrupted, Entry: r.Entry, Conditional: r.Whether})
	}
	out = append(out, endTurn(s, t, "failed", "", fault)...)
	waiting := uint64(0)
	for _, in := range s.Inputs.Open {
		if in.Turn != t.ID {
			waiting++
		}
	}
	out = append(out, interruptedNotice(at, t.ID, what, waiting))
	return Decision{Events: out}
}

// recoverQueue tells, once, of inputs that an earlier run admitted and never took. They keep their place.
func recoverQueue(s *projections.Session, at Stamp) Decision {
	n := len(s.Inputs.Open)
	if n == 0 || s.Inputs.Open[n-1].Sequence < s.Notices.Interrupted {
		return refuse(CodeNothing, "no earlier run left anything behind that was not told")
	}
	return events(interruptedNotice(at, "", "", uint64(n)))
}

func resolvePolicy(v *projections.View, c *ResolvePolicy, at Stamp) Decision {
	if v.PolicySet && samePolicy(&v.Policy, &c.Policy) {
		return refuse(CodeNothing, "the policy is unchanged")
	}
	return events(&event.PolicyResolved{Policy: c.Policy})
}

func samePolicy(a, b *event.Policy) bool {
	if len(a.Rules) != len(b.Rules) {
		return false
	}
	for i := range a.Rules {
		if a.Rules[i] != b.Rules[i] {
			return false
		}
	}
	return a.Agent == b.Agent && a.Mode == b.Mode && a.Headless == b.Headless && a.Model == b.Model && a.Shell == b.Shell && a.Concurrency == b.Concurrency && a.Retry == b.Retry && a.Chosen == b.Chosen
}

func resolveContext(v *projections.View, c *ResolveContext, at Stamp) Decision {
	var out []event.Payload
	for i := range c.Sections {
		if !sectionStands(v, &c.Sections[i]) {
			out = append(out, &c.Sections[i])
		}
	}
	if !sameCatalogue(v.Catalogue, c.Tools) {
		out = append(out, &event.CatalogueResolved{Tools: c.Tools})
	}
	if len(out) == 0 {
		return refuse(CodeNothing, "sections and tools are unchanged")
	}
	return Decision{Events: out}
}

func sectionStands(v *projections.View, s *event.SectionResolved) bool {
	for i := range v.Sections {
		if v.Sections[i].ID == s.ID {
			return v.Sections[i].Text.Digest == s.Text.Digest
		}
	}
	return false
}

func sameCatalogue(a, b []event.ToolEntry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Name != y.Name || x.Description.Digest != y.Description.Digest || x.SchemaDigest != y.SchemaDigest || x.Declaration != y.Declaration {
			return false
		}
	}
	return true
}
