package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	messageBytes  = 600 // a message to the model never grows with what the model sent
	quoteBytes    = 80
	maxNesting    = 64 // of objects and lists in arguments
	correctTheArg = "Correct it and call again; nothing was done."
)

// checked is what is left of arguments that passed.
type checked struct {
	encoded []byte
	intent  string
}

// check holds arguments as the model wrote them against the schema. Empty text counts as an object without fields.
// A field that is given twice is refused, at every depth: readers of JSON disagree on which one counts, so what was
// permitted could differ from what runs.
func (s *schema) check(args string) (checked, *Blocked) {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	if !utf8.ValidString(args) {
		return checked{}, Invalid("the arguments are not UTF-8. Send one JSON object in UTF-8; nothing was done.")
	}
	value, err := parse(args)
	var twice *duplicateError
	switch {
	case errors.As(err, &twice):
		return checked{}, Invalid("field %s is given twice. Give it once; nothing was done.", quote(twice.path))
	case errors.Is(err, errNesting):
		return checked{}, Invalid("the arguments are nested more than %d levels deep. Send a flat JSON object; nothing was done.", maxNesting)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return checked{}, Invalid("the arguments are cut off after %d bytes%s. Send the whole JSON object again; nothing was done.", len(args), s.needs())
	case err != nil:
		return checked{}, Invalid("the arguments are not valid JSON (%s)%s. Send one JSON object; nothing was done.", clip(err.Error(), 120), s.needs())
	}
	object, ok := value.(map[string]any)
	if !ok {
		return checked{}, Invalid("the arguments are %s instead of a JSON object%s. Send one JSON object; nothing was done.", typeOf(value), s.needs())
	}
	rewritten, complaint := conform(s.root, object, "")
	if complaint != "" {
		return checked{}, Invalid("%s", complaint)
	}
	if err := s.resolved.Validate(value); err != nil { // what conform does not know of
		return checked{}, Invalid("the arguments do not fit the schema: %s. %s", clip(err.Error(), 200), correctTheArg)
	}
	result := checked{encoded: []byte(args)}
	result.intent, _ = object[intentField].(string)
	if rewritten {
		if result.encoded, err = json.Marshal(object); err != nil {
			return checked{}, Invalid("the arguments cannot be read. %s", correctTheArg)
		}
	}
	return result, nil
}

// needs lists the required fields, for a message about arguments that could not be read at all.
func (s *schema) needs() string {
	if len(s.root.Required) == 0 {
		return ""
	}
	return "; required: " + strings.Join(s.root.Required, ", ")
}

// decode fills the argument struct from arguments that passed.
func decode(encoded []byte, into any) *Blocked {
	err := json.Unmarshal(encoded, into)
	if err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return Invalid("field %s cannot hold %s. %s", quote(wrong.Field), clip(wrong.Value, quoteBytes), correctTheArg)
	}
	return Invalid("the arguments cannot be read: %s. %s", clip(err.Error(), 200), correctTheArg)
}

// conform complains about the first thing in the value that does not fit, naming it by its path. A whole number that
// was written as one with a fraction or an exponent is put right in place.
func conform(s *jsonschema.Schema, value any, path string) (rewritten bool, complaint string) {
	if s == nil {
		return false, ""
	}
	if s.Type != "" && !fits(s.Type, value) {
		return false, fmt.Sprintf("field %s must be %s, not %s. %s", quote(path), article(s.Type), typeOf(value), advice(value))
	}
	switch v := value.(type) {
	case map[string]any:
		return conformObject(s, v, path)
	case []any:
		for i := range v {
			again, complaint := conform(s.Items, v[i], fmt.Sprintf("%s[%d]", path, i))
			if complaint != "" {
				return false, complaint
			}
			rewritten = rewritten || again
			if whole, ok := wholeNumber(s.Items, v[i]); ok {
				v[i], rewritten = whole, true
			}
		}
	case string:
		if s.Enum != nil && !slices.Contains(s.Enum, any(v)) {
			return false, fmt.Sprintf("field %s is %s, but must be one of %v. %s", quote(path), quote(v), s.Enum, correctTheArg)
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum {
			return false, fmt.Sprintf("field %s is %v, but must be at least %v. %s", quote(path), v, *s.Minimum, correctTheArg)
		}
	}
	return rewritten, ""
}

func conformObject(s *jsonschema.Schema, object map[string]any, path string) (rewritten bool, complaint string) {
	below := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return false, fmt.Sprintf("field %s is missing. Send it too; nothing was done.", quote(below(name)))
		}
	}
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names) // the same complaint every time
	for _, name := range names {
		property := s.Properties[name]
		if property == nil {
			if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil {
				property = s.AdditionalProperties
			} else {
				return false, fmt.Sprintf("field %s is unknown. The fields are: %s. Leave it out; nothing was done.",
					quote(below(name)), strings.Join(s.PropertyOrder, ", "))
			}
		}
		again, complaint := conform(property, object[name], below(name))
		if complaint != "" {
			return false, complaint
		}
		rewritten = rewritten || again
		if whole, ok := wholeNumber(property, object[name]); ok {
			object[name], rewritten = whole, true
		}
	}
	return rewritten, ""
}

// wholeNumber gives 2.0 and 2e3 the spelling that an integer field of a struct accepts. Such a field never holds more
// than a float64 can name exactly, so nothing is lost.
func wholeNumber(s *jsonschema.Schema, value any) (any, bool) {
	if s == nil || s.Type != "integer" {
		return nil, false
	}
	number, ok := value.(float64)
	if !ok || math.Abs(number) > 1<<53 {
		return nil, false
	}
	return int64(number), true
}

func fits(want string, value any) bool {
	switch want {
	case "object":
		_, ok := value.(map[string]any)
		return ok
	case "array":
		_, ok := value.([]any)
		return ok
	case "string":
		_, ok := value.(string)
		return ok
	case "boolean":
		_, ok := value.(bool)
		return ok
	case "number":
		_, ok := value.(float64)
		return ok
	case "integer":
		number, ok := value.(float64)
		return ok && number == math.Trunc(number) && math.Abs(number) <= 1<<53
	}
	return true
}

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		if v != math.Trunc(v) {
			return "a fraction"
		}
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	}
	return "an object"
}

func article(schemaType string) string {
	switch schemaType {
	case "integer":
		return "a whole number"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return "a " + schemaType
}

func advice(value any) string {
	if value == nil {
		return "Leave an optional field out instead of sending null; nothing was done."
	}
	return correctTheArg
}

type duplicateError struct{ path string }

func (e *duplicateError) Error() string { return "duplicate field " + e.path }

var (
	errNesting = errors.New("nested too deep")
	errTail    = errors.New("more text after the JSON value")
)

// parse reads one JSON value and nothing after it.
func parse(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	value, err := parseValue(d, "", 0)
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimSpace([]byte(text[d.InputOffset():])); len(rest) > 0 {
		return nil, errTail
	}
	return value, nil
}

func parseValue(d *json.Decoder, path string, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth >= maxNesting {
		return nil, errNesting
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			value, err := parseValue(d, fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, errors.New("a field's name must be a string")
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		if _, ok := object[name]; ok {
			return nil, &duplicateError{path: at}
		}
		if object[name], err = parseValue(d, at, depth+1); err != nil {
			return nil, err
		}
	}
	_, err = d.Token()
	return object, err
}

func quote(text string) string { return `"` + clip(text, quoteBytes) + `"` }

// clip cuts a text to a number of bytes at a character, and shows that it did.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
