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
	maxWaitMS    = 24 * 60 * 60 * 1000 // one day, in milliseconds
	maxAttempts  = 100
)

// providerTypes are the provider types of this build with the keys of their options.
var providerTypes = map[string]*shape{
	Scripted:  {fields: map[string]*shape{"script": {leaf: isFilledText}}},
	OpenAI:    serverOptions,
	Anthropic: serverOptions,
}

var serverOptions = &shape{fields: map[string]*shape{
	"baseURL":       {leaf: isBaseURL},
	"apiKey":        {leaf: isKey},
	"headers":       {each: func(name string) *shape { return &shape{leaf: isHeader(name)} }},
	"headerTimeout": {leaf: isWhole(1, maxWaitMS)},
	"chunkTimeout":  {leaf: isWhole(1, maxWaitMS)},
	"timeout":       {leaf: isWhole(1, maxWaitMS)},
}}

// providerShape is one provider. Only one type has a choice of surfaces.
func providerShape(kind string, models *shape) *shape {
	fields := map[string]*shape{
		"type":    {leaf: isFilledText},
		"options": providerTypes[kind], // nil: the type is refused, so its options do not matter
		"models":  {each: func(string) *shape { return models }},
		"retry": {fields: map[string]*shape{
			"max_attempts":       {leaf: isWhole(1, maxAttempts)},
			"recovery_window_ms": {leaf: isWhole(0, maxWaitMS)},
		}},
	}
	if kind == OpenAI {
		fields["surface"] = &shape{leaf: func(n *node) string { return oneOf(n, SurfaceChat, SurfaceResponses) }}
	}
	return &shape{fields: fields}
}

// rootShape is the whole document. The keys of a provider's options depend on its type, which another layer may name.
func rootShape(types map[string]string) *shape {
	tokens := &shape{leaf: isWhole(1, maxTokens)}
	models := &shape{fields: map[string]*shape{
		"limit":     {fields: map[string]*shape{"context": tokens, "output": tokens}},
		"reasoning": {leaf: isLevels},
	}}
	action := &shape{leaf: isAction}
	return &shape{fields: map[string]*shape{
		"model": {leaf: isModel},
		"permission": {fields: map[string]*shape{
			"mode": {leaf: isMode},
			"rules": {each: func(string) *shape {
				return &shape{leaf: isAction, each: func(string) *shape { return action }}
			}},
		}},
		"provider": {each: func(id string) *shape { return providerShape(types[id], models) }},
		"shell":    {fields: map[string]*shape{"hard_ceiling_ms": {leaf: isWhole(1, maxCeilingMS)}}},
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

// isBaseURL never shows the value: a query may hold a key.
func isBaseURL(n *node) string {
	if problem := isFilledText(n); problem != "" {
		return problem
	}
	scheme, rest, ok := strings.Cut(n.text, "://")
	host := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool { return !strings.ContainsRune("/?#", r) }))]
	switch {
	case !ok || scheme != "http" && scheme != "https" || host == "" || strings.ContainsFunc(n.text, unprintable):
		return `must be an address that begins with "http://" or "https://"`
	case strings.Contains(host, "@"):
		return "must not hold a password: headers are the place for one"
	}
	return ""
}

// isKey takes an empty text, too: the server wants no key.
func isKey(n *node) string {
	switch {
	case n.kind != kindText:
		return "must be a string, not " + n.kind.String()
	case strings.ContainsFunc(n.text, unprintable):
		return "must not hold control characters"
	}
	return ""
}

func isHeader(name string) func(*node) string {
	return func(n *node) string {
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }) {
			return "is no name of a header"
		}
		return isKey(n)
	}
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f }

func isModel(n *node) string {
	if problem := isFilledText(n); problem != "" {
		return problem
	}
	if _, _, ok := splitModel(n.text); !ok {
		return `must be "provider/model", not ` + quoted(n.text)
	}
	return ""
}

// maxLevels bounds the levels of reasoning of one model.
const maxLevels = 16

// isLevels takes the words of any provider: those of OpenAI and Anthropic are not all, and servers of one's own have others.
func isLevels(n *node) string {
	if n.kind != kindList {
		return "must be a list of words, not " + n.kind.String()
	}
	if len(n.items) > maxLevels {
		return "may have " + strconv.Itoa(maxLevels) + " levels at most"
	}
	seen := map[string]bool{}
	for _, item := range n.items {
		word := strings.Trim(item.text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == "" && item.text != "" && len(item.text) <= 32
		switch {
		case item.kind != kindText || !word:
			return `must hold words of up to 32 lower-case letters, digits, "-" and "_", such as "low" and "high"`
		case item.text == DefaultLevel:
			return `may not hold "` + DefaultLevel + `", which is there without being named`
		case seen[item.text]:
			return "names " + quoted(item.text) + " twice"
		}
		seen[item.text] = true
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

// projectLeads lists what a project file says of where requests go: addresses, keys and headers, and another type or surface of
// a provider that the user configured, whose key would then go elsewhere.
func projectLeads(root *node, docs []*node) []Place {
	var leads []Place
	list := root.get("provider")
	if list == nil {
		return nil
	}
	for _, m := range list.members {
		key := join("provider", m.key)
		for _, option := range []string{"baseURL", "apiKey", "headers"} {
			if v := m.value.get("options").get(option); v != nil {
				leads = append(leads, v.at(key+".options."+option))
			}
		}
		for _, field := range []string{"type", "surface"} {
			if v := m.value.get(field); v != nil && m.key != Scripted && changes(m.key, field, v.text, docs) {
				leads = append(leads, v.at(key+"."+field))
			}
		}
	}
	return leads
}

// changes says that the user configured a provider, and not with this value.
func changes(id, field, value string, docs []*node) bool {
	configured, same := false, false
	for _, doc := range docs {
		users := doc.get("provider").get(id)
		if doc.src.project || users == nil {
			continue
		}
		own := users.get(field)
		configured, same = true, own == nil && same || own != nil && own.text == value
	}
	return configured && !same
}
