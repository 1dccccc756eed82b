package commands

import (
	"zuno/journal/event"
	"zuno/projections"
)

// RepairInput queues the control that is to free one input which a false block holds. Only an offline repair makes it
// (`zuno session repair --apply`); docs/repair.md says what is proved and how.
type RepairInput struct {
	Input    string `msgpack:"input"`
	Revision uint64 `msgpack:"revision"` // of the execution, as an inspection told it
}

var repairRules = rules{
	rule("input.repair", 1, repairInput),
}

// The codes of refused repairs. [CodeStale], [CodeUnknown], [CodeUncertain] and [CodeNothing] are those of all commands.
const (
	CodeNotUser   = "not_a_user_input"   // a control, a report, or of unknown provenance
	CodeNotTaken  = "not_consumed"       // it has not entered the history
	CodeBound     = "already_bound"      // a turn has taken it
	CodeOver      = "already_over"       // its receipt is terminal
	CodeNotHeld   = "not_gated"          // nothing holds it
	CodeProtected = "protected_gate"     // the gate is real
	CodeMissing   = "missing_evidence"   // the block names nothing that could prove it false
	CodeAmbiguous = "ambiguous_evidence" // what it names, or which gate is meant, has two readings
	CodeCompeting = "competing_work"     // something else runs, waits or is not settled
)

// Ground is why a block is false.
type Ground string

// The grounds. Each is a fact of the journal that the block itself contradicts.
const (
	GroundSettled Ground = "settled_otherwise" // the turn that it names did not fail
	GroundCycle   Ground = "other_cycle"       // the turn that it names failed, in a cycle that the block is not about
	GroundPassing Ground = "passing_failure"   // it failed for a reason that passes, before the input was sent
)

// Grounds are all grounds with their meaning. docs/repair.md shows them.
var Grounds = []struct {
	Ground  Ground
	Meaning string
}{
	{GroundSettled, "The turn that the block names as its cause ended completed or cancelled. No failure is there that could block anything."},
	{GroundCycle, "The turn failed, and the block is about another cycle than that turn's. A failure closes its own cycle and no other."},
	{GroundPassing, "The turn failed because the provider could not be reached or was busy (no status, 408, 425, 429, 500 and above), its stream broke off or its process ended, and the input was sent after that turn had ended. Such a failure closes its ordinary cycle; it cannot hold an independent input that comes later."},
}

// passing are the codes of failures without a status that say nothing of the next try.
var passing = map[string]bool{
	projections.FaultInterrupted: true, "response_cut": true, "overloaded": true, "rate_limited": true, "busy": true,
	"timeout": true, "connection": true, "unreachable": true,
}

// RepairProof is what holds of an input that may be repaired.
type RepairProof struct {
	Input    string
	Revision uint64 // of the execution: what an apply has to name
	Cycle    string // that the block is about
	Raised   uint64 // the commit that raised the block
	Cause    string // the turn that the block names
	Ground   Ground
	Queued   string // the control that is queued for exactly this repair; empty when there is none
}

// ProveRepair proves from the journal alone that the input is held by a block that is false, and that nothing stands in the
// way of freeing it. It is the whole proof: an inspection, the apply and the control that it queues make it each anew. It reads
// a view of any kind; one that keeps finished inputs gives the better reason for those.
func ProveRepair(s *projections.Session, input string) (*RepairProof, *Refusal) {
	proof, why := falseBlock(s, input)
	if why == nil {
		why = competing(s, proof)
	}
	if why != nil {
		return nil, why
	}
	return proof, nil
}

// falseBlock is the evidence: the input is a user's, consumed, never bound, and what holds it is false.
func falseBlock(s *projections.Session, input string) (*RepairProof, *Refusal) {
	in := s.Inputs.Get(input)
	if in == nil {
		return nil, notOpen(s, input)
	}
	x := &s.Execution
	switch {
	case in.Trigger != event.TriggerUser || in.Control != nil:
		return nil, refuse(CodeNotUser, "input %s is no message of a user", in.ID).Refusal
	case in.Turn != "" || in.State.Is("applied"):
		return nil, refuse(CodeBound, "input %s was taken by turn %s", in.ID, in.Turn).Refusal
	case !in.State.Is("recorded"):
		return nil, refuse(CodeNotTaken, "input %s is %s: it has not entered the history", in.ID, in.State).Refusal
	case in.Gate == nil || x.Gate == nil:
		return nil, refuse(CodeNotHeld, "no gate holds input %s", in.ID).Refusal
	}
	g := x.Gate
	switch {
	case in.Gate.Reason == GateUncertain || g.Reason == GateUncertain:
		return nil, refuse(CodeUncertain, "the gate is %s: an effect may have happened, which no repair can tell. Send /inspect-outcome and record what you find", GateUncertain).Refusal
	case in.Gate.Reason != GateBlocked || g.Reason != GateBlocked || !x.State.Is("paused"):
		return nil, refuse(CodeProtected, "the gate is %s, which is no block: %s", gateReason(x), gatesByReason[gateReason(x)].Clears).Refusal
	case len(s.Calls.Unknown()) > 0:
		return nil, refuse(CodeUncertain, "the effect of %s is unknown. Send /inspect-outcome and record what you find first", callIDs(s.Calls.Unknown())).Refusal
	case g.Goal != "":
		return nil, refuse(CodeProtected, "the block belongs to Goal %s", g.Goal).Refusal
	case in.Gate.Revision != g.Revision || in.Gate.Cycle != g.Cycle || x.Revision != g.Revision:
		return nil, refuse(CodeAmbiguous, "input %s met the gate of revision %d, and the session is held by that of revision %d", in.ID, in.Gate.Revision, g.Revision).Refusal
	case g.Cause == "":
		return nil, refuse(CodeMissing, "the block of commit %d names no cause, so nothing can show it to be false", g.Raised).Refusal
	case g.Cause != g.Over.ID:
		return nil, refuse(CodeAmbiguous, "the block of commit %d names turn %s, which is not the last that had ended before it", g.Raised, g.Cause).Refusal
	}
	ground := groundOf(g, in)
	if ground == "" {
		return nil, refuse(CodeProtected, "the block of commit %d is real: turn %s failed (%s) in the cycle that is blocked", g.Raised, g.Cause, failureName(event.Failure{Code: g.Over.Code, Status: g.Over.Status})).Refusal
	}
	return &RepairProof{Input: in.ID, Revision: x.Revision, Cycle: g.Cycle, Raised: g.Raised, Cause: g.Cause, Ground: ground}, nil
}

