package schema

import (
	"encoding/json"
	"slices"
)

// The constructors below make the updates that an agent sends. Each takes what the
// schema requires, and returns a value whose optional fields the caller may set.

// MessageChunk is a piece of the agent's message. Chunks with the same message id
// are one message; an empty id is left out.
func MessageChunk(messageID, text string) SessionUpdate {
	return chunk(UpdateAgentMessageChunk, messageID, Text(text))
}

// ThoughtChunk is a piece of the agent's reasoning.
func ThoughtChunk(messageID, text string) SessionUpdate {
	return chunk(UpdateAgentThoughtChunk, messageID, Text(text))
}

// UserChunk is a block of a user's message, for the replay of a session.
func UserChunk(messageID string, b ContentBlock) SessionUpdate {
	return chunk(UpdateUserMessageChunk, messageID, b)
}

func chunk(kind, messageID string, b ContentBlock) SessionUpdate {
	return SessionUpdate{Kind: kind, ContentChunk: &ContentChunk{Content: b, MessageID: messageID}}
}

// StartTool announces a tool call.
func StartTool(t ToolCall) SessionUpdate {
	return SessionUpdate{Kind: UpdateToolCall, ToolCall: &t}
}

// UpdateTool changes a tool call. Fields left zero stay as they are; content and
// locations replace what the client has.
func UpdateTool(t ToolCallUpdate) SessionUpdate {
	return SessionUpdate{Kind: UpdateToolCallUpdate, ToolCallUpdate: &t}
}

// PlanUpdate is the full plan; no entries clear it. A step with a status that the protocol has no word for, such as one that was
// cancelled, will not be worked on any more: clients are told that it is completed.
func PlanUpdate(entries ...PlanEntry) SessionUpdate {
	entries = slices.Clone(entries)
	for i := range entries {
		switch entries[i].Status {
		case PlanPending, PlanInProgress, PlanCompleted:
		default:
			entries[i].Status = PlanCompleted
		}
	}
	return SessionUpdate{Kind: UpdatePlan, Plan: &Plan{Entries: entries}}
}

// CommandsUpdate is the full list of commands.
func CommandsUpdate(commands ...AvailableCommand) SessionUpdate {
	return SessionUpdate{Kind: UpdateAvailableCommandsUpdate, AvailableCommandsUpdate: &AvailableCommandsUpdate{AvailableCommands: commands}}
}

// Command is a slash command, its name without the slash. A hint makes it take input.
func Command(name, description, hint string) AvailableCommand {
	c := AvailableCommand{Name: name, Description: description}
	if hint != "" {
		c.Input = &AvailableCommandInput{Hint: hint}
	}
	return c
}

// ModeUpdate tells the current mode.
func ModeUpdate(id string) SessionUpdate {
	return SessionUpdate{Kind: UpdateCurrentModeUpdate, CurrentModeUpdate: &CurrentModeUpdate{CurrentModeID: id}}
}

// ConfigUpdate is the full list of options.
func ConfigUpdate(options ...SessionConfigOption) SessionUpdate {
	return SessionUpdate{Kind: UpdateConfigOptionUpdate, ConfigOptionUpdate: &ConfigOptionUpdate{ConfigOptions: options}}
}

// InfoUpdate changes the session's title and time (ISO 8601); zero values leave them.
func InfoUpdate(title, updatedAt Nullable) SessionUpdate {
	return SessionUpdate{Kind: UpdateSessionInfoUpdate, SessionInfoUpdate: &SessionInfoUpdate{Title: title, UpdatedAt: updatedAt}}
}

// Usage tells the tokens in the context and the size of the window, which must be
// known: a size of 0 draws nonsense.
func Usage(used, size int64, cost *Cost) SessionUpdate {
	return SessionUpdate{Kind: UpdateUsageUpdate, UsageUpdate: &UsageUpdate{Used: used, Size: size, Cost: cost}}
}

// NoticeUpdate is a notice, for clients that have the capability.
func NoticeUpdate(severity NoticeSeverity, title, description string) SessionUpdate {
	return SessionUpdate{Kind: UpdateNotice, Notice: &Notice{Severity: severity, Title: title, Description: description}}
}

// WithMeta sets the _meta of the update's body and returns the update. One of an
// unknown kind is returned as it is.
func (u SessionUpdate) WithMeta(meta json.RawMessage) SessionUpdate {
	if m := u.meta(); m != nil {
		*m = meta
	}
	return u
}

// MetaOf is the update's _meta; nil where it has none.
func (u SessionUpdate) MetaOf() json.RawMessage {
	if m := u.meta(); m != nil {
		return *m
	}
	return nil
}

func (u SessionUpdate) meta() *json.RawMessage {
	switch {
	case u.ContentChunk != nil:
		return &u.ContentChunk.Meta
	case u.ToolCall != nil:
		return &u.ToolCall.Meta
	case u.ToolCallUpdate != nil:
		return &u.ToolCallUpdate.Meta
	case u.Plan != nil:
		return &u.Plan.Meta
	case u.AvailableCommandsUpdate != nil:
		return &u.AvailableCommandsUpdate.Meta
	case u.CurrentModeUpdate != nil:
		return &u.CurrentModeUpdate.Meta
	case u.ConfigOptionUpdate != nil:
		return &u.ConfigOptionUpdate.Meta
	case u.SessionInfoUpdate != nil:
		return &u.SessionInfoUpdate.Meta
	case u.UsageUpdate != nil:
		return &u.UsageUpdate.Meta
	case u.Notice != nil:
		return &u.Notice.Meta
	case u.CompactionUpdate != nil:
		return &u.CompactionUpdate.Meta
	case u.CompactionSummaryChunk != nil:
		return &u.CompactionSummaryChunk.Meta
	}
	return nil
}

// Merge replaces what v names – also with an empty list – and keeps the rest. The id and _meta stay as they are.
func (u *ToolCallUpdate) Merge(v *ToolCallUpdate) {
	if v.Title != "" {
		u.Title = v.Title
	}
	if v.Kind != "" {
		u.Kind = v.Kind
	}
	if v.Status != "" {
		u.Status = v.Status
	}
	if v.Content != nil {
		u.Content = v.Content
	}
	if v.Locations != nil {
		u.Locations = v.Locations
	}
	if v.RawInput != nil {
		u.RawInput = v.RawInput
	}
	if v.RawOutput != nil {
		u.RawOutput = v.RawOutput
	}
}
