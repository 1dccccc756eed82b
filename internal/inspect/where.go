package inspect

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// Condition is a test of one field of the views: a path of names joined by dots, and what its value must be. Of a list the
// path goes into every element, and one that holds is enough; compared with a number, a list of entities is its length. A path alone
// holds where there is a value. A value that is not there meets no comparison.
type Condition struct {
	Path  string // as it was found: from the view on
	Op    string // "", "=", "!=", ">", "<", ">=", "<="
	Value string

	view   view
	names  []string
	leaf   reflect.Type
	number float64
}

// BadCondition is a condition that cannot be tested.
type BadCondition struct {
	Condition string
	Reason    string
}

func (e *BadCondition) Error() string {
	return fmt.Sprintf("%s is no condition: %s", quoted(e.Condition), e.Reason)
}

// Never is a condition that no event made hold.
type Never struct {
	Condition string
	Head      uint64
}

func (e *Never) Error() string {
	return fmt.Sprintf("%s holds after none of the %s", e.Condition, plural(e.Head, "commit"))
}

var operators = []string{"!=", ">=", "<=", "==", "=", ">", "<"} // the longer ones first

// ParseCondition reads a condition. Its error is [*BadCondition].
func ParseCondition(s string) (*Condition, error) {
	bad := func(reason string, a ...any) error { return &BadCondition{s, fmt.Sprintf(reason, a...)} }
	c := &Condition{}
	path := strings.TrimSpace(s)
	if at := strings.IndexAny(s, "=!<>"); at >= 0 {
		path = strings.TrimSpace(s[:at])
		for _, op := range operators {
			if strings.HasPrefix(s[at:], op) {
				c.Op, c.Value = op, strings.TrimSpace(s[at+len(op):])
				break
			}
		}
		if c.Op == "" {
			return nil, bad("the comparisons are = != > < >= <=")
		}
		if c.Op == "==" {
			c.Op = "="
		}
	}
	if path == "" {
		return nil, bad("it names no field of the views")
	}
	f, reason := findField(path)
	if reason != "" {
		return nil, bad("%s", reason)
	}
	c.view, c.names, c.leaf = f.view, f.names, f.typ
	c.Path = f.String()
	n, err := strconv.ParseFloat(c.Value, 64)
	c.number = n
	switch {
	case c.Op == "":
	case c.numeric() && err != nil:
		return nil, bad("%s is a number, and %s is none", c.Path, quoted(c.Value))
	case !c.numeric() && c.Op != "=" && c.Op != "!=":
		return nil, bad("%s is no number, so only = and != compare it", c.Path)
	case c.leaf.Kind() == reflect.Struct && !isLeaf(c.leaf):
		return nil, bad("%s has fields: name one of them, or only ask whether it is there", c.Path)
	}
	return c, nil
}

func (c *Condition) String() string { return c.Path + c.Op + c.Value }

func (c *Condition) numeric() bool {
	switch c.leaf.Kind() {
	case reflect.Uint64, reflect.Int64, reflect.Int, reflect.Uint16:
		return true
	case reflect.Slice:
		return !isLeaf(c.leaf.Elem()) || c.Op != "=" && c.Op != "!="
	}
	return false
}

// field is a place in the views, known from their types: whether it has a value now does not matter.
type viewField struct {
	view  view
	names []string
	typ   reflect.Type
}

func (f *viewField) String() string {
	return strings.Join(append([]string{f.view.name}, f.names...), ".")
}

var marshaler = reflect.TypeFor[encoding.TextMarshaler]()

// isLeaf says that a value has no fields of its own to a reader.
func isLeaf(t reflect.Type) bool {
	return t == textType || t.Implements(marshaler) || t.Kind() != reflect.Struct && t.Kind() != reflect.Slice && t.Kind() != reflect.Pointer
}

// viewFields are all fields of all views.
func viewFields() (all []viewField) {
	empty := &Replay{View: projections.NewView(projections.Options{Keep: true})}
	for _, v := range slices.Concat(journalViews, streamViews) {
		x, err := v.of(empty, empty.View.Root)
		if err != nil {
			continue
		}
		var walk func(t reflect.Type, names []string)
		walk = func(t reflect.Type, names []string) {
			for t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			all = append(all, viewField{v, slices.Clone(names), t})
			inner := t
			if !isLeaf(t) && t.Kind() == reflect.Slice {
				for inner = t.Elem(); inner.Kind() == reflect.Pointer; inner = inner.Elem() {
				}
			}
			if isLeaf(inner) {
				return
			}
			for _, f := range membersOf(inner) {
				walk(f.typ, append(names, f.name))
			}
		}
		walk(reflect.TypeOf(x), nil)
	}
	return all
}

