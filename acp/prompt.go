package acp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/commands"
	"zuno/internal/engine"
	"zuno/journal/event"
)

func (s *Server) prompt(r *wire.Request) {
	var p schema.PromptRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	s.post(r, p.SessionID, func(x *session) { x.prompt(r, &p) })
}

// maxMessageID bounds a client's own id of a message, in bytes.
const maxMessageID = 256

// inputMeta is what a client may say of an input under _meta.zuno.
type inputMeta struct {
	MessageID string
	Delivery  event.Delivery
}

// metaOf reads it. What is not well formed is refused: an id that is not understood would make a retry another input.
func metaOf(raw json.RawMessage) (m inputMeta, bad *wire.Error) {
	m.Delivery = event.DeliverSteer
	zuno, err := zunoMembers(raw)
	if err != nil {
		return m, invalid("%v", err)
	}
	if raw, ok := zuno["delivery"]; ok && string(raw) != "null" {
		var d string
		if err := json.Unmarshal(raw, &d); err != nil || d != string(event.DeliverSteer) && d != string(event.DeliverQueue) {
			return m, invalid("_meta.zuno.delivery is steer or queue, not %s", short(string(raw)))
		}
		m.Delivery = event.Delivery(d)
	}
	if raw, ok := zuno["messageId"]; ok {
		if m.MessageID, bad = messageID(raw); bad != nil {
			return m, bad
		}
	}
	return m, nil
}

// zunoMembers are the members of _meta.zuno, by their exact names; none where there is no such object.
func zunoMembers(meta json.RawMessage) (zuno map[string]json.RawMessage, err error) {
	var members map[string]json.RawMessage
	if len(meta) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(meta, &members); err != nil {
		return nil, errors.New("_meta is not an object")
	}
	raw, ok := members["zuno"]
	if !ok {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &zuno); err != nil || zuno == nil {
		return nil, errors.New("_meta.zuno is not an object")
	}
	return zuno, nil
}

func messageID(raw json.RawMessage) (id string, bad *wire.Error) {
	if err := json.Unmarshal(raw, &id); err != nil || len(id) == 0 || len(id) > maxMessageID || string(raw) == "null" {
		return "", invalid("messageId is a string of 1 to %d bytes", maxMessageID)
	}
	return id, nil
}

// observer is a request that waits for what becomes of an input.
type observer struct {
	req       *wire.Request
	own       bool // it contributed the input; a retry only looks on
	withdrawn bool
}

// prompt admits an input, or finds the one that its message id names. Its answer comes with the receipt's end.
func (x *session) prompt(req *wire.Request, p *schema.PromptRequest) {
	if errors.Is(context.Cause(req.Context()), wire.ErrWithdrawn) {
		_ = req.ReplyError(withdrawn(nil))
		return
	}
	blocks, title, bad := inputBlocks(p.Prompt)
	if bad != nil {
		_ = req.ReplyError(bad)
		return
	}
	meta, bad := metaOf(p.Meta)
	if bad != nil {
		_ = req.ReplyError(bad)
		return
	}
	control, native, refusal := slash(blocks)
	if refusal != nil {
		_ = req.ReplyError(rpcError(refusal))
		return
	}
	admit := &commands.AdmitInput{Client: meta.MessageID, Delivery: meta.Delivery, Blocks: blocks, Control: control}
	if !native {
		admit.Title = event.OptionalText(commands.Title(title))
	}
	in, own, err := x.admit(meta.MessageID, blocks, admit)
	if err != nil {
		_ = req.ReplyError(rpcError(err))
		return
	}
	o := x.await(req, in.ID, own)
	if o != nil && !own {
		x.observe(o, in.ID)
	}
}

// slash is the native command that a prompt of one text names.
func slash(blocks []event.Block) (c *event.Control, native bool, bad *commands.Refusal) {
	if blocks[0].Type != event.BlockText {
		return nil, false, nil
	}
	c, native, bad = commands.Slash(blocks[0].Text.String())
	if native && bad == nil && len(blocks) > 1 {
		return nil, true, &commands.Refusal{Code: commands.CodeMalformed, Reason: "a native command takes no attachments", Next: "send them in a message of their own"}
	}
	return c, native, bad
}

// errNoSession is a command to a panel that was closed.
var errNoSession = engine.ErrClosed

