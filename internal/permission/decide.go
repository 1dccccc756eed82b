package permission

import (
	"strings"

	"zuno/journal/event"
)

// Access is a resource that a call wants to touch. Name is an absolute, resolved path, or the command text of an
// AccessExecute.
type Access struct {
	Kind  event.AccessKind
	Place event.Place
	Name  string
}

// Actions that only the rules of a resolved policy hold; no configuration file can spell them. They exist because a
// flat list in which the last match wins cannot say "narrower than what was there" or "only what would ask".
const (
	// NarrowAsk and NarrowDeny are the rules of a project file: they take away from what the layers below decide and
	// never give. Among themselves the last match wins; an ordinary rule after them settles the matter anew.
	NarrowAsk  event.Action = "narrow_ask"
	NarrowDeny event.Action = "narrow_deny"
	// AllowAsked is a flag's permission for one run: it turns a question into consent and leaves denials alone.
	AllowAsked event.Action = "allow_asked"
)

// Verdict is a decision: Allow, Ask or Deny.
type Verdict struct {
	Action event.Action
	// Rule says what decided, in words that hold neither a path nor a command of the call: `rule "shell": allow`,
	// `default: shell asks`, `mode strict: every side effect asks`.
	Rule string
	// Reason is a sentence for people about a denial; where nobody was there to be asked, it holds the configuration
	// line and the flag that would allow the call. Empty unless Action is Deny.
	Reason string
}

// Key is the name under which permission.rules speak of a tool: `edit` for every tool that changes files by text, the
// tool's own name otherwise.
func Key(tool string) string {
	switch tool {
	case "write", "apply_patch", "edit":
		return "edit"
	}
	return tool
}

// Decide says whether a call of tool runs. Of a call with several accesses the narrowest decision counts. A mode that
// it does not know is treated as strict.
//
// What a call writes to .git asks even where a rule allows every edit, as git runs what is configured there; it takes a
// rule that speaks of .git.
//
// Until commands are judged by their syntax tree, a command with operators or substitutions is never allowed by a
// pattern, and asks where a narrower pattern could cover one of its parts.
func Decide(p event.Policy, tool string, d event.Declaration, accesses []Access) Verdict {
	d = d.WithDefaults()
	c := call{tool: tool, key: Key(tool), rules: p.Rules}
	found := c.whole(d, accesses)
	for i := range accesses {
		if f := c.access(&accesses[i]); rank(f.action()) > rank(found.action()) {
			found = f
		}
	}

	v := Verdict{Action: found.action(), Rule: found.String()}
	standard, strict := v.Action, false
	switch p.Mode {
	case event.ModeStandard, "":
	case event.ModeAllowAll:
		if v.Action == event.Ask {
			v = Verdict{Action: event.Allow, Rule: "mode allow_all"}
		}
	default:
		if v.Action != event.Deny && (d.Effect == event.SideEffecting || d.Effect == event.Delegating) {
			v, strict = Verdict{Action: event.Ask, Rule: "mode strict: every side effect asks"}, true
		}
	}
	switch {
	case v.Action == event.Ask && p.Headless:
		v.Action = event.Deny
		v.Reason = c.unanswered(v.Rule, strict, standard)
	case v.Action == event.Deny:
		v.Reason = tool + " is denied by " + v.Rule
	}
	return v
}

type call struct {
	tool, key string
	rules     []event.Rule
	narrowed  bool     // a project's rule speaks of an access, so that a lower layer cannot allow the call
	asking    []string // names of the accesses that ask
	git       bool     // one of them lies in .git, where a rule for the whole tool does not reach
}

// whole judges the call itself where its accesses do not: a call without any, or one whose declared effect no access
// accounts for. What is not known to be harmless asks.
func (c *call) whole(d event.Declaration, accesses []Access) finding {
	effect := d.Effect == event.SideEffecting || d.Effect == event.Delegating
	for i := range accesses {
		if accesses[i].Kind != event.AccessRead {
			effect = false
		}
	}
	if len(accesses) > 0 && !effect {
		return finding{}
	}
	standard := finding{byDefault: event.Allow, text: "default: " + c.key + " runs"}
	if effect {
		standard = finding{byDefault: event.Ask, text: "default: " + c.key + " asks"}
	}
	return c.fold(standard, nil, &Access{})
}

// access judges one access.
func (c *call) access(a *Access) finding {
	f := c.fold(c.byDefault(a), newSubject(a.Name), a)
	if f.action() == event.Ask {
		c.asking = append(c.asking, a.Name)
		c.git = c.git || a.Place == event.PlaceGit
	}
	return f
}

