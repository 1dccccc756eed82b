package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"zuno/commands"
	"zuno/internal/engine"
)

// Repair is what an inspection, or an apply, says of one input that may be held by a false block.
type Repair struct {
	Session string `json:"session"`
	Input   string `json:"input"`
	// Result is eligible, control_queued, already_queued or refused.
	Result   string `json:"result"`
	Reason   string `json:"reason,omitempty"`  // of a refusal: a word of docs/repair.md
	Message  string `json:"message,omitempty"` // of a refusal
	Revision uint64 `json:"expectedRevision"`  // of the execution
	Ground   string `json:"ground,omitempty"`
	Raised   uint64 `json:"raised,omitempty"` // the commit that raised the block
	Cause    string `json:"cause,omitempty"`  // the turn that the block names
	Cycle    string `json:"cycleId,omitempty"`
	Control  string `json:"control,omitempty"` // the queued control
	Head     string `json:"head"`              // hash of the newest commit
	Commits  uint64 `json:"commits"`
}

// The results of a repair.
const (
	RepairEligible = "eligible"
	RepairQueued   = "control_queued"
	RepairAlready  = "already_queued"
	RepairRefused  = "refused"
)

// InspectRepair folds the session's journal and proves, or not, that a false block holds the input. Nothing is written, and the
// session may be in use. A refusal is no error: it is told in the result. The ids are full ones; errors are [*BadArgument],
// [*NoSession] and those of [Fold].
func InspectRepair(s Store, session, input string) (*Repair, error) {
	switch {
	case !engine.ValidSessionID(session):
		return nil, &BadArgument{session, "a repair takes the full id of a session, and neither a beginning of one nor last"}
	case !s.has(session):
		return nil, &NoSession{session, s.Data}
	}
	r, err := Fold(s.folder(session), ReplayOptions{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := errors.Join(r.Corrupt(), s.foreign(session, r.View.Created.Installation)); err != nil {
		return nil, err
	}
	out := &Repair{
		Session: session, Input: input, Result: RepairEligible, Revision: r.View.Root.Execution.Revision,
		Head: r.Head.Hash.String(), Commits: r.Head.Number,
	}
	proof, why := commands.ProveRepair(r.View.Root, input)
	if why != nil {
		out.Refuse(why)
		return out, nil
	}
	if proof.Queued != "" {
		out.Result, out.Control = RepairAlready, proof.Queued
	}
	out.Ground, out.Raised, out.Cause, out.Cycle = string(proof.Ground), proof.Raised, proof.Cause, proof.Cycle
	return out, nil
}

// foreign is an error for a session of another installation.
func (s Store) foreign(session, installation string) error {
	b, err := os.ReadFile(filepath.Join(s.Data, "installation"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if strings.TrimSpace(string(b)) != installation {
		return &engine.Foreign{Session: session}
	}
	return nil
}

// Refuse makes it a refusal.
func (r *Repair) Refuse(why *commands.Refusal) {
	r.Result, r.Reason, r.Message = RepairRefused, why.Code, why.Error()
}

// Tell is the result for people. Its first line is the result alone.
func (r *Repair) Tell() string {
	t := &table{}
	t.row("session", r.Session)
	t.row("input", short(r.Input, 80))
	if r.Result == RepairRefused {
		t.row("reason", r.Reason)
	}
	if r.Cause != "" {
		t.row("block", fmt.Sprintf("raised by commit %d; it names turn %s", r.Raised, short(r.Cause, 80)))
		t.row("ground", r.Ground+": "+groundMeaning(r.Ground))
	}
	t.row("expectedRevision", fmt.Sprint(r.Revision))
	if r.Control != "" {
		t.row("control", r.Control)
	}
	t.row("head", r.Head)
	var b strings.Builder
	b.WriteString(r.Result + "\n")
	t.write(&b, "")
	switch r.Result {
	case RepairEligible:
		fmt.Fprintf(&b, "Close every editor that has the session open, then: zuno session repair %s --input %s --apply --expected-revision %d\n", r.Session, r.Input, r.Revision)
	case RepairQueued, RepairAlready:
		b.WriteString("The control is saved. It runs when an editor opens the session; follow the receipts of control and input there.\n")
	}
	return b.String()
}

func groundMeaning(ground string) string {
	for _, g := range commands.Grounds {
		if string(g.Ground) == ground {
			return g.Meaning
		}
	}
	return ""
}

// JSON is the result as one JSON object.
func (r *Repair) JSON() ([]byte, error) {
	n, err := toNode(r)
	if err != nil {
		return nil, err
	}
	return append(n.pretty(nil, 0), '\n'), nil
}
