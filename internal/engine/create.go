package engine

import (
	"errors"
	"fmt"
	"os"
	"time"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
)

// Create makes a reserved session durable with its first command: session.opened, policy.resolved and
// the command are three commits of one transaction. o follows from the first of them; nil for nobody.
func (h *Host) Create(id, cwd string, set *Settings, o Observer, commandID, actor string, first commands.Command) (*Session, Outcome, error) {
	if err := h.enter(); err != nil {
		return nil, Outcome{}, err
	}
	defer h.leave()
	h.sweepOnce()
	installation, err := h.installation()
	if err != nil {
		return nil, Outcome{}, err
	}
	s := h.newSession(id, cwd, set)
	s.salt = h.ids.Salt(id)
	s.run = h.ids.ULID("run:" + id + ":")
	file, err := journal.Create(s.dir, journal.Options{Run: s.run, Started: time.UnixMilli(h.clock.Now()), Fault: h.fault})
	if err != nil {
		return nil, Outcome{}, fmt.Errorf("the session cannot be saved: %w", err)
	}
	s.journal, s.log = file, file
	served := s.serve()
	s.begin()
	if o != nil {
		s.observers = []Observer{o}
	}
	out, err := s.startRun(&commands.OpenSession{
		Salt: event.NewText(string(s.salt)), Run: s.run.String(), Build: h.build(), Session: id, Installation: installation,
		Cwd: event.NewText(cwd), Worktree: event.NewText(set.Worktree),
	}, &firstCommand{commandID, actor, first})
	<-served
	if err != nil {
		s.server.Load().Close()
		_ = s.log.Close()
		if !errors.Is(err, journal.ErrUnknownOutcome) { // nothing was accepted: the panel is as unused as before
			_ = os.RemoveAll(s.dir)
		}
		return nil, Outcome{}, err
	}
	h.mu.Lock()
	h.sessions[id] = s
	h.mu.Unlock()
	return s, out, nil
}

type firstCommand struct {
	id, actor string
	command   commands.Command
}
