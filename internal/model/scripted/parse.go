package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parser walks the nodes of a script. It keeps the first mistake and goes on with empty values.
type parser struct{ err *LoadError }

func (p *parser) fail(n *yaml.Node, reason string) {
	if p.err == nil {
		p.err = &LoadError{Line: n.Line, Reason: reason}
	}
}

func parse(data []byte) (*Script, *LoadError) {
	var doc, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &LoadError{Reason: "it is empty: a script has a list `responses`"}
		}
		return nil, malformed(err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, &LoadError{Line: second.Line, Reason: "a script is one document; remove the second"}
	} else if !errors.Is(err, io.EOF) {
		return nil, malformed(err)
	}
	if len(doc.Content) == 0 {
		return nil, &LoadError{Reason: "it is empty: a script has a list `responses`"}
	}
	var p parser
	s := p.script(doc.Content[0])
	return s, p.err
}

// malformed takes the line out of the words of the YAML reader.
func malformed(err error) *LoadError {
	e := &LoadError{Reason: "malformed YAML: " + oneLine(strings.TrimPrefix(err.Error(), "yaml: ")), cause: err}
	if rest, ok := strings.CutPrefix(err.Error(), "yaml: line "); ok {
		if digits, words, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(digits); err == nil {
				e.Line, e.Reason = line, "malformed YAML: "+oneLine(words)
			}
		}
	}
	return e
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (p *parser) script(n *yaml.Node) *Script {
	s := &Script{}
	var responses *yaml.Node
	for _, f := range p.fields(n, "a script", "responses", "repeat") {
		switch f.name {
		case "repeat":
			s.repeat = p.boolean(f)
		case "responses":
			responses = f.value
		}
	}
	switch {
	case responses == nil:
		p.fail(n, "a script has a list `responses`")
		return s
	case responses.Kind != yaml.SequenceNode:
		p.fail(responses, "responses must be a list")
		return s
	}
	for i, item := range responses.Content {
		e := p.entry(item)
		e.number = uint64(i) + 1
		if e.when == "" {
			s.plain = append(s.plain, i)
		} else {
			s.when = append(s.when, i)
		}
		s.entries = append(s.entries, e)
	}
	if s.repeat && len(s.plain) == 0 {
		p.fail(n, "repeat needs an entry without `when`")
	}
	return s
}

// field is a key of a mapping with its value.
type field struct {
	name  string
	key   *yaml.Node
	value *yaml.Node
}

// fields returns the pairs of a mapping whose keys are fixed.
func (p *parser) fields(n *yaml.Node, what string, names ...string) []field {
	if n.Kind != yaml.MappingNode {
		p.fail(n, what+" must be a mapping with the keys "+strings.Join(names, ", "))
		return nil
	}
	all := p.pairs(n, what)
	for _, f := range all {
		known := false
		for _, name := range names {
			known = known || f.name == name
		}
		if !known {
			p.fail(f.key, fmt.Sprintf("unknown key %q in %s; known are %s", clip(f.name), what, strings.Join(names, ", ")))
		}
	}
	return all
}

// pairs returns the pairs of a mapping, in order.
func (p *parser) pairs(n *yaml.Node, what string) []field {
	seen := make(map[string]bool, len(n.Content)/2)
	all := make([]field, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			p.fail(key, "a key in "+what+" must be a plain word")
			continue
		}
		if seen[key.Value] {
			p.fail(key, fmt.Sprintf("the key %q is given twice in %s", clip(key.Value), what))
		}
		seen[key.Value] = true
		if value.Kind == yaml.AliasNode {
			p.fail(value, "aliases are not supported")
			continue
		}
		all = append(all, field{key.Value, key, value})
	}
	return all
}

func (p *parser) text(f field) string {
	if f.value.Kind != yaml.ScalarNode || f.value.ShortTag() != "!!str" {
		p.fail(f.value, f.name+" must be a string; quote it")
		return ""
	}
	return f.value.Value
}

func (p *parser) filled(f field) string {
	s := p.text(f)
	if s == "" {
		p.fail(f.value, f.name+" must not be empty")
	}
	return s
}

func (p *parser) template(f field) template {
	if p.text(f) == "" {
		return nil
	}
	return p.compile(f.value)
}

func (p *parser) compile(n *yaml.Node) template {
	t, err := compile(n.Value)
	if err != nil {
		p.fail(n, err.Error())
	}
	return t
}

func (p *parser) boolean(f field) bool {
	var b bool
	if f.value.Kind != yaml.ScalarNode || f.value.ShortTag() != "!!bool" || f.value.Decode(&b) != nil {
		p.fail(f.value, f.name+" must be true or false")
	}
	return b
}

func (p *parser) whole(f field, most uint64) uint64 {
	var v uint64
	if f.value.Kind != yaml.ScalarNode || f.value.ShortTag() != "!!int" || f.value.Decode(&v) != nil || v > most {
		p.fail(f.value, fmt.Sprintf("%s must be a whole number from 0 to %d", f.name, most))
		return 0
	}
	return v
}
