package inspect

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zuno/journal"
	"zuno/journal/event"
)

// mask replaces what differs between two runs of one script, in two folders or by two builds: paths, random ids, times,
// measures, digests, build and installation. Ids become numbers in the order in which the journal first names them, so
// that what belonged together still does; the whole journal is read for that, whatever part of it is shown.
type mask struct {
	ids   map[string]string
	count map[string]int
	paths []path // the longest first
	temp  *regexp.Regexp
}

type path struct{ from, to string }

// What masked values read as.
const (
	maskedDigest       = "${digest}"
	maskedTime         = "${time}"
	maskedBuild        = "${build}"
	maskedInstallation = "${installation}"
	maskedTemp         = "${tmp}"
)

var (
	// idPattern is what may be the id of an entity, or is a ULID or a client's UUID.
	idPattern = lazily(`\b[a-z]+_[0-9a-z]{10,26}\b` +
		`|\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
	// idFields are the fields that entities are named in. Words of a vocabulary may look the same elsewhere.
	idFields      = []string{"id", "session", "installation", "cycle", "turn", "request", "input", "inputs", "call", "permission"}
	digestPattern = lazily(`\b[0-9a-f]{64}\b`)
	zeroDigest    = journal.Hash{}.String()
)

// lazily compiles a pattern at its first use: most processes inspect nothing.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// measures are the fields that a clock or a machine decides, and the sizes of what may hold a path. They are left
// out: one that is 0 is not recorded, so that a 0 in its place would not be the same.
var measures = []string{"duration_ms", "elapsed_ms", "free_mib", "delay_ms", "out_bytes", "output_bytes", "withheld_bytes", "size", "used_tokens", "tail_tokens"}

func isTime(name string) bool {
	return name == "at" || name == "until" || strings.HasSuffix(name, "_at")
}

// learn reads a journal for what has to be masked in it.
func learn(file *journal.File) (*mask, error) {
	m := &mask{ids: map[string]string{}, count: map[string]int{}}
	var cwd, worktree, session string
	data := map[string]bool{}
	err := lines(file, journal.ExportOptions{Mask: unmasked}, func(line *node) error {
		for _, e := range line.get("events").children() {
			if strings.HasPrefix(e.get("type").text(), "session.created.") && session == "" {
				p := e.get("payload")
				session, cwd, worktree = p.get("session").text(), textAt(line, p.get("cwd")), textAt(line, p.get("worktree"))
			}
		}
		m.learnIDs(line, "")
		for _, t := range line.get("texts").children() {
			if dir := dataFolder(t.get("text").text(), session); dir != "" {
				data[dir] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if abs, err := filepath.Abs(file.Dir()); err == nil && session != "" && filepath.Base(abs) == session {
		data[filepath.Dir(filepath.Dir(abs))] = true
	}
	m.path(cwd, "${cwd}")
	m.path(worktree, "${worktree}")
	for dir := range data {
		m.path(dir, "${data}")
	}
	slices.SortFunc(m.paths, func(a, b path) int { return len(b.from) - len(a.from) })
	temps := regexp.QuoteMeta(filepath.Clean(os.TempDir())) + "|/var/tmp|/tmp"
	m.temp = regexp.MustCompile(`(^|[^0-9A-Za-z_.$}/-])(?:` + temps + `)(?:/[0-9A-Za-z_.+@%-]+|/|\b)`)
	return m, nil
}

func unmasked(_ string, v any) any { return v }

// children are the elements of an array; none of a missing one.
func (n *node) children() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// textAt is the text that a reference of a line names.
func textAt(line, ref *node) string {
	i, ok := ref.ref()
	if texts := line.get("texts").children(); ok && i < len(texts) {
		return texts[i].get("text").text()
	}
	return ""
}

// ref is the number of the text that an exported value refers to.
func (n *node) ref() (i int, ok bool) {
	if n == nil || n.kind != kindObject || len(n.members) == 0 || len(n.members) > 2 {
		return 0, false
	}
	if m := n.members[0]; m.name != "text" || m.value.kind != kindOther || len(n.members) == 2 && n.members[1].name != "value" {
		return 0, false
	}
	i, err := strconv.Atoi(n.members[0].value.str)
	return i, err == nil && i >= 0
}

// dataFolder is what stands before the folder of the session in a text.
func dataFolder(text, session string) string {
	if session == "" {
		return ""
	}
	at := strings.Index(text, "/sessions/"+session)
	if at < 0 {
		return ""
	}
	from := strings.LastIndexAny(text[:at], " \t\n\"'`=:(<>") + 1
	if dir := text[from:at]; filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

func (m *mask) path(from, to string) {
	if !filepath.IsAbs(from) || from == "/" {
		return
	}
	for _, p := range m.paths {
		if p.from == from {
			return // the first name is the one that is used
		}
	}
	m.paths = append(m.paths, path{from, to})
	if real, err := filepath.EvalSymlinks(from); err == nil && real != from {
		m.path(real, to)
	}
}

// learnIDs numbers the ids of a line's fields. Those in texts are known from their fields, or are no ids.
func (m *mask) learnIDs(n *node, name string) {
	switch n.kind {
	case kindString:
		for _, id := range idPattern().FindAllString(n.str, -1) {
			m.id(id, name)
		}
	case kindArray:
		for _, v := range n.items {
			m.learnIDs(v, name)
		}
	case kindObject:
		if _, ok := n.ref(); ok {
			return
		}
		for _, v := range n.members {
			if v.name != "texts" || name != "" {
				m.learnIDs(v.value, v.name)
			}
		}
	case kindOther:
	}
}

func (m *mask) id(id, name string) {
	kind, _, ok := strings.Cut(id, "_")
	switch {
	case m.ids[id] != "" || ok && !slices.Contains(idFields, name):
		return
	case kind == "ins" && ok:
		m.ids[id] = maskedInstallation
		return
	case ok:
	case name == "run":
		kind = "run"
	default:
		kind = "id"
	}
	m.count[kind]++
	m.ids[id] = kind + "_" + strconv.Itoa(m.count[kind])
}

// string masks the value of a field.
func (m *mask) string(name, s string) string {
	switch {
	case s == "":
		return s
	case isTime(name):
		return maskedTime
	case name == "build":
		return maskedBuild
	case name == "installation":
		return maskedInstallation
	}
	for _, p := range m.paths {
		s = replacePath(s, p.from, p.to)
	}
	s = m.temp.ReplaceAllString(s, "${1}$"+maskedTemp)
	s = idPattern().ReplaceAllStringFunc(s, func(id string) string {
		if to := m.ids[id]; to != "" {
			return to
		}
		return id
	})
	return digestPattern().ReplaceAllString(s, "$"+maskedDigest)
}

// number masks the value of a field: what a clock or a machine decided becomes 0.
func (m *mask) number(name string, v int64) int64 {
	if isTime(name) || slices.Contains(measures, name) {
		return 0
	}
	return v
}

// text masks a text. One that is a JSON object, such as a call's typed outcome, is masked by the names of its fields too.
func (m *mask) text(s string) string {
	if strings.HasPrefix(s, "{") {
		if n, err := parseAll(s); err == nil && m.measured(n) {
			s = string(n.compact(nil))
		}
	}
	return m.string("", s)
}

func (m *mask) textOf(t event.Text) event.Text {
	switch {
	case t.Known():
		return event.NewText(m.text(t.String()))
	case t.IsZero():
		return t
	}
	return event.NewText("[dropped]")
}

// measured takes measures and times out of a value and says whether there were any.
func (m *mask) measured(n *node) (found bool) {
	for _, v := range n.items {
		found = m.measured(v) || found
	}
	kept := n.members[:0]
	for _, v := range n.members {
		if v.value.kind == kindOther && (slices.Contains(measures, v.name) || isTime(v.name)) {
			found = true
			continue
		}
		found = m.measured(v.value) || found
		kept = append(kept, v)
	}
	n.members = kept
	return found
}

// digests puts the placeholder where views, whose digests have a fixed form, hold none.
func (m *mask) digests(n *node) {
	if n.kind == kindString && n.str == zeroDigest {
		n.str = maskedDigest
	}
	for _, v := range n.items {
		m.digests(v)
	}
	for _, v := range n.members {
		m.digests(v.value)
	}
}

// line masks a line of an export.
func (m *mask) line(line *node) {
	texts := line.get("texts").children()
	for _, t := range texts {
		if x := t.get("text"); x != nil {
			x.str = m.text(x.str)
		}
	}
	m.measured(line.get("command"))
	for _, e := range line.get("events").children() {
		m.measured(e)
	}
	m.fields(line, "", texts)
}

func (m *mask) fields(n *node, name string, texts []*node) {
	if i, ok := n.ref(); ok {
		// Whether a text is short must not depend on the length of a path in it.
		n.drop("value")
		if i < len(texts) {
			if t := texts[i].get("text"); t != nil && len(t.str) <= shortText {
				n.members = append(n.members, member{"value", &node{kind: kindString, str: t.str}})
			}
		}
		return
	}
	switch n.kind {
	case kindString:
		n.str = m.string(name, n.str)
	case kindArray:
		for _, v := range n.items {
			m.fields(v, name, texts)
		}
	case kindObject:
		for _, v := range n.members {
			if v.name != "texts" || name != "" {
				m.fields(v.value, v.name, texts)
			}
		}
	case kindOther:
	}
}

// shortText is the size, in bytes, up to which a normalized export shows a text where it is referred to.
const shortText = 200

// replacePath replaces a path where it stands as one: not in the middle of a longer name.
func replacePath(s, from, to string) string {
	var b strings.Builder
	for {
		at := strings.Index(s, from)
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := at + len(from)
		if at > 0 && isNameByte(s[at-1]) || end < len(s) && (isNameByte(s[end]) && s[end] != '.' || s[end] == '.' && end+1 < len(s) && isNameByte(s[end+1])) {
			b.WriteString(s[:end])
		} else {
			b.WriteString(s[:at] + to)
		}
		s = s[end:]
	}
}

func isNameByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-' || c == '.' || c >= 0x80
}

// fieldName is the name of a struct's field in JSON.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
