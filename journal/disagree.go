package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// disagreement compares a line with the one that follows from its raw side. It gives the first field in which they differ;
// "" when they only are written differently.
func disagreement(line, want []byte) (field, why string) {
	a, err := parseTree(line)
	if err != nil {
		return "", err.Error()
	}
	b, err := parseTree(want)
	if err != nil {
		return "", "cannot be compared: " + err.Error()
	}
	return differs("", a, b)
}

func differs(path string, a, b any) (field, why string) {
	switch b := b.(type) {
	case *tree:
		a, ok := a.(*tree)
		if !ok {
			return path, "is of another kind than raw says"
		}
		for _, name := range b.names {
			v, ok := a.values[name]
			if !ok {
				return joined(path, name), "is not there"
			}
			if field, why := differs(joined(path, name), v, b.values[name]); why != "" {
				return field, why
			}
		}
		for _, name := range a.names {
			if _, ok := b.values[name]; !ok {
				return joined(path, name), "is not among what raw says"
			}
		}
		return "", ""
	case []any:
		a, ok := a.([]any)
		if !ok || len(a) != len(b) {
			return path, fmt.Sprintf("does not have the %d elements that raw says", len(b))
		}
		for i := range b {
			if field, why := differs(path+"["+strconv.Itoa(i)+"]", a[i], b[i]); why != "" {
				return field, why
			}
		}
		return "", ""
	}
	switch a.(type) {
	case *tree, []any: // not even comparable
	default:
		if a == b {
			return "", ""
		}
	}
	return path, fmt.Sprintf("is %s where raw says %s", told(a), told(b))
}

func told(v any) string {
	switch v.(type) {
	case *tree, []any:
		return "an object or array"
	case nil:
		return "null"
	}
	s := fmt.Sprint(v)
	if len(s) > 40 {
		return strconv.Quote(s[:40]) + "…"
	}
	return strconv.Quote(s)
}

func joined(path, name string) string {
	if len(name) > 40 {
		name = name[:40] + "…"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// tree is a JSON object, its names in order.
type tree struct {
	names  []string
	values map[string]any
}

func parseTree(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := nextTree(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errNotJSON
	}
	return v, nil
}

func nextTree(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil || depth > maxNest {
		return nil, errNotJSON
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := nextTree(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		o := &tree{values: map[string]any{}}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, errNotJSON
			}
			s, ok := name.(string)
			if _, twice := o.values[s]; twice || !ok {
				return nil, fmt.Errorf("has %q twice", s)
			}
			v, err := nextTree(d, depth+1)
			if err != nil {
				return nil, err
			}
			o.names = append(o.names, s)
			o.values[s] = v
		}
		_, err = d.Token()
		return o, err
	}
	return t, nil
}
