package inspect

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

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
	if w.c.view.name == "transcript" {
		n := v.Root.Transcript.Len()
		if len(w.c.names) == 0 {
			return reflect.ValueOf(uint64(n)), nil
		}
		var entries []Entry
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
		{"where", str(f.Condition.String())},
		{"path", str(f.Condition.Path)},
		{"commit", num(f.Commit)},
		{"event", num(uint64(f.Event))},
		{"type", e.get("type")},
		{"payload", e.get("payload")},
		{"at", f.line.get("at")},
		{"cause", f.line.get("cause")},
		{"command", f.line.get("command")},
		{"before", &node{kind: kindArray, items: f.Before}},
		{"after", &node{kind: kindArray, items: f.After}},
		{"changes", changes},
	}}
	n.members = append(n.members, f.viewOf.members...)
	return append(n.pretty(nil, 0), '\n')
}
