package headless

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"zuno/journal"
	"zuno/journal/event"
)

// writer prints either way: text on out and progress beside it, or JSON lines on out.
type writer struct {
	out, progress io.Writer
	json          bool
	err           error
	inText        bool // a line of text is not ended
	titles        map[string]string
}

func (w *writer) print(s string) {
	if _, err := io.WriteString(w.out, s); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *writer) line(v any) {
	b, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.print(string(b) + "\n")
}

func (w *writer) text(s string) {
	if s == "" {
		return
	}
	if w.json {
		w.line(map[string]any{"type": "text", "text": s})
		return
	}
	w.print(s)
	w.inText = !strings.HasSuffix(s, "\n")
}

func (w *writer) endText() {
	if w.inText {
		w.print("\n")
		w.inText = false
	}
}

func (w *writer) event(kind string, m map[string]any) {
	if w.json {
		m["type"] = kind
		w.line(m)
		return
	}
	if kind != "retry" { // the next attempt may go on with the line
		w.endText()
	}
	say := func(format string, a ...any) { fmt.Fprintf(w.progress, format+"\n", a...) }
	if w.titles == nil {
		w.titles = map[string]string{}
	}
	id, _ := m["id"].(string)
	switch kind {
	case "call":
		title := m["title"].(string)
		if tool := m["tool"].(string); title != tool {
			title = tool + ": " + title
		}
		w.titles[id] = title
	case "call_started":
		say("… %s", w.titles[id])
	case "call_blocked":
		say("✗ %s was not run (%s): %s", w.titles[id], m["kind"], m["text"])
	case "call_settled":
		mark := "✓"
		if m["outcome"] != event.OutcomeOK {
			mark = "✗"
		}
		if code, is := m["exit"]; is {
			say("%s %s (exit %d)", mark, w.titles[id], code)
		} else {
			say("%s %s (%s)", mark, w.titles[id], m["outcome"])
		}
	case "notice":
		say("%s: %s", m["severity"], m["text"])
	case "retry":
		if w.inText {
			say("") // a terminal shows both in one place
		}
		say("attempt %d in %d ms", m["attempt"], m["delay_ms"])
	case "text_cut":
		say("the response broke off; the next attempt differs, so it is shown anew")
	case "error":
		say("failed: %s", m["text"])
	}
}

// head is the last line: the commit that all of this hangs on.
func (w *writer) head(session string, h journal.Head) {
	if w.json {
		w.line(map[string]any{"type": "head", "session": session, "number": h.Number, "hash": h.Hash.String()})
		return
	}
	w.endText()
	fmt.Fprintf(w.progress, "session %s, commit %d\n", session, h.Number)
	w.print(h.Hash.String() + "\n")
}
