package config

import (
	"strconv"
	"strings"

	"zuno/journal/event"
)

// shape is what a value may be: an object with fixed keys, an object with any keys, a leaf, or a leaf or an object.
type shape struct {
	fields map[string]*shape
	each   func(key string) *shape
	leaf   func(n *node) (problem string)
}

// Bounds of numbers.
const (
	maxCeilingMS = 24 * 60 * 60 * 1000 // one day, in milliseconds
	maxTokens    = 1_000_000_000
)

// providerTypes are the provider types of this build with the keys of their options.
var providerTypes = map[string]*shape{
	Scripted: {fields: map[string]*shape{"script": {leaf: isFilledText}}},
}

// rootShape is the whole document. The keys of a provider's options depend on its type, which another layer may name.
func rootShape(types map[string]string) *shape {
	tokens := &shape{leaf: isWhole(1, maxTokens)}
	limits := &shape{fields: map[string]*shape{"limit": {fields: map[string]*shape{"context": tokens, "output": tokens}}}}
	action := &shape{leaf: isAction}
	return &shape{fields: map[string]*shape{
		"model": {leaf: isModel},
		"permission": {fields: map[string]*shape{
			"mode": {leaf: isMode},
			"rules": {each: func(string) *shape {
				return &shape{leaf: isAction, each: func(string) *shape { return action }}
			}},
		}},
		"provider": {each: func(id string) *shape {
			return &shape{fields: map[string]*shape{
				"type":    {leaf: isFilledText},
				"options": providerTypes[types[id]], // nil: the type is refused, so its options do not matter
				"models":  {each: func(string) *shape { return limits }},
			}}
		}},
		"shell": {fields: map[string]*shape{"hard_ceiling_ms": {leaf: isWhole(1, maxCeilingMS)}}},
	}}
}

// checker walks a document and collects what is wrong with it.
type checker struct {
	unknown []Place
	invalid *Error // the first
}

func (c *checker) walk(n *node, s *shape, path string) {
	switch {
	case s == nil || n.kind == kindNull:
	case n.kind == kindObject && (s.fields != nil || s.each != nil):
		for i := range n.members {
			c.member(&n.members[i], n, s, path)
		}
	case s.leaf != nil:
		if problem := s.leaf(n); problem != "" {
			c.refuse(n, path, problem)
		}
	default:
		c.refuse(n, path, "must be an object, not "+n.kind.String())
	}
}

func (c *checker) member(m *member, n *node, s *shape, path string) {
	key := join(path, m.key)
	if s.each != nil {
		if m.key == "" {
			c.refuse(n, path, "has an empty key")
			return
		}
		c.walk(m.value, s.each(m.key), key)
		return
	}
	field, ok := s.fields[m.key]
	if !ok {
		c.unknown = append(c.unknown, Place{File: n.src.name, Line: m.line, Key: key})
		return
	}
	c.walk(m.value, field, key)
}

func (c *checker) refuse(n *node, path, problem string) {
	if c.invalid == nil {
		c.invalid = &Error{
			Code: InvalidValue, What: path + " " + problem, Places: []Place{n.at(path)},
			Fix: "correct the value or remove the key",
		}
	}
}

// join makes a dotted path; a key that is not a plain word is quoted.
func join(path, key string) string {
	for _, r := range key {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			key = quoted(key)
			break
		}
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func isFilledText(n *node) string {
	switch {
	case n.kind != kindText:
		return "must be a string, not " + n.kind.String()
	case n.text == "":
		return "must not be empty"
	}
	return ""
}

func isModel(n *node) string {
	if problem := isFilledText(n); problem != "" {
		return problem
	}
	if _, _, ok := splitModel(n.text); !ok {
		return `must be "provider/model", not ` + quoted(n.text)
	}
	return ""
}

func isMode(n *node) string {
	return oneOf(n, event.ModeStandard, event.ModeStrict, event.ModeAllowAll)
}

func isAction(n *node) string {
	return oneOf(n, event.Allow, event.Ask, event.Deny)
}

func oneOf[T ~string](n *node, words ...T) string {
	list := make([]string, len(words))
	for i, w := range words {
		if n.kind == kindText && n.text == string(w) {
			return ""
		}
		list[i] = strconv.Quote(string(w))
	}
	is := n.kind.String()
	if n.kind == kindText {
		is = quoted(n.text)
	}
	last := len(list) - 1
	return "must be " + strings.Join(list[:last], ", ") + " or " + list[last] + ", not " + is
}

func isWhole(least, most uint64) func(*node) string {
	return func(n *node) string {
		if n.kind == kindNumber {
			if v, err := strconv.ParseUint(n.text, 10, 64); err == nil && v >= least && v <= most {
				return ""
			}
		}
		return "must be a whole number from " + strconv.FormatUint(least, 10) + " to " + strconv.FormatUint(most, 10)
	}
}

// projectGives lists what a project file would give: a mode other than strict, a rule that allows.
func projectGives(root *node) []Place {
	var gives []Place
	permission := root.get("permission")
	if mode := permission.get("mode"); mode != nil && mode.text != string(event.ModeStrict) {
		gives = append(gives, mode.at("permission.mode"))
	}
	rules := permission.get("rules")
	if rules == nil {
		return gives
	}
	for _, rule := range rules.members {
		key := join("permission.rules", rule.key)
		if rule.value.text == string(event.Allow) {
			gives = append(gives, rule.value.at(key))
		}
		for _, pattern := range rule.value.members {
			if pattern.value.text == string(event.Allow) {
				gives = append(gives, pattern.value.at(join(key, pattern.key)))
			}
		}
	}
	return gives
}
