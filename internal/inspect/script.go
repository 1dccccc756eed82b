package inspect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"zuno/internal/engine"
	"zuno/internal/model/scripted"
	"zuno/journal"
	"zuno/journal/event"
)

// Script writes the responses that the journal at path recorded as a script of the scripted model, in their order:
// with it the same prompts get the same responses. Every response is an entry without a condition, whatever let it
// answer. Doubts are what a script cannot say. A journal that has lost its texts has no script.
func Script(path string) (b []byte, doubts []string, err error) {
	file, err := open(path, nothing)
	if err != nil {
		return nil, nil, unwrapped(err)
	}
	defer file.Close()
	s := &scriptWriter{}
	err = file.Scan(1, func(c *journal.Raw) error {
		d, err := engine.Decode(c)
		if err != nil {
			return unreadable(path, c, err)
		}
		for _, e := range d.Events {
			if e.Stream == 1 {
				if err := s.event(e.Commit, e.Payload); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, unwrapped(err)
	}
	s.left()
	if s.entries == 0 {
		return []byte("responses: []\n"), s.doubts, nil
	}
	if s.b.Len() > scripted.MaxScript {
		s.doubt("the script has %d bytes: one over %d cannot be loaded", s.b.Len(), scripted.MaxScript)
	}
	return []byte("responses:\n" + s.b.String()), s.doubts, nil
}

// scriptWriter makes an entry of each response. What is shown of one comes before its end.
type scriptWriter struct {
	b       strings.Builder
	entries uint64
	parts   []scriptPart
	open    bool // a request waits for its response
	ended   *event.ResponseCompleted
	calls   []*event.CallRequested
	doubts  []string
}

type scriptPart struct {
	kind event.PartKind
	text string
}

func (s *scriptWriter) doubt(format string, a ...any) {
	if d := fmt.Sprintf(format, a...); !slices.Contains(s.doubts, d) {
		s.doubts = append(s.doubts, d)
	}
}

func (s *scriptWriter) event(commit uint64, p event.Payload) error {
	switch e := p.(type) {
	case *event.RequestStarted:
		s.left() // of a run that died
		s.open = true
	case *event.ResponsePart:
		text, err := said(commit, e.Text)
		if err != nil {
			return err
		}
		if n := len(s.parts); n > 0 && s.parts[n-1].kind == e.Kind { // where a part ends is an accident of time
			s.parts[n-1].text += text
		} else {
			s.parts = append(s.parts, scriptPart{e.Kind, text})
		}
	case *event.ResponseCompleted:
		s.ended = e
	case *event.CallRequested:
		if _, err := said(commit, e.Args); err != nil {
			return err
		}
		s.calls = append(s.calls, e)
	case *event.ResponseCut:
		s.cut(e)
	case *event.RequestFailed:
		reason, err := said(commit, e.Fault.Reason)
		if err != nil {
			return err
		}
		s.failed(e, reason)
	}
	return nil
}

func said(commit uint64, t event.Text) (string, error) {
	if t.Known() || t.IsZero() {
		return t.String(), nil
	}
	return "", fmt.Errorf("a text of commit %d was dropped from this journal: its responses are lost, and there is no script of it", commit)
}

// complete writes the response that ended, once its calls are known.
func (s *scriptWriter) complete() {
	e := s.ended
	if e == nil {
		return
	}
	s.begin()
	s.words()
	if len(s.calls) > 0 {
		s.key("calls", "")
		for i, c := range s.calls {
			s.call(c.Tool, c.Args.String(), c.Provider, i)
		}
	}
	s.usage(&e.Usage)
	finish := "stop"
	if len(s.calls) > 0 {
		finish = "tool_calls"
	}
	if e.Finish != finish {
		s.doubt("a response ended with %q, which a script cannot say: it ends with %q", short(e.Finish, 40), finish)
	}
	s.end()
}

// left ends a response that nothing ended. One of which nothing was shown did not use an entry.
func (s *scriptWriter) left() {
	s.complete()
	if s.open && len(s.parts) > 0 {
		s.cut(&event.ResponseCut{Reason: event.CutInterrupted})
	}
	s.end()
	s.open = false
}

func (s *scriptWriter) cut(e *event.ResponseCut) {
	if e.Reason == event.CutInterrupted && len(s.parts) == 0 {
		s.end()
		return
	}
	s.begin()
	s.words()
	if len(e.Calls) > 0 {
		s.key("calls", "")
		for _, c := range e.Calls {
			s.line("      - tool: " + yamlText(c.Tool, 0))
		}
	}
	s.key("cut", "true")
	s.end()
}

func (s *scriptWriter) failed(e *event.RequestFailed, reason string) {
	s.begin()
	s.key("error", "")
	code, message := errorParts(&e.Fault, reason)
	inner := func(name, value string) { s.line("      " + name + ": " + value) }
	if e.Fault.Status > 0 {
		inner("status", fmt.Sprint(min(e.Fault.Status, 999)))
	}
	if code != "" {
		inner("code", yamlText(code, 0))
	}
	if e.Fault.RequestID != "" {
		inner("request_id", yamlText(e.Fault.RequestID, 0))
	}
	if e.RetryAfterMS > 0 {
		inner("retry_after", (time.Duration(min(e.RetryAfterMS, uint64(24*time.Hour/time.Millisecond))) * time.Millisecond).String())
	}
	if message == "" {
		s.doubt("a failure had no message, which a script cannot say")
		message = "the script says that the request fails"
	}
	inner("message", yamlText(message, 8))
	s.end()
}

// errorParts undoes what the words of a failure were put together from.
func errorParts(f *event.Failure, reason string) (code, message string) {
	const unnamed = "provider" // the code of a failure that had none
	before := ""
	if f.Status > 0 {
		before = fmt.Sprintf("provider answered %d", f.Status)
		if rest, ok := strings.CutPrefix(reason, before+" ("+f.Code+"): "); ok {
			return f.Code, rest
		}
		if rest, ok := strings.CutPrefix(reason, before+": "); ok && f.Code == unnamed {
			return "", rest
		}
	} else if rest, ok := strings.CutPrefix(reason, f.Code+": "); ok {
		return f.Code, rest
	}
	if f.Code == unnamed {
		return "", reason
	}
	return f.Code, reason
}

func (s *scriptWriter) begin() {
	s.entries++
	s.b.WriteString("  -") // the first key stands on this line
	s.open = false
}

func (s *scriptWriter) end() {
	s.parts, s.calls, s.ended, s.open = nil, nil, nil, false
	if strings.HasSuffix(s.b.String(), "  -") {
		s.key("text", `""`)
	}
}

func (s *scriptWriter) key(name, value string) {
	if value != "" {
		value = " " + value
	}
	if text := s.b.String(); strings.HasSuffix(text, "  -") {
		s.line(" " + name + ":" + value)
		return
	}
	s.line("    " + name + ":" + value)
}

func (s *scriptWriter) line(l string) {
	s.b.WriteString(l)
	if !strings.HasSuffix(l, "\n") {
		s.b.WriteByte('\n')
	}
}

// words writes what was said: as reasoning and text where it came in that order, else part by part.
func (s *scriptWriter) words() {
	parts := s.parts
	plain := len(parts) <= 2
	for i, p := range parts {
		plain = plain && (p.kind == event.PartText) == (i == len(parts)-1) || plain && len(parts) == 1
	}
	if plain {
		for _, p := range parts {
			s.key(string(p.kind), yamlText(escapeDollars(p.text), 6))
		}
		return
	}
	s.key("parts", "")
	for _, p := range parts {
		s.line("      - " + string(p.kind) + ": " + yamlText(escapeDollars(p.text), 10))
	}
}

func (s *scriptWriter) call(tool, args, id string, i int) {
	s.line("      - tool: " + yamlText(tool, 0))
	if !utf8.ValidString(args) {
		s.doubt("the arguments of a call are not UTF-8, which a script cannot say")
		args = strings.ToValidUTF8(args, "\ufffd")
	}
	if args != "{}" {
		s.line("        raw_arguments: " + yamlText(escapeDollars(args), 10))
	}
	if id != "" && id != defaultCallID(s.entries, i) {
		s.line("        id: " + yamlText(id, 0))
	}
}

// defaultCallID is the id that a call of a script gets without one: by the position of its entry and its own.
func defaultCallID(position uint64, i int) string {
	id := fmt.Sprintf("call_%d", position)
	if i > 0 {
		id += fmt.Sprintf("_%d", i+1)
	}
	return id
}

func (s *scriptWriter) usage(u *event.Usage) {
	var out []string
	for _, x := range []struct {
		name string
		n    *uint64
	}{{"input", u.Input}, {"output", u.Output}, {"reasoning", u.Reasoning}, {"cache_read", u.CacheRead}, {"cache_write", u.CacheWrite}} {
		if x.n != nil {
			out = append(out, fmt.Sprintf("%s: %d", x.name, min(*x.n, math.MaxUint32)))
		}
	}
	if len(out) > 0 {
		s.key("usage", "{ "+strings.Join(out, ", ")+" }")
	}
}

// escapeDollars keeps the text from naming variables.
func escapeDollars(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// yamlText writes a string: as a block of lines, indented that far, where it has several and nothing that a block cannot
// hold, else in quotes.
func yamlText(s string, indent int) string {
	if indent == 0 || !blockable(s) {
		return quotedYAML(s)
	}
	head := "|"
	switch {
	case !strings.HasSuffix(s, "\n"):
		head = "|-"
	case strings.HasSuffix(s, "\n\n"):
		head = "|+"
	}
	var b strings.Builder
	b.WriteString(head + "\n")
	for l := range strings.Lines(s) {
		if l != "\n" {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.WriteString(l)
	}
	return b.String()
}

// blockable says that a text reads the same from a block of lines.
func blockable(s string) bool {
	body := strings.TrimRight(s, "\n")
	if !strings.Contains(body, "\n") || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "\n") {
		return false
	}
	for l := range strings.Lines(s) {
		if strings.TrimSpace(l) == "" && l != "\n" { // only blanks: what of them is indentation is not to be seen
			return false
		}
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && !(r == ' ' || unicode.IsPrint(r)) || r == utf8.RuneError || r == '\ufeff' {
			return false
		}
	}
	return true
}

// quotedYAML is a string in double quotes, of which YAML reads what JSON does.
func quotedYAML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == ' ' || unicode.IsPrint(r) && r != '\ufeff':
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
