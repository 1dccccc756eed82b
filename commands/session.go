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
	rule("session.close", 1, closeRun),
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
