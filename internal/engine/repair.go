package engine

import (
	"errors"
	"fmt"
	"time"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// Repaired is what a repair came to.
type Repaired struct {
	Control  string // the input id of the queued control
	Repeated bool   // it was queued before, and nothing was written
	Head     journal.Head
}

// Repair queues the control that is to free an input which a false block holds. It takes the session's journal for itself, proves
// everything again, and commits the opening of its own run and the control in one transaction, and nothing else: no run is
// begun that would settle, resolve or start anything. The session is not open when it returns. Its errors are those of
// [Host.Open] and a [*commands.Refusal]; after any of them, and after a repetition, the journal's head is what it was.
func (h *Host) Repair(id, input string, revision uint64) (*Repaired, error) {
	if !ValidSessionID(id) {
		return nil, ErrNotFound
	}
	s := h.newSession(id, "", nil)
	s.begin()
	prior, _ := journal.ReadOwner(s.dir)
	s.run = h.ids.ULID("run:" + id + ":" + prior.Run)
	file, err := journal.Open(s.dir, journal.Options{Run: s.run, Started: time.UnixMilli(h.clock.Now()), Fault: h.fault}, s.see)
	var missing *journal.NotFound
	switch {
	case errors.As(err, &missing):
		return nil, ErrNotFound
	case errors.Is(err, projections.ErrUnknownEvent):
		return nil, &journal.NewerError{File: s.dir, What: err.Error()}
	case err != nil:
		return nil, err
	}
	s.journal, s.log, s.salt = file, file, file.Salt()
	out, err := s.repair(input, revision)
	return out, errors.Join(err, file.Close())
}

func (s *Session) repair(input string, revision uint64) (*Repaired, error) {
	v := s.folder.View
	installation, err := s.host.installation()
	switch {
	case err != nil:
		return nil, err
	case v.Corrupt != nil:
		return nil, &journal.Damaged{File: s.journal.Path(), Commit: v.Corrupt.Commit, Reason: v.Corrupt.Why}
	case v.ID == "":
		return nil, ErrNotFound
	case v.ID != s.ID || v.Created.Installation != installation:
		return nil, &Foreign{Session: s.ID}
	}
	proof, why := commands.ProveRepair(v.Root, input)
	switch {
	case why != nil:
		return nil, why
	case proof.Revision != revision:
		return nil, commands.StaleRepair(revision, proof.Revision)
	case proof.Queued != "":
		return &Repaired{Control: proof.Queued, Repeated: true, Head: s.log.Head()}, nil
	}
	open, err := s.encode("engine:open:"+s.run.String(), "engine", 0, &commands.OpenSession{Run: s.run.String(), Build: s.host.build()})
	if err != nil {
		return nil, err
	}
	control, err := s.encode("cli:repair:"+s.run.String(), "user", 0, &commands.RepairInput{Input: input, Revision: revision})
	if err != nil {
		return nil, err
	}
	var all []*journal.Commit
	var last answer
	for _, r := range []*request{open, control} {
		c, a, defect := s.decide(r, all)
		if err := errors.Join(a.err, defect); err != nil {
			var refusal *commands.Refusal
			if errors.As(err, &refusal) {
				err = refusal
			}
			return nil, err
		}
		all, last = append(all, c), a
	}
	if err := s.log.Append(all); err != nil {
		return nil, fmt.Errorf("the repair was not written: %w", err)
	}
	return &Repaired{Control: find[*event.InputAdmitted](last.Events).ID, Head: s.log.Head()}, nil
}
