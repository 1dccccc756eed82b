package gen

import "strings"

// enumPrefix shortens the constants of an enum, or of a union's kinds.
var enumPrefix = map[string]string{
	"CompactionStatus":            "Compaction",
	"ContentBlock":                "Block",
	"NoticeSeverity":              "Notice",
	"PermissionOptionKind":        "Permission",
	"PlanEntryPriority":           "Priority",
	"PlanEntryStatus":             "Plan",
	"RequestPermissionOutcome":    "Outcome",
	"SessionConfigOptionCategory": "Category",
	"SessionUpdate":               "Update",
	"StopReason":                  "Stop",
	"StringFormat":                "Format",
	"ToolCallContent":             "Tool",
	"ToolCallStatus":              "Status",
	"ToolKind":                    "Kind",
}

// plain lists definitions that are written as a Go type of their own nowhere.
var plain = map[string]string{
	"ProtocolVersion": "int", // whatever a client claims is to be understood
}

// fieldTypes overrides a field's type. The schema cannot say what an absence means.
var fieldTypes = map[string]string{
	// Absent, null and a value differ.
	"SessionInfoUpdate.title":     "Nullable",
	"SessionInfoUpdate.updatedAt": "Nullable",
	// Absent and empty differ.
	"Diff.oldText":                  "*string",
	"EmbeddedResourceResource.text": "*string",
	"EmbeddedResourceResource.blob": "*string",
	"StringPropertySchema.default":  "*string",
	// Line numbers start at 1, so 0 is absent.
	"ToolCallLocation.line":    "uint32",
	"ReadTextFileRequest.line": "uint32",
}

// initialisms are written in capitals at a name's end.
var initialisms = []string{"Id", "Url", "Uri"}

// exported makes a Go name of a property, a constant or a method.
func exported(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("_-/$.", r) })
	for i, x := range parts {
		parts[i] = strings.ToUpper(x[:1]) + x[1:]
	}
	return typeName(strings.Join(parts, ""))
}

func typeName(s string) string {
	for _, i := range initialisms {
		if strings.HasSuffix(s, i) {
			return strings.TrimSuffix(s, i) + strings.ToUpper(i)
		}
	}
	return s
}

type shape int

const (
	shapeRaw    shape = iota // json.RawMessage
	shapePlain               // see plain
	shapeAlias               // = string
	shapeEnum                // string with constants
	shapeStruct              // struct
	shapeUnion               // struct of pointers
)

func (g *generator) shape(name string) shape {
	d := g.defs[name]
	if plain[name] != "" {
		return shapePlain
	}
	branches := d.branches()
	t, _ := d.scalar()
	switch {
	case len(branches) == 0 && t == "string":
		return shapeAlias
	case len(branches) == 0 && t == "object":
		return shapeStruct
	case len(branches) == 0:
		return shapeRaw
	case d.Properties != nil:
		return shapeStruct
	}
	refs, tagged, constants := 0, 0, 0
	for _, b := range branches {
		if b.ref() != "" {
			refs++
		}
		if _, v := b.constant(); v != "" {
			tagged++
		}
		if _, ok := b.Const.(string); ok {
			constants++
		}
	}
	switch {
	case constants > 0:
		return shapeEnum
	case tagged == len(branches) && refs == 0: // an object that is only its tag
		return shapeStruct
	case tagged > 0:
		return shapeUnion
	case refs == len(branches) || tagged > 0:
		return shapeStruct
	}
	return shapeRaw
}

// goType is the type of a property that is present.
func (g *generator) goType(d *def) string {
	if r := d.ref(); r != "" {
		return g.named(r)
	}
	if len(d.AnyOf) == 2 { // a choice with null
		for i, b := range d.AnyOf {
			if t, _ := b.scalar(); t == "null" {
				return g.goType(d.AnyOf[1-i])
			}
		}
	}
	switch t, _ := d.scalar(); t {
	case "string":
		return "string"
	case "boolean":
		return "bool"
	case "number":
		return "float64"
	case "integer":
		return "int64"
	case "array":
		return "[]" + g.goType(d.Items)
	case "object":
		if s := d.AdditionalProperties.schema; s != nil {
			return "map[string]" + g.goType(s)
		}
	}
	return "json.RawMessage"
}

func (g *generator) named(name string) string {
	switch g.shape(name) {
	case shapeRaw:
		return "json.RawMessage"
	case shapePlain:
		return plain[name]
	}
	return typeName(name)
}

// fieldType is a field's type and what its tag adds to the name. An optional
// string, list, map or raw value is left out when it is empty, so it needs no
// pointer; numbers and structs do, and a boolean that may be null.
func (g *generator) fieldType(owner, key string, d *def, required bool) (typ, opt string) {
	if typ = fieldTypes[owner+"."+key]; typ == "" {
		typ = g.goType(d)
		_, null := d.scalar()
		_, hasConst := d.Const.(string)
		switch {
		case hasConst:
			typ = "string"
		case required:
		case typ == "int64" || typ == "float64" || typ == "bool" && null:
			typ = "*" + typ
		case g.isStruct(typ):
			typ = "*" + typ
		}
	}
	if !required {
		opt = ",omitzero"
	}
	return typ, opt
}

// isStruct reports a type that this generator writes as a struct.
func (g *generator) isStruct(typ string) bool {
	for name := range g.used {
		if s := g.shape(name); typeName(name) == typ && (s == shapeStruct || s == shapeUnion) {
			return true
		}
	}
	return false
}
