package patch

import (
	"fmt"
	"strings"
)

const (
	beginMark  = "*** Begin Patch"
	endMark    = "*** End Patch"
	addMark    = "*** Add File: "
	deleteMark = "*** Delete File: "
	updateMark = "*** Update File: "
	moveMark   = "*** Move to: "
	eofMark    = "*** End of File"
	hunkMark   = "@@"
)

// kind is what a section does.
type kind string

const (
	add    kind = "add"
	remove kind = "delete"
	update kind = "update"
)

// section is what a patch says about one file.
type section struct {
	kind  kind
	path  string
	to    string   // where an update moves the file; empty where it stays
	lines []string // of an added file
	hunks []hunk   // of an update; none in one that only moves
}

// hunk is a change at one place. Texts are without line ends.
type hunk struct {
	title string // the line that it stands below; empty where none was given
	lines []hunkLine
	atEnd bool // its last line is the file's last
}

type hunkLine struct {
	op   byte // ' ' stays, '-' goes, '+' comes
	text string
}

// before are the lines that must be in the file.
func (h *hunk) before() []string { return h.without('+') }

// after are the lines that stand there in the end.
func (h *hunk) after() []string { return h.without('-') }

func (h *hunk) without(op byte) []string {
	var texts []string
	for _, l := range h.lines {
		if l.op != op {
			texts = append(texts, l.text)
		}
	}
	return texts
}

func (h *hunk) count(op byte) (n int) {
	for _, l := range h.lines {
		if l.op == op {
			n++
		}
	}
	return n
}

// grammarError says where a patch is not one.
type grammarError struct {
	line int // from 1; 0 where it is about the whole
	text string
}

func (e *grammarError) Error() string {
	if e.line == 0 {
		return e.text
	}
	return fmt.Sprintf("line %d: %s", e.line, e.text)
}