type structMember struct {
	name  string
	typ   reflect.Type
	index []int
}

// membersOf are the members that a struct has in JSON; those of an embedded struct are its own.
func membersOf(t reflect.Type) (out []structMember) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name := fieldName(f)
		switch {
		case f.Anonymous && name == "":
			for _, m := range membersOf(f.Type) {
				out = append(out, structMember{m.name, m.typ, append([]int{i}, m.index...)})
			}
		case f.IsExported() && name != "" && name != "-":
			out = append(out, structMember{name, f.Type, []int{i}})
		}
	}
	return out
}

const (
	mostNear = 6 // names that an error lists
	farthest = 3 // letters by which a name may differ and still be near
)

// findField finds the one field whose path ends in the given one; one that is the whole path, or shorter than all others, is
// meant. The reason says why there is none.
func findField(path string) (f viewField, reason string) {
	var found []viewField
	all := viewFields()
	for _, x := range all {
		full := x.String()
		if full == path {
			return x, ""
		}
		if strings.HasSuffix(full, "."+path) {
			found = append(found, x)
		}
	}
	switch len(found) {
	case 1:
		return found[0], ""
	case 0:
		return f, "there is no field " + quoted(path) + nearNames(all, path)
	}
	var names []string
	for _, x := range found {
		names = append(names, x.String())
	}
	more := ""
	if len(names) > 2*mostNear {
		more = fmt.Sprintf(" and %d more", len(names)-2*mostNear)
		names = names[:2*mostNear]
	}
	return f, fmt.Sprintf("%s could be %s%s: say more of it", quoted(path), strings.Join(names, ", "), more)
}

