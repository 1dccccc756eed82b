package event

import "zuno/journal"

// Session is what happens to a session as a whole.
var Session = Group{
	Of[Opened]("session.opened.1"),
	Of[Created]("session.created.1"),
	Of[Titled]("session.titled.1"),
}

// Opened says that a process took the session's lock: it begins a run. Its commit is the run's first.
type Opened struct {
	Run   string `msgpack:"run" json:"run"`     // ULID, as in each commit of the run
	Build string `msgpack:"build" json:"build"` // the executable's own build id
}

// Created is the first thing that ever happens to a root session. It binds it to an installation.
type Created struct {
	Session      string `msgpack:"session" json:"session"`
	Installation string `msgpack:"installation" json:"installation"`
	Cwd          Text   `msgpack:"cwd" json:"cwd"`
	Worktree     Text   `msgpack:"worktree" json:"worktree"`
}

// Titled gives the session a title.
type Titled struct {
	Title Text `msgpack:"title" json:"title"`
}

// Policies is what the session resolved from configuration and registry: all that a decision or a rebuilt request needs.
var Policies = Group{
	Of[PolicyResolved]("session.policy.resolved.1"),
	Of[SectionResolved]("session.prompt.section.1"),
	Of[CatalogueResolved]("session.catalogue.resolved.1"),
}

// PolicyResolved is the effective policy. It is committed when it differs from the last.
type PolicyResolved struct {
	Policy Policy `msgpack:"policy" json:"policy"`
}

// SectionResolved is a section of the prompt, committed when its text changes.
type SectionResolved struct {
	ID   string `msgpack:"id" json:"id"`
	Text Text   `msgpack:"text" json:"text"`
}

// CatalogueResolved is what the model is told of the tools, committed when it changes.
type CatalogueResolved struct {
	Tools []ToolEntry `msgpack:"tools" json:"tools"`
}

// ToolEntry is one tool of a catalogue.
type ToolEntry struct {
	Name         string       `msgpack:"name" json:"name"`
	Description  Text         `msgpack:"description" json:"description"`
	Schema       Text         `msgpack:"schema" json:"schema"`
	SchemaDigest journal.Hash `msgpack:"schema_digest" json:"schema_digest"` // SHA-256 of the schema's bytes
	Declaration  Declaration  `msgpack:"declaration" json:"declaration"`
}
