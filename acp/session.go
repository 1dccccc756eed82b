package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/commands"
	"zuno/internal/engine"
	"zuno/journal/event"
)

// session is one session as this connection has it: a panel of the editor. It exists on disk only after its first input.
type session struct {
	server   *Server
	id, cwd  string
	settings *engine.Settings // of a reserved session
	line     line

	over    bool // closed, or about to be; like opening, it is the server's, which guards it
	opening int  // requests that wait to open it

	mu        sync.Mutex // guards what follows
	engine    *engine.Session
	projector *Projector
	receipts  *receipts
	waiting   map[string][]*wire.Request // prompts by their input
	own       map[string]bool            // command ids of this client's inputs
	command   string                     // of the commit that is being drawn
	replaying bool
	places    *places // of the replay that goes on
}

func newSession(s *Server, id, cwd string) *session {
	x := &session{server: s, id: id, cwd: cwd}
	x.reset()
	return x
}

func (x *session) reset() {
	x.projector = NewProjector(x.update)
	x.projector.Terminal = x.server.terminal
	x.projector.Own = func(*event.InputAdmitted) bool { return !x.replaying && x.own[x.command] }
	x.receipts = newReceipts(x.id)
	x.waiting = map[string][]*wire.Request{}
	x.own = map[string]bool{}
}

func (x *session) update(u schema.SessionUpdate) {
	if x.replaying {
		u = x.actionable(u)
	}
	if err := x.server.conn.Notify(schema.MethodSessionUpdate, schema.SessionNotification{SessionID: x.id, Update: u}); err != nil {
		x.server.log.Debug("update not sent", "session", x.id, "error", err)
	}
}

// actionable drops from a replayed update what an editor could not open.
func (x *session) actionable(u schema.SessionUpdate) schema.SessionUpdate {
	if x.places == nil {
		x.places = newPlaces(cmp.Or(x.projector.worktree, x.cwd))
	}
	return x.places.filter(u)
}

// announce says what a client may know only after it knows the session.
func (x *session) announce(mcpServers []string) {
	x.update(schema.CommandsUpdate())
	if len(mcpServers) > 0 {
		text := "MCP servers are not available in this build and were not started: " + strings.Join(mcpServers, ", ") + "."
		x.update(schema.ThoughtChunk("", text).WithMeta(schema.Meta("zuno", zunoMeta{Notice: &noticeMeta{"warning", commands.NoticeMCP}})))
	}
}

// Committed draws a durable commit, then answers the prompts that it settles: all updates of a turn precede its answer.
func (x *session) Committed(c *engine.Committed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.command = c.Command
	x.projector.Committed(c)
	for _, r := range x.receipts.apply(c) {
		for _, req := range x.waiting[r.InputID] {
			x.answer(req, r, c)
		}
		delete(x.waiting, r.InputID)
	}
}

// Lost answers the prompts that wait: nothing more comes of them before the session is loaded again.
func (x *session) Lost(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for input, reqs := range x.waiting {
		for _, req := range reqs {
			e := rpcError(err)
			e.Message += "; load the session again to see what was saved"
			_ = req.ReplyError(e)
		}
		delete(x.waiting, input)
	}
}

// Live draws what may be shown before it is durable.
func (x *session) Live(l engine.Live) {
	x.mu.Lock()
	x.projector.Live(l)
	x.mu.Unlock()
}

type promptMeta struct {
	Receipt *Receipt  `json:"receipt"`
	Head    *headMeta `json:"head,omitempty"`
}

type headMeta struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

// answer ends a prompt's RPC with its receipt, and with the head that whoever wants to can check the journal against.
func (x *session) answer(req *wire.Request, r *Receipt, c *engine.Committed) {
	head := &headMeta{c.Number, c.Hash.String()}
	if r.State == "failed" {
		message := r.Error.Message
		if message == "" {
			message = "the turn failed: " + r.Error.Code
		}
		_ = req.ReplyError((&wire.Error{Code: wire.CodeInternalError, Message: message}).With(map[string]any{"reason": "turnFailed", "receipt": r, "head": head}))
		return
	}
	_ = req.Reply(schema.PromptResponse{StopReason: schema.StopReason(r.StopReason), Meta: schema.Meta("zuno", promptMeta{r, head})})
}

// prompt admits an input. Its answer comes with the receipt's end.
func (x *session) prompt(req *wire.Request, p *schema.PromptRequest) {
	blocks, title, bad := inputBlocks(p.Prompt)
	if bad != nil {
		_ = req.ReplyError(bad)
		return
	}
	command := "acp:prompt:" + x.server.ids.ULID("prompt:"+x.id).String()
	admit := &commands.AdmitInput{Delivery: event.DeliverSteer, Blocks: blocks, Title: event.OptionalText(commands.Title(title))}
	x.mu.Lock()
	x.own[command] = true
	s := x.engine
	x.mu.Unlock()
	var o engine.Outcome
	var err error
	if s == nil && x.settings == nil {
		err = engine.ErrClosed
	} else if s == nil {
		s, o, err = x.server.host.Create(x.id, x.cwd, x.settings, x, command, "user", admit)
		if err == nil {
			s.SetAsker(x)
			x.mu.Lock()
			x.engine = s
			x.mu.Unlock()
		}
	} else {
		o, err = s.Do(context.Background(), command, "user", admit)
	}
	if err != nil {
		_ = req.ReplyError(rpcError(err))
		return
	}
	for _, e := range o.Events {
		if in, ok := e.(*event.InputAdmitted); ok {
			x.await(req, in.ID)
		}
	}
}

// await answers the request when the input's receipt is terminal, which it may be already.
func (x *session) await(req *wire.Request, input string) {
	x.mu.Lock()
	r := x.receipts.by[input]
	if r == nil || !r.Terminal() {
		x.waiting[input] = append(x.waiting[input], req)
		x.mu.Unlock()
		return
	}
	x.mu.Unlock()
	h := x.engine.Head()
	x.answer(req, r, &engine.Committed{Number: h.Number, Hash: h.Hash})
}

// cancel stops the turn that is live now. Idle, it does nothing and arms nothing.
func (x *session) cancel() {
	x.mu.Lock()
	s := x.engine
	x.mu.Unlock()
	if s == nil {
		return
	}
	_, err := s.Do(context.Background(), "acp:cancel:"+x.server.ids.ULID("cancel:"+x.id).String(), "user", &commands.CancelTurn{Source: "user"})
	var refusal *commands.Refusal
	if err != nil && !errors.As(err, &refusal) {
		x.server.log.Error("cancel failed", "session", x.id, "error", err)
	}
}

var _ json.Marshaler = schema.SessionNotification{}
