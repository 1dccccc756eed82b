package scripted

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds the nesting of arguments.
const maxDepth = 64

// jsonWriter turns YAML into compact JSON, keeping the order of keys, as a template: variables may stand in its strings.
type jsonWriter struct {
	pieces  template
	literal strings.Builder // not yet in pieces
}

// arguments compiles the mapping of a call.
func (p *parser) arguments(n *yaml.Node) template {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "args must be a mapping; use raw_arguments for anything else")
		return nil
	}
	var w jsonWriter
	p.value(&w, n, 0)
	return append(w.pieces, piece{literal: w.literal.String()}) // the end is never empty: it closes the mapping
}

func (p *parser) value(w *jsonWriter, n *yaml.Node, depth int) {
	if depth > maxDepth {
		p.fail(n, "args are nested deeper than "+strconv.Itoa(maxDepth)+" levels")
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		w.literal.WriteByte('{')
		for i, pair := range p.pairs(n, "args") {
			if i > 0 {
				w.literal.WriteByte(',')
			}
			w.quote(template{{literal: pair.key.Value}})
			w.literal.WriteByte(':')
			p.value(w, pair.value, depth+1)
		}
		w.literal.WriteByte('}')
	case yaml.SequenceNode:
		w.literal.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				w.literal.WriteByte(',')
			}
			p.value(w, item, depth+1)
		}
		w.literal.WriteByte(']')
	case yaml.ScalarNode:
		p.scalar(w, n)
	default:
		p.fail(n, "aliases are not supported")
	}
}

func (p *parser) scalar(w *jsonWriter, n *yaml.Node) {
	switch n.ShortTag() {
	case "!!str", "!!timestamp": // a date is a text to a tool
		w.quote(p.compile(n))
	case "!!null":
		w.literal.WriteString("null")
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			p.fail(n, "this value cannot be read: "+oneLine(err.Error()))
		}
		if isNumber(n.Value) {
			w.literal.WriteString(n.Value)
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			p.fail(n, "JSON has no such value; quote it")
		}
		w.literal.Write(data)
	default:
		p.fail(n, "values of the type "+n.ShortTag()+" are not supported; quote it")
	}
}

// isNumber says that a scalar of YAML is a number of JSON as it stands.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}

// quote writes a string of JSON.
func (w *jsonWriter) quote(t template) {
	w.literal.WriteByte('"')
	for _, p := range t {
		escape(&w.literal, p.literal)
		if p.variable != none {
			w.pieces = append(w.pieces, piece{literal: w.literal.String(), variable: p.variable, escape: true})
			w.literal.Reset()
		}
	}
	w.literal.WriteByte('"')
}
