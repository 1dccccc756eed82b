package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"zuno/acp/schema"
	"zuno/journal/event"
)

const maxTail = 4 << 10 // bytes of a running command's output that its card shows

// card is a tool call as the editor has it.
type card struct {
	tool, title, kind string
	rule              string   // why it asks
	targets           []string // of an edit
	places            []schema.ToolCallLocation
	raw               json.RawMessage
	output            string // tail of a running command's output
	terminal          *terminal
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
	c := &card{tool: tool, kind: string(kindOf(tool))}
	p.cards[id] = c
	p.start(c, schema.ToolCall{ToolCallID: id, Title: title, Kind: kindOf(tool)}, zunoMeta{})
}

// start draws a new card. A terminal is introduced with it or never: an editor drops whatever names one that it does not know.
func (p *Projector) start(c *card, t schema.ToolCall, m zunoMeta) {
	t.Status = schema.StatusPending
	var show terminalMeta
	if p.Terminal && t.Kind == schema.KindExecute {
		c.terminal = &terminal{id: t.ToolCallID}
		show, t.Content = c.terminal.info(p.cwd), []schema.ToolCallContent{schema.TerminalItem(t.ToolCallID)}
	}
	p.emitCard(schema.StartTool(t), m, show)
}

func (p *Projector) requested(e *event.CallRequested) {
	c := p.cards[e.ID]
	shown := c != nil
	if !shown {
		c = &card{tool: e.Tool}
		p.cards[e.ID] = c
	}
	c.kind, c.title, c.rule = e.Kind, title(e), e.Rule.String()
	if edits(e.Tool) {
		c.targets = targets(e)
	}
	if c.kind == "" || c.kind == string(schema.KindOther) || edits(e.Tool) {
		c.kind = string(kindOf(e.Tool)) // of a call that could not be resolved, or of a patch that only deletes or moves
	}
	c.raw, c.places = rawInput(e.Args.String()), locations(e.Paths)
	if shown {
		p.emitMeta(schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: e.ID, Title: c.title, Kind: schema.ToolKind(c.kind), Locations: c.places, RawInput: c.raw}), zunoMeta{Call: e.Provider})
		return
	}
	p.start(c, schema.ToolCall{ToolCallID: e.ID, Title: c.title, Kind: schema.ToolKind(c.kind), Locations: c.places, RawInput: c.raw}, zunoMeta{Call: e.Provider})
}

func locations(paths []event.Text) (out []schema.ToolCallLocation) {
	for i := range paths {
		if p := paths[i].String(); filepath.IsAbs(p) {
			out = append(out, schema.ToolCallLocation{Path: p})
		}
	}
	return out
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
	if c.terminal != nil {
		p.emitCard(schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: id}), zunoMeta{}, c.terminal.output(text))
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

// close fails the card of a call that did nothing. Of a command it shows the text where its output would stand: plain text
// of such a card stays invisible in some editors.
func (p *Projector) close(id, text string, m zunoMeta) {
	u := schema.ToolCallUpdate{ToolCallID: id, Status: schema.StatusFailed}
	var show terminalMeta
	switch c := p.cards[id]; {
	case c != nil && c.terminal != nil:
		c.done, show = true, c.terminal.closed(text)
	case c != nil && c.kind == string(schema.KindExecute):
		c.done, u.Content = true, []schema.ToolCallContent{schema.TextItem(fence(text))}
	default:
		if c != nil {
			c.done = true
		}
		u.Content = []schema.ToolCallContent{schema.TextItem(text)}
	}
	p.emitCard(schema.UpdateTool(u), m, show)
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
	if t := c.resolved(e); t != c.title && t != "" {
		c.title, u.Title = t, t
	}
	u.RawOutput = rawOutput(e)
	m := zunoMeta{Class: e.Class}
	if e.Outcome == event.OutcomeUncertain || e.Outcome == event.OutcomeCancelled {
		m.Outcome = string(e.Outcome)
	}
	var show terminalMeta
	if c.terminal != nil {
		u.Content, show = nil, c.terminal.ended(e)
	}
	p.emitCard(schema.UpdateTool(u), m, show)
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
