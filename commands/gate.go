package commands

import (
	"zuno/journal/event"
	"zuno/projections"
)

// The reasons of execution gates (specification: saved input and execution gates).
const (
	GateUser                 = "user"
	GateAuthentication       = "authentication"
	GateTurnBudget           = "turn_budget"
	GateUncertain            = "uncertain_side_effect"
	GateBlocked              = "blocked"
	GateWaitingHuman         = "waiting_human"
	GateWaitingExternal      = "waiting_external"
	GateNoProgress           = "no_progress"
	GateNoExecutableWork     = "no_executable_work"
	GateExecutionUnavailable = "execution_unavailable"
)

// Recovery is a hint at what clears a gate. It grants nothing, and promises of no single command that it is enough.
type Recovery string

// The recoveries.
const (
	RecoverResumeWork     Recovery = "resume_work"
	RecoverResumeGoal     Recovery = "resume_goal"
	RecoverStartWork      Recovery = "start_work"
	RecoverHumanRequest   Recovery = "resolve_human_request"
	RecoverWaitForEvent   Recovery = "wait_for_event"
	RecoverReauthenticate Recovery = "reauthenticate"
	RecoverInspectOutcome Recovery = "inspect_outcome"
	RecoverReviewBudget   Recovery = "review_budget"
	RecoverInspectSession Recovery = "inspect_session"
)

// GateKind is one line of the table of gates.
type GateKind struct {
	Reason   string
	Recovery Recovery
	Goal     Recovery // where a Goal owns the gate
	Meaning  string
	Clears   string // what ends it
}

// Gates is the table of all gates. docs/gates.md is made of it.
var Gates = []GateKind{
	{GateUser, RecoverResumeWork, RecoverResumeGoal, "The user paused the work.", "/resume."},
	{GateAuthentication, RecoverReauthenticate, RecoverReauthenticate, "The provider did not accept the credentials, or there are none.", "Set the provider's key, then /resume. It is refused while no key is there."},
	{GateTurnBudget, RecoverReviewBudget, RecoverReviewBudget, "A turn used up its allowance of tokens, calls or time.", "The user's decision about the budget. /resume does not grant it."},
	{GateUncertain, RecoverInspectOutcome, RecoverInspectOutcome, "A call was interrupted, and whether it happened is unknown.", "A finding of happened or did_not_happen on every listed call (/inspect-outcome), then the gate's own resume."},
	{GateBlocked, RecoverInspectSession, RecoverInspectSession, "The work is blocked for good.", "Nothing but an offline repair, where the block is proved to be false."},
	{GateWaitingHuman, RecoverHumanRequest, RecoverHumanRequest, "A question to the user waits for its answer.", "The answer to that very question."},
	{GateWaitingExternal, RecoverWaitForEvent, RecoverWaitForEvent, "The work waits for something outside.", "The completion of that very source."},
	{GateNoProgress, RecoverResumeWork, RecoverResumeGoal, "The model repeated itself without getting on.", "/resume."},
	{GateNoExecutableWork, RecoverStartWork, RecoverStartWork, "A plan is there, and nobody has authorized work on it.", "Start Work. /resume does not grant it."},
	{GateExecutionUnavailable, RecoverInspectSession, RecoverInspectSession, "Three processes ended at the same step.", "/resume, once it is clear why they ended (`zuno explain gate`)."},
}

// GateOf is the line of a reason; that of [GateBlocked] for one that this build does not know, which holds the session all the same.
func GateOf(reason string) *GateKind {
	if k := gatesByReason[reason]; k != nil {
		return k
	}
	return gatesByReason[GateBlocked]
}

var gatesByReason = func() map[string]*GateKind {
	m := map[string]*GateKind{}
	for i := range Gates {
		m[Gates[i].Reason] = &Gates[i]
	}
	return m
}()

// messages tell people what to do next. Each says that the input is saved and is not to be sent again.
var messages = map[Recovery]string{
	RecoverResumeWork:     "the work is paused. Send /resume to go on",
	RecoverResumeGoal:     "the Goal is paused. Send /goal resume to go on",
	RecoverStartWork:      "the Plan waits for your authorization. Use Start Work",
	RecoverHumanRequest:   "a question waits for your answer. Answer it to go on",
	RecoverWaitForEvent:   "the work waits for something outside. It goes on by itself when that arrives",
	RecoverReauthenticate: "the provider needs valid credentials. Set its key, then send /resume",
	RecoverInspectOutcome: "an interrupted call may have happened. Send /inspect-outcome to see which, and record what you find",
	RecoverReviewBudget:   "the budget of the turn is used up. Review it to go on",
	RecoverInspectSession: "execution is held. Look at it with `zuno explain gate`",
}

// Recoveries are all recoveries, in the order of the specification.
var Recoveries = []Recovery{
	RecoverResumeWork, RecoverResumeGoal, RecoverStartWork, RecoverHumanRequest, RecoverWaitForEvent, RecoverReauthenticate,
	RecoverInspectOutcome, RecoverReviewBudget, RecoverInspectSession,
}

// GateMessage is what a person is told whose input met a gate.
func GateMessage(r Recovery) string {
	m := messages[r]
	if m == "" {
		m = messages[RecoverInspectSession]
	}
	return "Input saved but not applied: " + m + ". Do not send it again."
}

// gateReason is the reason of a gate that an execution shows: for a wait it is the kind of the wait.
func gateReason(x *projections.Execution) string {
	switch {
	case x.State.Is(GateWaitingHuman), x.State.Is(GateWaitingExternal):
		return x.State.String()
	case gatesByReason[x.Gate.Reason] == nil: // of a build that knew others: it stays what it is, held
		return GateBlocked
	}
	return x.Gate.Reason
}

// ExecutionGate is the gate that holds the session, as an input meets it; false when nothing does.
func ExecutionGate(x *projections.Execution) (g event.ExecutionGate, held bool) {
	if x.Gate == nil {
		return g, false
	}
	reason := gateReason(x)
	g = event.ExecutionGate{Reason: reason, Recovery: string(recoveryOf(reason, x.Gate.Goal != "")), Revision: x.Gate.Revision, Cycle: x.Gate.Cycle}
	switch reason {
	case GateWaitingHuman:
		g.Request = x.Gate.Waiting
	case GateWaitingExternal:
		g.Source = x.Gate.Waiting
	}
	return g, true
}

func recoveryOf(reason string, goal bool) Recovery {
	k := gatesByReason[reason]
	if goal {
		return k.Goal
	}
	return k.Recovery
}

// Discussable says that a plain message may be talked about although the session is held: the effect of a Goal's call is unknown,
// and that is all that holds it (specification: text-only discussion).
func Discussable(x *projections.Execution) bool {
	return x.Gate != nil && x.Gate.Goal != "" && gateReason(x) == GateUncertain
}
