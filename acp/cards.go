package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"zuno/acp/schema"
	"zuno/journal/event"
)

const (
	maxRaw    = 256 << 10 // bytes of a result in one line
	maxTail   = 4 << 10   // bytes of a running command's output that its card shows
	maxTitle  = 160       // code points
	maxNames  = 3         // file names in a title
	editTitle = "Editing files"
)

// card is a tool call as the editor has it.
type card struct {
	tool, title, kind string
	rule              string // why it asks
	places            []schema.ToolCallLocation
	raw               json.RawMessage
	output            string // tail of a running command's output
	done              bool
	asking            string // the pending question about it
}

// kindOf is the kind of a card whose call is not complete yet, by its tool's name.
func kindOf(tool string) schema.ToolKind {
	switch tool {
	case "read":
		return schema.KindRead
	case "write", "apply_patch", "edit":
		return schema.KindEdit
	case "shell":
		return schema.KindExecute
	case "glob", "grep":
		return schema.KindSearch
	}
	return schema.KindOther
}

// early draws a pending card as soon as the name of its call is known.
func (p *Projector) early(id, tool string) {
	if p.cards[id] != nil {
		return
	}
	title := tool
	if kindOf(tool) == schema.KindEdit {
		title = editTitle
	}
	p.cards[id] = &card{tool: tool}
	p.emit(schema.StartTool(schema.ToolCall{ToolCallID: id, Title: title, Kind: kindOf(tool), Status: schema.StatusPending}))
}

func (p *Projector) requested(e *event.CallRequested) {
	c := p.cards[e.ID]
	shown := c != nil
	if !shown {
		c = &card{tool: e.Tool}
		p.cards[e.ID] = c
	}
	c.kind, c.title, c.rule = e.Kind, title(e), e.Rule.String()
	if c.kind == "" || c.kind == string(schema.KindOther) {
		c.kind = string(kindOf(e.Tool)) // of a call that could not be resolved
	}
	c.raw, c.places = rawInput(e.Args.String()), locations(e.Paths)
	if shown {
		p.emitMeta(schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: e.ID, Title: c.title, Kind: schema.ToolKind(c.kind), Locations: c.places, RawInput: c.raw}), zunoMeta{Call: e.Provider})
		return
	}
	p.emitMeta(schema.StartTool(schema.ToolCall{ToolCallID: e.ID, Title: c.title, Kind: schema.ToolKind(c.kind), Status: schema.StatusPending, Locations: c.places, RawInput: c.raw}), zunoMeta{Call: e.Provider})
}

// title names the files of an edit; other calls have their own title.
func title(e *event.CallRequested) string {
	switch schema.ToolKind(e.Kind) {
	case schema.KindEdit:
		if len(e.Paths) == 0 {
			return editTitle
		}
		names := make([]string, 0, maxNames)
		for i := range e.Paths {
			if i < maxNames {
				names = append(names, oneLine(filepath.Base(e.Paths[i].String())))
			}
		}
		suffix := ""
		if more := len(e.Paths) - len(names); more > 0 {
			suffix = fmt.Sprintf(" (+%d more)", more)
		}
		return clip("Editing "+strings.Join(names, ", "), maxTitle-utf8.RuneCountInString(suffix)) + suffix
	case schema.KindRead:
		return clip("Read "+oneLine(e.Title.String()), maxTitle)
	}
	return clip(oneLine(e.Title.String()), maxTitle)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func clip(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	r := []rune(s)
	return string(r[:runes-1]) + "…"
}

func locations(paths []event.Text) (out []schema.ToolCallLocation) {
	for i := range paths {
		if p := paths[i].String(); filepath.IsAbs(p) {
			out = append(out, schema.ToolCallLocation{Path: p})
		}
	}
	return out
}

// rawInput is the arguments as JSON, or as a string where they are none.
func rawInput(args string) json.RawMessage {
	if len(args) <= maxRaw && json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	return bounded(args)
}

func bounded(text string) json.RawMessage {
	cut, whole := fit(text, maxRaw-64)
	if !whole {
		cut += fmt.Sprintf("… (%d bytes in all)", len(text))
	}
	b, _ := json.Marshal(cut) // a string always encodes
	return b
}

// fit is text in valid UTF-8, cut to what takes at most budget bytes of a line: what JSON escapes counts in full.
func fit(text string, budget int) (cut string, whole bool) {
	size := 0
	for i, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			size += 2
		case r < 0x20 || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
			size += 6
		default:
			size += utf8.RuneLen(r) // of U+FFFD for a byte that is none
		}
		if size > budget {
			return strings.ToValidUTF8(text[:i], "\uFFFD"), false
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD"), true
}

func (p *Projector) started(e *event.CallStarted) {
	p.emit(schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: e.ID, Status: schema.StatusInProgress}))
}

// output shows the tail of what a running command has written. It is replaced when the call is settled.
func (p *Projector) output(id, text string) {
	c := p.cards[id]
	if c == nil || c.done {
		return
	}
	c.output += text
	if len(c.output) > maxTail {
		c.output = strings.ToValidUTF8(c.output[len(c.output)-maxTail:], "")
	}
	p.emit(schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: id, Content: []schema.ToolCallContent{schema.TextItem(fence(c.output))}}))
}

// fence puts text into one code block that no line of it can end.
func fence(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return marks + "\n" + text + marks
}

func (p *Projector) blocked(e *event.CallBlocked) {
	p.close(e.ID, e.Text.String(), zunoMeta{Outcome: "blocked", Class: string(e.Kind)})
}

// unanswered is what the card of an abandoned call says.
const unanswered = "The turn ended before it was answered whether this may run. Nothing was done."

