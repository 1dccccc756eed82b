package client

import (
	"context"
	"encoding/json"
	"errors"

	"zuno/acp/schema"
	"zuno/acp/wire"
)

var errEnded = errors.New("the agent's output has ended")

// Policy answers a request for permission with one of its options; ok is false for "cancelled". It runs in a goroutine of
// its own. ctx ends when the agent withdraws the question or the turn is cancelled.
type Policy func(ctx context.Context, q *schema.RequestPermissionRequest) (option string, ok bool)

// Allow chooses to allow this once.
func Allow(_ context.Context, q *schema.RequestPermissionRequest) (string, bool) {
	return choose(q, schema.PermissionAllowOnce)
}

// AllowSession chooses to allow the same for the session, and to allow this once where that is not on offer.
func AllowSession(_ context.Context, q *schema.RequestPermissionRequest) (string, bool) {
	if option, ok := choose(q, schema.PermissionAllowAlways); ok {
		return option, true
	}
	return choose(q, schema.PermissionAllowOnce)
}

// Reject chooses to reject this once.
func Reject(_ context.Context, q *schema.RequestPermissionRequest) (string, bool) {
	return choose(q, schema.PermissionRejectOnce)
}

func choose(q *schema.RequestPermissionRequest, kind schema.PermissionOptionKind) (string, bool) {
	for _, o := range q.Options {
		if o.Kind == kind {
			return o.OptionID, true
		}
	}
	return "", false
}

// SetPermission replaces the policy for questions to come.
func (c *Client) SetPermission(p Policy) {
	c.mu.Lock()
	c.policy = p
	c.mu.Unlock()
}

// SetStubborn makes the client answer as its policy says even what was withdrawn or cancelled meanwhile, as some editors do.
func (c *Client) SetStubborn(on bool) {
	c.mu.Lock()
	c.stubborn = on
	c.mu.Unlock()
}

// question is a request for permission that is not answered.
type question struct {
	session string
	cancel  context.CancelFunc
}

// reasonOf is why a request for permission asks, as this agent says it.
func reasonOf(meta json.RawMessage) string {
	var m struct{ Zuno struct{ Reason string } }
	_ = json.Unmarshal(meta, &m) // another agent says nothing
	return m.Zuno.Reason
}

// receiver takes what the agent sends, in the order of the wire.
type receiver struct{ c *Client }

func (r receiver) Notify(_ context.Context, method string, params json.RawMessage) {
	if method != schema.MethodSessionUpdate {
		return
	}
	var n schema.SessionNotification
	if json.Unmarshal(params, &n) != nil {
		return
	}
	c := r.c
	c.mu.Lock()
	c.updates = append(c.updates, Update{n.SessionID, n.Update})
	c.editor(n.SessionID).Apply(n.Update)
	c.mu.Unlock()
	if c.onUpdate != nil {
		c.onUpdate(n.SessionID, n.Update)
	}
	c.signal()
}

func (r receiver) Request(ctx context.Context, req *wire.Request) {
	if req.Method != schema.MethodSessionRequestPermission {
		_ = req.ReplyError(wire.Errorf(wire.CodeMethodNotFound, "method not found: %s", req.Method))
		return
	}
	var ask schema.RequestPermissionRequest
	if err := req.Decode(&ask); err != nil {
		_ = req.ReplyError(err)
		return
	}
	c := r.c
	ctx, cancel := context.WithCancel(ctx)
	q := &question{ask.SessionID, cancel}
	c.mu.Lock()
	policy, stubborn := c.policy, c.stubborn
	c.asking[q] = struct{}{}
	e := c.editor(ask.SessionID)
	e.Asked, e.Reason, e.Question = e.Asked+1, reasonOf(ask.Meta), &ask
	c.mu.Unlock()
	c.signal()
	req.Go(func() {
		defer cancel()
		var answer schema.RequestPermissionResponse
		if policy == nil {
			<-req.Context().Done() // nobody answers, whatever else happens
		} else if option, ok := policy(ctx, &ask); ok && (stubborn || ctx.Err() == nil) {
			answer.Outcome = schema.RequestPermissionOutcome{SelectedPermissionOutcome: &schema.SelectedPermissionOutcome{OptionID: option}}
		} else {
			answer.Outcome = schema.RequestPermissionOutcome{Kind: schema.OutcomeCancelled}
		}
		c.mu.Lock()
		delete(c.asking, q)
		c.mu.Unlock()
		if !stubborn && errors.Is(context.Cause(req.Context()), wire.ErrWithdrawn) {
			_ = req.ReplyError(wire.ErrWithdrawn)
			return
		}
		_ = req.Reply(answer)
	})
}

// editor finds or makes the editor of a session. The lock is held.
func (c *Client) editor(session string) *Editor {
	e := c.editors[session]
	if e == nil {
		e = NewEditor()
		c.editors[session] = e
	}
	return e
}

func (c *Client) signal() {
	c.mu.Lock()
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}
