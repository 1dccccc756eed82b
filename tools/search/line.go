package search

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

const (
	maxUnits = 2000 // UTF-16 units of a line that are shown
	ellipsis = "…"  // one unit
)

// line is a matching line.
type line struct {
	number     int
	text       []byte // without its end; need not be UTF-8
	start, end int    // of the first match, in text
}

// span is what a record says after the line's text.
type span struct {
	Number     int `json:"line_number"`
	Submatches []struct{ Start, End int }
}

var (
	textField = []byte(`"lines":{"text":"`)
	textEnd   = []byte(`},"line_number":`)
)

// readLine decodes a record of a match. The text can be a mebibyte, so that it is taken as it stands where nothing in
// it is escaped.
func readLine(record []byte) line {
	if text, rest, ok := cutText(record); ok {
		var s span
		if json.Unmarshal(rest, &s) == nil {
			return newLine(text, s)
		}
	}
	var r struct {
		Data struct {
			Lines pathOf
			span
		}
	}
	if json.Unmarshal(record, &r) != nil {
		return line{}
	}
	text := r.Data.Lines.Bytes
	if r.Data.Lines.Text != nil {
		text = []byte(*r.Data.Lines.Text)
	}
	return newLine(text, r.Data.span)
}

// cutText finds the line's text and makes an object of what comes after it.
func cutText(record []byte) (text, rest []byte, ok bool) {
	at := bytes.Index(record, textField) // in a string its quotes would be escaped
	if at < 0 {
		return nil, nil, false
	}
	record = record[at+len(textField):]
	end, escaped := 0, false
	for {
		next := bytes.IndexByte(record[end:], '"')
		if next < 0 {
			return nil, nil, false
		}
		end += next
		slashes := 0
		for end > slashes && record[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			break
		}
		end++
	}
	text, rest = record[:end], record[end+1:]
	// The line's own end is an escape, and the most frequent one.
	body := bytes.TrimSuffix(bytes.TrimSuffix(text, []byte(`\n`)), []byte(`\r`))
	escaped = bytes.IndexByte(body, '\\') >= 0
	if escaped {
		var decoded string
		if json.Unmarshal(quoted(text), &decoded) != nil {
			return nil, nil, false
		}
		body = []byte(decoded)
	}
	if !bytes.HasPrefix(rest, textEnd) || !bytes.HasSuffix(rest, []byte("}}")) {
		return nil, nil, false
	}
	return body, append([]byte("{"), rest[2:len(rest)-1]...), true
}

func quoted(text []byte) []byte {
	out := make([]byte, 0, len(text)+2)
	return append(append(append(out, '"'), text...), '"')
}

func newLine(text []byte, s span) line {
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	l := line{number: s.Number, text: text}
	if len(s.Submatches) > 0 {
		l.start = min(max(s.Submatches[0].Start, 0), len(text))
		l.end = min(max(s.Submatches[0].End, l.start), len(text))
	}
	return l
}

// cut shows so many UTF-16 units of the line at most, marks included, and of a longer one those around the match.
// A byte that is not UTF-8 is shown as one replacement character.
func (l line) cut(most int) string {
	if len(l.text) <= most || len(l.text) <= 3*most && units(l.text) <= most {
		return valid(l.text)
	}
	room := most - 2 // a mark at each end
	matched := 0
	for at := l.start; at < l.end && matched <= room; {
		n, size := unitsAt(l.text[at:])
		matched, at = matched+n, at+size
	}
	from, lead := l.start, max(room-matched, 0)/2
	for from > 0 {
		n, size := unitsBefore(l.text[:from])
		if lead < n {
			break
		}
		lead, from = lead-n, from-size
	}
	to, used := from, 0
	for to < len(l.text) {
		n, size := unitsAt(l.text[to:])
		if used+n > room {
			break
		}
		used, to = used+n, to+size
	}
	for from > 0 { // the line's end was near: show more of what is before
		n, size := unitsBefore(l.text[:from])
		if used+n > room {
			break
		}
		used, from = used+n, from-size
	}
	shown := valid(l.text[from:to])
	if from > 0 {
		shown = ellipsis + shown
	}
	if to < len(l.text) {
		shown += ellipsis
	}
	return shown
}

func valid(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}

func units(text []byte) (n int) {
	for len(text) > 0 {
		more, size := unitsAt(text)
		n, text = n+more, text[size:]
	}
	return n
}

func unitsAt(text []byte) (units, size int) {
	r, size := utf8.DecodeRune(text)
	return unitsOf(r), size
}

func unitsBefore(text []byte) (units, size int) {
	r, size := utf8.DecodeLastRune(text)
	return unitsOf(r), size
}

func unitsOf(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}
