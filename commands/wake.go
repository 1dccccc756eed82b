package commands

import "zuno/projections"

// Readiness is what an execution is ready for.
type Readiness struct {
	State   string // ready, waiting_human, waiting_external, paused, completed
	Request string // of waiting_human
	Source  string // of waiting_external, with Cycle
	Cycle   string
}

// SignalKind is what wants an execution to go on.
type SignalKind string

// The kinds of signals.
const (
	SignalMessage    SignalKind = "message"    // a user's prompt
	SignalQuery      SignalKind = "query"      // a user's question that is answered in words only
	SignalAnswer     SignalKind = "answer"     // to a human request
	SignalResume     SignalKind = "resume"     // an explicit resume
	SignalCompletion SignalKind = "completion" // of something outside
	SignalAutomatic  SignalKind = "automatic"  // a continuation, a recovery, a callback
)

// Signal is one of them with what it speaks of.
type Signal struct {
	Kind    SignalKind
	Request string // of an answer
	Source  string // of a completion, with Cycle
	Cycle   string
}

// Waking is what a signal may do.
type Waking string

// The wakings: nothing; run beside the gate, which stays; clear the gate and run.
const (
	WakeReject Waking = "reject"
	WakeAdmit  Waking = "admit"
	WakeResume Waking = "resume"
)

// Wake says which signal may clear which gate. Nothing else clears one. A resume clears only the gate that it satisfies, and
// has its own checks beside this table.
func Wake(r Readiness, s Signal) Waking {
	switch r.State {
	case "ready":
		switch {
		case s.Kind == SignalAnswer && s.Request == "":
			return WakeReject
		case s.Kind == SignalCompletion && (s.Source == "" || s.Cycle == ""):
			return WakeReject
		}
		return WakeAdmit
	case GateWaitingHuman:
		switch {
		case s.Kind == SignalQuery:
			return WakeAdmit
		case s.Kind == SignalAnswer && s.Request != "" && s.Request == r.Request:
			return WakeResume
		}
	case GateWaitingExternal:
		switch {
		case s.Kind == SignalQuery:
			return WakeAdmit
		case s.Kind == SignalCompletion && s.Source != "" && s.Source == r.Source && s.Cycle != "" && s.Cycle == r.Cycle:
			return WakeResume
		}
	case "paused":
		switch s.Kind {
		case SignalQuery:
			return WakeAdmit
		case SignalResume:
			return WakeResume
		}
	case "completed":
		switch s.Kind {
		case SignalMessage, SignalQuery, SignalAnswer, SignalResume:
			return WakeResume
		}
	}
	return WakeReject
}

// readiness is the readiness of an execution.
func readiness(x *projections.Execution) Readiness {
	r := Readiness{State: x.State.String()}
	if g := x.Gate; g != nil {
		switch r.State {
		case GateWaitingHuman:
			r.Request = g.Waiting
		case GateWaitingExternal:
			r.Source, r.Cycle = g.Waiting, g.Cycle
		}
	}
	return r
}