// parse reads a patch.
//
// It is taken as it is written but for this: blanks around the first and the last mark and before the mark of a section,
// where none of them can be a line of a file; lines that end in CRLF; blank lines between sections; and in a hunk an
// empty line, which stands for a context line of no characters, except at the hunk's end.
func parse(text string) ([]section, *grammarError) {
	p := parser{lines: strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")}
	for i, line := range p.lines {
		p.lines[i] = strings.TrimSuffix(line, "\r")
	}
	p.skipBlank()
	if p.done() || trim(p.lines[p.at]) != beginMark {
		return nil, &grammarError{text: fmt.Sprintf("a patch begins with a line %q", beginMark)}
	}
	if last := len(p.lines) - 1; last == p.at || trim(p.lines[last]) != endMark {
		return nil, &grammarError{text: fmt.Sprintf("a patch ends with a line %q", endMark)}
	}
	p.at++
	p.lines = p.lines[:len(p.lines)-1]
	var sections []section
	for p.skipBlank(); !p.done(); p.skipBlank() {
		s, err := p.section()
		if err != nil {
			return nil, err
		}
		sections = append(sections, s)
	}
	if len(sections) == 0 {
		return nil, &grammarError{text: "the patch holds no section"}
	}
	return sections, nil
}

// trim takes the blanks away around a text. Other signs that look like one may be part of a name.
func trim(text string) string { return strings.Trim(text, " \t\r") }

type parser struct {
	lines []string
	at    int
}

func (p *parser) done() bool { return p.at >= len(p.lines) }

func (p *parser) skipBlank() {
	for !p.done() && trim(p.lines[p.at]) == "" {
		p.at++
	}
}

func (p *parser) wrong(format string, args ...any) *grammarError {
	return &grammarError{line: p.at + 1, text: fmt.Sprintf(format, args...)}
}

func (p *parser) section() (s section, err *grammarError) {
	line := trim(p.lines[p.at])
	for _, mark := range []struct {
		text string
		kind kind
	}{{addMark, add}, {deleteMark, remove}, {updateMark, update}} {
		// A mark without a path has lost its blank.
		if rest, ok := strings.CutPrefix(line+" ", mark.text); ok {
			s = section{kind: mark.kind, path: trim(rest)}
		}
	}
	switch {
	case s.kind == "":
		return s, p.wrong("a section begins with %q, %q or %q", addMark, deleteMark, updateMark)
	case s.path == "":
		return s, p.wrong("the path is missing")
	}
	p.at++
	switch s.kind {
	case add:
		for ; !p.done() && strings.HasPrefix(p.lines[p.at], "+"); p.at++ {
			s.lines = append(s.lines, p.lines[p.at][1:])
		}
		if !p.done() && trim(p.lines[p.at]) != "" && !strings.HasPrefix(trim(p.lines[p.at]), "*** ") {
			return s, p.wrong("each line of an added file begins with \"+\"")
		}
	case update:
		err = p.update(&s)
	}
	return s, err
}

func (p *parser) update(s *section) *grammarError {
	if !p.done() {
		if rest, ok := strings.CutPrefix(trim(p.lines[p.at])+" ", moveMark); ok {
			if s.to = trim(rest); s.to == "" {
				return p.wrong("the path is missing")
			}
			p.at++
		}
	}
	for p.skipBlank(); !p.done() && !strings.HasPrefix(trim(p.lines[p.at]), "*** "); p.skipBlank() {
		h, err := p.hunk()
		if err != nil {
			return err
		}
		s.hunks = append(s.hunks, h)
	}
	if len(s.hunks) == 0 && s.to == "" {
		return p.wrong("the update of %s holds no hunk", clip(s.path))
	}
	return nil
}

func (p *parser) hunk() (h hunk, err *grammarError) {
	rest, ok := strings.CutPrefix(p.lines[p.at], hunkMark)
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return h, p.wrong("a hunk begins with %q, or %q and the line that it stands below", hunkMark, hunkMark+" ")
	}
	h.title = strings.TrimRight(strings.TrimPrefix(rest, " "), " \t")
	begin := p.at
	p.at++
	blank := 0 // empty lines that may be the hunk's or what separates it
	for ; !p.done(); p.at++ {
		line := p.lines[p.at]
		if line == "" {
			blank++
			continue
		}
		if strings.HasPrefix(line, hunkMark) || strings.HasPrefix(line, "***") {
			break
		}
		if op := line[0]; op != ' ' && op != '+' && op != '-' {
			return h, p.wrong("a line of a hunk begins with a blank, \"+\" or \"-\"")
		}
		for ; blank > 0; blank-- {
			h.lines = append(h.lines, hunkLine{op: ' '})
		}
		h.lines = append(h.lines, hunkLine{op: line[0], text: line[1:]})
	}
	if len(h.lines) == 0 {
		return h, &grammarError{line: begin + 1, text: "the hunk holds no lines"}
	}
	if !p.done() && strings.TrimRight(p.lines[p.at], " \t") == eofMark {
		h.atEnd = true
		p.at++
	}
	return h, nil
}

// render writes sections as a patch that [parse] reads as them. Two patches that mean the same are rendered alike.
func render(sections []section) string {
	var b strings.Builder
	write := func(parts ...string) {
		for _, part := range parts {
			b.WriteString(part)
		}
		if strings.HasSuffix(parts[len(parts)-1], "\r") {
			b.WriteByte('\r') // one is taken for the line's end
		}
		b.WriteByte('\n')
	}
	write(beginMark)
	for _, s := range sections {
		switch s.kind {
		case add:
			write(addMark, s.path)
			for _, line := range s.lines {
				write("+", line)
			}
		case remove:
			write(deleteMark, s.path)
		case update:
			write(updateMark, s.path)
			if s.to != "" {
				write(moveMark, s.to)
			}
			for _, h := range s.hunks {
				write(strings.TrimRight(hunkMark+" "+h.title, " "))
				for _, l := range h.lines {
					write(string(l.op), l.text)
				}
				if h.atEnd {
					write(eofMark)
				}
			}
		}
	}
	write(endMark)
	return b.String()
}

func clip(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
