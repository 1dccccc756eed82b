package permission

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Match says whether pattern covers the whole of name. `*` stands for any run of characters, separators included, `?`
// for exactly one UTF-16 unit, all else for itself; `\` and `/` are the same on both sides. A pattern that ends in
// " *" also covers the bare command before it. Case counts.
func Match(pattern, name string) bool {
	return newSubject(name).match(pattern)
}

// subject is a name prepared for many patterns.
type subject struct {
	text  string
	ascii []byte   // set when the name is ASCII
	units []uint16 // otherwise
}

func newSubject(name string) *subject {
	s := &subject{text: strings.ReplaceAll(name, `\`, "/")}
	if isASCII(s.text) {
		s.ascii = []byte(s.text)
	} else {
		s.units = utf16.Encode([]rune(s.text))
	}
	return s
}

func (s *subject) match(pattern string) bool {
	for i := range min(len(pattern), len(s.text)) { // most patterns differ before their first wildcard
		if c := slash(pattern[i]); c == '*' || c == '?' {
			break
		} else if c != s.text[i] {
			return false
		}
	}
	if s.glob(pattern) {
		return true
	}
	bare, ok := strings.CutSuffix(pattern, " *")
	return ok && s.glob(bare)
}

func (s *subject) glob(pattern string) bool {
	if s.ascii != nil { // no other byte of a pattern equals one of these, so bytes are units here
		return glob([]byte(pattern), s.ascii)
	}
	return glob(utf16.Encode([]rune(pattern)), s.units)
}

// glob tests `*` of the pattern before it compares literally, so that a name which itself holds a `*` dodges nothing.
// Only the last `*` is ever retried, which bounds the work by the product of both lengths.
func glob[T byte | uint16](pattern, name []T) bool {
	p, n := 0, 0
	star, retry := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || slash(pattern[p]) == name[n]):
			p++
			n++
		case star >= 0:
			retry++
			p, n = star+1, retry
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

func slash[T byte | uint16](c T) T {
	if c == '\\' {
		return '/'
	}
	return c
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
