package commands

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"reflect"
	"sort"
	"strconv"

	"zuno/journal/event"
	"zuno/projections"
)

// Stamp is all that a decision may know beside the view and the command.
type Stamp struct {
	At      int64  // milliseconds since the epoch, never less than that of the commit before
	Command string // the command's id
	Actor   string
	Commit  uint64 // the number that the commit will have
}

// ID derives an entity's id from the command and an ordinal, so that the same command always makes the same id.
func (s Stamp) ID(prefix string, ordinal int) string {
	return DeriveID(prefix, s.Command, strconv.Itoa(ordinal))
}

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// idLength is 60 bits: among a million ids of one session two would be alike once in some millions of sessions.
const idLength = 12

// DeriveID makes an id from what it depends on.
func DeriveID(prefix string, from ...string) string {
	b := make([]byte, 0, 128)
	for i := -1; i < len(from); i++ {
		f := prefix
		if i >= 0 {
			f = from[i]
		}
		b = strconv.AppendInt(b, int64(len(f)), 10)
		b = append(append(b, ':'), f...)
	}
	h := sha256.Sum256(b)
	return prefix + "_" + idEncoding.EncodeToString(h[:8])[:idLength]
}

// Decision is what a command causes: events, in order, or a refusal, or a refusal that is recorded by events.
type Decision struct {
	Events  []event.Payload
	Refusal *Refusal
}

// Refusal is a command that may not happen. Code is for machines; Reason and Next are for people.
type Refusal struct {
	Code   string
	Reason string
	Next   string // what to do instead; may be empty
}

func (r *Refusal) Error() string {
	if r.Next == "" {
		return r.Reason
	}
	return r.Reason + "; " + r.Next
}

// The codes of refusals.
const (
	CodeMalformed    = "malformed"     // the body cannot be read
	CodeUnknown      = "unknown"       // no such command, or no such entity
	CodeConflict     = "conflicting"   // the id is taken by another body
	CodeImpossible   = "impossible"    // the lifecycle has no such step
	CodeStale        = "stale"         // it speaks of something that has changed
	CodeNothing      = "nothing_to_do" // there is nothing that it could act upon
	CodeCorrupt      = "corrupt"       // the view is corrupt: nothing may be appended
	CodeInternal     = "internal"      // a defect of ours
	CodeEmpty        = "empty_input"
	CodeNotAdmitting = "not_admitting"

	CodeStopping      = "stopping"           // the turn is being stopped already
	CodeNoActiveTurn  = "no_active_turn"     // of a steer
	CodeTurnMismatch  = "turn_mismatch"      // of a steer: another turn runs than it names
	CodeNotSteerable  = "turn_not_steerable" // of a steer
	CodeInputsChanged = "inputs_changed"     // a request was made with inputs that do not wait any more
	CodeModelChanged  = "model_changed"      // a request was made for a model that is not the next turn's any more
	CodeWait          = "waiting"            // of a resume: a human or something outside is waited for
	CodeUncertain     = "uncertain_outcome"  // of a resume: the effect of a call is unknown
	CodeKeyless       = "no_key"             // of a resume: the provider has no key
	CodeBlocked       = "protected_gate"     // of a resume: it needs more than a resume
)

func refuse(code, reason string, a ...any) Decision {
	return Decision{Refusal: &Refusal{Code: code, Reason: fmt.Sprintf(reason, a...)}}
}

func events(e ...event.Payload) Decision { return Decision{Events: e} }

// Command is a pointer to a command's struct, registered with a rule.
type Command interface{ event.Payload }

// Rule decides one type of command.
type Rule struct {
	Type    string
	Version uint64
	make    func() Command
	decide  func(v *projections.View, c Command, at Stamp) Decision
}

type rules []*Rule

// rule binds a decision to its command's struct and its wire name.
func rule[T any, P interface {
	*T
	event.Payload
}](name string, version uint64, decide func(v *projections.View, c *T, at Stamp) Decision) *Rule {
	r := &Rule{
		Type: name, Version: version, make: func() Command { return P(new(T)) },
		decide: func(v *projections.View, c Command, at Stamp) Decision { return decide(v, (*T)(c.(P)), at) },
	}
	byGo[reflect.TypeFor[T]()] = r
	return r
}

var byGo = map[reflect.Type]*Rule{}

var byName = func() map[string]*Rule {
	m := map[string]*Rule{}
	for _, group := range []rules{sessionRules, inputRules, turnRules, callRules, permissionRules, controlRules, inspectRules, repairRules, forkRules} {
		for _, r := range group {
			if m[r.Type] != nil {
				panic("commands: two rules for " + r.Type)
			}
			m[r.Type] = r
		}
	}
	return m
}()

// Rules are all rules, by type.
func Rules() []*Rule {
	out := make([]*Rule, 0, len(byName))
	for _, r := range byName {
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Type < out[j].Type })
	return out
}

// RuleOf is the rule of a command's struct. It panics for a struct without one: a defect.
func RuleOf(c Command) *Rule {
	r := byGo[reflect.TypeOf(c).Elem()]
	if r == nil {
		panic(fmt.Sprintf("commands: no rule for %T", c))
	}
	return r
}

// RuleByName finds a rule by its command's type; nil when this build has none.
func RuleByName(name string) *Rule { return byName[name] }

// Decode reads a recorded body. Texts are references only.
func (r *Rule) Decode(payload []byte, texts event.Table) (Command, error) {
	c := r.make()
	if err := event.Decode(c, payload, texts, nil); err != nil {
		return nil, err
	}
	return c, nil
}

// Decide is the one place where anything is decided. It starts from the encoded body, live too, so that a replay
// cannot see another value. It leaves the view unchanged.
func Decide(v *projections.View, typ string, payload []byte, texts event.Table, at Stamp) Decision {
	r := byName[typ]
	if r == nil {
		return refuse(CodeUnknown, "no command %q in this build", typ)
	}
	c, err := r.Decode(payload, texts)
	if err != nil {
		return refuse(CodeMalformed, "command %s cannot be read: %v", typ, err)
	}
	if v.Corrupt != nil {
		d := refuse(CodeCorrupt, "the session's history is not consistent (%v)", v.Corrupt)
		d.Refusal.Next = "inspect it with `zuno journal show`, and go on in a new session"
		return d
	}
	return r.decide(v, c, at)
}
