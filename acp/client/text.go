package client

import (
	"fmt"
	"strings"

	"zuno/acp/schema"
)

// String is everything that the editor holds of the session, one item after the other; the commands that are on offer
// are none of it. Two editors that hold the same have the same text. Only the ids of the user's own messages are left out: an editor shows its prompts before it knows them.
func (e *Editor) String() string {
	var b strings.Builder
	for _, it := range e.Items {
		b.WriteString(it.String())
	}
	if e.Dropped > 0 {
		fmt.Fprintf(&b, "dropped: %d updates\n", e.Dropped)
	}
	if e.Title != "" {
		fmt.Fprintf(&b, "title: %s\n", e.Title)
	}
	for i := range e.Plan {
		fmt.Fprintf(&b, "plan: %s %s %s\n", e.Plan[i].Status, e.Plan[i].Priority, e.Plan[i].Content)
	}
	if u := e.Usage; u != nil {
		fmt.Fprintf(&b, "usage: %d of %d\n", u.Used, u.Size)
	}
	return b.String()
}

// String is the item with everything that it holds.
func (it *Item) String() string {
	var b strings.Builder
	b.WriteString(string(it.Kind))
	if it.ID != "" && it.Kind != User {
		b.WriteString(" " + it.ID)
	}
	switch it.Kind {
	case Notice:
		fmt.Fprintf(&b, " %s %s", it.Severity, it.Code)
	case Tool:
		c := it.Card
		fmt.Fprintf(&b, ": %s, %s", c.Kind, c.Status)
		if c.Outcome != "" {
			b.WriteString(", " + c.Outcome)
		}
		fmt.Fprintf(&b, "\n    title: %s\n", c.Title)
		c.write(&b)
		return b.String()
	}
	b.WriteString(":\n")
	indent(&b, it.Text)
	return b.String()
}

func (c *Card) write(b *strings.Builder) {
	for _, l := range c.Locations {
		fmt.Fprintf(b, "    at: %s\n", l.Path)
	}
	for i := range c.Content {
		switch x := &c.Content[i]; {
		case x.Diff != nil:
			fmt.Fprintf(b, "    diff:\n")
			indent(b, Unified(x.Diff))
		case x.Content != nil:
			fmt.Fprintf(b, "    text:\n")
			indent(b, blockText(&x.Content.Content))
		case x.Terminal != nil:
			t := c.Terminals[x.Terminal.TerminalID]
			fmt.Fprintf(b, "    terminal:\n")
			indent(b, t.Text)
			if t.Ended {
				fmt.Fprintf(b, "    ended: %s\n", t.Exit)
			}
		default:
			fmt.Fprintf(b, "    %s\n", x.Kind)
		}
	}
	if c.RawInput != nil {
		fmt.Fprintf(b, "    input: %s\n", c.RawInput)
	}
	if c.RawOutput != nil {
		fmt.Fprintf(b, "    output: %s\n", c.RawOutput)
	}
}

func indent(b *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		b.WriteString("    | " + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// around is how many unchanged lines a diff shows on either side of a change.
const around = 3

// Unified is a change as one hunk of a unified diff, from the first line that differs to the last.
func Unified(d *schema.Diff) string {
	var before, after []string
	from := "/dev/null"
	if d.OldText != nil {
		before, from = lines(*d.OldText), d.Path
	}
	after = lines(d.NewText)
	head, most := 0, min(len(before), len(after))
	for head < most && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < most-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	start := max(head-around, 0)
	more := min(tail, around)
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n@@ -%s +%s @@\n", from, d.Path, span(start, len(before)-tail+more), span(start, len(after)-tail+more))
	write := func(mark string, lines []string) {
		for _, l := range lines {
			b.WriteString(mark + l)
			if !strings.HasSuffix(l, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	write(" ", before[start:head])
	write("-", before[head:len(before)-tail])
	write("+", after[head:len(after)-tail])
	write(" ", after[len(after)-tail:len(after)-tail+more])
	return b.String()
}

func lines(text string) (all []string) {
	for l := range strings.Lines(text) {
		all = append(all, l)
	}
	return all
}

// span is a range of lines as a hunk names it; an empty one stands behind the line before it.
func span(start, end int) string {
	if end == start {
		return fmt.Sprintf("%d,0", start)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}