// admit gives the input that the message id names already, or has the command decided that makes it. own says that this
// request made it.
func (x *session) admit(messageID string, blocks []event.Block, c commands.Command) (in *event.InputAdmitted, own bool, err error) {
	command := "acp:prompt:" + messageID
	if messageID == "" {
		command = "acp:prompt:" + x.server.ids.ULID("prompt:"+x.id).String()
	}
	x.mu.Lock()
	s, gone := x.engine, x.lost
	x.mu.Unlock()
	defer x.disown(command)
	var o engine.Outcome
	switch {
	case gone != nil:
		return nil, false, lost(gone)
	case s == nil && x.settings == nil:
		return nil, false, errNoSession
	case s == nil:
		x.owns(command)
		s, o, err = x.server.host.Create(x.id, x.cwd, x.settings, x, command, "user", c)
		if err == nil {
			s.SetAsker(x)
			x.mu.Lock()
			x.engine = s
			x.mu.Unlock()
		}
	default:
		if messageID != "" {
			var known bool
			if o, known, err = s.Decided(command); known || err != nil {
				in, err = same(o, blocks, err)
				return in, false, err
			}
		}
		x.owns(command)
		o, err = s.Do(context.Background(), command, "user", c)
	}
	if err != nil {
		return nil, false, err
	}
	return admitted(o), true, nil
}

// owns says that the client has sent the command itself, and shows it already. It holds while the command is being decided: what it
// caused is drawn by then.
func (x *session) owns(command string) {
	x.mu.Lock()
	x.own[command] = true
	x.mu.Unlock()
}

func (x *session) disown(command string) {
	x.mu.Lock()
	delete(x.own, command)
	x.mu.Unlock()
}

func admitted(o engine.Outcome) *event.InputAdmitted {
	for _, e := range o.Events {
		if in, ok := e.(*event.InputAdmitted); ok {
			return in
		}
	}
	return nil
}

// same is the recorded input, if it holds what is sent again under its id. What stands in _meta does not count.
func same(o engine.Outcome, blocks []event.Block, err error) (*event.InputAdmitted, error) {
	if err != nil {
		return nil, err
	}
	in := admitted(o)
	if !slices.EqualFunc(in.Blocks, blocks, sameBlock) {
		return nil, (&wire.Error{Code: wire.CodeConflict, Message: "this messageId was used for other content; nothing was changed. Use a new messageId"}).With(map[string]any{
			"admission": "rejected", "reason": "clientMessageConflict", "messageId": in.Client,
		})
	}
	return in, nil
}

func sameBlock(a, b event.Block) bool {
	return a.Type == b.Type && a.Mime == b.Mime && a.Text.String() == b.Text.String() && a.URI.String() == b.URI.String() && a.Name.String() == b.Name.String()
}

// await answers the request when there is something to answer, which there may be already: then it gives nil.
func (x *session) await(req *wire.Request, input string, own bool) *observer {
	o := &observer{req: req, own: own}
	x.mu.Lock()
	if r := x.receipts.by[input]; r != nil && r.Answerable() {
		now, head := *r, x.head
		x.mu.Unlock()
		x.answer(o, &now, &head)
		return nil
	}
	if x.lost != nil { // since it was admitted
		e := lost(x.lost)
		x.mu.Unlock()
		_ = req.ReplyError(e)
		return nil
	}
	x.waiting[input] = append(x.waiting[input], o)
	x.mu.Unlock()
	context.AfterFunc(req.Context(), func() {
		if errors.Is(context.Cause(req.Context()), wire.ErrWithdrawn) {
			x.line.add(func() { x.withdraw(o, input) }, math.MaxInt) // as many as there are requests that wait for their inputs
		}
	})
	return o
}

// observe has an input go on that waits since an earlier run: whoever sends it again wants it done. Where that cannot be saved, the
// request is told, because nothing else may come of it.
func (x *session) observe(o *observer, input string) {
	x.mu.Lock()
	s, waits := x.engine, slices.Contains(x.waiting[input], o)
	x.mu.Unlock()
	if !waits {
		return
	}
	_, err := s.Do(context.Background(), "acp:observe:"+x.server.ids.ULID("observe:"+x.id).String(), "user", &commands.ObserveInput{Input: input})
	var refusal *commands.Refusal
	if err == nil || errors.As(err, &refusal) {
		return
	}
	x.mu.Lock()
	i := slices.Index(x.waiting[input], o)
	if i >= 0 {
		x.waiting[input] = slices.Delete(x.waiting[input], i, i+1)
	}
	x.mu.Unlock()
	if i >= 0 {
		_ = o.req.ReplyError(rpcError(err))
	}
}