// nearNames lists the fields whose last names are like those of the path.
func nearNames(all []viewField, path string) string {
	type near struct {
		name string
		far  int
	}
	var list []near
	wanted := strings.Split(path, ".")
	for _, x := range all {
		have := strings.Split(x.String(), ".")
		far := distance(wanted[len(wanted)-1], have[len(have)-1])
		if len(wanted) > 1 && len(have) > 1 {
			far += distance(wanted[len(wanted)-2], have[len(have)-2])
		}
		if far <= min(farthest, len(wanted[len(wanted)-1])/2) {
			list = append(list, near{x.String(), far})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	if len(list) == 0 {
		return "; the views are " + strings.Join(ViewNames(), ", ") + ", and `replay --json` shows their fields"
	}
	var names []string
	for _, x := range list[:min(len(list), mostNear)] {
		names = append(names, x.name)
	}
	return "; near are " + strings.Join(names, ", ")
}

// distance counts the letters to change, add or strike.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := last
			if a[i] != b[j] {
				next = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

// Found is the first event after which a condition holds.
type Found struct {
	Condition *Condition
	Commit    uint64
	Event     int // within the commit, from 1
	Events    int // of the commit
	Before    []*node
	After     []*node

	line    *node // of the commit
	view    string
	viewTo  string
	viewOf  *node
	changes []Change
}

// Where folds the journal at path until the condition holds. Its errors are those of [Fold], and [*Never].
func Where(path string, c *Condition) (*Found, error) {
	file, err := open(path, nothing)
	if err != nil {
		return nil, unwrapped(err)
	}
	defer file.Close()
	w := &search{c: c, file: file, path: path}
	at, err := w.first()
	if err != nil {
		return nil, err
	}
	if at == 0 {
		return nil, &Never{c.String(), file.Head().Number}
	}
	return w.found(at)
}

// search folds a journal and tests the view after each commit.
type search struct {
	c     *Condition
	file  *journal.File
	path  string
	shown int // entries of the transcript that were tested
}

var errFound = errors.New("found")

// first is the commit after which the condition holds; 0 when there is none.
func (w *search) first() (at uint64, err error) {
	folder := projections.NewFolder(projections.Options{Keep: true})
	err = w.file.Scan(1, func(c *journal.Raw) error {
		if err := unreadable(w.path, c, folder.Commit(c)); err != nil {
			return err
		}
		if ok, err := w.holds(folder.View); err != nil || !ok {
			return err
		}
		at = c.Number
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return at, unwrapped(err)
}

// found tells the event: the commit is folded once more with one event more each time, until the condition holds. A commit
// happens as a whole, so a state that only stood inside of one counts where the commit leaves it.
func (w *search) found(at uint64) (*Found, error) {
	f := &Found{Condition: w.c, Commit: at}
	before, err := w.at(at-1, 0)
	if err != nil {
		return nil, err
	}
	if f.Before, err = w.values(before.View); err != nil {
		return nil, err
	}
	err = linesFrom(w.file, at, func(line *node) error {
		f.line = line
		return errFound
	})
	if err != nil && !errors.Is(err, errFound) {
		return nil, err
	}
	inline(f.line)
	f.Events = len(f.line.get("events").children())
	for n := 1; n <= f.Events; n++ {
		r, err := w.at(at, n)
		if err != nil {
			return nil, err
		}
		w.shown = 0
		ok, err := w.holds(r.View)
		if err != nil {
			return nil, err
		}
		if ok || n == f.Events {
			f.Event = n
			return f, w.around(f, before, r)
		}
	}
	return f, nil
}

// around is the state before and after the event.
func (w *search) around(f *Found, before, after *Replay) (err error) {
	if f.After, err = w.values(after.View); err != nil {
		return err
	}
	f.view = w.c.view.name
	if f.viewTo, err = after.Tell(f.view); err != nil {
		return err
	}
	if f.viewOf, err = after.node(f.view); err != nil {
		return err
	}
	was, err := before.node("")
	if err != nil {
		return err
	}
	is, err := after.node("")
	f.changes = diff(was, is)
	return err
}

// at folds up to a commit, of which only the first events count; 0 is all of them.
func (w *search) at(commit uint64, events int) (*Replay, error) {
	folder := projections.NewFolder(projections.Options{Keep: true})
	r := &Replay{View: folder.View, Head: w.file.Head(), file: w.file, texts: map[journal.Hash]textPlace{}}
	err := w.file.Scan(1, func(c *journal.Raw) error {
		if c.Number > commit {
			return errFound
		}
		r.learn(c)
		if c.Number == commit && events > 0 {
			part := *c
			part.Events = c.Events[:events]
			return folder.Commit(&part)
		}
		return folder.Commit(c)
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return r, err
}

// holds tests the view. Of the transcript, which only grows at its end, what is new is enough.
func (w *search) holds(v *projections.View) (ok bool, err error) {
	x, err := w.value(v)
	if err != nil {
		return false, err
	}
	w.each(x, w.c.names, func(v reflect.Value) bool {
		ok, err = w.test(v)
		return !ok && err == nil
	})
	return ok, err
}

// value is the condition's view without the bytes of its texts, which are compared by digest.
func (w *search) value(v *projections.View) (reflect.Value, error) {
	r := &Replay{View: v, file: w.file, texts: map[journal.Hash]textPlace{}}
	switch w.c.view.name {
	case "transcript":
		var entries []Entry
		n := v.Root.Transcript.Len()
		if len(w.c.names) == 0 {
			w.shown = 0
		}
		for i := min(w.shown, n); i < n; i++ {
			e, err := r.entry(v.Root.Transcript.At(i))
			if err != nil {
				return reflect.Value{}, err
			}
			entries = append(entries, e)
		}
		w.shown = n
		return reflect.ValueOf(entries), nil
	}
	x, err := w.c.view.of(r, v.Root)
	return reflect.ValueOf(x), err
}

// each calls fn with every value at the path, until it says no.
func (w *search) each(v reflect.Value, names []string, fn func(reflect.Value) bool) bool {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	list := v.Kind() == reflect.Slice && !isLeaf(v.Type())
	if len(names) == 0 {
		if list && isLeaf(v.Type().Elem()) && !w.c.numeric() && w.c.Op != "" {
			for i := range v.Len() {
				if !fn(v.Index(i)) {
					return false
				}
			}
			return true
		}
		return fn(v)
	}
	if list {
		for i := range v.Len() {
			if !w.each(v.Index(i), names, fn) {
				return false
			}
		}
		return true
	}
	for _, m := range membersOf(v.Type()) {
		if m.name == names[0] {
			return w.each(v.FieldByIndex(m.index), names[1:], fn)
		}
	}
	return true
}

func (w *search) test(v reflect.Value) (bool, error) {
	c := w.c
	if c.Op == "" {
		return !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0), nil
	}
	if c.numeric() {
		return compareNumbers(numberOf(v), c.Op, c.number), nil
	}
	if t, ok := v.Interface().(event.Text); ok {
		return w.testText(t)
	}
	if v.IsZero() && v.Kind() != reflect.Bool && c.Value != "" {
		return false, nil // not there: no comparison holds
	}
	return (leafText(v) == c.Value) == (c.Op == "="), nil
}

func (w *search) testText(t event.Text) (bool, error) {
	if t.IsZero() {
		return false, nil
	}
	same := t.String() == w.c.Value
	if !t.Known() {
		if w.file.Salt() == nil {
			return false, &BadCondition{w.c.String(), "the journal has lost its texts and cannot be searched for one"}
		}
		same = journal.TextDigest(w.file.Salt(), []byte(w.c.Value)) == t.Digest
	}
	return same == (w.c.Op == "="), nil
}

func numberOf(v reflect.Value) float64 {
	switch {
	case v.Kind() == reflect.Slice:
		return float64(v.Len())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanInt():
		return float64(v.Int())
	}
	return 0
}

func compareNumbers(a float64, op string, b float64) bool {
	switch op {
	case "=":
		return a == b
	case "!=":
		return a != b
	case ">":
		return a > b
	case "<":
		return a < b
	case ">=":
		return a >= b
	}
	return a <= b
}

func leafText(v reflect.Value) string {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		if b, err := m.MarshalText(); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(v.Interface())
}

// values are what stands at the condition's path.
func (w *search) values(v *projections.View) (out []*node, err error) {
	w.shown = 0
	x, err := w.value(v)
	if err != nil {
		return nil, err
	}
	r := &Replay{View: v, file: w.file, texts: map[journal.Hash]textPlace{}}
	w.each(x, w.c.names, func(v reflect.Value) bool {
		if v.IsZero() {
			return true
		}
		y := v.Interface()
		if t, ok := y.(event.Text); ok {
			if t, err = r.text(t); err != nil {
				return false
			}
			y = t
		}
		var n *node
		if n, err = toNode(y); err == nil {
			out = append(out, n)
		}
		return err == nil
	})
	return out, err
}

// mostAround is how many changes around the event people are shown.
const mostAround = 30

// Tell is the event and the state around it for people.
func (f *Found) Tell() string {
	var b strings.Builder
	e := f.line.get("events").children()[f.Event-1]
	fmt.Fprintf(&b, "commit %d, event %d of %d\n", f.Commit, f.Event, f.Events)
	b.WriteString("  " + tailLine(f.line, e, 0, causeOf(f.line)))
	c := f.line.get("command")
	fmt.Fprintf(&b, "  decided for %s by %s (%s)\n", short(c.get("type").text(), 80), short(c.get("actor").text(), 40), short(c.get("id").text(), 120))
	fmt.Fprintf(&b, "  %s: %s → %s\n", f.Condition.Path, shown(f.Before), shown(f.After))
	fmt.Fprintf(&b, "\nchanged since commit %d\n", f.Commit-1)
	for i := range f.changes {
		if i == mostAround {
			fmt.Fprintf(&b, "  … %d more: replay --diff %d..%d shows all\n", len(f.changes)-mostAround, f.Commit-1, f.Commit)
			break
		}
		b.WriteString("  " + f.changes[i].tell() + "\n")
	}
	b.WriteString("\n" + f.viewTo)
	return b.String()
}

func causeOf(line *node) string {
	if cause := line.get("cause").uint(); cause > 0 {
		return fmt.Sprintf(" ← commit %d", cause)
	}
	return ""
}

func shown(values []*node) string {
	switch len(values) {
	case 0:
		return "nothing"
	case 1:
		return short(string(values[0].compact(nil)), valueText)
	}
	n := &node{kind: kindArray, items: values}
	return short(string(n.compact(nil)), valueText)
}

// JSON is the same as one JSON object.
func (f *Found) JSON() []byte {
	changes := &node{kind: kindArray}
	for i := range f.changes {
		changes.items = append(changes.items, f.changes[i].json())
	}
	num := func(n uint64) *node { return &node{str: strconv.FormatUint(n, 10)} }
	str := func(s string) *node { return &node{kind: kindString, str: s} }
	e := f.line.get("events").children()[f.Event-1]
	n := &node{kind: kindObject, members: []member{
		{"where", str(f.Condition.String())}, {"path", str(f.Condition.Path)}, {"commit", num(f.Commit)}, {"event", num(uint64(f.Event))},
		{"type", e.get("type")}, {"payload", e.get("payload")}, {"at", f.line.get("at")}, {"cause", f.line.get("cause")}, {"command", f.line.get("command")},
		{"before", &node{kind: kindArray, items: f.Before}}, {"after", &node{kind: kindArray, items: f.After}}, {"changes", changes},
	}}
	n.members = append(n.members, f.viewOf.members...)
	return append(n.pretty(nil, 0), '\n')
}