func notOpen(s *projections.Session, input string) *Refusal {
	for _, in := range s.Inputs.All {
		if in.ID == input {
			return refuse(CodeOver, "input %s is %s, which is never reopened", in.ID, in.State).Refusal
		}
	}
	if s.Inputs.Kept() {
		return refuse(CodeUnknown, "the session has no input %s; the full id is needed", input).Refusal
	}
	return refuse(CodeOver, "input %s is over or was never there", input).Refusal
}

// groundOf is why the block is false; empty when it may be right.
func groundOf(g *projections.Gate, in *projections.Input) Ground {
	t := &g.Over
	switch {
	case t.State == "completed" || t.State == "cancelled":
		return GroundSettled
	case t.State != "failed" || t.Cycle == "" || g.Cycle == "":
		return ""
	case t.Cycle != g.Cycle:
		return GroundCycle
	case passes(t) && in.Sequence > t.Sequence:
		return GroundPassing
	}
	return ""
}

func passes(t *projections.TurnOver) bool {
	switch t.Status {
	case 0:
		return passing[t.Code]
	case 408, 425, 429:
		return true
	}
	return t.Status >= 500
}

// competing looks for what else wants the session, and for a control that is queued for this very repair.
func competing(s *projections.Session, proof *RepairProof) *Refusal {
	switch {
	case s.Turns.Active != nil:
		return refuse(CodeCompeting, "turn %s is not over; open the session, which settles it", s.Turns.Active.ID).Refusal
	case len(s.Calls.Open) > 0:
		return refuse(CodeCompeting, "call %s is not settled; open the session, which settles it", s.Calls.Open[0].ID).Refusal
	}
	for _, in := range s.Inputs.Open {
		c := in.Control
		switch {
		case in.ID == proof.Input:
		case c != nil && c.Kind == event.ControlRecover && c.Input == proof.Input && c.Revision == proof.Revision && proof.Queued == "" && in.State.Is("admitted"):
			proof.Queued = in.ID
		case c != nil:
			return refuse(CodeCompeting, "%s is queued as input %s", c.Kind, in.ID).Refusal
		case in.Gate == nil || in.Gate.Revision != proof.Revision:
			return refuse(CodeCompeting, "input %s waits and is not held by the same block", in.ID).Refusal
		}
	}
	return nil
}

// repairInput queues one control and touches nothing else: input and gate stay as they are until a turn binds the input.
func repairInput(v *projections.View, c *RepairInput, at Stamp) Decision {
	proof, why := ProveRepair(v.Root, c.Input)
	switch {
	case why != nil:
		return Decision{Refusal: why}
	case c.Revision != proof.Revision:
		return Decision{Refusal: StaleRepair(c.Revision, proof.Revision)}
	case proof.Queued != "":
		return refuse(CodeNothing, "control %s is queued for this already", proof.Queued)
	}
	return events(&event.InputAdmitted{
		ID: at.ID("inp", 0), Trigger: event.TriggerRecovery, Delivery: event.DeliverQueue,
		Control: &event.Control{Kind: event.ControlRecover, Input: c.Input, Revision: c.Revision, Actor: at.Actor},
	})
}

// StaleRepair refuses a repair that names another revision than the execution has.
func StaleRepair(named, is uint64) *Refusal {
	return &Refusal{Code: CodeStale, Reason: refuse("", "the execution is at revision %d, not %d", is, named).Refusal.Reason, Next: "inspect it again without --apply"}
}

// mayRecover are the checks of a queued repair when it is carried out: the evidence must still be there, at the very revision.
// What was queued meanwhile does not compete: a session does one thing at a time.
func mayRecover(s *projections.Session, c *event.Control) *Refusal {
	proof, why := falseBlock(s, c.Input)
	switch {
	case why != nil:
		return why
	case proof.Revision != c.Revision:
		return StaleRepair(c.Revision, proof.Revision)
	case Wake(readiness(&s.Execution), Signal{Kind: SignalResume}) != WakeResume: // the user's order, by name
		return refuse(CodeWait, "the session waits for something else").Refusal
	}
	return nil
}
