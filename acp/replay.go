package acp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"zuno/acp/schema"
	"zuno/acp/schema/rawjson"
)

const (
	// replayWrite is how many bytes of history gather before they are written.
	replayWrite = 64 << 10
	// replayChunk is how much of one message goes into one update.
	replayChunk = 128 << 10
)

// replay takes the updates of a history and gives a client what it needs to hold the same state: each piece of a message once,
// however many parts it was recorded in, each card once and as it ended, and of what is replaced as a whole only the last. What is
// ready is encoded into one buffer and written in large pieces, the first at once.
type replay struct {
	head  []byte // of each frame, up to the update
	write func(lines []byte) error

	held  []*entry // in the order of their appearance; the first is not ready yet
	cards map[string]*entry
	last  []schema.SessionUpdate // of each kind that is replaced as a whole
	buf   []byte
	begun bool
	err   error
}

// entry is one update that may still change.
type entry struct {
	update schema.SessionUpdate
	more   strings.Builder        // of a message: what was joined to it
	after  *schema.ToolCallUpdate // of a card that cannot be sent in one
	open   bool                   // a card that is not over
}

func newReplay(session string, write func([]byte) error) *replay {
	head := append([]byte(`{"jsonrpc":"2.0","method":"`+schema.MethodSessionUpdate+`","params":{"sessionId":`), rawjson.AppendString(nil, session)...)
	return &replay{head: append(head, `,"update":`...), write: write, cards: map[string]*entry{}}
}

// add takes the next update.
func (r *replay) add(u schema.SessionUpdate) {
	switch {
	case u.ContentChunk != nil:
		if n := len(r.held); n > 0 && r.held[n-1].join(u) {
			return
		}
		r.hold(&entry{update: u})
	case u.ToolCall != nil && r.cards[u.ToolCall.ToolCallID] == nil:
		c := *u.ToolCall
		u.ToolCall = &c
		e := &entry{update: u, open: unfinished(c.Status)}
		r.cards[c.ToolCallID] = e
		r.hold(e)
	case u.ToolCallUpdate != nil && r.cards[u.ToolCallUpdate.ToolCallID] != nil:
		e := r.cards[u.ToolCallUpdate.ToolCallID]
		e.change(u.ToolCallUpdate)
		if !e.open {
			delete(r.cards, u.ToolCallUpdate.ToolCallID)
		}
	case u.UsageUpdate != nil, u.SessionInfoUpdate != nil:
		r.last = slices.DeleteFunc(r.last, func(x schema.SessionUpdate) bool { return x.Kind == u.Kind })
		r.last = append(r.last, u)
	default:
		r.hold(&entry{update: u})
	}
	r.pass(false)
}

func (r *replay) hold(e *entry) { r.held = append(r.held, e) }

func unfinished(s schema.ToolCallStatus) bool {
	return s != schema.StatusCompleted && s != schema.StatusFailed
}

// join adds a piece of the same message.
func (e *entry) join(u schema.SessionUpdate) bool {
	a, b := e.update.ContentChunk, u.ContentChunk
	if a == nil || e.update.Kind != u.Kind || a.MessageID == "" || a.MessageID != b.MessageID || !bytes.Equal(a.Meta, b.Meta) {
		return false
	}
	x, y := a.Content.TextContent, b.Content.TextContent
	if x == nil || y == nil || x.Annotations != nil || y.Annotations != nil || len(x.Text)+e.more.Len()+len(y.Text) > replayChunk {
		return false
	}
	e.more.WriteString(y.Text)
	return true
}

