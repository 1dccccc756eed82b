package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/commands"
)

// maxTurnID bounds the turn that a cancel names, in bytes.
const maxTurnID = 256

// cancel takes session/cancel in the order of the wire. It names a turn and stops that one alone, or it names none and stops
// what is live when it is handled. Idle, it does nothing and arms nothing.
func (s *Server) cancel(params json.RawMessage) {
	var p schema.CancelNotification
	if err := wire.Decode(params, &p); err != nil {
		s.rejectCancel("", "", "its params cannot be read")
		return
	}
	turn, exact, err := expectedTurn(p.Meta)
	if err != nil {
		s.rejectCancel(string(p.SessionID), "", err.Error())
		return
	}
	x := s.session(p.SessionID)
	switch {
	case x == nil && exact:
		s.rejectCancel(string(p.SessionID), turn, "the session is not open")
	case x != nil:
		if !x.line.add(func() { x.cancel(turn) }, maxWaiting+spareNotices) {
			s.rejectCancel(x.id, turn, "too much waits in the session")
		}
	}
}

// expectedTurn is the turn that a cancel names. What is not well formed is an error, and never the form that names none.
func expectedTurn(meta json.RawMessage) (turn string, exact bool, err error) {
	zuno, err := zunoMembers(meta)
	if err != nil {
		return "", false, err
	}
	raw, ok := zuno["expectedTurnId"]
	if !ok {
		return "", false, nil
	}
	if err := json.Unmarshal(raw, &turn); err != nil || bytes.Equal(raw, []byte("null")) || turn == "" || len(turn) > maxTurnID {
		return "", false, fmt.Errorf("_meta.zuno.expectedTurnId is a string of 1 to %d bytes", maxTurnID)
	}
	return turn, true, nil
}

// rejectCancel tells of a cancel that stopped nothing: a notification has no answer.
func (s *Server) rejectCancel(session, turn, why string) {
	s.log.Warn("session/cancel rejected", "session", short(session), "turn", short(turn), "reason", why)
	line := "zuno: session/cancel rejected"
	if session != "" {
		line += " for session " + strconv.Quote(short(session))
	}
	if turn != "" {
		line += ", turn " + strconv.Quote(short(turn))
	}
	_, _ = fmt.Fprintf(s.diagnostics, "%s: %s; nothing was cancelled\n", line, why)
}

// cancel stops the turn, or the one that is live now where none is named. The target is compared where the stop is decided.
func (x *session) cancel(turn string) {
	x.mu.Lock()
	s, view := x.engine, x.follower
	x.mu.Unlock()
	switch {
	case view != nil: // nothing stops here, whether a turn is named or not
		x.server.rejectCancel(x.id, turn, view.refusal().Message)
		return
	case s == nil:
		if turn != "" {
			x.server.rejectCancel(x.id, turn, "no turn runs")
		}
		return
	}
	_, err := s.Do(context.Background(), "acp:cancel:"+x.server.ids.ULID("cancel:"+x.id).String(), "user", &commands.CancelTurn{Turn: turn, Source: "user"})
	var refusal *commands.Refusal
	switch {
	case err == nil:
	case !errors.As(err, &refusal):
		x.server.rejectCancel(x.id, turn, "it could not be saved ("+err.Error()+")")
	case turn != "" && refusal.Code != commands.CodeStopping:
		x.server.rejectCancel(x.id, turn, refusal.Reason)
	}
}
