package acp

import (
	"encoding/json"
	"errors"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/commands"
)

// The names under which a steer is served: that of the specification, and the form that the protocol has for extensions.
const (
	methodSteer      = "session/steer"
	methodSteerAlias = "_zuno/session/steer"
)

type steerRequest struct {
	SessionID      schema.SessionID      `json:"sessionId"`
	ExpectedTurnID string                `json:"expectedTurnId"`
	MessageID      json.RawMessage       `json:"messageId,omitempty"`
	Prompt         []schema.ContentBlock `json:"prompt"`
	Meta           json.RawMessage       `json:"_meta,omitempty"`
}

type steerResponse struct {
	TurnID           string `json:"turnId"`
	InputID          string `json:"inputId"`
	AdmittedSequence uint64 `json:"admittedSequence"`
	Admission        string `json:"admission"`
	Delivery         string `json:"delivery"`
}

func (s *Server) steer(r *wire.Request) {
	var p steerRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	s.post(r, p.SessionID, func(x *session) { x.steer(r, &p) })
}

// steerRefused is a steer that left no trace.
func steerRefused(reason, message string) *wire.Error {
	return (&wire.Error{Code: wire.CodeResourceNotFound, Message: message}).With(map[string]any{"reason": reason})
}

// steerReasons are the protocol's words for what the decision says.
var steerReasons = map[string]string{
	commands.CodeNoActiveTurn: "noActiveTurn", commands.CodeTurnMismatch: "expectedTurnMismatch",
	commands.CodeNotSteerable: "activeTurnNotSteerable", commands.CodeEmpty: "emptyInput",
}

// steer adds an input to the running turn if that is the expected one. It is answered at once.
func (x *session) steer(req *wire.Request, p *steerRequest) {
	in, bad := x.steered(p)
	if bad != nil {
		_ = req.ReplyError(bad)
		return
	}
	_ = req.Reply(in)
}

func (x *session) steered(p *steerRequest) (*steerResponse, *wire.Error) {
	meta, bad := metaOf(p.Meta)
	if bad == nil && len(p.MessageID) > 0 {
		meta.MessageID, bad = messageID(p.MessageID)
	}
	if bad != nil {
		return nil, bad
	}
	if len(p.Prompt) == 0 {
		return nil, steerRefused("emptyInput", "there is nothing to steer with: the prompt is empty")
	}
	blocks, _, bad := inputBlocks(p.Prompt)
	if bad != nil {
		if d, ok := bad.Data.(map[string]any); ok && d["reason"] == "emptyInput" {
			return nil, steerRefused("emptyInput", "there is nothing to steer with: "+bad.Message)
		}
		return nil, bad
	}
	if _, native, _ := slash(blocks); native {
		return nil, steerRefused("commandRequiresIdleSession", "a native command cannot be steered; nothing was written. Send it as a prompt: it runs when the turn is over")
	}
	x.mu.Lock()
	unused := x.engine == nil
	x.mu.Unlock()
	if unused {
		return nil, steerRefused("noActiveTurn", "no turn runs; send it as a prompt")
	}
	in, _, err := x.admit(meta.MessageID, blocks, &commands.SteerInput{Client: meta.MessageID, Turn: p.ExpectedTurnID, Blocks: blocks})
	var refusal *commands.Refusal
	if errors.As(err, &refusal) && steerReasons[refusal.Code] != "" {
		return nil, steerRefused(steerReasons[refusal.Code], refusal.Error())
	}
	if err != nil {
		return nil, rpcError(err)
	}
	out := &steerResponse{TurnID: in.Turn, InputID: in.ID, Admission: "steered", Delivery: string(in.Delivery)}
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.receipts.by[in.ID]; r != nil {
		out.AdmittedSequence = r.AdmittedSequence
		if out.TurnID == "" { // the same message was sent as a prompt before
			out.TurnID = r.TurnID
		}
	}
	return out, nil
}
