package patch

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

const bom = "\ufeff"

// document is a text in logical lines, each with the end that it has in the file, so that what is not changed stays as it
// is, byte for byte. It costs four bytes a line beside the text: a file may be nothing but line ends.
type document struct {
	bom    bool
	text   string   // without the mark
	starts []uint32 // of each line, and where the last one ends
}

func newDocument(content string) (d document) {
	d.text, d.bom = strings.CutPrefix(content, bom)
	d.starts = make([]uint32, 0, strings.Count(d.text, "\n")+2)
	at := 0
	for at < len(d.text) {
		d.starts = append(d.starts, uint32(at))
		next := strings.IndexByte(d.text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	d.starts = append(d.starts, uint32(len(d.text)))
	return d
}

func (d *document) len() int { return len(d.starts) - 1 }

// line is a line's text and its end: "\n", "\r\n", or nothing, of a last line without one.
func (d *document) line(i int) (text, end string) {
	line := d.text[d.starts[i]:d.starts[i+1]]
	text, ended := strings.CutSuffix(line, "\n")
	if ended {
		text = strings.TrimSuffix(text, "\r")
	}
	return text, line[len(text):]
}

func (d *document) textOf(i int) string {
	text, _ := d.line(i)
	return text
}

func (d *document) String() string { return d.edited(nil) }

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
// that fits, and no two overlap. Looking for a hunk takes a time that grows with the file and the hunk, not with their
// product; there may be many hunks, and none is looked for when ctx is done.
func apply(ctx context.Context, content string, hunks []hunk) (string, *mismatch) {
	d := newDocument(content)
	edits := make([]edit, len(hunks))
	var wrong *mismatch
	applied := len(hunks) > 0
	for i := range hunks {
		h := &hunks[i]
		if ctx.Err() != nil {
			return "", &mismatch{hunk: i + 1, title: h.title, reason: "it was not looked for"}
		}
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
	return d.edited(edits), nil
}

// edited is the text with edits, which are in order. Its last line ends as the file's last line did, every other one has
// an end.
func (d *document) edited(edits []edit) string {
	out := writer{like: d}
	if d.bom {
		out.WriteString(bom)
	}
	out.Grow(len(d.text))
	at := 0
	for _, e := range edits {
		out.lines(at, e.at)
		end := d.endNear(e.at)
		at = e.at
		for _, l := range e.hunk.lines {
			switch l.op {
			case ' ':
				out.lines(at, at+1)
				at++
			case '-':
				at++
			case '+':
				out.line(d.own(l.text), end)
			}
		}
	}
	out.lines(at, d.len())
	return out.finish()
}

// writer puts lines together. It holds the last one's end back until it is known what follows.
type writer struct {
	strings.Builder
	like *document
	any  bool
	end  string
}

// lines copies lines of the document.
func (w *writer) lines(from, to int) {
	if from == to {
		return
	}
	_, end := w.like.line(to - 1)
	w.line(w.like.text[w.like.starts[from]:int(w.like.starts[to])-len(end)], end)
}

func (w *writer) line(text, end string) {
	if w.any {
		if w.end == "" {
			w.end = w.like.endNear(w.like.len())
		}
		w.WriteString(w.end)
	}
	w.WriteString(text)
	w.any, w.end = true, end
}

func (w *writer) finish() string {
	if last := w.like.len() - 1; w.any && last >= 0 {
		if _, was := w.like.line(last); was == "" || w.end == "" {
			w.end = was
		}
	}
	w.WriteString(w.end)
	return w.String()
}

// endNear is how a line ends that is put in at a place: as the one that is there, or those before it.
func (d *document) endNear(at int) string {
	for i := min(at, d.len()-1); i >= 0; i-- {
		if _, end := d.line(i); end != "" {
			return end
		}
	}
	return "\n"
}

// own is a text of the patch as it stands in this file: a mark that the file has is not there twice.
func (d *document) own(text string) string {
	if d.bom {
		return strings.TrimPrefix(text, bom)
	}
	return text
}

// find gives the one place of a hunk.
func (d *document) find(h *hunk) (int, *mismatch) {
	before := h.before()
	from, to := 0, d.len()
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
	most := shownPlaces + 1
	if len(titles) > 0 {
		most = d.len() // any of them may be the one
	}
	places := d.places(before, from, most)
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

// places are the first lines from which on the texts stand, so many at most.
func (d *document) places(texts []string, from, most int) (found []int) {
	d.fits(texts, from, func(at, n int) bool {
		if n == len(texts) {
			found = append(found, at)
		}
		return len(found) < most
	})
	return found
}

// fits tells, for each line from one on, how many of the texts stand from there on, until visit wants no more. It does not
// look at a line again for each of the texts before it, however they repeat themselves (it is the Z algorithm over lines).
func (d *document) fits(texts []string, from int, visit func(at, n int) bool) {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = d.own(texts[i])
	}
	again := make([]int, len(texts)) // of each text: how many of the texts stand from it on
	matches(1, len(texts), again, func(i, k int) bool { return texts[i] == texts[k] }, func(i, n int) bool { again[i] = n; return true })
	matches(from, d.len(), again, func(i, k int) bool { return d.textOf(i) == texts[k] }, visit)
}

// matches tells for each place of a sequence how many of the texts stand from there on, where again says it of the texts
// themselves. A place is compared with the text k by equal.
func matches(from, to int, again []int, equal func(at, k int) bool, visit func(at, n int) bool) {
	left, right := from, from // the places between are known to be the first texts
	for at := from; at < to; at++ {
		n := 0
		if at < right {
			n = min(again[at-left], right-at)
		}
		if at+n >= right {
			for n < len(again) && at+n < to && equal(at+n, n) {
				n++
			}
			left, right = at, at+n
		}
		if !visit(at, n) {
			return
		}
	}
}

// titled are the lines that are the title; where there is none, those that are but for the blanks around them.
func (d *document) titled(title string) (exact []int) {
	var loose []int
	for i := range d.len() {
		switch text := d.textOf(i); {
		case text == title:
			exact = append(exact, i)
		case strings.TrimSpace(text) == strings.TrimSpace(title):
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
// Titles and places are in order.
func (d *document) below(titles, places []int) []int {
	var within, after, next []int
	for i, title := range titles {
		end := d.len()
		if i+1 < len(titles) {
			end = titles[i+1]
		}
		for len(places) > 0 && places[0] < title {
			places = places[1:]
		}
		n := 0
		for n < len(places) && places[n] < end { // the title may be repeated as the first line of context
			n++
		}
		if n == 0 {
			continue
		}
		block := d.blockEnd(title, places[n-1]+1)
		for _, p := range places[:n] {
			if p < block {
				within = append(within, p)
			}
			if p == title+1 {
				next = append(next, p)
			}
		}
		after = append(after, places[:n]...)
		places = places[n:]
	}
	switch {
	case len(within) > 0:
		return within
	case len(after) > 1 && len(next) == 1:
		return next
	}
	return after
}

// blockEnd is the line after the block that a line opens, or most where that comes first: the first that is indented no
// deeper than it. It is the next one where nothing is.
func (d *document) blockEnd(title, most int) int {
	own := indent(d.textOf(title))
	for i := title + 1; i < most; i++ {
		if text := d.textOf(i); strings.TrimSpace(text) != "" && indent(text) <= own {
			return i
		}
	}
	return most
}

func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

// holds tells whether a hunk's outcome stands in the file, at one place, and says something of its own.
func (d *document) holds(h *hunk) bool {
	return h.count('+') > 0 && len(d.places(h.after(), 0, 2)) == 1
}

// nearest says how far the context fits where it fits best.
func (d *document) nearest(h *hunk, before []string) string {
	best, most := 0, 0
	d.fits(before, 0, func(at, n int) bool {
		if n > most {
			best, most = at, n
		}
		return most < len(before)
	})
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

// shownPlaces bounds what a conflict says.
const shownPlaces = 5

// atLines names places for people, not all of them if there are many.
func atLines(places []int) string {
	words := make([]string, 0, shownPlaces+1)
	for i, p := range places {
		if i == shownPlaces {
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprint(p+1))
	}
	return "at lines " + strings.Join(words, ", ")
}
