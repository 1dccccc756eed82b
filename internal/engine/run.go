package engine

import (
	"errors"
	"strconv"

	"zuno/commands"
	"zuno/internal/live"
	"zuno/internal/prompt"
	"zuno/journal/event"
)

// startRun begins a run: its commands are queued before the owner starts, so that they share one transaction.
func (s *Session) startRun(open *commands.OpenSession, first *firstCommand) (Outcome, error) {
	h := s.host
	s.digester = prompt.NewDigester(s.salt)
	set := s.settings.Load()
	s.providers[set.Policy.Model] = set.Provider
	s.runLabel = strconv.FormatUint(s.folder.View.Run.Count+1, 10)
	queue := []struct {
		id string
		c  commands.Command
	}{
		{"engine:open:" + s.run.String(), open},
		{"engine:recover:" + s.runLabel, &commands.RecoverSession{Run: s.run.String()}},
		{"engine:policy:" + s.runLabel, &commands.ResolvePolicy{Policy: set.Policy}},
	}
	var waits []*request
	for _, q := range queue {
		r, err := s.encode(q.id, "engine", 0, q.c)
		if err != nil {
			return Outcome{}, err
		}
		waits = append(waits, r)
		s.queue <- r
	}
	if first != nil {
		r, err := s.encode(first.id, first.actor, 0, first.command)
		if err != nil {
			return Outcome{}, err
		}
		waits = append(waits, r)
		s.queue <- r
	}
	go s.own()
	var last answer
	for i, r := range waits {
		last = <-r.done
		var refusal *commands.Refusal
		nothing := errors.As(last.err, &refusal) && refusal.Code == commands.CodeNothing
		if last.err != nil && !(nothing && i < len(queue)) {
			h.log.Debug("run not begun", "session", s.ID, "error", last.err)
			s.stop()
			return Outcome{}, last.err
		}
	}
	return last.Outcome, nil
}

// context is what the prompt's sections and the tool catalogue are today. It is recorded before the run's first request.
func (s *Session) context() *commands.ResolveContext {
	c := &commands.ResolveContext{Sections: s.settings.Load().Sections}
	for _, t := range s.host.tools.Catalogue() {
		c.Tools = append(c.Tools, event.ToolEntry{
			Name: t.Name, Description: event.NewText(t.Description), Schema: event.NewText(string(t.Schema)),
			SchemaDigest: t.SchemaDigest, Declaration: t.Declaration,
		})
	}
	return c
}

// serve lets inspectors read the session while it is owned, once the channel is closed: it takes a third of the time of a
// commit, which is being made meanwhile. Without a socket they read a copy of its file.
func (s *Session) serve() <-chan struct{} {
	done := make(chan struct{})
	if len(s.host.sockets) == 0 {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		server, err := live.Serve(s.journal, s.host.sockets)
		if err != nil {
			s.host.log.Warn("inspectors have to read copies of the journal", "session", s.ID, "error", err)
			return
		}
		s.server.Store(server)
	}()
	return done
}
