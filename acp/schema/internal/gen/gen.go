// Package gen writes Go types for a JSON schema of the Agent Client Protocol.
//
// It knows the shapes that this schema uses, not JSON schema at large:
//
//   - an object becomes a struct, its fields in the schema's order;
//   - a choice told apart by a constant member becomes a union: a struct with one
//     pointer per variant and the raw JSON of an unknown one;
//   - any other choice between objects becomes one struct with the fields of all;
//   - strings with constants become a string type with Go constants, other named
//     strings an alias of string;
//   - a choice between scalars stays raw JSON.
//
// Only what a method's messages reach is written. Overrides that the schema cannot
// express are in the tables of names.go.
package gen

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/format"
	"maps"
	"slices"
	"strings"
)

// Generate returns the Go source of the types in the given schema.
func Generate(schema []byte) ([]byte, error) {
	var doc struct {
		Defs map[string]*def `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &doc); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	g := &generator{defs: doc.Defs, used: map[string]bool{}}
	for _, name := range sorted(g.defs) {
		if g.defs[name].Method != "" {
			g.reach(name)
		}
	}
	g.p("// Code generated from the published ACP v1 schema by internal/gen; DO NOT EDIT.\n\npackage schema\n\nimport \"encoding/json\"\n")
	sum := fmt.Sprintf("%x", sha256.Sum256(schema))
	g.p("const (\n\t// SHA256 is the hash of the schema these types were generated from.\n\tSHA256 = %q\n\t// SHA256Prefix names it in print.\n\tSHA256Prefix = %q\n)\n", sum, sum[:8])
	g.methods()
	for _, name := range sorted(g.defs) {
		if g.used[name] {
			g.define(name)
		}
	}
	src, err := format.Source(g.out.Bytes())
	if err != nil {
		return g.out.Bytes(), fmt.Errorf("format generated code: %w", err)
	}
	return src, nil
}

type generator struct {
	defs map[string]*def
	used map[string]bool
	out  bytes.Buffer
}

func (g *generator) p(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

// reach marks a definition and all that it refers to.
func (g *generator) reach(name string) {
	if g.used[name] || g.defs[name] == nil {
		return
	}
	g.used[name] = true
	var walk func(d *def)
	walk = func(d *def) {
		if d == nil {
			return
		}
		if g.folded(name, d) {
			walk(g.defs[d.ref()])
		} else {
			g.reach(d.ref())
		}
		for _, key := range d.Properties.list() {
			walk(d.Properties.m[key])
		}
		walk(d.Items)
		walk(d.AdditionalProperties.schema)
		for _, list := range [][]*def{d.AllOf, d.AnyOf, d.OneOf} {
			for _, b := range list {
				walk(b)
			}
		}
	}
	walk(g.defs[name])
}

// folded reports a branch whose fields become part of the struct for name, so that
// what it refers to is no type of its own.
func (g *generator) folded(name string, d *def) bool {
	if d.ref() == "" || g.shape(name) != shapeStruct {
		return false
	}
	return g.isBranch(g.defs[name], d)
}

func (g *generator) isBranch(of, d *def) bool {
	if of == nil {
		return false
	}
	for _, b := range slices.Concat(of.AllOf, of.branches()) {
		if b == d || g.isBranch(b, d) || b.ref() != "" && g.isBranch(g.defs[b.ref()], d) {
			return true
		}
	}
	return false
}

func (g *generator) methods() {
	names := map[string]bool{}
	for name := range g.used {
		if m := g.defs[name].Method; m != "" {
			names[m] = true
		}
	}
	g.p("// Method names.\nconst (")
	for _, m := range sorted(names) {
		g.p("\tMethod%s = %q", exported(m), m)
	}
	g.p(")\n")
}

// define writes one definition.
func (g *generator) define(name string) {
	d := g.defs[name]
	switch g.shape(name) {
	case shapeAlias:
		g.comment("", typeName(name), d.Description)
		g.p("type %s = string\n", typeName(name))
	case shapeEnum:
		g.enum(name, d)
	case shapeStruct:
		g.structure(name, d)
	case shapeUnion:
		g.union(name, d)
	}
}

func (g *generator) enum(name string, d *def) {
	g.comment("", typeName(name), d.Description)
	g.p("type %s string\n\nconst (", typeName(name))
	prefix, ok := enumPrefix[name]
	if !ok {
		prefix = typeName(name)
	}
	for _, b := range d.branches() {
		if s, ok := b.Const.(string); ok {
			g.comment("\t", "", b.Description)
			g.p("\t%s%s %s = %q", prefix, exported(s), typeName(name), s)
		}
	}
	g.p(")\n")
}

// structure writes an object, with the fields of its branches if it has any.
func (g *generator) structure(name string, d *def) {
	fields := newProperties()
	g.fields(d, fields)
	required := g.required(d)
	var lists []string // required lists, which must not be null
	g.comment("", typeName(name), d.Description)
	g.p("type %s struct {", typeName(name))
	for _, key := range fields.keys {
		f := fields.m[key]
		typ, opt := g.fieldType(name, key, f, required[key])
		if required[key] && strings.HasPrefix(typ, "[]") {
			lists = append(lists, exported(key))
		}
		if key != "_meta" { // the package comment has it
			g.comment("\t", "", f.Description)
		}
		g.p("\t%s %s `json:\"%s%s\"`", exported(key), typ, key, opt)
	}
	g.p("}\n")
	if len(lists) == 0 {
		return
	}
	g.p("// MarshalJSON writes required lists as [], never null.\nfunc (v %s) MarshalJSON() ([]byte, error) {\n\ttype plain %[1]s", typeName(name))
	for _, l := range lists {
		g.p("\tv.%s = list(v.%[1]s)", l)
	}
	g.p("\treturn marshal(plain(v))\n}\n")
}

