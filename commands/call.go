package commands

import (
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// ResolvedCall is a call of a response with the facts that the registry and the policy found about it.
type ResolvedCall struct {
	ID          string            `msgpack:"id"`
	Tool        string            `msgpack:"tool"`
	Provider    string            `msgpack:"provider"`
	Args        event.Text        `msgpack:"args"`
	Declaration event.Declaration `msgpack:"declaration"`
	Title       event.Text        `msgpack:"title"`
	Kind        string            `msgpack:"kind"`
	Paths       []event.Text      `msgpack:"paths"`
	Accesses    []event.Access    `msgpack:"accesses"`
	Permission  event.Action      `msgpack:"permission"`
	Rule        event.Text        `msgpack:"rule"`
	Blocked     event.BlockKind   `msgpack:"blocked"` // the registry refused it
	BlockText   event.Text        `msgpack:"block_text"`
	Reusable    bool              `msgpack:"reusable"` // as in event.CallRequested
}

// StartCall is the fence before a call's effect. Full says that less than [MinFreeMiB] are free where the session is stored.
type StartCall struct {
	ID      string `msgpack:"id"`
	Attempt uint64 `msgpack:"attempt"`
	Full    bool   `msgpack:"full"`
}

// SettleCall is what became of a started call. It has the fields of its event, which therefore costs nothing beside it.
type SettleCall event.CallSettled

// EncodeMsg writes the command as its event is written.
func (c *SettleCall) EncodeMsg(e *event.Encoder) { (*event.CallSettled)(c).EncodeMsg(e) }

// DecodeMsg reads it.
func (c *SettleCall) DecodeMsg(r *event.Reader) { (*event.CallSettled)(c).DecodeMsg(r) }

// MinFreeMiB is the space that must be free for a call to start, so that its result can be recorded.
const MinFreeMiB = 64

var callRules = rules{
	rule("call.start", 1, startCall),
	rule("call.settle", 1, settleCall),
}

// requestCall records a call of a complete response and, where that is decided already, that it is blocked.
func requestCall(v *projections.View, t *projections.Turn, r *projections.Request, c *ResolvedCall, position uint64) []event.Payload {
	e := &event.CallRequested{
		ID: c.ID, Turn: t.ID, Request: r.ID, Attempt: r.Attempt, Position: position, Tool: c.Tool,
		Provider: c.Provider, Args: c.Args, ArgsDigest: c.Args.Digest, SchemaDigest: schemaDigest(v, c.Tool), Declaration: c.Declaration,
		Title: c.Title, Kind: c.Kind, Paths: c.Paths, Accesses: c.Accesses, Permission: c.Permission, Rule: c.Rule, Reusable: c.Reusable,
	}
	if e.Permission == event.Ask && c.Blocked == "" && e.Reusable {
		if g := v.Root.Permissions.Granted(projections.KeyOf(c.Tool, c.Accesses)); g != nil {
			e.Permission, e.Rule = event.Allow, event.NewText("allowed for this session by the answer to "+g.ID)
		}
	}
	out := []event.Payload{e}
	switch {
	case c.Blocked != "":
		out = append(out, &event.CallBlocked{ID: c.ID, Kind: c.Blocked, Text: c.BlockText})
	case c.Permission == event.Deny:
		out = append(out, &event.CallBlocked{ID: c.ID, Kind: event.Denied, Text: c.BlockText})
	}
	return out
}

// schemaDigest is that of the tool as the model was told of it; zero for a tool that it was not told of.
func schemaDigest(v *projections.View, tool string) journal.Hash {
	for i := range v.Catalogue {
		if v.Catalogue[i].Name == tool {
			return v.Catalogue[i].SchemaDigest
		}
	}
	return journal.Hash{}
}

// blockRest blocks each call that a response asks for and that is not blocked yet: its turn is being stopped, or only discusses.
func blockRest(out []event.Payload, block func(id string) event.Payload) []event.Payload {
	blocked := map[string]bool{}
	for _, e := range out {
		if b, ok := e.(*event.CallBlocked); ok {
			blocked[b.ID] = true
		}
	}
	for _, e := range out {
		if c, ok := e.(*event.CallRequested); ok && !blocked[c.ID] {
			out = append(out, block(c.ID))
		}
	}
	return out
}

func cancelledBlock(id string) event.Payload {
	return &event.CallBlocked{ID: id, Kind: event.BlockCancelled, Text: event.NewText("The user stopped the turn before this began. Nothing was done.")}
}

// closeUnstarted ends a call that has done nothing.
func closeUnstarted(s *projections.Session, c *projections.Call, why event.BlockKind) []event.Payload {
	if c.State.Is("asking") {
		var out []event.Payload
		if p := s.Permissions.Of(c.ID); p != nil {
			out = append(out, &event.PermissionAnswered{ID: p.ID, Call: c.ID, Verdict: event.VerdictCancelled})
		}
		return append(out, &event.CallAbandoned{ID: c.ID, Reason: why})
	}
	text := "The user stopped the turn before this began. Nothing was done."
	if why == event.BlockInterrupted {
		text = "The agent stopped before this began. Nothing was done."
	}
	return []event.Payload{&event.CallBlocked{ID: c.ID, Kind: why, Text: event.NewText(text)}}
}

// runnableCall finds a call of a turn that is not being stopped.
func runnableCall(s *projections.Session, id string) (*projections.Call, *Refusal) {
	call := s.Calls.Get(id)
	if call == nil {
		return nil, refuse(CodeUnknown, "no open call %s", id).Refusal
	}
	if t := s.Turns.Active; t == nil || t.ID != call.Turn || t.Cancelling {
		return nil, refuse(CodeStale, "the turn of call %s is over or is being stopped", id).Refusal
	}
	return call, nil
}

func startCall(v *projections.View, c *StartCall, at Stamp) Decision {
	s := v.Root
	call, refused := runnableCall(s, c.ID)
	if refused != nil {
		return Decision{Refusal: refused}
	}
	if _, err := lifecycle.Call.Fire(call.State, lifecycle.CallStart); err != nil {
		return refuse(CodeImpossible, "%v", err)
	}
	if !permitted(call) {
		return refuse(CodeImpossible, "call %s has no permission", call.ID)
	}
	if c.Full {
		return events(&event.CallBlocked{ID: call.ID, Kind: event.Unavailable, Text: event.NewText("Less than 64 MiB are free where the session is stored, so the result could not be kept. Nothing was done; free some space and try again.")})
	}
	return events(&event.CallStarted{ID: call.ID, Attempt: c.Attempt})
}

// permitted says that the policy or the user allowed the call.
func permitted(c *projections.Call) bool {
	return c.Permission == event.Allow || c.State.Is("asking") && c.Answered == event.VerdictAllow
}

func settleCall(v *projections.View, c *SettleCall, at Stamp) Decision {
	s := v.Root
	call := s.Calls.Get(c.ID)
	if call == nil {
		return refuse(CodeUnknown, "no open call %s", c.ID)
	}
	if _, err := lifecycle.Call.Fire(call.State, lifecycle.Trigger(c.Outcome)); err != nil {
		return refuse(CodeImpossible, "%v", err)
	}
	if call.Attempt != c.Attempt {
		return refuse(CodeStale, "attempt %d of call %s is over", c.Attempt, c.ID)
	}
	out := []event.Payload{(*event.CallSettled)(c)}
	if t := s.Turns.Active; t != nil && t.Cancelling && len(s.Calls.Open) == 1 {
		out = append(out, endTurn(s, t, "cancelled", "cancelled", event.Failure{})...)
	}
	return Decision{Events: out}
}
