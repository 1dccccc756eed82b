package inspect

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"zuno/journal/event"
)

// short is a text on one line, cut to n characters. Runs of blanks become one; a control character, which a journal may
// hold and a terminal would obey, is shown escaped.
func short(s string, n int) string {
	var b strings.Builder
	blank, count := false, 0
	for i, r := range s {
		if unicode.IsSpace(r) {
			blank = b.Len() > 0
			continue
		}
		if count >= n {
			b.WriteString("…")
			break
		}
		if blank {
			b.WriteByte(' ')
			count++
			blank = false
		}
		count++
		writeRune(&b, s[i:], r)
	}
	return b.String()
}

// plain is a text of several lines without control characters.
func plain(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r == '\n' || r == '\t' {
			b.WriteRune(r)
			continue
		}
		writeRune(&b, s[i:], r)
	}
	return b.String()
}

func writeRune(b *strings.Builder, rest string, r rune) {
	switch {
	case r == utf8.RuneError && !strings.HasPrefix(rest, "\ufffd"):
		fmt.Fprintf(b, `\x%02x`, rest[0])
	case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d': // a joiner makes emoji, the others turn text around
		b.WriteString(strings.Trim(fmt.Sprintf("%+q", r), "'"))
	default:
		b.WriteRune(r)
	}
}

// words is a text of a view for people.
func words(t event.Text, n int) string {
	switch {
	case t.IsZero():
		return ""
	case !t.Known():
		return fmt.Sprintf("[dropped: %d bytes]", t.Size)
	}
	return short(t.String(), n)
}

const clock = "2006-01-02 15:04:05.000Z"

// moment is a time in UTC; 0, which normalized views have, is no time.
func moment(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format(clock)
}

func minute(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04Z") }

func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// table aligns rows of cells. A cell that no row fills takes no room.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// write indents the rows and leaves no blanks at their ends.
func (t *table) write(b *strings.Builder, indent string) {
	var used []bool
	for _, r := range t.rows {
		for i, c := range r {
			if i >= len(used) {
				used = append(used, false)
			}
			used[i] = used[i] || c != ""
		}
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, r := range t.rows {
		var cells []string
		for i, c := range r {
			if used[i] {
				cells = append(cells, c)
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a strings.Builder takes everything
	for line := range strings.Lines(out.String()) {
		b.WriteString(strings.TrimRight(indent+line, " \n") + "\n")
	}
}
