package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"zuno/commands"
	"zuno/journal/event"
)

// Configure gives what the configuration of a folder says, with what was chosen for the session.
func (h *Host) Configure(cwd string, c Choice) (*Settings, error) { return h.settings(cwd, c) }

// Choice is what was chosen for the session with these settings.
func (set *Settings) Choice() Choice { return choiceOf(&set.Policy) }

func choiceOf(p *event.Policy) (c Choice) {
	if p.Chosen {
		c.Model = p.Model.String()
	}
	c.Reasoning = p.Model.Reasoning
	return c
}

// Reconfigure gives the settings of a session that is not durable yet under another choice, and logs the change as
// [Session.Choose] does.
func (h *Host) Reconfigure(id, cwd string, c Choice) (*Settings, error) {
	t := h.reconfiguration(id)
	set, err := h.settings(cwd, c)
	t.phase("configuration")
	if err == nil {
		t.done()
	}
	return set, err
}

// configured is what the folder's configuration says for a session that is opened again, with what was chosen in it. A model
// that cannot be had any more gives way to the configuration's, because a session must open.
func (s *Session) configured(last *event.Policy) (*Settings, error) {
	chosen := choiceOf(last)
	if chosen.Model != "" {
		set, err := s.host.settings(s.Cwd, chosen)
		if err == nil {
			return set, nil
		}
		s.host.log.Warn("the chosen model is not there any more; the configured one answers", "session", s.ID, "model", chosen.Model, "error", err)
	}
	return s.host.settings(s.Cwd, Choice{Reasoning: chosen.Reasoning})
}

// answering is the model of the running turn, or of the next one. Only the owner's goroutine asks.
func (s *Session) answering() event.ModelChoice {
	v := s.folder.View
	if t := v.Root.Turns.Active; t != nil {
		return t.Model
	}
	return v.Policy.Model
}

// Settings are those of the session's next turn.
func (s *Session) Settings() *Settings { return s.settings.Load() }

// Choose makes the session's turns run under another choice, from the next one on; a running turn keeps its own. It is one
// commit, and policy, provider and settings are replaced together when that is durable: a turn that begins has all of the
// old choice or all of the new one. changed is false when it was the session's choice already. The error is what
// [Options.Settings] says, or that of [Session.Do]; then nothing has changed.
func (s *Session) Choose(ctx context.Context, commandID string, c Choice) (set *Settings, changed bool, err error) {
	t := s.host.reconfiguration(s.ID)
	set, err = s.host.settings(s.Cwd, c)
	if err != nil {
		return nil, false, err
	}
	t.phase("configuration")
	s.at(PointChoiceResolved)
	if err := s.begun(ctx); err != nil {
		return nil, false, err
	}
	r, err := s.encode(commandID, "user", 0, &commands.ResolvePolicy{Policy: set.Policy})
	if err != nil {
		return nil, false, err
	}
	r.durable = func() {
		t.phase("record")
		s.at(PointChoiceRecorded)
		s.replaceHost(set)
		t.phase("replace")
		s.at(PointChoiceReplaced)
	}
	o, err := s.submit(ctx, r, func() {})
	var refusal *commands.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Code == commands.CodeNothing:
		t.phase("record")
		t.done()
		return s.settings.Load(), false, nil
	case err != nil:
		return nil, false, err
	}
	t.phase("publish")
	t.done()
	return set, !o.Repeated, nil
}

// begun waits until turns that are about to begin have their place before what comes now: an input that was sent before a
// choice does not run under it.
func (s *Session) begun(ctx context.Context) error {
	var about []*effect
	if err := s.inOwner(func() {
		for _, e := range s.running {
			if e.step.Kind == StepRequest && e.step.Input != "" {
				about = append(about, e)
			}
		}
	}); err != nil {
		return err
	}
	for _, e := range about {
		select {
		case <-e.queued:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// replaceHost puts what the next turn runs with in the place of what the last one ran with. Only the owner's goroutine does.
func (s *Session) replaceHost(set *Settings) {
	s.settings.Store(set)
	if t := s.folder.View.Root.Turns.Active; t == nil || t.Model != set.Policy.Model { // a running turn keeps its provider
		s.providers[set.Policy.Model] = set.Provider
	}
}

// reconfiguration takes the time of a change's phases for one record of the log, in which there is no value: what was chosen
// is nobody's business who reads a log, and what is configured may hold a key.
type reconfiguration struct {
	host  *Host
	last  time.Time
	attrs []any
}

func (h *Host) reconfiguration(session string) *reconfiguration {
	return &reconfiguration{host: h, last: time.Now(), attrs: []any{"session", session}}
}

func (t *reconfiguration) phase(name string) {
	now := time.Now()
	t.attrs = append(t.attrs, name+"_us", now.Sub(t.last).Microseconds())
	t.last = now
}

func (t *reconfiguration) done() {
	t.host.log.Info("session reconfigured", slices.Clip(t.attrs)...)
}
