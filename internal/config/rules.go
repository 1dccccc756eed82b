package config

import (
	"path/filepath"
	"slices"
	"strings"

	"zuno/journal/event"
)

// Actions of a resolved policy that no file can spell; zuno/internal/permission says what they mean.
const (
	narrowAsk  event.Action = "narrow_ask"
	narrowDeny event.Action = "narrow_deny"
	allowAsked event.Action = "allow_asked"
)

// mergeRules is the merged permission.rules. What the user wrote merges as objects do, except that a key or pattern which
// a higher layer sets again moves to the end: of several rules that match, the higher layer's decides. What a project
// wrote replaces nothing and narrows only.
func mergeRules(docs []*node, home string) []event.Rule {
	var list []event.Rule
	for _, doc := range docs {
		rules := doc.get("permission").get("rules")
		if rules == nil {
			continue
		}
		own := rulesOf(rules, home)
		if !doc.src.project {
			list = slices.DeleteFunc(list, replacedBy(own))
		}
		list = append(list, own...)
	}
	return list
}

// rulesOf flattens the rules of one document.
func rulesOf(rules *node, home string) []event.Rule {
	var list []event.Rule
	for _, m := range rules.members {
		if m.value.kind == kindText {
			list = append(list, event.Rule{Tool: m.key, Action: actionOf(m.value)})
		}
		for _, p := range m.value.members {
			if p.value.kind == kindNull {
				continue
			}
			pattern := p.key
			if m.key != "shell" {
				pattern = fromHome(pattern, home)
			}
			list = append(list, event.Rule{Tool: m.key, Pattern: pattern, Action: actionOf(p.value)})
		}
	}
	return list
}

// replacedBy says which rules of lower layers the rules of a higher one replace: a text replaces whatever its key held,
// a pattern replaces the same pattern and the text that stood in the place of patterns.
func replacedBy(higher []event.Rule) func(event.Rule) bool {
	whole, patterns := map[string]bool{}, map[event.Rule]bool{}
	for _, r := range higher {
		if r.Pattern == "" {
			whole[r.Tool] = true
			continue
		}
		patterns[event.Rule{Tool: r.Tool, Pattern: r.Pattern}] = true
		patterns[event.Rule{Tool: r.Tool}] = true
	}
	return func(r event.Rule) bool {
		return whole[r.Tool] || patterns[event.Rule{Tool: r.Tool, Pattern: r.Pattern}]
	}
}

func actionOf(n *node) event.Action {
	a := event.Action(n.text)
	if !n.src.project {
		return a
	}
	if a == event.Deny {
		return narrowDeny
	}
	return narrowAsk
}

// fromHome writes out the home folder in front of a path pattern.
func fromHome(pattern, home string) string {
	for _, sign := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(pattern, sign); ok && home != "" && (rest == "" || rest[0] == '/') {
			return filepath.ToSlash(home) + rest
		}
	}
	return pattern
}
