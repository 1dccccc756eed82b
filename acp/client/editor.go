package client

import (
	"encoding/json"
	"fmt"
	"slices"

	"zuno/acp/schema"
)

// Editor is a fold of updates into what an editor holds of one session. The zero value is not ready; see [NewEditor].
type Editor struct {
	Items    []*Item // in the order of their first appearance
	Plan     []schema.PlanEntry
	Commands []schema.AvailableCommand
	Usage    *schema.UsageUpdate
	Title    string
	Asked    int    // requests for permission so far; no part of what is drawn
	Reason   string // why the last of them asks; neither is this
	Dropped  int    // updates that named a terminal which was never introduced
	Question *schema.RequestPermissionRequest
	Told     []Told // the steps of receipts that updates have told of; nor are these

	byID      map[string]*Item
	terminals map[string]*Terminal
}

// Terminal is a display-only terminal: what the _meta of a card's updates writes into it.
type Terminal struct {
	Cwd, Text string
	Ended     bool
	Exit      string // code or signal, where one is known
}

// Told is a step of an input's receipt that an update has told of.
type Told struct {
	Input string `json:"inputId"`
	State string `json:"state"`
}

// NewEditor is an editor that holds nothing.
func NewEditor() *Editor { return &Editor{byID: map[string]*Item{}, terminals: map[string]*Terminal{}} }

// ItemKind is what an item is.
type ItemKind string

// The kinds of items.
const (
	User    ItemKind = "user"
	Agent   ItemKind = "agent"
	Thought ItemKind = "thought"
	Notice  ItemKind = "notice" // a thought that is tagged as one
	Tool    ItemKind = "tool"   // a card
)

// Item is a message or a card.
type Item struct {
	Kind ItemKind
	ID   string // of the message or the call
	Text string // of a message

	Severity, Code string // of a notice

	Card *Card
}

// Card is a tool call.
type Card struct {
	schema.ToolCallUpdate        // what updates have said so far, one over the other
	Outcome               string // _meta.zuno.outcome, where the agent says one
	Terminals             map[string]*Terminal
}

// Text is the text that the card shows.
func (c *Card) Text() (text string) {
	for i := range c.Content {
		if x := c.Content[i].Content; x != nil {
			text += blockText(&x.Content)
		}
	}
	return text
}

// Diffs are the changes that the card shows.
func (c *Card) Diffs() (diffs []*schema.Diff) {
	for i := range c.Content {
		if d := c.Content[i].Diff; d != nil {
			diffs = append(diffs, d)
		}
	}
	return diffs
}

// Say shows a prompt of the user, which a live agent does not send back.
func (e *Editor) Say(blocks ...schema.ContentBlock) {
	it := &Item{Kind: User}
	for i := range blocks {
		it.Text += blockText(&blocks[i])
	}
	e.Items = append(e.Items, it)
}

type updateMeta struct {
	Zuno struct {
		Outcome string `json:"outcome"`
		Receipt *Told  `json:"receipt"`
		Notice  *struct {
			Severity string `json:"severity"`
			Code     string `json:"code"`
		} `json:"notice"`
	} `json:"zuno"`
}

// Apply folds an update.
func (e *Editor) Apply(u schema.SessionUpdate) {
	switch {
	case u.ContentChunk != nil:
		e.chunk(u.Kind, u.ContentChunk)
	case u.ToolCall != nil:
		t := u.ToolCall
		e.introduce(t.Meta)
		e.tool(&schema.ToolCallUpdate{
			ToolCallID: t.ToolCallID, Title: t.Title, Kind: t.Kind, Status: t.Status, Content: t.Content,
			Locations: t.Locations, RawInput: t.RawInput, RawOutput: t.RawOutput, Meta: t.Meta,
		})
	case u.ToolCallUpdate != nil:
		e.tool(u.ToolCallUpdate)
	case u.Plan != nil:
		e.Plan = slices.Clone(u.Plan.Entries)
	case u.AvailableCommandsUpdate != nil:
		e.Commands = slices.Clone(u.AvailableCommandsUpdate.AvailableCommands)
	case u.UsageUpdate != nil:
		e.Usage = u.UsageUpdate
	case u.SessionInfoUpdate != nil:
		if title, ok := u.SessionInfoUpdate.Title.Value(); ok {
			e.Title = title
		}
		var m updateMeta
		if json.Unmarshal(u.SessionInfoUpdate.Meta, &m) == nil && m.Zuno.Receipt != nil {
			e.Told = append(e.Told, *m.Zuno.Receipt)
		}
	}
}

