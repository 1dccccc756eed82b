// Package rawjson walks and writes JSON text without decoding it, for the paths
// where a message passes through or is sent often.
package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Members calls f for each member of obj, in order, until f returns false. Key is
// unescaped; value is a part of obj. Obj must be the valid JSON text of an object
// without space before it: Members does not check it and may panic otherwise.
func Members(obj []byte, f func(key, value []byte) bool) {
	i := skipSpace(obj, 1)
	for obj[i] != '}' {
		end := skipString(obj, i)
		key := obj[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			var s string
			_ = json.Unmarshal(obj[i:end], &s) // valid by contract
			key = []byte(s)
		}
		i = skipSpace(obj, end) // at the colon
		i = skipSpace(obj, i+1) // at the value
		end = skipValue(obj, i)
		if !f(key, obj[i:end:end]) { // capped: an append may not reach obj
			return
		}
		if i = skipSpace(obj, end); obj[i] == ',' {
			i = skipSpace(obj, i+1)
		}
	}
}

// IsSpace reports JSON's white space.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// Trim cuts JSON's white space off both ends.
func Trim(b []byte) []byte {
	for len(b) > 0 && IsSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && IsSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func skipSpace(b []byte, i int) int {
	for IsSpace(b[i]) {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i. Long strings are
// the bulk of a large message, so it hops from quote to quote.
func skipString(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		n := 0
		for b[i-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the index after the value that starts at i.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		for depth := 0; ; {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && !IsSpace(b[i]) {
		i++
	}
	return i
}

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string. It escapes what JSON requires and the
// two line separators of Unicode, at which JavaScript's line readers break a
// line, and nothing for HTML. Bytes that are not UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[from:i]...), '\\', 'u', '2', '0', '2', hex[r&15])
		default:
			i += n
			continue
		}
		i += n
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}
