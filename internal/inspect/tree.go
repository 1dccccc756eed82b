package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// node is a JSON value whose members keep their order. A leaf has its text in str (kindString) or its literal (kindOther).
type node struct {
	kind    kind
	str     string
	members []member
	items   []*node
	free    bool // a free text, as against the value of a field
}

type kind uint8

const (
	kindOther kind = iota // a number, true, false or null
	kindString
	kindObject
	kindArray
)

type member struct {
	name  string
	value *node
}

// parse reads one JSON value.
func parse(b []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return parseNext(d)
}

func parseNext(d *json.Decoder) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case string:
		return &node{kind: kindString, str: t}, nil
	case json.Number:
		return &node{str: t.String()}, nil
	case bool:
		return &node{str: strconv.FormatBool(t)}, nil
	case nil:
		return &node{str: "null"}, nil
	}
	n := &node{kind: kindArray}
	if t == json.Delim('{') {
		n.kind = kindObject
	}
	for d.More() {
		var name string
		if n.kind == kindObject {
			t, err := d.Token()
			if err != nil {
				return nil, err
			}
			name = t.(string) // the decoder takes nothing else in its place
		}
		v, err := parseNext(d)
		if err != nil {
			return nil, err
		}
		if n.kind == kindObject {
			n.members = append(n.members, member{name, v})
		} else {
			n.items = append(n.items, v)
		}
	}
	_, err = d.Token()
	return n, err
}

// toNode is the JSON of any value.
func toNode(v any) (*node, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return parse(b)
}

// get is the member of an object; nil when there is none.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// text is a leaf as it reads; "" for a missing one.
func (n *node) text() string {
	if n == nil {
		return ""
	}
	return n.str
}

func (n *node) uint() uint64 {
	v, _ := strconv.ParseUint(n.text(), 10, 64)
	return v
}

// drop removes members.
func (n *node) drop(names ...string) {
	kept := n.members[:0]
	for _, m := range n.members {
		gone := false
		for _, name := range names {
			gone = gone || m.name == name
		}
		if !gone {
			kept = append(kept, m)
		}
	}
	n.members = kept
}

// compact writes the value on one line.
func (n *node) compact(b []byte) []byte {
	switch n.kind {
	case kindString:
		return appendJSON(b, n.str)
	case kindObject:
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSON(b, m.name), ':')
			b = m.value.compact(b)
		}
		return append(b, '}')
	case kindArray:
		b = append(b, '[')
		for i, v := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.compact(b)
		}
		return append(b, ']')
	case kindOther:
	}
	return append(b, n.str...)
}

// wide is the longest value, in bytes, that stands on a line of its own; a longer one is broken up.
const wide = 120

// pretty writes the value over several lines where it is long: for people who read it and for files that are compared.
func (n *node) pretty(b []byte, depth int) []byte {
	if n.kind == kindString || n.kind == kindOther || len(n.members)+len(n.items) == 0 {
		return n.compact(b)
	}
	if short := n.compact(nil); len(short) <= wide && depth > 0 {
		return append(b, short...)
	}
	line := func(depth int) { b = append(append(b, '\n'), strings.Repeat("  ", depth)...) }
	first := true
	next := func() {
		if !first {
			b = append(b, ',')
		}
		first = false
		line(depth + 1)
	}
	if n.kind == kindArray {
		b = append(b, '[')
		for _, v := range n.items {
			next()
			b = v.pretty(b, depth+1)
		}
		line(depth)
		return append(b, ']')
	}
	b = append(b, '{')
	for _, m := range n.members {
		next()
		b = append(appendJSON(b, m.name), ": "...)
		b = m.value.pretty(b, depth+1)
	}
	line(depth)
	return append(b, '}')
}

// appendJSON writes s as a JSON string and escapes no more than JSON asks for.
func appendJSON(b []byte, s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(fmt.Sprintf("inspect: a string that cannot be JSON: %v", err)) // there is none
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// parseAll reads a text that is one JSON value and nothing else.
func parseAll(s string) (*node, error) {
	if !json.Valid([]byte(s)) {
		return nil, fmt.Errorf("not JSON")
	}
	return parse([]byte(s))
}