// chunk goes to the message that it names; one without a name continues the last message of its kind.
func (e *Editor) chunk(kind string, c *schema.ContentChunk) {
	var m updateMeta
	_ = json.Unmarshal(c.Meta, &m)
	is := map[string]ItemKind{schema.UpdateUserMessageChunk: User, schema.UpdateAgentMessageChunk: Agent, schema.UpdateAgentThoughtChunk: Thought}[kind]
	if n := m.Zuno.Notice; n != nil {
		is = Notice
	}
	var it *Item
	key := kind + " " + c.MessageID
	if last := len(e.Items) - 1; c.MessageID != "" {
		it = e.byID[key]
	} else if last >= 0 && e.Items[last].Kind == is && is != Notice {
		it = e.Items[last]
	}
	if it == nil {
		it = &Item{Kind: is, ID: c.MessageID}
		if n := m.Zuno.Notice; n != nil {
			it.Severity, it.Code = n.Severity, n.Code
		}
		e.Items = append(e.Items, it)
		if c.MessageID != "" {
			e.byID[key] = it
		}
	}
	it.Text += blockText(&c.Content)
}

func blockText(b *schema.ContentBlock) string {
	switch {
	case b.TextContent != nil:
		return b.TextContent.Text
	case b.ResourceLink != nil:
		return "[" + b.ResourceLink.Name + "](" + b.ResourceLink.URI + ")"
	case b.EmbeddedResource != nil && b.EmbeddedResource.Resource.Text != nil:
		return "[" + b.EmbeddedResource.Resource.URI + "]\n" + *b.EmbeddedResource.Resource.Text
	}
	return "[" + b.Kind + "]"
}

func (e *Editor) card(id string) *Card {
	it := e.byID["tool "+id]
	if it == nil {
		it = &Item{Kind: Tool, ID: id, Card: &Card{ToolCallUpdate: schema.ToolCallUpdate{Status: schema.StatusPending, Kind: schema.KindOther}}}
		e.byID["tool "+id] = it
		e.Items = append(e.Items, it)
	}
	return it.Card
}

type terminalMeta struct {
	Info *struct {
		ID  string `json:"terminal_id"`
		Cwd string `json:"cwd"`
	} `json:"terminal_info"`
	Output *struct {
		ID   string `json:"terminal_id"`
		Data string `json:"data"`
	} `json:"terminal_output"`
	Exit *struct {
		ID     string  `json:"terminal_id"`
		Code   *int64  `json:"exit_code"`
		Signal *string `json:"signal"`
	} `json:"terminal_exit"`
}

// introduce makes the terminal that a new card brings along.
func (e *Editor) introduce(meta json.RawMessage) {
	var m terminalMeta
	if json.Unmarshal(meta, &m) == nil && m.Info != nil {
		e.terminals[m.Info.ID] = &Terminal{Cwd: m.Info.Cwd}
	}
}

// tool folds an update of a card. One that shows a terminal which was never introduced is dropped as a whole, as editors do.
func (e *Editor) tool(u *schema.ToolCallUpdate) {
	for i := range u.Content {
		if t := u.Content[i].Terminal; t != nil && e.terminals[t.TerminalID] == nil {
			e.Dropped++
			return
		}
	}
	c := e.card(u.ToolCallID)
	c.Terminals = e.terminals
	c.update(u)
	var m terminalMeta
	if json.Unmarshal(u.Meta, &m) != nil {
		return
	}
	if o := m.Output; o != nil && e.terminals[o.ID] != nil {
		e.terminals[o.ID].Text += o.Data
	}
	if x := m.Exit; x != nil && e.terminals[x.ID] != nil {
		t := e.terminals[x.ID]
		t.Ended = true
		switch {
		case x.Code != nil:
			t.Exit = fmt.Sprintf("code %d", *x.Code)
		case x.Signal != nil:
			t.Exit = "signal " + *x.Signal
		}
	}
}

// Card finds a card; nil where there is none.
func (e *Editor) Card(id string) *Card {
	if it := e.byID["tool "+id]; it != nil {
		return it.Card
	}
	return nil
}

// update replaces what the update names and keeps the rest.
func (c *Card) update(u *schema.ToolCallUpdate) {
	c.Merge(u)
	var m updateMeta
	if json.Unmarshal(u.Meta, &m) == nil && m.Zuno.Outcome != "" {
		c.Outcome = m.Zuno.Outcome
	}
}
