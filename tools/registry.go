package tools

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"zuno/journal/event"
)

// Block says why a call was refused before anything happened.
type Block string

// The blocks that resolving can raise. (A denial is raised by whoever permits.)
const (
	InvalidArguments Block = "invalid_arguments"
	Unavailable      Block = "unavailable"
)

// Blocked is a call that never ran. Message is for the model: it is short, names the argument and says what to do.
type Blocked struct {
	Kind    Block
	Message string
}

// Invalid blocks a call for its arguments.
func Invalid(format string, args ...any) *Blocked {
	return &Blocked{Kind: InvalidArguments, Message: clip(fmt.Sprintf(format, args...), messageBytes)}
}

// Spec describes a tool whose arguments are the struct A. A field's json tag gives its name, omitempty makes it
// optional; a jsonschema tag is its description, a minimum tag its least value. A must not have a field named intent.
type Spec[A any] struct {
	Name        string // lower case letters, digits and _
	Description string // what the model is told
	// Declaration holds three independent statements; what is left empty is SideEffecting, Never, Exclusive.
	Declaration event.Declaration
	// Narrow may declare one call differently after its arguments were validated; nil keeps Declaration. It may not
	// look at anything but the arguments.
	Narrow func(A) event.Declaration
	// Prepare turns valid arguments into a call that can be permitted and run. It fills all but Declaration and Intent.
	// It has no effect, and does no I/O that could wait for anyone: no open, no read. (A search asks its program about a
	// pattern, which no one else can judge: with nothing to read, and a deadline.)
	Prepare func(Where, A) (Prepared, *Blocked)
}

// Entry is a tool as the model is told of it.
type Entry struct {
	Name         string
	Description  string
	Schema       []byte   // compact JSON, the same bytes in every process of one build; not to be changed
	SchemaDigest [32]byte // SHA-256 of Schema
	Declaration  event.Declaration
}

// Registry holds the tools. Registering is done before it is shared; everything else is safe for concurrent use.
type Registry struct {
	tools map[string]*tool
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{tools: map[string]*tool{}} }

type tool struct {
	name, description string
	declaration       event.Declaration
	schema            func() *schema // made at first use: a process that calls no tool does not pay for it
	prepare           func(Where, []byte) (Prepared, *Blocked)
}

// isToolName takes up to 64 lower case letters, digits and _, a letter first. Every start asks it, so it is no regular expression.
func isToolName(s string) bool {
	return s != "" && len(s) <= 64 && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Register enters a tool. It panics on what only a programmer can get wrong: a bad or repeated name, no Prepare.
// A struct that has no schema panics at first use; a test of the tool's package holds it.
func Register[A any](r *Registry, s Spec[A]) {
	switch {
	case !isToolName(s.Name):
		panic(fmt.Sprintf("tools: bad name %q", s.Name))
	case r.tools[s.Name] != nil:
		panic(fmt.Sprintf("tools: %q registered twice", s.Name))
	case s.Prepare == nil:
		panic(fmt.Sprintf("tools: %q cannot be prepared", s.Name))
	}
	declared := s.Declaration.WithDefaults()
	r.tools[s.Name] = &tool{
		name:        s.Name,
		description: s.Description,
		declaration: declared,
		schema:      sync.OnceValue(func() *schema { return schemaOf[A](s.Name) }),
		prepare: func(w Where, encoded []byte) (Prepared, *Blocked) {
			var args A
			if blocked := decode(encoded, &args); blocked != nil {
				return Prepared{}, blocked
			}
			p, blocked := s.Prepare(w, args)
			if blocked != nil {
				return Prepared{}, blocked
			}
			p.Declaration = declared
			if s.Narrow != nil {
				p.Declaration = s.Narrow(args).WithDefaults()
			}
			return p, nil
		},
	}
}

// Resolve validates a call as the model made it and prepares it. Nothing has happened when it returns.
func (r *Registry) Resolve(w Where, name, args string) (Prepared, *Blocked) {
	t := r.tools[name]
	if t == nil {
		return Prepared{}, &Blocked{Kind: Unavailable, Message: fmt.Sprintf(
			"There is no tool %q. Call one of: %s.", clip(name, 64), strings.Join(r.Names(), ", "))}
	}
	checked, blocked := t.schema().check(args)
	if blocked != nil {
		blocked.Message = t.name + ": " + blocked.Message
		return Prepared{}, blocked
	}
	p, blocked := t.prepare(w, checked.encoded)
	if blocked != nil {
		blocked.Message = t.name + ": " + blocked.Message
		return Prepared{}, blocked
	}
	p.Intent = checked.intent
	return p, nil
}

// Names lists the registered tools in order.
func (r *Registry) Names() []string {
	names := make([]string, 0, len(r.tools))
	for name := range r.tools {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Catalogue lists the tools ordered by name.
func (r *Registry) Catalogue() []Entry {
	entries := make([]Entry, 0, len(r.tools))
	for _, t := range r.tools {
		encoded := t.schema().encoded
		entries = append(entries, Entry{
			Name: t.name, Description: t.description,
			Schema: encoded, SchemaDigest: sha256.Sum256(encoded),
			Declaration: t.declaration,
		})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries
}
