package commands

import (
	"strconv"

	"zuno/journal/event"
	"zuno/projections"
)

// CancelTurn stops the turn that is live when it is decided; Turn, when set, names the only one that it may stop.
type CancelTurn struct {
	Turn   string `msgpack:"turn"`
	Source string `msgpack:"source"` // user, close, shutdown
}

var controlRules = rules{
	rule("turn.cancel", 1, cancelTurn),
}

// cancelTurn: what has not begun is closed at once; what runs is stopped by the driver, which sees that it is no longer
// wanted, and the last of it ends the turn. When nothing runs, the turn ends here. An input whose turn is about to begin is what
// a user stops who names no turn; at the end of a run it stays as it is.
func cancelTurn(v *projections.View, c *CancelTurn, at Stamp) Decision {
	s := v.Root
	t := s.Turns.Active
	switch {
	case t == nil && c.Turn == "" && c.Source == "user" && s.Execution.Woken && Due(s) != nil:
		in := Due(s)
		return events(
			&event.ControlRequested{ID: at.ID("ctl", 0), Kind: "stop", Source: c.Source, Input: in.ID},
			&event.InputSettled{Input: in.ID, State: "cancelled", Stop: "cancelled"},
		)
	case t == nil:
		return refuse(CodeNothing, "no turn runs")
	case c.Turn != "" && c.Turn != t.ID:
		return refuse(CodeStale, "turn %s is not the one that runs", c.Turn)
	case t.Cancelling:
		return refuse(CodeStopping, "turn %s is being stopped already", t.ID)
	}
	return Decision{Events: stopTurn(s, t, at, c.Source)}
}

// stopTurn are the events of a stop.
func stopTurn(s *projections.Session, t *projections.Turn, at Stamp, source string) []event.Payload {
	out := []event.Payload{&event.ControlRequested{ID: at.ID("ctl", 0), Kind: "cancel", Turn: t.ID, Source: source}}
	running := t.Request != nil && t.Request.Open
	for _, call := range s.Calls.Open {
		if call.State.Is("started") {
			running = true
			continue
		}
		out = append(out, closeUnstarted(s, call, event.BlockCancelled)...)
	}
	if !running {
		out = append(out, endTurn(s, t, "cancelled", "cancelled", event.Failure{})...)
	}
	return out
}

// interruptedNotice tells what an earlier run left: a turn that it ended, the call whose effect is unknown, if any, and how many
// inputs wait.
func interruptedNotice(at Stamp, turn, call string, waiting uint64) event.Payload {
	text := "The last turn ended when the agent's process ended."
	switch {
	case call != "":
		text = "The last turn ended when the agent's process ended, during a call whose effect is unknown."
	case turn == "":
		text = "The agent's process ended before it took everything that was sent."
	}
	switch {
	case waiting == 1:
		text += " 1 input waits for the next prompt."
	case waiting > 1:
		text += " " + strconv.FormatUint(waiting, 10) + " inputs wait for the next prompt."
	}
	return &event.NoticeRaised{
		ID: at.ID("note", 0), Severity: "warning", Code: NoticeInterrupted, Turn: turn,
		Text: event.NewText(text), Call: call, Waiting: waiting,
	}
}
