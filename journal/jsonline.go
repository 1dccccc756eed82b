package journal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxLine  = 1 << 30 // bytes of a line of an export; what it costs is never more than what was sent
	maxNames = 1 << 10 // bytes of a member's name that import looks at
	maxNest  = 200     // of arrays and objects in a line: twice and more what an export has
)

// exportLine is what import takes out of a line; all else of the line follows from it.
type exportLine struct {
	raw   []byte // format ‖ hash ‖ body
	texts []exportText
	arena []byte // of the texts
}

type exportText struct {
	from, to int // in the arena
	redacted bool
	missing  bool // said to be, or simply not there
}

func (l *exportLine) text(i int) []byte { return l.arena[l.texts[i].from:l.texts[i].to] }

var errNotJSON = errors.New("is not a JSON object as export writes it")

// parse finds raw and the texts in a line. It does not look at anything else than needed to find them.
func (l *exportLine) parse(line []byte) (field string, err error) {
	l.raw, l.texts, l.arena = l.raw[:0], l.texts[:0], l.arena[:0]
	s := jsonScan{b: line}
	haveRaw, haveTexts := false, false
	err = s.object(func(name []byte) error {
		switch string(name) {
		case "raw":
			field = "raw"
			if haveRaw {
				return errors.New("stands there twice")
			}
			haveRaw = true
			l.raw, err = s.base64(l.raw)
		case "texts":
			field = "texts"
			if haveTexts {
				return errors.New("stands there twice")
			}
			haveTexts = true
			err = s.array(func() error { return l.oneText(&s, &field) })
		default:
			err = s.skip(0)
		}
		if err == nil {
			field = ""
		}
		return err
	})
	if s.space(); err == nil && s.pos != len(line) {
		err = errNotJSON
	}
	switch {
	case err != nil:
		return field, err
	case !haveRaw:
		return "raw", errors.New("is not there: a normalized export cannot be imported")
	case !haveTexts:
		return "texts", errors.New("is not there")
	}
	return "", nil
}

func (l *exportLine) oneText(s *jsonScan, field *string) error {
	if len(l.texts) >= MaxTexts {
		return fmt.Errorf("holds more than %d texts", MaxTexts)
	}
	t := exportText{from: len(l.arena), missing: true}
	*field = "texts[" + strconv.Itoa(len(l.texts)) + "]"
	err := s.object(func(name []byte) (err error) {
		switch string(name) {
		case "text", "base64":
			if !t.missing {
				return errors.New("has its bytes twice")
			}
			t.missing = false
			if name[0] == 't' {
				l.arena, err = s.string(l.arena)
			} else {
				l.arena, err = s.base64(l.arena)
			}
		case "redacted":
			t.redacted = true
			err = s.skip(0)
		default:
			err = s.skip(0)
		}
		return err
	})
	t.to = len(l.arena)
	if t.redacted && !t.missing {
		return errors.New("is said to be redacted, and is there")
	}
	l.texts = append(l.texts, t)
	if err == nil {
		*field = "texts"
	}
	return err
}

// jsonScan goes through one JSON text.
type jsonScan struct {
	b   []byte
	pos int
}

func (s *jsonScan) space() {
	for s.pos < len(s.b) && (s.b[s.pos] == ' ' || s.b[s.pos] == '\t' || s.b[s.pos] == '\r' || s.b[s.pos] == '\n') {
		s.pos++
	}
}

// peek is the next byte that is no space; 0 at the end.
func (s *jsonScan) peek() byte {
	s.space()
	if s.pos == len(s.b) {
		return 0
	}
	return s.b[s.pos]
}

func (s *jsonScan) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// object calls fn for each member; fn takes the value.
func (s *jsonScan) object(fn func(name []byte) error) error {
	if !s.take('{') {
		return errNotJSON
	}
	if s.take('}') {
		return nil
	}
	for {
		name, err := s.quoted()
		if err != nil {
			return err
		}
		if len(name) > maxNames || !s.take(':') {
			return errNotJSON
		}
		if err := fn(name); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return errNotJSON
		}
	}
}

func (s *jsonScan) array(fn func() error) error {
	if !s.take('[') {
		return errNotJSON
	}
	if s.take(']') {
		return nil
	}
	for {
		if err := fn(); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return errNotJSON
		}
	}
}

// quoted is a string as it stands between its quotes.
func (s *jsonScan) quoted() ([]byte, error) {
	if !s.take('"') {
		return nil, errNotJSON
	}
	for from := s.pos; s.pos < len(s.b); {
		i := bytes.IndexAny(s.b[s.pos:], `"\`)
		if i < 0 {
			break
		}
		s.pos += i + 1
		if s.b[s.pos-1] == '"' {
			return s.b[from : s.pos-1], nil
		}
		s.pos++ // what a backslash stands before
	}
	return nil, errNotJSON
}

func (s *jsonScan) base64(to []byte) ([]byte, error) {
	q, err := s.quoted()
	if err != nil {
		return to, err
	}
	out, err := base64.StdEncoding.Strict().AppendDecode(to, q)
	if err != nil {
		return to, errors.New("is not base64")
	}
	return out, nil
}

// string appends a string without its escapes. Half a surrogate pair becomes U+FFFD, which then is not what the digest says.
func (s *jsonScan) string(to []byte) ([]byte, error) {
	q, err := s.quoted()
	if err != nil {
		return to, err
	}
	for len(q) > 0 {
		i := bytes.IndexByte(q, '\\')
		if i < 0 {
			break
		}
		to = append(to, q[:i]...)
		if q = q[i+1:]; len(q) == 0 {
			return to, errNotJSON
		}
		c := q[0]
		q = q[1:]
		switch c {
		case '"', '\\', '/':
			to = append(to, c)
		case 'n':
			to = append(to, '\n')
		case 't':
			to = append(to, '\t')
		case 'r':
			to = append(to, '\r')
		case 'b':
			to = append(to, '\b')
		case 'f':
			to = append(to, '\f')
		case 'u':
			r, n := hexRune(q)
			if n == 0 {
				return to, errNotJSON
			}
			q = q[n:]
			if utf16.IsSurrogate(r) {
				r2, n := rune(-1), 0
				if len(q) > 2 && q[0] == '\\' && q[1] == 'u' {
					r2, n = hexRune(q[2:])
				}
				if r = utf16.DecodeRune(r, r2); r != utf8.RuneError {
					q = q[2+n:]
				}
			}
			to = utf8.AppendRune(to, r)
		default:
			return to, errNotJSON
		}
	}
	return append(to, q...), nil
}

func hexRune(b []byte) (r rune, n int) {
	if len(b) < 4 {
		return 0, 0
	}
	v, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(v), 4
}

// skip passes one value. What it passes is compared as a whole afterwards, so it need not be looked at closely.
func (s *jsonScan) skip(depth int) error {
	if depth > maxNest {
		return errDepth
	}
	switch s.peek() {
	case '{':
		return s.object(func([]byte) error { return s.skip(depth + 1) })
	case '[':
		return s.array(func() error { return s.skip(depth + 1) })
	case '"':
		_, err := s.quoted()
		return err
	}
	from := s.pos
	for s.pos < len(s.b) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(s.b[s.pos])) {
		s.pos++
	}
	if s.pos == from {
		return errNotJSON
	}
	return nil
}
