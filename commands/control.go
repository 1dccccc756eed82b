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

// RaiseNotice tells the user something.
type RaiseNotice struct {
	Severity string     `msgpack:"severity"`
	Code     string     `msgpack:"code"`
	Text     event.Text `msgpack:"text"`
}

var controlRules = rules{
	rule("turn.cancel", 1, cancelTurn),
	rule("notice.raise", 1, raiseNotice),
}

// cancelTurn: what has not begun is closed at once; what runs is stopped by the driver, which sees that it is no longer
// wanted, and the last of it ends the turn. When nothing runs, the turn ends here.
func cancelTurn(v *projections.View, c *CancelTurn, at Stamp) Decision {
	s := v.Root
	t := s.Turns.Active
	switch {
	case t == nil:
		return refuse(CodeNothing, "no turn runs")
	case c.Turn != "" && c.Turn != t.ID:
		return refuse(CodeStale, "turn %s is not the one that runs", c.Turn)
	case t.Cancelling:
		return refuse(CodeNothing, "turn %s is being stopped already", t.ID)
	}
	out := []event.Payload{&event.ControlRequested{ID: at.ID("ctl", 0), Kind: "cancel", Turn: t.ID, Source: c.Source}}
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
	return Decision{Events: out}
}

func raiseNotice(v *projections.View, c *RaiseNotice, at Stamp) Decision {
	if _, ok := NoticeCode(c.Code); !ok {
		return refuse(CodeMalformed, "notice code %q is not in the table", c.Code)
	}
	turn := ""
	if t := v.Root.Turns.Active; t != nil {
		turn = t.ID
	}
	return events(&event.NoticeRaised{ID: at.ID("note", 0), Severity: c.Severity, Code: c.Code, Turn: turn, Text: c.Text})
}

// interruptedNotice tells what an earlier run left: the call whose effect is unknown, if any, and how many inputs wait.
func interruptedNotice(at Stamp, turn, call string, waiting uint64) event.Payload {
	text := "The last turn ended when the agent's process ended."
	if call != "" {
		text = "The last turn ended when the agent's process ended, during a call whose effect is unknown."
	}
	switch {
	case waiting == 1:
		text += " 1 input waits."
	case waiting > 1:
		text += " " + strconv.FormatUint(waiting, 10) + " inputs wait."
	}
	return &event.NoticeRaised{
		ID: at.ID("note", 0), Severity: "warning", Code: NoticeInterrupted, Turn: turn,
		Text: event.NewText(text), Call: call, Waiting: waiting,
	}
}
