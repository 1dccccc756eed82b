package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"zuno/acp/schema/rawjson"
)

// ProtocolVersion is the version that these types speak.
const ProtocolVersion = 1

// Nullable is a string that may be absent (the zero value), null, or a value.
type Nullable struct {
	set, null bool
	s         string
}

// Null clears what the client has.
func Null() Nullable { return Nullable{set: true, null: true} }

// String sets a value, which may be empty.
func String(s string) Nullable { return Nullable{set: true, s: s} }

// IsZero reports an absent value.
func (n Nullable) IsZero() bool { return !n.set }

// IsNull reports null.
func (n Nullable) IsNull() bool { return n.null }

// Value is the string, and whether there is one.
func (n Nullable) Value() (string, bool) { return n.s, n.set && !n.null }

// MarshalJSON implements json.Marshaler.
func (n Nullable) MarshalJSON() ([]byte, error) {
	if !n.set || n.null {
		return []byte("null"), nil
	}
	return rawjson.AppendString(nil, n.s), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Nullable) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Null()
		return nil
	}
	*n = Nullable{set: true}
	return json.Unmarshal(b, &n.s)
}

// list makes a nil list an empty one.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// marshal is json.Marshal without HTML escaping.
func marshal(v any) ([]byte, error) {
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= keptBuffer {
			buf.Reset()
			buffers.Put(buf)
		}
	}()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(buf.Bytes()[:buf.Len()-1]), nil
}

// buffers are those in which values are encoded before they are known in full.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keptBuffer is the largest buffer that is kept.
const keptBuffer = 64 << 10

// marshalUnion writes a variant with its tag in front.
func marshalUnion(tag, kind string, v any, raw json.RawMessage) ([]byte, error) {
	if v == nil && raw != nil {
		return raw, nil
	}
	if kind == "" && v == nil {
		return nil, fmt.Errorf("schema: a choice by %q with no variant set", tag)
	}
	var body []byte
	if v != nil {
		var err error
		if body, err = marshal(v); err != nil || kind == "" {
			return body, err
		}
	}
	return appendTagged(make([]byte, 0, len(body)+len(tag)+len(kind)+8), tag, kind, body), nil
}

// appendTagged appends body, an object or nothing, with a first member tag.
func appendTagged(b []byte, tag, kind string, body []byte) []byte {
	b = append(b, '{')
	b = rawjson.AppendString(b, tag)
	b = append(b, ':')
	b = rawjson.AppendString(b, kind)
	if len(body) <= len("{}") {
		return append(b, '}')
	}
	b = append(b, ',')
	return append(b, body[1:]...)
}

var errNotObject = errors.New("schema: not an object")

// kindOf reads the tag of a choice from b, which encoding/json has checked.
// An absent tag is "".
func kindOf(b []byte, tag string) (string, error) {
	if len(b) == 0 || b[0] != '{' {
		return "", errNotObject
	}
	var raw []byte
	rawjson.Members(b, func(key, value []byte) bool {
		if string(key) == tag {
			raw = value
			return false
		}
		return true
	})
	if raw == nil {
		return "", nil
	}
	var kind string
	if err := json.Unmarshal(raw, &kind); err != nil {
		return "", fmt.Errorf("schema: member %q is not a string", tag)
	}
	return kind, nil
}