// left answers the prompts that wait when the session is given up: nothing more comes of them here. Late says that what runs has
// not ended: it answers its own.
func (x *session) left(source string, late bool) {
	message, data := "the session was closed before this message was done. It is saved: load the session and send it again under its messageId, or send another one", map[string]any{
		"admission": "accepted", "reason": "executionObservationUnavailable", "recoveryRequired": true,
	}
	if source == sourceDelete {
		message, data = "the session was deleted, and this message with it", map[string]any{"reason": "sessionDeleted"}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for input, waiting := range x.waiting {
		r := x.receipts.by[input]
		if late && r != nil && r.State == "applied" {
			continue
		}
		data := maps.Clone(data)
		if r != nil {
			data["receipt"] = *r
		}
		for _, o := range waiting {
			x.outlet.after(func() {
				_ = o.req.ReplyError((&wire.Error{Code: wire.CodeInternalError, Message: message}).With(data))
			})
		}
		delete(x.waiting, input)
	}
}

// withdraw takes back what a request contributed. A retry contributed nothing: it merely looks on no longer.
func (x *session) withdraw(o *observer, input string) {
	x.mu.Lock()
	i := slices.Index(x.waiting[input], o)
	if i < 0 {
		x.mu.Unlock()
		return
	}
	o.withdrawn = true
	s := x.engine
	r := x.receipts.by[input]
	if !o.own {
		x.waiting[input] = slices.Delete(x.waiting[input], i, i+1)
		e := withdrawn(r)
		x.mu.Unlock()
		_ = o.req.ReplyError(e)
		return
	}
	x.mu.Unlock()
	if s == nil { // the session is given up; what still runs of it is being stopped
		return
	}
	_, err := s.Do(context.Background(), "acp:withdraw:"+x.server.ids.ULID("withdraw:"+x.id).String(), "user", &commands.WithdrawInput{Input: input})
	var refusal *commands.Refusal
	if err != nil && !errors.As(err, &refusal) {
		x.server.log.Error("withdrawal failed", "session", x.id, "error", err)
	}
}

// withdrawn answers a request that its client took back. The receipt tells what was done until then: nothing is undone. Where the
// input is not over by that, it was another request's.
func withdrawn(r *Receipt) *wire.Error {
	data := map[string]any{"admission": "withdrawn"}
	if r != nil {
		data["receipt"] = *r // as it is now
		if r.State != "cancelled" {
			data["admission"] = "accepted"
		}
	}
	return (&wire.Error{Code: wire.CodeRequestCancelled, Message: "the request was withdrawn"}).With(data)
}

type promptMeta struct {
	TurnID  string    `json:"turnId,omitempty"` // of an update
	Receipt *Receipt  `json:"receipt"`
	Head    *headMeta `json:"head,omitempty"`
}

type headMeta struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

// answer ends a prompt's RPC with its receipt, and with the head that whoever wants to can check the journal against.
func (x *session) answer(o *observer, r *Receipt, head *headMeta) {
	req := o.req
	switch {
	case o.withdrawn:
		_ = req.ReplyError(withdrawn(r))
	case r.ExecutionGate != nil && r.AppliedAt == "":
		_ = req.ReplyError((&wire.Error{Code: wire.CodeGated, Message: gateMessage(r)}).With(map[string]any{
			"admission": "accepted", "reason": "executionGated", "recoveryRequired": true, "receipt": r, "head": head,
		}))
	case r.State == "failed":
		message := r.Error.Message
		if message == "" {
			message = "the turn failed: " + r.Error.Code
		}
		_ = req.ReplyError((&wire.Error{Code: wire.CodeInternalError, Message: message}).With(map[string]any{"admission": "accepted", "reason": "turnFailed", "receipt": r, "head": head}))
	default:
		_ = req.Reply(schema.PromptResponse{StopReason: schema.StopReason(r.stopReason()), Meta: schema.Meta("zuno", promptMeta{Receipt: r, Head: head})})
	}
}

// gateMessage is what a person reads: a message that was saved, or a native command that a gate refused.
func gateMessage(r *Receipt) string {
	if r.Error != nil {
		return r.Error.Message
	}
	return commands.GateMessage(commands.Recovery(r.ExecutionGate.Recovery))
}
