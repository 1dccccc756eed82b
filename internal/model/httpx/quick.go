package httpx

import "unsafe"

// Kinds of the values that [Quick] visits.
const (
	QuickText   = 's' // without escapes
	QuickWhole  = 'n' // a whole number
	QuickWord   = 'w' // true, false, null
	QuickObject = '{' // without members
	QuickList   = '[' // without elements
)

// QuickElement stands in a path for the element of a list.
const QuickElement = "[]"

const maxQuick = 8 // names on the way to a value

// Quick visits the values of a JSON object that is as plain as nearly all events of a stream are, without the general decoder,
// which takes most of a stream's time. The path leads to the value from outside and is
// never empty. Quick is false, with some values visited or
// none, where visit is or where the document is anything but plain: names of other than small letters, digits and _, escapes,
// fractions, lists of several elements. Then the general decoder has to read it.
func Quick(data []byte, visit func(path []string, kind byte, value string) bool) bool {
	q := quick{data: unsafeString(data), visit: visit}
	if q.space() != '{' {
		return false
	}
	return q.value(0) && q.space() == 0
}

type quick struct {
	data  string
	at    int
	path  [maxQuick]string
	visit func(path []string, kind byte, value string) bool
}

// space skips white space and gives the byte after it, zero at the end.
func (q *quick) space() byte {
	for ; q.at < len(q.data); q.at++ {
		switch c := q.data[q.at]; c {
		case ' ', '\t', '\r', '\n':
		case 0:
			return 1 // no end
		default:
			return c
		}
	}
	return 0
}

func (q *quick) value(depth int) bool {
	switch c := q.space(); {
	case c == '"':
		s, ok := q.text()
		return ok && q.visit(q.path[:depth], QuickText, s)
	case c == '{':
		return q.object(depth)
	case c == '[':
		return q.list(depth)
	case c == '-' || c >= '0' && c <= '9':
		return q.number(depth)
	}
	for _, word := range [...]string{"null", "false", "true"} {
		if len(q.data)-q.at >= len(word) && q.data[q.at:q.at+len(word)] == word {
			q.at += len(word)
			return q.visit(q.path[:depth], QuickWord, word)
		}
	}
	return false
}

// text is a string that begins here.
func (q *quick) text() (string, bool) {
	q.at++
	for i := q.at; i < len(q.data); i++ {
		switch c := q.data[i]; {
		case c == '"':
			s := q.data[q.at:i]
			q.at = i + 1
			return s, true
		case c == '\\' || c < ' ':
			return "", false
		}
	}
	return "", false
}

func (q *quick) number(depth int) bool {
	from := q.at
	if q.data[q.at] == '-' {
		q.at++
	}
	digits := q.at
	for q.at < len(q.data) && q.data[q.at] >= '0' && q.data[q.at] <= '9' {
		q.at++
	}
	switch n := q.at - digits; {
	case n == 0, n > 1 && q.data[digits] == '0':
		return false
	case q.at < len(q.data) && (q.data[q.at] == '.' || q.data[q.at]|0x20 == 'e'):
		return false
	}
	return q.visit(q.path[:depth], QuickWhole, q.data[from:q.at])
}

func (q *quick) list(depth int) bool {
	q.at++
	if q.space() == ']' {
		q.at++
		return q.visit(q.path[:depth], QuickList, "")
	}
	if depth == maxQuick {
		return false
	}
	q.path[depth] = QuickElement
	if !q.value(depth+1) || q.space() != ']' {
		return false
	}
	q.at++
	return true
}

func (q *quick) object(depth int) bool {
	q.at++
	if q.space() == '}' {
		q.at++
		return depth > 0 && q.visit(q.path[:depth], QuickObject, "")
	}
	if depth == maxQuick {
		return false
	}
	for {
		if q.space() != '"' {
			return false
		}
		name, ok := q.text()
		if !ok || !plain(name) || q.space() != ':' {
			return false
		}
		q.at++
		q.path[depth] = name
		if !q.value(depth + 1) {
			return false
		}
		c := q.space()
		q.at++
		switch c {
		case '}':
			return true
		case ',':
		default:
			return false
		}
	}
}

// plain says that a name is no other spelling of another, for which the general decoder would take it.
func plain(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return name != ""
}

// unsafeString is data as a string without a copy. Both live as long as the event.
func unsafeString(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }
