package inspect

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

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
