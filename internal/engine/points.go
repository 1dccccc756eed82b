package engine

import "zuno/journal"

// The places inside of effects at which a crash test may strike, beside those of the journal: behind the fence and before
// anything has happened, and after everything has happened and before it is recorded.
const (
	PointRequestFenced  journal.Point = "request-fenced"
	PointResponseEnded  journal.Point = "response-ended"
	PointQuestionFenced journal.Point = "question-fenced"
	PointQuestionEnded  journal.Point = "question-ended"
	PointCallFenced     journal.Point = "call-fenced"
	PointCallEnded      journal.Point = "call-ended"
)

func (s *Session) at(p journal.Point) {
	if s.host.fault != nil {
		_ = s.host.fault(p) // a crash does not return
	}
}
