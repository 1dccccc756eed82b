package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth bounds nesting, far above what any key needs.
const maxDepth = 64

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindText
	kindList
	kindObject
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// source is a layer: where its values come from and what they may do.
type source struct {
	name    string // a path, or ZUNO_CONFIG_CONTENT
	dir     string // what relative paths in it are relative to
	project bool   // found by the walk, not written by the user: it may only narrow permissions
}

// node is a value with its place. Objects keep the order of their members.
type node struct {
	kind    kind
	text    string // of a string, a number, a boolean
	members []member
	items   []*node // of a list
	src     *source
	line    int
}

type member struct {
	key   string
	line  int
	value *node
}

func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].key == key && n.members[i].value.kind != kindNull {
			return n.members[i].value
		}
	}
	return nil
}

func (n *node) at(key string) Place { return Place{File: n.src.name, Line: n.line, Key: key} }

// parse reads JSON with // and /* */ comments and trailing commas.
func parse(src *source, data []byte) (*node, *Error) {
	fail := func(offset int, what string) *Error {
		line := 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
		return &Error{
			Code: Malformed, What: "malformed configuration: " + what,
			Places: []Place{{File: src.name, Line: line}},
			Fix:    "correct the JSON there; comments and trailing commas are fine",
		}
	}
	if !utf8.Valid(data) {
		return nil, fail(firstInvalid(data), "not UTF-8")
	}
	plain, open := standardize(data)
	if open >= 0 {
		return nil, fail(open, "this comment is never closed")
	}
	end := len(bytes.TrimRight(plain, " \t\r\n"))
	if end == 0 {
		return nil, fail(0, "the document is empty")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(plain, &whole); err != nil {
		offset := end
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			offset = min(int(syntax.Offset)-1, end)
		}
		return nil, fail(offset, err.Error())
	}
	b := &builder{src: src, data: plain, dec: json.NewDecoder(bytes.NewReader(plain)), line: 1}
	b.dec.UseNumber()
	root, err := b.value(0)
	if err != nil {
		return nil, fail(b.offset, err.Error())
	}
	if root.kind != kindObject {
		return nil, fail(b.offset, "the document must be an object, not "+root.kind.String())
	}
	return root, nil
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// standardize blanks a byte-order mark, comments and trailing commas, so that every offset stays. It returns the offset
// of a comment that is not closed, or -1.
func standardize(data []byte) (plain []byte, open int) {
	plain = bytes.Clone(data)
	if bytes.HasPrefix(plain, []byte("\uFEFF")) {
		copy(plain, "   ")
	}
	comma, before, last := -1, byte(0), byte(0) // the last comma, and the last two bytes that are no space
	for i := 0; i < len(plain); i++ {
		c := plain[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case c == '/' && i+1 < len(plain) && plain[i+1] == '/':
			for ; i < len(plain) && plain[i] != '\n'; i++ {
				plain[i] = ' '
			}
			continue
		case c == '/' && i+1 < len(plain) && plain[i+1] == '*':
			length := bytes.Index(plain[i+2:], []byte("*/"))
			if length < 0 {
				return plain, i
			}
			for end := i + 2 + length + 2; i < end; i++ {
				if plain[i] != '\n' {
					plain[i] = ' '
				}
			}
			i--
			continue
		case c == '"':
			for i++; i < len(plain) && plain[i] != '"'; i++ {
				if plain[i] == '\\' {
					i++
				}
			}
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && last == ',' && before != ',' && before != '{' && before != '[' && before != ':' && before != 0:
			plain[comma] = ' '
		}
		before, last = last, c
	}
	return plain, -1
}

// builder makes nodes of a document that is known to be valid JSON.
type builder struct {
	src    *source
	data   []byte
	dec    *json.Decoder
	offset int // behind the last token
	line   int // of the last token
}

func (b *builder) next() (json.Token, error) {
	t, err := b.dec.Token()
	if err != nil {
		return nil, err
	}
	offset := int(b.dec.InputOffset())
	b.line += bytes.Count(b.data[b.offset:offset], []byte("\n"))
	b.offset = offset
	return t, nil
}

func (b *builder) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	t, err := b.next()
	if err != nil {
		return nil, err
	}
	n := &node{src: b.src, line: b.line}
	switch t := t.(type) {
	case nil:
		n.kind = kindNull
	case bool:
		n.kind = kindBool
	case json.Number:
		n.kind, n.text = kindNumber, t.String()
	case string:
		n.kind, n.text = kindText, t
	case json.Delim:
		if t == '{' {
			n.kind = kindObject
			return n, b.object(n, depth)
		}
		n.kind = kindList
		return n, b.list(n, depth)
	}
	return n, nil
}

func (b *builder) object(n *node, depth int) error {
	seen := map[string]bool{}
	for b.dec.More() {
		t, err := b.next()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if seen[key] {
			return errors.New("the key " + quoted(key) + " is given twice")
		}
		seen[key] = true
		m := member{key: key, line: b.line}
		if m.value, err = b.value(depth + 1); err != nil {
			return err
		}
		n.members = append(n.members, m)
	}
	_, err := b.next()
	return err
}

func (b *builder) list(n *node, depth int) error {
	for b.dec.More() {
		item, err := b.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := b.next()
	return err
}

// merge lays high over low: objects merge, all else replaces. A null says nothing.
func merge(low, high *node) *node {
	if low == nil || low.kind != kindObject || high.kind != kindObject {
		return high
	}
	merged := *low
	merged.members = append([]member(nil), low.members...)
	index := make(map[string]int, len(merged.members))
	for i := range merged.members {
		index[merged.members[i].key] = i
	}
	for _, m := range high.members {
		if m.value.kind == kindNull {
			continue
		}
		if i, ok := index[m.key]; ok {
			m.value = merge(merged.members[i].value, m.value)
			merged.members[i] = m
			continue
		}
		merged.members = append(merged.members, m)
	}
	return &merged
}
