package acp

import (
	"slices"

	"zuno/acp/schema"
	"zuno/journal/event"
)

// state is what of a session stands beside its conversation: who resumes it is told this and no more.
type state struct {
	title schema.Nullable
	usage *schema.SessionUpdate
	asked []string // calls that the user was asked about, until they move on; those of a dead process until they are answered for
}

// keep notes what an event or an update changes of the state.
func (s *state) keep(e event.Payload) {
	switch e := e.(type) {
	case *event.PermissionAsked:
		s.asked = append(s.asked, e.Call)
	case *event.CallStarted:
		s.settle(e.ID)
	case *event.CallBlocked:
		s.settle(e.ID)
	case *event.CallAbandoned:
		if e.Reason != event.BlockInterrupted {
			s.settle(e.ID)
		}
	case *event.CallSettled:
		s.settle(e.ID)
	}
}

func (s *state) settle(call string) {
	s.asked = slices.DeleteFunc(s.asked, func(id string) bool { return id == call })
}

// titled tells the title, which a session has from its first words on.
func (p *Projector) titled(e *event.Titled) {
	p.state.title = schema.Null()
	if title := e.Title.String(); title != "" {
		p.state.title = schema.String(title)
	}
	p.send(schema.InfoUpdate(p.state.title, schema.Nullable{}))
}

// State are the updates that tell the session's present state beside its conversation: title, usage, and the cards that
// wait for the user's permission.
func (p *Projector) State() (all []schema.SessionUpdate) {
	if !p.state.title.IsZero() {
		all = append(all, schema.InfoUpdate(p.state.title, schema.Nullable{}))
	}
	if p.state.usage != nil {
		all = append(all, *p.state.usage)
	}
	for _, id := range p.state.asked {
		c := p.cards[id]
		if c == nil || c.done && c.asking == "" {
			continue // its question was answered for
		}
		t := schema.ToolCall{ToolCallID: id, Title: c.title, Kind: schema.ToolKind(c.kind), Status: schema.StatusPending, Locations: c.places, RawInput: c.raw}
		var show terminalMeta
		switch {
		case c.done: // the question is put again, and the call is over
			t.Status, t.Content = schema.StatusFailed, []schema.ToolCallContent{schema.TextItem(unanswered)}
		case c.terminal != nil:
			show, t.Content = c.terminal.info(p.cwd), []schema.ToolCallContent{schema.TerminalItem(id)}
		}
		all = append(all, schema.StartTool(t).WithMeta(show.with(zunoMeta{TurnID: p.turn})))
	}
	return all
}
