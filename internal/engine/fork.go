package engine

import (
	"errors"
	"fmt"
	"os"
	"time"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// forkPiece is how many events one command of a fork takes over: a commit holds 65,535 texts, and a call names some.
const forkPiece = 500

// Fork is a session that was made from another one.
type Fork struct {
	Session string
	Cwd     string
	Source  event.Forked
	Head    journal.Head
}

// NoFolder says that the folder is not there which the source of a fork worked in.
type NoFolder struct{ Cwd string }

func (e *NoFolder) Error() string {
	return fmt.Sprintf("the folder %s, which the session worked in, is not here: name the folder that the fork is to work in", e.Cwd)
}

// Fork makes a session of this installation that goes on from commit at of the source (0: its head), whatever
// installation that belongs to. It takes over the transcript and the state of the work: inputs that were taken, responses,
// calls and their results, the title, the files seen. It never takes over policy, permissions, grants, or anything
// in flight: what ran at that commit is settled, what waited is left out. cwd is where it works; "" for where the source
// did. The source is only read. The session is complete on disk, and not open, when Fork returns.
func (h *Host) Fork(source journal.Log, at uint64, cwd string) (*Fork, error) {
	head := source.Head().Number
	if at == 0 {
		at = head
	}
	if at > head || head == 0 {
		return nil, fmt.Errorf("there is no commit %d to fork from: %w", at, journal.ErrNoCommit)
	}
	from := &forkSource{at: at, delivered: map[string]bool{}}
	if err := source.Scan(1, from.look); err != nil && !errors.Is(err, errForkEnd) {
		return nil, fmt.Errorf("fork: %w", err)
	}
	switch {
	case from.forked.Session == "":
		return nil, fmt.Errorf("fork: commit %d is before the session was created", at)
	case cwd == "":
		cwd = from.cwd
	}
	if st, err := os.Stat(cwd); err != nil || !st.IsDir() {
		return nil, &NoFolder{cwd}
	}
	id, set, err := h.Reserve(cwd)
	if err != nil {
		return nil, err
	}
	installation, err := h.installation()
	if err != nil {
		return nil, err
	}
	s := h.newSession(id, cwd, set)
	s.salt, s.run, s.runLabel = h.ids.Salt(id), h.ids.ULID("run:"+id+":"), "1"
	from.salt = s.salt
	if err := source.Scan(1, from.take); err != nil && !errors.Is(err, errForkEnd) {
		return nil, fmt.Errorf("fork: %w", err)
	}
	file, err := journal.Create(s.dir, journal.Options{Run: s.run, Started: time.UnixMilli(h.clock.Now()), Fault: h.fault, Parent: from.forked.Hash})
	if err != nil {
		return nil, fmt.Errorf("the fork cannot be saved: %w", err)
	}
	s.journal, s.log = file, file
	s.begin()
	err = s.fork(from, &commands.OpenSession{
		Salt: event.NewText(string(s.salt)), Run: s.run.String(), Build: h.build(), Session: id, Installation: installation,
		Cwd: event.NewText(cwd), Worktree: event.NewText(set.Worktree),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fork: %w", err), file.Close(), os.RemoveAll(s.dir)) // nobody knows its id yet
	}
	made := &Fork{Session: id, Cwd: cwd, Source: from.forked, Head: file.Head()}
	return made, s.shut()
}

// fork decides all of it and makes it durable in one transaction: there is no half fork.
func (s *Session) fork(from *forkSource, open *commands.OpenSession) error {
	var all []*journal.Commit
	add := func(id string, c commands.Command) error {
		r, err := s.encode(id, "user", 0, c)
		if err != nil {
			return err
		}
		commit, a, defect := s.decide(r, all)
		if commit != nil {
			all = append(all, commit)
		}
		return errors.Join(a.err, defect)
	}
	if err := add("engine:open:"+s.run.String(), open); err != nil {
		return err
	}
	c := &commands.ForkSession{Source: from.forked}
	for n := 1; n == 1 || len(from.items) > 0; n++ {
		piece := from.items[:min(len(from.items), forkPiece)]
		from.items = from.items[len(piece):]
		c.Items = piece
		if err := add(fmt.Sprintf("engine:fork:%d", n), c); err != nil {
			return err
		}
		c = &commands.ForkSession{}
	}
	err := add("engine:fork:close", &commands.CloseFork{Source: from.forked.Session})
	var refusal *commands.Refusal
	if err != nil && !(errors.As(err, &refusal) && refusal.Code == commands.CodeNothing) {
		return err
	}
	return s.log.Append(all)
}

var errForkEnd = errors.New("the commit that the fork is made at")

// forkSource is what a fork takes from its source.
type forkSource struct {
	at        uint64
	salt      []byte // of the fork
	forked    event.Forked
	cwd       string
	delivered map[string]bool // inputs that a turn took
	digests   []journal.Hash  // of the parts of the open response, as the fork names them
	items     []commands.ForkItem
}

// look learns what take has to know, and that no text is missing.
func (f *forkSource) look(c *journal.Raw) error {
	if c.Number > f.at {
		return errForkEnd
	}
	for i := range c.Texts {
		if _, err := c.Body(i); err != nil {
			return fmt.Errorf("commit %d of the source: %w", c.Number, err)
		}
	}
	d, err := Decode(c)
	if err != nil {
		return err
	}
	for i := range d.Events {
		switch e := d.Events[i].Payload.(type) {
		case *event.Created:
			if d.Events[i].Stream == 1 {
				f.forked.Session, f.cwd = e.Session, e.Cwd.String()
			}
		case *event.InputDeliveryBatch:
			for _, id := range e.Inputs {
				f.delivered[id] = true
			}
		}
	}
	f.forked.Commit, f.forked.Hash = c.Number, c.Hash
	return nil
}

func (f *forkSource) take(c *journal.Raw) error {
	if c.Number > f.at {
		return errForkEnd
	}
	d, err := Decode(c)
	if err != nil {
		return err
	}
	for i := range d.Events {
		if d.Events[i].Stream != 1 {
			continue
		}
		if p := f.taken(d.Events[i].Payload); p != nil {
			if item, ok := commands.ForkedEvent(p); ok {
				f.items = append(f.items, item)
			}
		}
	}
	return nil
}

// taken is an event as the fork tells it; nil for one that it does not take over.
func (f *forkSource) taken(p event.Payload) event.Payload {
	switch e := p.(type) {
	case *event.InputAdmitted:
		if !f.delivered[e.ID] {
			return nil // it waits there
		}
	case *event.InputSettled:
		if !f.delivered[e.Input] {
			return nil
		}
	case *event.ExecutionChanged:
		if e.Trigger != "begin" && e.Trigger != "complete" {
			return nil // a gate is no part of the work
		}
	case *event.RequestStarted:
		f.digests = nil
	case *event.ResponsePart:
		f.digests = append(f.digests, f.digest(e.Text))
	case *event.ResponseCompleted:
		e.Parts = projections.PartsDigest(f.digests)
	case *event.CallRequested:
		e.Permission, e.Rule, e.Reusable, e.ArgsDigest = "", event.Text{}, false, f.digest(e.Args)
	case *event.CallAbandoned: // the question is not taken over, so the call was never asked about
		return &event.CallBlocked{ID: e.ID, Kind: e.Reason, Text: event.NewText("The turn ended before the user answered whether this may run. Nothing was done.")}
	}
	return p
}

// digest is how the fork names a text: its salt is another one.
func (f *forkSource) digest(t event.Text) journal.Hash {
	if t.IsZero() {
		return journal.Hash{}
	}
	return journal.TextDigest(f.salt, []byte(t.String()))
}