func (c *call) byDefault(a *Access) finding {
	switch {
	case a.Kind == event.AccessExecute:
		return finding{byDefault: event.Ask, text: "default: " + c.key + " asks"}
	case a.Place == event.PlaceGit && a.Kind == event.AccessWrite:
		return finding{byDefault: event.Ask, text: "default: writing to .git asks, as git runs what is configured there"}
	case a.Place == event.PlaceSecret:
		return finding{byDefault: event.Ask, text: "default: secret files ask"}
	case a.Place == event.PlaceOutside:
		return finding{byDefault: event.Ask, text: "default: paths outside the worktree ask"}
	case a.Place == event.PlaceInside && a.Kind == event.AccessRead:
		return finding{byDefault: event.Allow, text: "default: reading inside the worktree runs"}
	case a.Place == event.PlaceInside && a.Kind == event.AccessWrite:
		return finding{byDefault: event.Allow, text: "default: writing inside the worktree runs"}
	}
	return finding{byDefault: event.Ask, text: "default: an unknown resource asks"}
}

// fold runs the rules over a default, in their order. A nil name is the call as a whole, which no pattern but `*`
// covers.
func (c *call) fold(standard finding, name *subject, a *Access) finding {
	command := a.Kind == event.AccessExecute
	compound := command && !plain(name.text)
	decided, narrowed, doubt, waived := standard, (*event.Rule)(nil), (*event.Rule)(nil), (*event.Rule)(nil)
	for i := range c.rules {
		r := &c.rules[i]
		if r.Action == AllowAsked {
			if covers(Key(r.Tool), c.key) {
				waived = r
			}
			continue
		}
		if !covers(r.Tool, c.key) {
			continue
		}
		narrowing := r.Action != event.Allow
		if !reaches(r.Pattern, name, narrowing && !command) {
			if compound && narrowing {
				doubt = r
			}
			continue
		}
		switch {
		case r.Action == NarrowAsk || r.Action == NarrowDeny:
			narrowed = r
		case !narrowing && compound && r.Pattern != "" && r.Pattern != "*":
		case !narrowing && a.Place == event.PlaceGit && !speaksOfGit(r.Pattern, name.text):
			if decided.action() != event.Allow {
				decided = standard
			}
			narrowed, doubt = nil, nil
		default:
			decided, narrowed, doubt = finding{rule: r}, nil, nil
		}
	}
	c.narrowed = c.narrowed || narrowed != nil
	f := decided
	if narrowed != nil && rank(plainAction(narrowed.Action)) > rank(f.action()) {
		f = finding{rule: narrowed}
	}
	if doubt != nil && f.action() == event.Allow {
		f = finding{rule: doubt, doubtful: true}
	}
	if waived != nil && f.action() == event.Ask {
		f = finding{rule: waived}
	}
	return f
}

// covers says whether a rule's tool key speaks of a key.
func covers(tool, key string) bool {
	return tool == key || strings.IndexByte(tool, '*') >= 0 && Match(tool, key)
}

// reaches says whether a pattern covers a name. A narrowing rule for paths reaches further than one that allows: its
// relative pattern also covers the tail of an absolute path.
func reaches(pattern string, name *subject, further bool) bool {
	switch {
	case pattern == "" || pattern == "*":
		return true
	case name == nil:
		return false
	case name.match(pattern):
		return true
	}
	return further && pattern[0] != '/' && pattern[0] != '*' && name.match("*/"+pattern)
}

// speaksOfGit says that a pattern means what lies in .git: it has that name in it, or is the whole path. Who allows all
// edits has not thought of the ones that git will run.
func speaksOfGit(pattern, name string) bool {
	return strings.Contains(strings.ToLower(pattern), ".git") || strings.ReplaceAll(pattern, `\`, "/") == name
}

// plain says that a command is one simple command at first sight: it holds nothing that could start another. A quoted
// operator counts as one, to be on the safe side.
func plain(command string) bool {
	return !strings.ContainsAny(command, "\n\r;|&$`<>()")
}

// finding is what decided about one access: a rule, or a default.
type finding struct {
	rule      *event.Rule
	doubtful  bool // the rule may cover a part of the command
	byDefault event.Action
	text      string
}

func (f finding) action() event.Action {
	switch {
	case f.doubtful:
		return event.Ask
	case f.rule != nil:
		return plainAction(f.rule.Action)
	}
	return f.byDefault
}

func plainAction(a event.Action) event.Action {
	switch a {
	case event.Allow, AllowAsked:
		return event.Allow
	case event.Deny, NarrowDeny:
		return event.Deny
	}
	return event.Ask
}

func rank(a event.Action) int {
	switch a {
	case event.Allow:
		return 1
	case event.Ask:
		return 2
	case event.Deny:
		return 3
	}
	return 0 // no finding yet
}
