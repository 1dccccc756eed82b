package patch

import (
	"fmt"
	"slices"
	"strings"
)

const bom = "\ufeff"

// document is a text in logical lines: each with the end that it has in the file, so that what is not changed stays as
// it is, byte for byte.
type document struct {
	bom   bool
	lines []docLine
}

type docLine struct {
	text string
	end  string // "\n", "\r\n", or nothing: the last line of a file that does not end with one
}

func newDocument(content string) (d document) {
	content, d.bom = strings.CutPrefix(content, bom)
	for line := range strings.Lines(content) {
		text, ended := strings.CutSuffix(line, "\n")
		end := ""
		if ended {
			end = "\n"
			if cut, ok := strings.CutSuffix(text, "\r"); ok {
				text, end = cut, "\r\n"
			}
		}
		d.lines = append(d.lines, docLine{text: text, end: end})
	}
	return d
}

func (d document) String() string {
	var b strings.Builder
	if d.bom {
		b.WriteString(bom)
	}
	for _, l := range d.lines {
		b.WriteString(l.text)
		b.WriteString(l.end)
	}
	return b.String()
}

// mismatch is a hunk that does not fit.
type mismatch struct {
	hunk    int // from 1
	title   string
	reason  string
	applied bool // the hunk's outcome is there already
}

// edit is a hunk at its place.
type edit struct {
	at, length int // lines that it speaks of
	hunk       *hunk
	number     int
}

// apply makes the content that hunks ask for. All places are found in what the file is now, each must be the only one
// that fits, and no two overlap.
func apply(content string, hunks []hunk) (string, *mismatch) {
	d := newDocument(content)
	edits := make([]edit, len(hunks))
	var wrong *mismatch
	applied := len(hunks) > 0
	for i := range hunks {
		h := &hunks[i]
		at, m := d.find(h)
		if m != nil {
			m.hunk, m.title = i+1, h.title
			if wrong == nil {
				wrong = m
			}
			applied = applied && m.applied
			continue
		}
		applied = false
		edits[i] = edit{at: at, length: len(h.lines) - h.count('+'), hunk: h, number: i + 1}
	}
	if wrong != nil {
		wrong.applied = applied
		return "", wrong
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at - b.at })
	for i := 1; i < len(edits); i++ {
		if last := edits[i-1]; edits[i].at < last.at+last.length {
			return "", &mismatch{hunk: edits[i].number, title: edits[i].hunk.title, reason: fmt.Sprintf("it overlaps hunk %d", last.number)}
		}
	}
	return d.edited(edits).String(), nil
}

// edited is the document with edits, which are in order.
func (d document) edited(edits []edit) document {
	out := document{bom: d.bom}
	at := 0
	for _, e := range edits {
		out.lines = append(out.lines, d.lines[at:e.at]...)
		end := d.endNear(e.at)
		at = e.at
		for _, l := range e.hunk.lines {
			switch l.op {
			case ' ':
				out.lines = append(out.lines, d.lines[at])
				at++
			case '-':
				at++
			case '+':
				out.lines = append(out.lines, docLine{text: d.own(l.text), end: end})
			}
		}
	}
	out.lines = append(out.lines, d.lines[at:]...)
	out.finish(d)
	return out
}

// finish gives the last line the end that the file's last line had, and every other one an end.
func (d document) finish(old document) {
	last := len(d.lines) - 1
	for i := range d.lines {
		if d.lines[i].end == "" && i < last {
			d.lines[i].end = old.endNear(len(old.lines))
		}
	}
	if last < 0 || len(old.lines) == 0 {
		return
	}
	switch was := old.lines[len(old.lines)-1].end; {
	case was == "":
		d.lines[last].end = ""
	case d.lines[last].end == "":
		d.lines[last].end = was
	}
}

// endNear is how a line ends that is put in at a place: as the one that is there, or those before it.
func (d document) endNear(at int) string {
	for i := min(at, len(d.lines)-1); i >= 0; i-- {
		if d.lines[i].end != "" {
			return d.lines[i].end
		}
	}
	return "\n"
}

// own is a text of the patch as it stands in this file: a mark that the file has is not there twice.
func (d document) own(text string) string {
	if d.bom {
		return strings.TrimPrefix(text, bom)
	}
	return text
}

