package event

// LegacyPause is a pause as it was recorded before gates named what they know: a reason, and nothing of the cycle, the turn
// or the calls that led to it. Nothing is made up for it when it is raised: what was not recorded stays unknown.
type LegacyPause struct {
	Reason string `msgpack:"reason" json:"reason"`
	Goal   string `msgpack:"goal" json:"goal,omitempty"`
}

var _ = Older("session.execution.changed.0", TypeOf(&ExecutionChanged{}), func(x *LegacyPause) Payload {
	return &ExecutionChanged{Trigger: "pause", Phase: "paused", Reason: x.Reason, Goal: x.Goal}
})
