package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"zuno/acp/schema/rawjson"
)

// envelope is one message with its members as raw JSON, all of them parts of the
// line. An absent member is nil; null is the four bytes.
type envelope struct {
	id, method, params, result, err json.RawMessage
}

type kind int

const (
	isRequest kind = iota
	isNotification
	isAnswer
)

var (
	errParse   = errors.New("parse error")
	errInvalid = errors.New("invalid request")
)

// parse splits a line into its members and tells what it is.
// The error is errParse or errInvalid.
//
// Unknown members are ignored and the jsonrpc member is not checked: a client
// that leaves it out is understood all the same. Of a repeated member the last
// one counts, as in JavaScript.
func parse(line []byte) (envelope, kind, error) {
	var e envelope
	if !utf8.Valid(line) || !json.Valid(line) {
		return e, 0, errParse
	}
	line = rawjson.Trim(line)
	if line[0] != '{' {
		return e, 0, errInvalid
	}
	rawjson.Members(line, func(key, value []byte) bool {
		switch string(key) {
		case "id":
			e.id = value
		case "method":
			e.method = value
		case "params":
			e.params = value
		case "result":
			e.result = value
		case "error":
			e.err = value
		}
		return true
	})
	hasError := e.err != nil && !isNull(e.err)
	switch {
	case e.method != nil && (e.result != nil || hasError):
		return e, 0, errInvalid
	case e.method != nil:
		if e.method[0] != '"' || e.id != nil && !isID(e.id) {
			return e, 0, errInvalid
		}
		if e.id == nil {
			return e, isNotification, nil
		}
		return e, isRequest, nil
	case e.result == nil && !hasError:
		return e, 0, errInvalid
	}
	return e, isAnswer, nil
}

func isNull(raw []byte) bool { return string(raw) == "null" }

// isID reports a string, a number or null, the forms that an id may take.
func isID(raw json.RawMessage) bool {
	switch raw[0] {
	case '{', '[', 't', 'f':
		return false
	}
	return true
}

// idKey is the text by which an id is known. It keeps the JSON type, so 7 and "7"
// differ. Numbers are compared as written (7 and 7.0 differ); strings by value,
// since encoders differ in what they escape. It is not JSON.
func idKey(raw json.RawMessage) string {
	if raw[0] != '"' {
		return string(raw)
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[:len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // a valid string
	return `"` + s
}
