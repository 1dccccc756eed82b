package search

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"zuno/tools"
)

// splitter cuts a stream into lines and lets go of those over maxRecord, of which only the beginning is handed on.
type splitter struct {
	take func(record []byte) // valid until it returns
	long func(beginning []byte)
	part []byte // of a record whose end has not come
	over bool   // the record is too long: its rest is passed over
}

func (s *splitter) add(piece []byte) {
	for len(piece) > 0 {
		end := bytes.IndexByte(piece, '\n')
		rest := piece
		if end >= 0 {
			rest = piece[:end]
		}
		switch {
		case s.over:
		case len(s.part)+len(rest) > maxRecord:
			s.over = true
			s.long(append(s.part, rest[:min(len(rest), 64)]...))
			s.part = s.part[:0]
		case end >= 0 && len(s.part) == 0:
			s.take(rest)
		default:
			s.part = append(s.part, rest...)
			if end >= 0 {
				s.take(s.part)
			}
		}
		if end < 0 {
			return
		}
		s.part, s.over = s.part[:0], false
		piece = piece[end+1:]
	}
}

// matches keeps the first maxResults lines by path and number out of a stream that has the files in any order. What
// cannot be among them is not decoded and not kept.
type matches struct {
	folder string          // what the names are relative to
	only   string          // the one file that is searched, where it was named
	wanted map[string]bool // the files that count, as rg names them; nil: all

	files []*fileMatches // by path
	kept  int            // lines in files
	left  omissions
	now   *fileMatches // the file that records speak of
	state fileState
}

type fileMatches struct {
	path  string
	lines [][]byte // records
}

type fileState int

const (
	unwanted fileState = iota // its matches are none
	unnamed                   // it counts, but cannot be named
	beyond                    // others fill the result
	shown
)

var (
	beginPrefix = []byte(`{"type":"begin",`)
	matchPrefix = []byte(`{"type":"match",`)
)

// pathOf is a name in rg's words: text where it is UTF-8, otherwise its bytes in base64.
type pathOf struct {
	Text  *string `json:"text"`
	Bytes []byte  `json:"bytes"`
}

func (m *matches) record(record []byte) {
	switch {
	case bytes.HasPrefix(record, matchPrefix):
		m.match(record)
	case bytes.HasPrefix(record, beginPrefix):
		m.begin(record)
	}
}

// begin goes on to the next file. rg writes it only for a file with a match.
func (m *matches) begin(record []byte) {
	var r struct {
		Data struct{ Path pathOf }
	}
	m.now, m.state = nil, unwanted
	if json.Unmarshal(record, &r) != nil {
		return
	}
	relative := r.Data.Path.Bytes
	if r.Data.Path.Text != nil {
		relative = []byte(*r.Data.Path.Text)
	}
	if m.wanted != nil && !m.wanted[string(relative)] {
		return
	}
	path, ok := m.only, true
	if m.only == "" {
		path, ok = named(m.folder, relative, separator)
	}
	switch {
	case !ok:
		m.state = unnamed
		m.left.unnamed++
	case m.kept >= maxResults && path > m.files[len(m.files)-1].path:
		m.state = beyond
		m.left.capped = true
	default:
		m.state, m.now = shown, &fileMatches{path: path}
	}
}

func (m *matches) match(record []byte) {
	if m.state != shown {
		return
	}
	if len(m.now.lines) == maxResults {
		m.left.capped = true
		return
	}
	if len(m.now.lines) == 0 {
		at, _ := slices.BinarySearchFunc(m.files, m.now.path, func(f *fileMatches, path string) int { return cmp.Compare(f.path, path) })
		m.files = slices.Insert(m.files, at, m.now)
	}
	m.now.lines = append(m.now.lines, bytes.Clone(record))
	m.kept++
	for last := m.files[len(m.files)-1]; m.kept-len(last.lines) >= maxResults; last = m.files[len(m.files)-1] {
		m.files = m.files[:len(m.files)-1]
		m.kept -= len(last.lines)
		m.left.capped = true
		if last == m.now {
			m.state = beyond
		}
	}
}

// tooLong counts a match that was passed over. One of a file that cannot be named, or that others push out, counts as
// that already.
func (m *matches) tooLong(beginning []byte) {
	if m.state == shown && bytes.HasPrefix(beginning, matchPrefix) {
		m.left.long++
	}
}

// result draws what was kept. The path stands once, above its lines.
func (m *matches) result(explicit bool) tools.Result {
	var text strings.Builder
	var found []foundFile
	var notes []string
	withheld := false
	room := maxResults
	for _, f := range m.files {
		if room == 0 {
			m.left.capped = true
			break
		}
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		text.WriteString(f.path)
		entry := foundFile{Path: f.path}
		// A search of a folder is permitted as one, and must not show what reading the file by its name would ask for.
		secret := !explicit && tools.IsSecret(f.path)
		for _, record := range f.lines {
			if room == 0 {
				m.left.capped = true
				break
			}
			room--
			l := readLine(record)
			entry.Lines = append(entry.Lines, l.number)
			text.WriteString("\n" + strconv.Itoa(l.number) + ": ")
			if secret {
				text.WriteString("[not shown]")
				withheld = true
			} else {
				text.WriteString(l.cut(maxUnits))
			}
		}
		found = append(found, entry)
	}
	m.left.capped = m.left.capped || room == 0
	if withheld {
		notes = append(notes, "(lines of environment files are not shown; read the file to see them)")
	}
	if text.Len() > 0 && (len(notes) > 0 || m.left.any()) {
		text.WriteString("\n")
	}
	return result(text.String(), found, m.left, notes...)
}
