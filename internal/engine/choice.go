package engine

import (
	"context"
	"errors"

	"zuno/commands"
	"zuno/journal/event"
	"zuno/projections"
)

// Configure gives what the configuration of a folder says with a model chosen, "provider/name".
func (h *Host) Configure(cwd, model string) (*Settings, error) { return h.settings(cwd, model) }

// configured is what the folder's configuration says for a session that is opened again: with the model that was chosen in it. One
// that cannot be had any more gives way to the configuration's, because a session must open.
func (s *Session) configured(last *event.Policy) (*Settings, error) {
	if last.Chosen {
		set, err := s.host.settings(s.Cwd, last.Model.String())
		if err == nil {
			return set, nil
		}
		s.host.log.Warn("the chosen model is not there any more; the configured one answers", "session", s.ID, "model", last.Model.String(), "error", err)
	}
	return s.host.settings(s.Cwd, "")
}

// answering is the model of the running turn, or of the next one. Only the owner's goroutine asks.
func (s *Session) answering() event.ModelChoice {
	v := s.folder.View
	if t := v.Root.Turns.Active; t != nil {
		return t.Model
	}
	return v.Policy.Model
}

// ChooseModel makes a model, "provider/name", answer from the session's next turn on; a running turn keeps its own. The choice is
// durable. It gives what the configuration says with it. The error is what [Options.Settings] says, or that of [Session.Do].
func (s *Session) ChooseModel(ctx context.Context, commandID, model string) (*Settings, error) {
	set, err := s.host.settings(s.Cwd, model)
	if err != nil {
		return nil, err
	}
	if err := s.inOwner(func() { s.providers[set.Policy.Model] = set.Provider }); err != nil {
		return nil, err
	}
	_, err = s.Do(ctx, commandID, "user", &commands.ResolvePolicy{Policy: set.Policy})
	var refusal *commands.Refusal
	if errors.As(err, &refusal) && refusal.Code == commands.CodeNothing {
		err = nil
	}
	return set, err
}

// Model is the model of the session's next turn, "provider/name", and those that are configured.
func (s *Session) Model() (chosen string, configured []string, err error) {
	err = s.Read(func(v *projections.View) { chosen = v.Policy.Model.String() })
	return chosen, s.settings.Models, err
}
