package acp

import (
	"errors"

	"zuno/acp/wire"
	"zuno/commands"
	"zuno/internal/config"
	"zuno/internal/engine"
	"zuno/journal"
)

// rpcError is the one place where our errors become JSON-RPC's. Clients show the message, so it is for people; data.reason
// is for machines.
func rpcError(err error) *wire.Error {
	reason := func(code int64, word string) *wire.Error {
		return (&wire.Error{Code: code, Message: err.Error()}).With(map[string]any{"reason": word})
	}
	var (
		inUse    *journal.InUse
		damaged  *journal.Damaged
		newer    *journal.NewerError
		foreign  *engine.Foreign
		refusal  *commands.Refusal
		settings *config.Error
		wireErr  *wire.Error
	)
	switch {
	case errors.As(err, &wireErr):
		return wireErr
	case errors.Is(err, engine.ErrNotFound):
		return (&wire.Error{Code: wire.CodeResourceNotFound, Message: "there is no such session; session/list shows those that exist"}).With(map[string]any{"reason": "sessionNotFound"})
	case errors.As(err, &inUse):
		return (&wire.Error{Code: wire.CodeInUse, Message: err.Error()}).With(map[string]any{"reason": "inUse", "pid": inUse.PID})
	case errors.As(err, &damaged):
		return (&wire.Error{Code: wire.CodeInternalError, Message: err.Error()}).With(map[string]any{"reason": "journalDamaged", "commit": damaged.Commit})
	case errors.As(err, &newer):
		return reason(wire.CodeInternalError, "journalNewer")
	case errors.As(err, &foreign):
		return reason(wire.CodeInternalError, "foreignSession")
	case errors.As(err, &settings):
		return reason(wire.CodeInvalidParams, "configuration")
	case errors.As(err, &refusal):
		switch refusal.Code {
		case commands.CodeConflict:
			return reason(wire.CodeConflict, "conflictingMessageId")
		case commands.CodeEmpty, commands.CodeMalformed:
			return reason(wire.CodeInvalidParams, refusal.Code)
		}
		return reason(wire.CodeInternalError, refusal.Code)
	case errors.Is(err, engine.ErrClosed):
		return (&wire.Error{Code: wire.CodeInternalError, Message: "the session is closed; load it again to go on, or make a new one"}).With(map[string]any{"reason": "sessionClosed"})
	case errors.Is(err, journal.ErrUnknownOutcome):
		return reason(wire.CodeInternalError, "unknownOutcome")
	}
	return &wire.Error{Code: wire.CodeInternalError, Message: err.Error()}
}

func invalid(format string, a ...any) *wire.Error {
	return wire.Errorf(wire.CodeInvalidParams, format, a...)
}
