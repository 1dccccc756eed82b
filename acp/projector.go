package acp

import (
	"encoding/json"
	"strconv"

	"zuno/acp/schema"
	"zuno/internal/engine"
	"zuno/journal/event"
	"zuno/projections"
)

// Projector folds what happens in a session into what an editor draws. It is pure and serves live updates and loads
// alike. Text that was shown live is not shown again when its commit comes. It is not safe for concurrent use.
type Projector struct {
	send func(schema.SessionUpdate)
	// Own says that this client sent the input itself and shows it already.
	Own func(e *event.InputAdmitted) bool
	// Replay holds usage back while history is drawn: only the last is true. [Projector.Usage] draws it.
	Replay bool
	// Terminal says that the client draws display-only terminals from the _meta of a command's card.
	Terminal bool

	session, cwd, worktree string

	turn  string
	meta  json.RawMessage // of updates of the turn
	cards map[string]*card

	request string
	flow    engine.Flow

	usage *projections.Usage
	drawn usageDrawn
	state state
}

// NewProjector sends the updates that it makes through send.
func NewProjector(send func(schema.SessionUpdate)) *Projector {
	p := &Projector{cards: map[string]*card{}, usage: projections.NewUsage()}
	p.send = func(u schema.SessionUpdate) {
		if u.UsageUpdate != nil {
			p.state.usage = &u
		}
		send(u)
	}
	return p
}

// zunoMeta is what stands under _meta.zuno.
type zunoMeta struct {
	TurnID  string        `json:"turnId,omitempty"`
	Outcome string        `json:"outcome,omitempty"`
	Notice  *noticeMeta   `json:"notice,omitempty"`
	Class   string        `json:"class,omitempty"`
	Call    string        `json:"providerCallId,omitempty"`
	Context *contextUsage `json:"contextUsage,omitempty"`
	Reason  string        `json:"reason,omitempty"` // of a request for permission: the rule or default that asks
}

type noticeMeta struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
}

func (p *Projector) emit(u schema.SessionUpdate) {
	if p.turn != "" {
		u = u.WithMeta(p.meta)
	}
	p.send(u)
}

func (p *Projector) emitMeta(u schema.SessionUpdate, m zunoMeta) { p.emitCard(u, m, terminalMeta{}) }

// emitCard is emitMeta with what the client's terminal of the card is told.
func (p *Projector) emitCard(u schema.SessionUpdate, m zunoMeta, t terminalMeta) {
	m.TurnID = p.turn
	if t == (terminalMeta{}) {
		p.send(u.WithMeta(schema.Meta("zuno", m)))
		return
	}
	p.send(u.WithMeta(t.with(m)))
}

// Committed draws what became durable.
func (p *Projector) Committed(c *engine.Committed) {
	for i := range c.Events {
		if c.Events[i].Stream == 1 {
			p.usage.Apply(c.Events[i].Payload, c.At)
			p.event(c.Events[i].Payload)
		}
	}
	if !p.Replay {
		p.Usage()
	}
}

func (p *Projector) event(e event.Payload) {
	p.state.keep(e)
	switch e := e.(type) {
	case *event.Created:
		p.session, p.cwd, p.worktree = e.Session, e.Cwd.String(), e.Worktree.String()
	case *event.Titled:
		p.titled(e)
	case *event.InputAdmitted:
		p.input(e)
	case *event.TurnStarted:
		p.turn = e.ID
		p.meta = schema.Meta("zuno", zunoMeta{TurnID: e.ID})
		p.forget()
	case *event.TurnEnded:
		if !p.Replay {
			p.Usage() // as a part of the turn
		}
		p.turn, p.meta = "", nil
	case *event.RequestStarted:
		p.request = e.ID
		p.flow.Follow(e.ID, e.Attempt)
	case *event.ResponsePart:
		p.text(p.flow.Part(e))
	case *event.ResponseCompleted:
		p.text(p.flow.Complete())
	case *event.ResponseCut:
		p.cut(e)
	case *event.CallRequested:
		p.requested(e)
	case *event.CallBlocked:
		p.blocked(e)
	case *event.CallAbandoned:
		p.abandoned(e)
	case *event.PermissionAsked:
		p.asked(e)
	case *event.PermissionAnswered:
		p.answered(e)
	case *event.CallStarted:
		p.started(e)
	case *event.CallSettled:
		p.settled(e)
	case *event.NoticeRaised:
		p.notice(e)
	case *event.ControlAnswered:
		p.emit(schema.MessageChunk(e.Input+".answer", e.Text.String()))
	}
}

func (p *Projector) input(e *event.InputAdmitted) {
	if p.Own != nil && p.Own(e) {
		return
	}
	for i := range e.Blocks {
		p.send(schema.UserChunk(e.ID, block(&e.Blocks[i])))
	}
}

func block(b *event.Block) schema.ContentBlock {
	switch b.Type {
	case event.BlockLink:
		l := schema.Link(b.URI.String(), b.Name.String())
		l.ResourceLink.MimeType = b.Mime
		return l
	case event.BlockImage:
		return schema.ContentBlock{Kind: schema.BlockImage, ImageContent: &schema.ImageContent{Data: b.Text.String(), MimeType: b.Mime, URI: b.URI.String()}}
	case event.BlockResource:
		text := b.Text.String()
		return schema.ContentBlock{Kind: schema.BlockResource, EmbeddedResource: &schema.EmbeddedResource{
			Resource: schema.EmbeddedResourceResource{URI: b.URI.String(), Text: &text, MimeType: b.Mime},
		}}
	}
	return schema.Text(b.Text.String())
}

// Live draws what may be shown early. Text that does not follow on what was shown waits for its commit.
func (p *Projector) Live(l engine.Live) {
	switch l.Kind {
	case engine.LiveText, engine.LiveReasoning:
		if p.turn == l.Turn {
			p.text(p.flow.Live(&l))
		}
	case engine.LiveCall:
		if p.turn == l.Turn {
			p.early(l.Call, l.Tool)
		}
	case engine.LiveOutput:
		p.output(l.Call, l.Text)
	}
}

// text draws pieces of a response. A message that is left behind stays as it is, tagged as cut.
func (p *Projector) text(pieces []engine.Shown) {
	for _, s := range pieces {
		if s.Cut {
			p.emitMeta(p.chunk(s.Kind, s.Message-1, ""), zunoMeta{Outcome: "cut"})
		}
		if s.Text != "" {
			p.emit(p.chunk(s.Kind, s.Message, s.Text))
		}
	}
}

// chunk is a piece of the request's message of a kind, or of the one that follows after so many were left behind.
func (p *Projector) chunk(kind event.PartKind, message int, text string) schema.SessionUpdate {
	id := p.request
	if message > 0 {
		id += "." + strconv.Itoa(message)
	}
	if kind == event.PartReasoning {
		return schema.ThoughtChunk(id+".thought", text)
	}
	return schema.MessageChunk(id, text)
}

func (p *Projector) notice(e *event.NoticeRaised) {
	text := e.Text.String()
	if c := p.cards[e.Call]; c != nil && c.title != "" {
		text = interrupted(c.title, e.Waiting)
	}
	p.emitMeta(schema.ThoughtChunk(e.ID, text), zunoMeta{Notice: &noticeMeta{e.Severity, e.Code}})
}
