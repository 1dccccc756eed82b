package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"zuno/acp/client"
	"zuno/acp/schema"
)

// maxOutput is how many lines of a card's text are printed.
const maxOutput = 12

// printer prints the items of an editor in order, each once it will not change any more.
type printer struct {
	mu    sync.Mutex
	out   io.Writer
	err   error
	tree  string // paths below it are printed relative to it
	mute  bool   // what comes was printed already
	shown int    // items printed
	open  bool   // the head of the next item, a card, is printed
}

func (p *printer) printf(format string, a ...any) {
	if _, err := fmt.Fprintf(p.out, format, a...); err != nil && p.err == nil {
		p.err = fmt.Errorf("print: %w", err)
	}
}

func (p *printer) locked(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn()
}

func (p *printer) title(text string) {
	p.locked(func() { p.printf("\n== %s\n\n", text) })
}

func (p *printer) say(format string, a ...any) {
	p.locked(func() { p.printf(format+"\n", a...) })
}

// holds prints a claim that was checked.
func (p *printer) holds(format string, a ...any) { p.say("✓ "+format, a...) }

func (p *printer) block(indent, text string) {
	p.locked(func() { p.lines(indent, text, 0) })
}

// silence keeps items from being printed.
func (p *printer) silence() {
	p.locked(func() { p.mute = true })
}

// goOn prints items again, those after the first n.
func (p *printer) goOn(n int) {
	p.locked(func() { p.mute, p.shown, p.open = false, n, false })
}

// draw prints what is new. An item is complete when another one follows or all is set, a card when it has ended.
func (p *printer) draw(e *client.Editor, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute {
		return
	}
	for p.shown < len(e.Items) {
		it := e.Items[p.shown]
		ended := it.Kind == client.User || all || p.shown+1 < len(e.Items)
		if it.Card != nil {
			ended = all || it.Card.Status == schema.StatusCompleted || it.Card.Status == schema.StatusFailed
		}
		if !ended {
			return
		}
		p.item(it)
		p.shown++
		p.open = false
	}
}

// asked prints a question about a card and its answer.
func (p *printer) asked(e *client.Editor, call, answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.shown < len(e.Items) && e.Items[p.shown].ID != call && e.Items[p.shown].Card == nil {
		p.item(e.Items[p.shown])
		p.shown++
	}
	if p.shown < len(e.Items) && e.Items[p.shown].Card != nil {
		p.head(e.Items[p.shown].Card)
	}
	p.printf("  │ May this run? The demo answers: %s\n", answer)
}

func (p *printer) item(it *client.Item) {
	switch it.Kind {
	case client.User:
		p.printf("> %s\n\n", it.Text)
	case client.Tool:
		p.card(it.Card)
	case client.Notice:
		p.printf("%s: %s\n\n", it.Severity, it.Text)
	default:
		p.lines("", strings.TrimRight(it.Text, "\n"), 0)
		p.printf("\n")
	}
}

func (p *printer) head(c *client.Card) {
	if !p.open {
		p.printf("  ┌ %s: %s\n", c.Kind, c.Title)
		p.open = true
	}
}

func (p *printer) card(c *client.Card) {
	p.head(c)
	for _, d := range c.Diffs() {
		p.lines("  │ ", strings.TrimRight(strings.ReplaceAll(client.Unified(d), p.tree+"/", ""), "\n"), 0)
	}
	if text := unfenced(c.Text()); text != "" && c.Kind != schema.KindRead {
		p.lines("  │ ", text, maxOutput)
	}
	p.printf("  └ %s\n\n", strings.ReplaceAll(string(c.Status), "_", " "))
}

// lines prints a text with a margin, of a long one the beginning; most is 0 for all of it.
func (p *printer) lines(margin, text string, most int) {
	all := strings.Split(text, "\n")
	for i, line := range all {
		if most > 0 && i == most {
			p.printf("%s… %d more lines\n", margin, len(all)-i)
			return
		}
		p.printf("%s\n", strings.TrimRight(margin+line, " "))
	}
}

// unfenced takes a text out of its code block.
func unfenced(text string) string {
	text = strings.TrimRight(text, "\n")
	if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "```") {
		text = strings.TrimSuffix(rest, strings.TrimRight(first, "\n"))
	}
	return strings.TrimRight(text, "\n")
}