func (p *Projector) abandoned(e *event.CallAbandoned) {
	p.close(e.ID, unanswered, zunoMeta{Outcome: "blocked", Class: string(e.Reason)})
}

func (p *Projector) asked(e *event.PermissionAsked) {
	if c := p.cards[e.Call]; c != nil {
		c.asking = e.ID
	}
}

// answered draws the card of a call again that was over before its question was answered: editors take an answer for
// the beginning of the call.
func (p *Projector) answered(e *event.PermissionAnswered) {
	c := p.cards[e.Call]
	if c == nil || c.asking != e.ID {
		return
	}
	if c.asking = ""; c.done {
		p.close(e.Call, unanswered, zunoMeta{Outcome: "blocked", Class: string(event.BlockInterrupted)})
	}
}

// forget drops the cards of the turn before, which are done and were still named by what was said after it. Those about
// which a question is pending are still to be shown with it.
func (p *Projector) forget() {
	for id, c := range p.cards {
		if c.asking == "" {
			delete(p.cards, id)
		}
	}
}

// close fails the card of a call that did nothing.
func (p *Projector) close(id, text string, m zunoMeta) {
	if c := p.cards[id]; c != nil {
		c.done = true
	}
	p.emitMeta(schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: id, Status: schema.StatusFailed, Content: []schema.ToolCallContent{schema.TextItem(text)}}), m)
}

// cut closes the cards whose calls never completed.
func (p *Projector) cut(e *event.ResponseCut) {
	for _, c := range e.Calls {
		p.early(c.ID, c.Tool)
		p.close(c.ID, "The response broke off before this call was complete. Nothing was done.", zunoMeta{Outcome: "blocked"})
	}
}

func (p *Projector) settled(e *event.CallSettled) {
	c := p.cards[e.ID]
	if c == nil {
		c = &card{}
	}
	c.done = true
	u := schema.ToolCallUpdate{ToolCallID: e.ID, Status: schema.StatusFailed}
	if e.Outcome == event.OutcomeOK {
		u.Status = schema.StatusCompleted
	}
	u.Content, u.Locations = content(c, e)
	u.RawOutput = rawOutput(e)
	m := zunoMeta{Class: e.Class}
	if e.Outcome == event.OutcomeUncertain || e.Outcome == event.OutcomeCancelled {
		m.Outcome = string(e.Outcome)
	}
	p.emitMeta(schema.UpdateTool(u), m)
}

// content is what the card of a settled call shows: the diffs alone for a change that succeeded, the text otherwise, with
// the diffs that were observed beside it.
func content(c *card, e *event.CallSettled) (items []schema.ToolCallContent, places []schema.ToolCallLocation) {
	changed, shown := false, 0
	for i := range e.Files {
		f := &e.Files[i]
		if f.Change == event.ChangeRead {
			continue
		}
		changed = true
		path := f.Path.String()
		places = append(places, schema.ToolCallLocation{Path: path})
		if !f.Diff {
			continue
		}
		var old *string
		if f.Change != event.ChangeAdd {
			s := f.Old.String()
			old = &s
		}
		items = append(items, schema.DiffItem(path, old, f.New.String()))
		shown++
	}
	if changed && e.Outcome == event.OutcomeOK && shown == len(places) {
		return items, places
	}
	text, whole := fit(e.Text.String(), maxRaw-1024)
	if !whole {
		text += fmt.Sprintf("\n… (%d bytes in all)", e.Text.Size)
	}
	if schema.ToolKind(c.kind) == schema.KindExecute || c.tool == "shell" {
		text = fence(text)
	}
	return append([]schema.ToolCallContent{schema.TextItem(text)}, items...), places
}

// rawOutput is the typed outcome of a change, complete and without texts; of any other call it is the bounded result.
func rawOutput(e *event.CallSettled) json.RawMessage {
	if raw := e.Raw.String(); raw != "" && json.Valid([]byte(raw)) {
		return json.RawMessage(raw)
	}
	out := struct {
		Outcome event.Outcome `json:"outcome"`
		Class   string        `json:"class,omitempty"`
		Exit    *event.Exit   `json:"exit,omitempty"`
		Text    string        `json:"text"`
		Bytes   int           `json:"bytes,omitempty"`  // of the whole text, where it is cut here
		Output  string        `json:"output,omitempty"` // file that holds everything
		Size    uint64        `json:"outputSize,omitempty"`
	}{Outcome: e.Outcome, Class: e.Class, Exit: e.Exit, Output: e.Output.String(), Size: e.OutBytes}
	var whole bool
	if out.Text, whole = fit(e.Text.String(), maxRaw-8<<10); !whole { // beside it stand a path and a few words
		out.Bytes = int(e.Text.Size)
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return b
}

func interrupted(title string, waiting uint64) string {
	text := "The last turn ended during `" + title + "`, when the agent's process ended: its effect is unknown."
	switch {
	case waiting == 1:
		text += " 1 input waits for the next prompt."
	case waiting > 1:
		text += fmt.Sprintf(" %d inputs wait for the next prompt.", waiting)
	}
	return text
}

// permissionCard is the call as a permission request names it, and why it asks.
func (p *Projector) permissionCard(id string) (u schema.ToolCallUpdate, reason string) {
	u = schema.ToolCallUpdate{ToolCallID: id, Status: schema.StatusPending}
	if c := p.cards[id]; c != nil {
		u.Title, u.Kind, u.Locations, u.RawInput = c.title, schema.ToolKind(c.kind), c.places, c.raw
		reason = c.rule
	}
	return u, reason
}
