package event

// Controls is what a user does to the session beside sending input, what zuno says to the user, and the state that
// both lead to.
var Controls = Group{
	Of[ControlRequested]("session.control.requested.1"),
	Of[NoticeRaised]("session.notice.raised.1"),
	Of[ExecutionChanged]("session.execution.changed.1"),
}

// ControlRequested is an accepted control.
type ControlRequested struct {
	ID     string `msgpack:"id" json:"id"`
	Kind   string `msgpack:"kind" json:"kind"` // cancel
	Turn   string `msgpack:"turn" json:"turn,omitempty"`
	Source string `msgpack:"source" json:"source"` // user, shutdown, close
}

// NoticeRaised is an operational message for the user; the model never sees it.
type NoticeRaised struct {
	ID       string `msgpack:"id" json:"id"`
	Severity string `msgpack:"severity" json:"severity"` // info, warning, error
	Code     string `msgpack:"code" json:"code"`
	Turn     string `msgpack:"turn" json:"turn,omitempty"`
	Text     Text   `msgpack:"text" json:"text"`
	Call     string `msgpack:"call" json:"call,omitempty"`       // that it speaks of
	Waiting  uint64 `msgpack:"waiting" json:"waiting,omitempty"` // inputs that wait
}

// ExecutionChanged moves the execution of the session. Trigger is one of the execution machine's.
type ExecutionChanged struct {
	Trigger string `msgpack:"trigger" json:"trigger"`
	Phase   string `msgpack:"phase" json:"phase"`
	Cycle   string `msgpack:"cycle" json:"cycle,omitempty"`
	Reason  string `msgpack:"reason" json:"reason,omitempty"`   // why it is paused
	Waiting string `msgpack:"waiting" json:"waiting,omitempty"` // the human request or the external source awaited
}
