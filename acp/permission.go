package acp

import (
	"context"
	"errors"
	"math"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
	"zuno/journal/event"
)

// over is what the card of a question says that a dead process has left.
const over = "The agent's process ended while this question was open, and the call with it. Your answer is recorded; nothing runs now."

// AskPermission puts a permission request to the editor and waits for its answer.
func (x *session) AskPermission(ctx context.Context, r engine.PermissionRequest) (event.Verdict, string) {
	x.mu.Lock()
	call, reason := x.projector.permissionCard(r.Call)
	x.mu.Unlock()
	if r.Over {
		call.Status, call.Content = "", []schema.ToolCallContent{schema.TextItem(over)}
	}
	ask := schema.AskPermission(x.id, call, permissionOptions(r)...)
	ask.Meta = schema.Meta("zuno", zunoMeta{Reason: reason})
	var answer schema.RequestPermissionResponse
	if err := x.server.conn.Call(ctx, schema.MethodSessionRequestPermission, ask, &answer); err != nil {
		if errors.Is(err, wire.ErrClosed) {
			<-ctx.Done() // nobody is there any more: the orderly stop settles the question
			return event.VerdictCancelled, ""
		}
		if ctx.Err() == nil {
			x.server.log.Warn("permission request failed", "session", x.id, "error", err)
		}
		return event.VerdictUndeliverable, ""
	}
	x.inTurn(ctx)
	return verdict(&answer, ask.Options)
}

// inTurn waits until everything has been handled that the client sent before: a stop that came before an answer is decided before
// it, or the model would be asked once more between the two, or a call would begin that was to be stopped.
func (x *session) inTurn(ctx context.Context) {
	done := make(chan struct{})
	x.line.add(func() { close(done) }, math.MaxInt) // as many as there are questions
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// permissionOptions are the answers on offer. One for the session is among them only where it would be kept.
func permissionOptions(r engine.PermissionRequest) []schema.PermissionOption {
	once, session := "Allow once", "Allow exactly this for the session"
	if r.Over {
		once, session = "Allow (nothing runs now)", "Allow exactly this from now on in the session"
	}
	options := []schema.PermissionOption{schema.Option(event.OptionAllowOnce, once, schema.PermissionAllowOnce)}
	if r.Reusable {
		options = append(options, schema.Option(event.OptionAllowSession, session, schema.PermissionAllowAlways))
	}
	return append(options, schema.Option(event.OptionRejectOnce, "Reject", schema.PermissionRejectOnce))
}

// verdict reads an answer. Whatever was not on offer is a denial, and so is an answer that is none.
func verdict(answer *schema.RequestPermissionResponse, offered []schema.PermissionOption) (event.Verdict, string) {
	id, selected := answer.Selected()
	if !selected {
		if answer.Outcome.Kind == schema.OutcomeCancelled {
			return event.VerdictCancelled, ""
		}
		return event.VerdictUnrecognized, short(answer.Outcome.Kind)
	}
	for _, o := range offered {
		if o.OptionID == id {
			if o.Kind == schema.PermissionRejectOnce {
				return event.VerdictReject, id
			}
			return event.VerdictAllow, id
		}
	}
	return event.VerdictUnrecognized, short(id)
}