// find gives the one place of a hunk.
func (d document) find(h *hunk) (int, *mismatch) {
	before := h.before()
	from, to := 0, len(d.lines)
	var titles []int
	if h.title != "" {
		if titles = d.titled(h.title); len(titles) == 0 {
			return 0, &mismatch{reason: "the line that it shall stand below is not in the file", applied: d.holds(h)}
		}
	}
	if len(before) == 0 {
		switch {
		case h.atEnd || len(titles) == 0:
			return to, nil
		case len(titles) > 1:
			return 0, &mismatch{reason: "the line that it shall stand below is in the file " + atLines(titles)}
		}
		return titles[0] + 1, nil
	}
	if h.atEnd {
		from = max(to-len(before), 0)
	}
	places := d.places(before, from)
	if len(titles) > 0 {
		places = d.below(titles, places)
	}
	switch len(places) {
	case 0:
		return 0, &mismatch{reason: d.nearest(h, before), applied: d.holds(h)}
	case 1:
		return places[0], nil
	}
	return 0, &mismatch{reason: "its context fits more than one place (" + atLines(places) + ")"}
}

// places are all lines from which on the texts stand.
func (d document) places(texts []string, from int) (found []int) {
	for at := from; at+len(texts) <= len(d.lines); at++ {
		if d.fits(texts, at) == len(texts) {
			found = append(found, at)
		}
	}
	return found
}

// fits counts the texts that stand from a line on.
func (d document) fits(texts []string, at int) (n int) {
	for n < len(texts) && at+n < len(d.lines) && d.lines[at+n].text == d.own(texts[n]) {
		n++
	}
	return n
}

// titled are the lines that are the title; where there is none, those that are but for the blanks around them.
func (d document) titled(title string) (exact []int) {
	var loose []int
	for i, l := range d.lines {
		switch {
		case l.text == title:
			exact = append(exact, i)
		case strings.TrimSpace(l.text) == strings.TrimSpace(title):
			loose = append(loose, i)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return loose
}

// below are the places that a title chooses: those in the block that it opens, as far as blocks can be told by
// indentation; without any there, those after it; and of several in a text without indentation the one right below it.
func (d document) below(titles, places []int) []int {
	var within, after, next []int
	for _, p := range places {
		var in, behind, right bool
		for i, title := range titles {
			end := len(d.lines)
			if i+1 < len(titles) {
				end = titles[i+1]
			}
			if p < title || p >= end { // the title may be repeated as the first line of context
				continue
			}
			behind = true
			right = right || p == title+1
			in = in || p < d.blockEnd(title)
		}
		if in {
			within = append(within, p)
		}
		if behind {
			after = append(after, p)
		}
		if right {
			next = append(next, p)
		}
	}
	switch {
	case len(within) > 0:
		return within
	case len(after) > 1 && len(next) == 1:
		return next
	}
	return after
}

// blockEnd is the line after the block that a line opens: the first that is indented no deeper than it. It is the next
// one where nothing is.
func (d document) blockEnd(title int) int {
	own := indent(d.lines[title].text)
	for i := title + 1; i < len(d.lines); i++ {
		if text := d.lines[i].text; strings.TrimSpace(text) != "" && indent(text) <= own {
			return i
		}
	}
	return len(d.lines)
}

func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

// holds tells whether a hunk's outcome stands in the file, at one place, and says something of its own.
func (d document) holds(h *hunk) bool {
	return h.count('+') > 0 && len(d.places(h.after(), 0)) == 1
}

// nearest says how far the context fits where it fits best.
func (d document) nearest(h *hunk, before []string) string {
	best, most := 0, 0
	for at := range d.lines {
		if n := d.fits(before, at); n > most {
			best, most = at, n
		}
	}
	switch {
	case most == len(before) && h.atEnd:
		return fmt.Sprintf("its lines stand at line %d, which is not the end of the file", best+1)
	case most == len(before):
		return fmt.Sprintf("its lines stand at line %d, but not below the line that it names", best+1)
	case most > 0:
		return fmt.Sprintf("its lines are not in the file; from line %d on the first %d of its %d are, and then line %d differs", best+1, most, len(before), best+most+1)
	}
	return "its lines are not in the file"
}

// atLines names places for people, not all of them if there are many.
func atLines(places []int) string {
	words := make([]string, 0, 6)
	for i, p := range places {
		if i == 5 {
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprint(p+1))
	}
	return "at lines " + strings.Join(words, ", ")
}
