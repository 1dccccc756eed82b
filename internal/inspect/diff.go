package inspect

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Change is one place in which two values differ. A path joins the names of members by dots; an element of a list stands
// in brackets by what it is known by, or by its number.
type Change struct {
	Path string
	Old  *node // nil where it was added
	New  *node // nil where it was removed
}

// valueText is how many characters of a value stand on a line.
const valueText = 160

func (c *Change) tell() string {
	show := func(n *node) string {
		if n.kind == kindString && n.str == "" {
			return `""`
		}
		if n.kind == kindString {
			return short(n.str, valueText)
		}
		return short(string(n.compact(nil)), valueText)
	}
	switch {
	case c.Old == nil:
		return "+ " + c.Path + ": " + show(c.New)
	case c.New == nil:
		return "- " + c.Path + ": " + show(c.Old)
	}
	return "  " + c.Path + ": " + show(c.Old) + " → " + show(c.New)
}

func (c *Change) json() *node {
	n := &node{kind: kindObject, members: []member{{"path", &node{kind: kindString, str: c.Path}}}}
	if c.Old != nil {
		n.members = append(n.members, member{"old", c.Old})
	}
	if c.New != nil {
		n.members = append(n.members, member{"new", c.New})
	}
	return n
}

// diff gives the changes that lead from a to b.
func diff(a, b *node) (out []Change) {
	walkDiff("", a, b, &out)
	return out
}

func walkDiff(path string, a, b *node, out *[]Change) {
	switch {
	case a == nil && b == nil:
	case a == nil && b.kind == kindArray: // an empty list is left out
		diffItems(path, &node{kind: kindArray}, b, out)
	case b == nil && a.kind == kindArray:
		diffItems(path, a, &node{kind: kindArray}, out)
	case a == nil || b == nil || a.kind != b.kind:
		*out = append(*out, Change{path, a, b})
	case a.kind == kindObject:
		diffMembers(path, a, b, out)
	case a.kind == kindArray:
		diffItems(path, a, b, out)
	case a.str != b.str:
		*out = append(*out, Change{path, a, b})
	}
}

func diffMembers(path string, a, b *node, out *[]Change) {
	join := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	for _, m := range a.members {
		walkDiff(join(m.name), m.value, b.get(m.name), out)
	}
	for _, m := range b.members {
		if a.get(m.name) == nil {
			walkDiff(join(m.name), nil, m.value, out)
		}
	}
}

// diffItems compares by what elements are known by; a list in which two are known by the same, or one by nothing, is
// compared by position.
func diffItems(path string, a, b *node, out *[]Change) {
	inA, okA := byKey(a)
	inB, okB := byKey(b)
	if !okA || !okB {
		for i := range max(len(a.items), len(b.items)) {
			walkDiff(path+"["+strconv.Itoa(i)+"]", a.item(i), b.item(i), out)
		}
		return
	}
	for _, x := range a.items {
		key := keyOf(x)
		walkDiff(path+"["+key+"]", x, inB[key], out)
	}
	for _, x := range b.items {
		if key := keyOf(x); inA[key] == nil {
			walkDiff(path+"["+key+"]", nil, x, out)
		}
	}
}

func (n *node) item(i int) *node {
	if i < len(n.items) {
		return n.items[i]
	}
	return nil
}

func byKey(n *node) (map[string]*node, bool) {
	all := make(map[string]*node, len(n.items))
	for _, x := range n.items {
		key := keyOf(x)
		if key == "" || all[key] != nil {
			return nil, false
		}
		all[key] = x
	}
	return all, true
}

// keyOf is what an element of a list is known by: its place in the journal, its id, or what it names.
func keyOf(n *node) string {
	if n.kind == kindString {
		return short(n.str, 80)
	}
	if n.get("commit") != nil && n.get("event") != nil {
		return "commit " + n.get("commit").text() + " event " + n.get("event").text()
	}
	for _, name := range []string{"id", "call", "name", "path"} {
		if v := n.get(name); v != nil && v.kind == kindString && v.str != "" {
			return short(v.str, 80)
		}
	}
	return ""
}

// once leaves a view's entities in full in the list of all of them; the lists of those that are open name them.
func once(n *node) {
	if n.get("all") != nil {
		for i := range n.members {
			m := &n.members[i]
			if m.name == "all" {
				continue
			}
			if id := m.value.get("id"); id != nil {
				m.value = id
			}
			for j, x := range m.value.items {
				if id := x.get("id"); id != nil {
					m.value.items[j] = id
				}
			}
		}
	}
	for _, m := range n.members {
		once(m.value)
	}
}

// Range is two commits that are compared. 0 is before the first.
type Range struct{ From, To *uint64 } // nil is the head

// BadRange is an argument that names no two commits.
type BadRange struct{ Argument string }

func (e *BadRange) Error() string {
	return fmt.Sprintf("%s is no range of commits: say A..B, where 0 is before the first commit and A.. goes to the last", quoted(e.Argument))
}

// ParseRange reads A..B. Its error is [*BadRange].
func ParseRange(s string) (r Range, err error) {
	from, to, ok := strings.Cut(s, "..")
	number := func(s string) *uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		ok = ok && err == nil
		return &n
	}
	if r.From = number(from); to != "" {
		r.To = number(to)
	}
	if !ok {
		return r, &BadRange{s}
	}
	return r, nil
}

// Compared is what changed in the views between two commits.
type Compared struct {
	From, To uint64
	Changes  []Change
}

// Compare folds the journal at path up to both commits and compares the view of that name, or all. Its errors are those of
// [Fold].
func Compare(path string, r Range, view string, normalize bool) (*Compared, error) {
	from, a, err := viewsAt(path, r.From, view, normalize)
	if err != nil {
		return nil, err
	}
	to, b, err := viewsAt(path, r.To, view, normalize)
	if err != nil {
		return nil, err
	}
	return &Compared{from, to, diff(a, b)}, nil
}

// viewsAt gives the views without the commit that they are of, which differs always.
func viewsAt(path string, until *uint64, view string, normalize bool) (commit uint64, n *node, err error) {
	r, err := Fold(path, ReplayOptions{Until: until, Normalize: normalize})
	if err != nil {
		return 0, nil, err
	}
	n, err = r.node(view)
	if err = errors.Join(err, r.Close()); err != nil {
		return 0, nil, err
	}
	return r.View.Number, n, nil
}

// node gives the view of that name, or all, for a comparison.
func (r *Replay) node(view string) (*node, error) {
	b, err := r.JSON(view)
	if err != nil {
		return nil, err
	}
	n, err := parse(b)
	if err != nil {
		return nil, err
	}
	if view == "" {
		n.drop("commit", "at")
	} else {
		n = &node{kind: kindObject, members: []member{{view, n}}}
	}
	once(n)
	return n, nil
}

// Tell is the comparison for people: nothing where nothing changed.
func (c *Compared) Tell() string {
	var b strings.Builder
	for i := range c.Changes {
		b.WriteString(c.Changes[i].tell() + "\n")
	}
	return b.String()
}

// JSON is the comparison as one JSON object.
func (c *Compared) JSON() []byte {
	changes := &node{kind: kindArray}
	for i := range c.Changes {
		changes.items = append(changes.items, c.Changes[i].json())
	}
	n := &node{kind: kindObject, members: []member{
		{"from", &node{str: strconv.FormatUint(c.From, 10)}}, {"to", &node{str: strconv.FormatUint(c.To, 10)}}, {"changes", changes},
	}}
	return append(n.pretty(nil, 0), '\n')
}
