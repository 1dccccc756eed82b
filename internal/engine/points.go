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
	// A change of what was chosen for a session: its configuration is read, it is durable, and the new host stands.
	PointChoiceResolved journal.Point = "choice-resolved"
	PointChoiceRecorded journal.Point = "choice-recorded"
	PointChoiceReplaced journal.Point = "choice-replaced"
	// The deletion of a session: nothing of it has happened, and its folder is set aside.
	PointDeletePrepared journal.Point = "delete-prepared"
	PointDeleteAside    journal.Point = "delete-aside"
)

func (s *Session) at(p journal.Point) { s.host.point(p) }

func (h *Host) point(p journal.Point) {
	if h.fault != nil {
		_ = h.fault(p) // a crash does not return
	}
}
