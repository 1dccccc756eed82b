package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// intentField is accepted by every tool: a label for people.
const intentField = "intent"

const intentDescription = "A few words for the user on what this call is for. It changes nothing."

// schema is the JSON schema of a tool's arguments: the bytes that the model is sent and the tree that calls are
// checked against are one value.
type schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	encoded  []byte
}

func schemaOf[A any](tool string) *schema {
	root, err := jsonschema.For[A](nil)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", tool, err))
	}
	if root.Type != "object" {
		panic(fmt.Sprintf("tools: the arguments of %s are no struct", tool))
	}
	if root.Properties[intentField] != nil {
		panic(fmt.Sprintf("tools: %s has an argument %q of its own", tool, intentField))
	}
	forbidNull(root)
	applyTags(tool, root, reflect.TypeFor[A]())
	if root.Properties == nil {
		root.Properties = map[string]*jsonschema.Schema{}
	}
	root.Properties[intentField] = &jsonschema.Schema{Type: "string", Description: intentDescription}
	root.PropertyOrder = append(root.PropertyOrder, intentField)

	encoded, err := json.Marshal(root)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", tool, err))
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", tool, err))
	}
	return &schema{root: root, resolved: resolved, encoded: encoded}
}

// forbidNull takes the null alternative out that a slice or a pointer brings along: an optional argument is left out,
// and several providers refuse a list of types.
func forbidNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	forbidNull(s.Items)
	for _, property := range s.Properties {
		forbidNull(property)
	}
	if s.Type == "object" && len(s.Properties) == 0 {
		forbidNull(s.AdditionalProperties)
	}
}

// applyTags reads what the schema library has no tag for.
func applyTags(tool string, s *jsonschema.Schema, t reflect.Type) {
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := s.Properties[name]
		if property == nil {
			continue
		}
		if text, ok := field.Tag.Lookup("minimum"); ok {
			least, err := strconv.ParseFloat(text, 64)
			if err != nil {
				panic(fmt.Sprintf("tools: %s.%s: minimum %q is no number", tool, name, text))
			}
			property.Minimum = &least
		}
		if text, ok := field.Tag.Lookup("enum"); ok {
			property.Enum = nil
			for value := range strings.SplitSeq(text, ",") {
				property.Enum = append(property.Enum, value)
			}
		}
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			below := property
			if property.Items != nil {
				below = property.Items
			}
			applyTags(tool, below, inner)
		}
	}
}
