package fake

import (
	"net/http"

	"zuno/internal/model"
)

// Answer is one answer of a server. The zero Answer is an empty text that finished properly.
type Answer struct {
	// What the model says, each element a chunk of its own, in this order.
	Reasoning []string
	Text      []string
	Calls     []Call
	Usage     *model.Usage // nil: the server says none
	Finish    string       // as of a model.Response; empty: tool_calls where there are calls, otherwise stop
	Reason    string       // the surface's own word in place of the one for Finish

	// What else may be different.
	NoMarker bool   // the finish marker is missing
	NoDone   bool   // chat: [DONE] is missing
	Inside   string // an error, JSON, in place of the finish
	Raw      string // the whole stream or body, in place of all of the above

	// How it is delivered.
	Status int // zero: 200
	Header http.Header
	Whole  bool // at once, as a buffering proxy does
	CutAt  int  // bytes after which the stream ends; zero: none
	Abort  bool // the connection is torn down where the answer ends
	// Stall is waited for after StallAt bytes, or before the header where it is negative. The client's going ends it.
	Stall   <-chan struct{}
	StallAt int
}

// Call is a call of an answer. Its arguments are chunks.
type Call struct {
	ID, Tool string
	Args     []string
}

// finish is the finish in our words.
func (a *Answer) finish() string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return model.FinishCalls
	}
	return model.FinishStop
}

// reason is the surface's word for the finish.
func (a *Answer) reason(words map[string]string) string {
	if a.Reason != "" {
		return a.Reason
	}
	return words[a.finish()]
}

// Events is an answer as the events of a surface, each with its empty line.
func (s Surface) Events(a *Answer) []string {
	if a.Raw != "" {
		return []string{a.Raw}
	}
	switch s {
	case Responses:
		return responsesEvents(a)
	case Messages:
		return messagesEvents(a)
	default:
		return chatEvents(a)
	}
}

func value(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}
