package engine

import (
	"strings"

	"zuno/journal/event"
)

// Flow decides what of a response's text is shown, once and in order, whether it comes live or with its commit, and over
// several attempts of one request: what the next attempt repeats of the text that is visible already is swallowed, and
// where it differs the visible text is left behind as cut and the attempt is shown as a message of its own. It is pure:
// the same events show the same, live and on load. The zero Flow is ready for use.
type Flow struct {
	request string
	attempt uint64
	kinds   map[event.PartKind]*flow
}

// flow is the text of one kind.
type flow struct {
	visible strings.Builder // of the message that is being shown, over attempts
	epoch   int             // how many messages were left behind
	prior   string          // what was visible when the attempt began; it is compared while the attempt repeats it
	at      int             // bytes of the attempt that were taken
	known   int             // bytes of it that are committed
}

// Shown is a piece of text to show. Message tells the messages of one request and kind apart, from 0. Cut says that the
// message before it is left behind.
type Shown struct {
	Kind    event.PartKind
	Message int
	Text    string
	Cut     bool
}

// Follow turns to an attempt. It may be called again for the same one.
func (f *Flow) Follow(request string, attempt uint64) {
	if request == f.request && attempt == f.attempt {
		return
	}
	if request != f.request || f.kinds == nil {
		f.kinds = map[event.PartKind]*flow{}
	}
	f.request, f.attempt = request, attempt
	for _, k := range f.kinds {
		k.prior, k.at, k.known = k.visible.String(), 0, 0
	}
}

func (f *Flow) kind(kind event.PartKind) *flow {
	k := f.kinds[kind]
	if k == nil {
		k = &flow{}
		f.kinds[kind] = k
	}
	return k
}

// Live takes text that comes before its commit. Text that does not follow on what was taken waits for its commit.
func (f *Flow) Live(l *Live) (out []Shown) {
	kind := event.PartText
	if l.Kind == LiveReasoning {
		kind = event.PartReasoning
	}
	f.Follow(l.Request, l.Attempt)
	if k := f.kind(kind); l.Offset == k.at {
		return k.take(kind, l.Text)
	}
	return nil
}

// Part takes a committed part: what of it was not taken live.
func (f *Flow) Part(e *event.ResponsePart) []Shown {
	f.Follow(e.Request, e.Attempt)
	k := f.kind(e.Kind)
	k.known += int(e.Text.Size)
	more := k.known - k.at
	if more <= 0 {
		return nil
	}
	t := e.Text.String()
	if len(t) < more { // the text was dropped from the journal
		k.at = k.known
		return []Shown{{Kind: e.Kind, Message: k.epoch, Text: t}}
	}
	return k.take(e.Kind, t[len(t)-more:])
}

// Complete ends an attempt that completed: what it did not repeat of the visible text is left behind.
func (f *Flow) Complete() (out []Shown) {
	for _, kind := range []event.PartKind{event.PartReasoning, event.PartText} {
		if k := f.kinds[kind]; k != nil && k.at < len(k.prior) {
			out = append(out, k.leave(kind, "")...)
		}
	}
	return out
}

func (k *flow) take(kind event.PartKind, text string) []Shown {
	if rest := k.prior[min(k.at, len(k.prior)):]; rest != "" {
		n := common(rest, text)
		if n < len(text) && n < len(rest) {
			return k.leave(kind, text)
		}
		k.at += n
		text = text[n:]
	}
	if text == "" {
		return nil
	}
	k.at += len(text)
	k.visible.WriteString(text)
	return []Shown{{Kind: kind, Message: k.epoch, Text: text}}
}

// leave gives up the visible message and shows the attempt, with what was swallowed of it and text, as a new one.
func (k *flow) leave(kind event.PartKind, text string) []Shown {
	own := k.prior[:k.at] + text
	k.epoch++
	k.at += len(text)
	k.prior = ""
	k.visible.Reset()
	k.visible.WriteString(own)
	return []Shown{{Kind: kind, Message: k.epoch, Text: own, Cut: true}}
}

func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