// fields collects the properties of d and of all its branches; _meta comes last.
// One that has different types in different branches becomes raw JSON.
func (g *generator) fields(d *def, into *properties) {
	for _, key := range d.Properties.list() {
		f := d.Properties.m[key]
		if old := into.m[key]; old != nil && g.goType(old) != g.goType(f) {
			f = &def{} // neither description fits both
		}
		into.add(key, f)
	}
	for _, list := range [][]*def{d.AllOf, d.AnyOf, d.OneOf} {
		for _, b := range list {
			if t := g.defs[b.ref()]; t != nil {
				g.fields(t, into)
			}
			if b.ref() == "" || b.Properties != nil {
				g.fields(&def{Properties: b.Properties, AnyOf: b.AnyOf, OneOf: b.OneOf}, into)
			}
		}
	}
	into.last("_meta")
}

// required tells which properties every valid object has.
func (g *generator) required(d *def) map[string]bool {
	req := map[string]bool{}
	for _, k := range d.Required {
		req[k] = true
	}
	if t := g.defs[d.Ref.name()]; t != nil {
		maps.Copy(req, g.required(t))
	}
	for _, b := range d.AllOf {
		maps.Copy(req, g.required(b))
	}
	for _, list := range [][]*def{d.AnyOf, d.OneOf} {
		if len(list) == 0 {
			continue
		}
		common := g.required(list[0])
		for _, b := range list[1:] {
			other := g.required(b)
			maps.DeleteFunc(common, func(k string, _ bool) bool { return !other[k] })
		}
		maps.Copy(req, common)
	}
	return req
}

// union writes a choice whose variants a constant member tells apart.
func (g *generator) union(name string, d *def) {
	var (
		tag      string
		fallback *def // the variant without the member
		types    []string
		kinds    = map[string][]string{} // variant type -> its constants
		bare     []string                // constants without a body
	)
	for _, b := range d.branches() {
		t := b.ref()
		key, value := b.constant()
		switch {
		case key == "" && t != "":
			fallback = b
		case key == "":
			continue // "other": what the Raw field is for
		case t == "":
			tag, bare = key, append(bare, value)
			continue
		default:
			tag = key
			kinds[t] = append(kinds[t], value)
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	n := typeName(name)
	prefix, ok := enumPrefix[name]
	if !ok {
		prefix = n + "Kind"
	}
	g.comment("", n, d.Description)
	g.p("//\n// One of the pointers is set, or Raw for a variant that is unknown here.")
	g.p("type %s struct {\n\tKind string // the member %q of the JSON", n, tag)
	for _, t := range types {
		g.p("\t%s *%[1]s", typeName(t))
	}
	g.p("\tRaw json.RawMessage\n}\n\n// Kinds of %s.\nconst (", n)
	for _, b := range d.branches() {
		if _, value := b.constant(); value != "" {
			g.p("\t%s%s = %q", prefix, exported(value), value)
		}
	}
	g.p(")\n")

	g.p("func (u %s) variant() (kind string, v any) {\n\tswitch {", n)
	for _, t := range types {
		kind := "u.Kind"
		if len(kinds[t]) == 1 {
			kind = fmt.Sprintf("%q", kinds[t][0])
		}
		if fallback != nil && t == fallback.ref() {
			kind = `""`
		}
		g.p("\tcase u.%s != nil:\n\t\treturn %s, u.%[1]s", typeName(t), kind)
	}
	g.p("\t}\n\treturn u.Kind, nil\n}\n")
	g.p("// MarshalJSON implements json.Marshaler.\nfunc (u %s) MarshalJSON() ([]byte, error) {\n\tkind, v := u.variant()\n\treturn marshalUnion(%q, kind, v, u.Raw)\n}\n", n, tag)

	g.p("// UnmarshalJSON implements json.Unmarshaler.\nfunc (u *%s) UnmarshalJSON(b []byte) error {\n\tkind, err := kindOf(b, %q)\n\tif err != nil {\n\t\treturn err\n\t}\n\t*u = %[1]s{Kind: kind}\n\tswitch kind {", n, tag)
	for _, t := range types {
		if fallback != nil && t == fallback.ref() {
			names := `""`
			if fallback.Title != "" { // some clients spell the default out
				names += fmt.Sprintf(", %q", fallback.Title)
			}
			g.p("\tcase %s:\n\t\tu.Kind, u.%s = \"\", new(%[2]s)\n\t\treturn json.Unmarshal(b, u.%[2]s)", names, typeName(t))
			continue
		}
		g.p("\tcase %s:\n\t\tu.%s = new(%[2]s)\n\t\treturn json.Unmarshal(b, u.%[2]s)", quoted(kinds[t]), typeName(t))
	}
	if len(bare) > 0 {
		g.p("\tcase %s:\n\t\treturn nil", quoted(bare))
	}
	g.p("\t}\n\tu.Raw = append(u.Raw, b...)\n\treturn nil\n}\n")
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(out, ", ")
}

// comment writes the first paragraph of a description, after the name it is for.
func (g *generator) comment(indent, name, text string) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case name != "" && text == "":
		text = name + " is a type of the protocol."
	case name != "":
		text = name + ": " + text
	}
	for text != "" {
		line := text
		if len(line) > 90 {
			if i := strings.LastIndexByte(line[:90], ' '); i > 0 {
				line = line[:i]
			}
		}
		text = strings.TrimSpace(text[len(line):])
		g.p("%s// %s", indent, line)
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
