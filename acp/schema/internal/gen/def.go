package gen

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// def is a schema, at the top or nested.
type def struct {
	Ref                  ref         `json:"$ref"`
	Type                 any         `json:"type"` // a name or a list of names
	Title                string      `json:"title"`
	Description          string      `json:"description"`
	Const                any         `json:"const"`
	Properties           *properties `json:"properties"`
	Required             []string    `json:"required"`
	Items                *def        `json:"items"`
	AllOf                []*def      `json:"allOf"`
	AnyOf                []*def      `json:"anyOf"`
	OneOf                []*def      `json:"oneOf"`
	AdditionalProperties additional  `json:"additionalProperties"`
	Method               string      `json:"x-method"`
}

type ref string

func (r ref) name() string { return string(r[strings.LastIndexByte(string(r), '/')+1:]) }

// ref is the definition that d names, itself or through an allOf of one.
func (d *def) ref() string {
	if d.Ref != "" {
		return d.Ref.name()
	}
	if len(d.AllOf) == 1 {
		return d.AllOf[0].ref()
	}
	return ""
}

// scalar is d's type and whether it may be null.
func (d *def) scalar() (name string, null bool) {
	switch t := d.Type.(type) {
	case string:
		return t, t == "null"
	case []any:
		for _, x := range t {
			if s, _ := x.(string); s == "null" {
				null = true
			} else {
				name = s
			}
		}
	}
	return name, null
}

func (d *def) branches() []*def { return slices.Concat(d.OneOf, d.AnyOf) }

// constant is the member of a branch that has a constant string, and that string.
func (d *def) constant() (key, value string) {
	for _, k := range d.Properties.list() {
		if s, ok := d.Properties.m[k].Const.(string); ok {
			return k, s
		}
	}
	return "", ""
}

// additional is additionalProperties: a schema, or a boolean that tells nothing.
type additional struct{ schema *def }

func (a *additional) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return json.Unmarshal(b, &a.schema)
	}
	return nil
}

// properties keeps the order in which the schema lists them.
type properties struct {
	keys []string
	m    map[string]*def
}

func newProperties() *properties { return &properties{m: map[string]*def{}} }

func (p *properties) list() []string {
	if p == nil {
		return nil
	}
	return p.keys
}

func (p *properties) add(key string, d *def) {
	if p.m[key] == nil {
		p.keys = append(p.keys, key)
	}
	p.m[key] = d
}

func (p *properties) last(key string) {
	if i := slices.Index(p.keys, key); i >= 0 {
		p.keys = append(slices.Delete(p.keys, i, i+1), key)
	}
}

func (p *properties) UnmarshalJSON(b []byte) error {
	*p = *newProperties()
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		d := new(def)
		if err := dec.Decode(d); err != nil {
			return err
		}
		p.add(key.(string), d) // a key is a string
	}
	return nil
}