// change brings a card to its next state. A terminal must be known before its output comes, so such a card takes two updates.
func (e *entry) change(u *schema.ToolCallUpdate) {
	c := e.update.ToolCall
	if u.Status != "" {
		e.open = unfinished(u.Status)
	}
	if e.after != nil || bytes.Contains(c.Meta, []byte(`"terminal_info"`)) {
		if e.after == nil {
			e.after = &schema.ToolCallUpdate{ToolCallID: c.ToolCallID}
		}
		meta := joinMeta(e.after.Meta, u.Meta)
		e.after.Merge(u)
		e.after.Meta = meta
		return
	}
	now := schema.ToolCallUpdate{
		Title: c.Title, Kind: c.Kind, Status: c.Status, Content: c.Content, Locations: c.Locations, RawInput: c.RawInput, RawOutput: c.RawOutput,
	}
	now.Merge(u)
	c.Title, c.Kind, c.Status, c.Content, c.Locations, c.RawInput, c.RawOutput = now.Title, now.Kind, now.Status, now.Content, now.Locations, now.RawInput, now.RawOutput
	c.Meta = joinMeta(c.Meta, u.Meta)
}

// joinMeta is what both say, the later one where they differ; members of _meta.zuno by themselves.
func joinMeta(a, b json.RawMessage) json.RawMessage {
	switch {
	case len(b) == 0 || bytes.Equal(a, b) || begins(a, b):
		return a
	case len(a) == 0:
		return b
	}
	var x, y, xz, yz map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return b
	}
	xzuno := x["zuno"]
	maps.Copy(x, y)
	if json.Unmarshal(xzuno, &xz) == nil && json.Unmarshal(y["zuno"], &yz) == nil {
		maps.Copy(xz, yz)
		if joined, err := json.Marshal(xz); err == nil {
			x["zuno"] = joined
		}
	} else if y["zuno"] == nil && xzuno != nil {
		x["zuno"] = xzuno
	}
	joined, err := json.Marshal(x)
	if err != nil {
		return b
	}
	return joined
}

// begins says that b is {"zuno":{…}} and that its members are the first of those in a, as with updates that only name their turn.
func begins(a, b json.RawMessage) bool {
	members, ok := bytes.CutSuffix(b, []byte("}}"))
	return ok && bytes.HasPrefix(b, []byte(`{"zuno":{"`)) && bytes.HasPrefix(a, members) && len(a) > len(members) && a[len(members)] == ','
}

// pass encodes what will not change any more: what stands before the first open card, but for the last message, to which more
// may be joined.
func (r *replay) pass(all bool) {
	n := 0
	for ; n < len(r.held); n++ {
		e := r.held[n]
		if !all && (e.open || n == len(r.held)-1 && e.update.ContentChunk != nil) {
			break
		}
		r.encode(e)
		r.held[n] = nil
	}
	r.held = r.held[n:]
	if len(r.buf) >= replayWrite || len(r.buf) > 0 && (all || !r.begun) {
		r.out()
	}
}

func (r *replay) encode(e *entry) {
	if e.more.Len() > 0 {
		chunk := *e.update.ContentChunk
		text := *chunk.Content.TextContent
		text.Text += e.more.String()
		chunk.Content.TextContent = &text
		e.update.ContentChunk = &chunk
	}
	r.frame(e.update)
	if e.after != nil {
		r.frame(schema.UpdateTool(*e.after))
	}
}

func (r *replay) frame(u schema.SessionUpdate) {
	mark := len(r.buf)
	b, err := u.AppendJSON(append(r.buf, r.head...))
	if err != nil || bytes.IndexByte(b[mark:], '\n') >= 0 {
		r.buf = r.buf[:mark] // the stream of messages must hold, whatever one update is
		if err != nil {
			r.err = err
		}
		return
	}
	r.buf = append(b, "}}\n"...)
}

func (r *replay) out() {
	if err := r.write(r.buf); err != nil {
		r.err = err
	}
	r.buf, r.begun = r.buf[:0], true
}

// end gives what is left: open cards as they are, and the last of what is replaced as a whole.
func (r *replay) end() error {
	r.held = append(r.held, func() (rest []*entry) {
		for _, u := range r.last {
			rest = append(rest, &entry{update: u})
		}
		return rest
	}()...)
	r.pass(true)
	return r.err
}
