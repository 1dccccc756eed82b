package event

// Controls is what a user does to the session beside sending input, what zuno says to the user, and the state that
// both lead to.
var Controls = Group{
	Of[ControlRequested]("session.control.requested.1"),
	Of[NoticeRaised]("session.notice.raised.1"),
	Of[ExecutionChanged]("session.execution.changed.1"),
	Of[ControlAnswered]("session.control.answered.1"),
	Of[AttemptRefused]("session.attempt.refused.1"),
	Of[CallInspected]("session.call.inspected.1"),
	Of[RunDied]("session.run.died.1"),
	Of[RunClosed]("session.run.closed.1"),
}

// ControlRequested is an accepted control.
type ControlRequested struct {
	ID     string `msgpack:"id" json:"id"`
	Kind   string `msgpack:"kind" json:"kind"` // cancel, or a [ControlKind]
	Turn   string `msgpack:"turn" json:"turn,omitempty"`
	Source string `msgpack:"source" json:"source"`         // user, withdrawal, shutdown, close
	Input  string `msgpack:"input" json:"input,omitempty"` // that asked for it
	Text   Text   `msgpack:"text" json:"text"`             // what the model is told of it
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
	Goal    string `msgpack:"goal" json:"goal,omitempty"`       // that owns the gate
	Cause   string `msgpack:"cause" json:"cause,omitempty"`     // the turn whose end raised the gate; empty where none is named
}

// ControlAnswered is what a native command says to the user. The model never sees it.
type ControlAnswered struct {
	Input string `msgpack:"input" json:"input"`
	Text  Text   `msgpack:"text" json:"text"`
}

// AttemptRefused: an attempt to clear a gate or to authorize work was refused. It changes nothing but what can be told of it.
type AttemptRefused struct {
	Attempt string `msgpack:"attempt" json:"attempt"`       // resume, repair; later approval, start_work, goal_resume
	Input   string `msgpack:"input" json:"input,omitempty"` // the control that tried, or the input that was to be repaired
	Code    string `msgpack:"code" json:"code"`
	Text    Text   `msgpack:"text" json:"text"`
}

// CallInspected is what the user found out about a call whose effect was unknown. No model can make it.
type CallInspected struct {
	Call    string  `msgpack:"call" json:"call"`
	Finding Finding `msgpack:"finding" json:"finding"`
	Note    Text    `msgpack:"note" json:"note"`
}

// RunDied: the run before this one ended without a word, at this step.
type RunDied struct {
	Run  string `msgpack:"run" json:"run"`
	Step string `msgpack:"step" json:"step"`
}

// RunClosed: the run ended in good order while inputs wait, which is no death.
type RunClosed struct {
	Run string `msgpack:"run" json:"run"`
}
