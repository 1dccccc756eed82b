package engine

import (
	"zuno/internal/model"
	"zuno/internal/prompt"
	"zuno/journal"
)

// history keeps the model's conversation up to date while a session drives. It is read back from the journal at
// the first request and then follows the commits.
type history struct{ *prompt.History }

func (h *history) add(c *Committed) {
	for i := range c.Events {
		if c.Events[i].Stream == 1 {
			h.Apply(c.Events[i].Payload)
		}
	}
}

// modelRequest makes the request that the journal now asks for. It runs in the owner's goroutine.
func (s *Session) modelRequest() (*model.Request, error) {
	if s.history == nil {
		h := &history{prompt.NewHistory()}
		err := s.log.Scan(1, func(c *journal.Raw) error {
			d, err := Decode(c)
			if err != nil {
				return err
			}
			h.add(d)
			return nil
		})
		if err != nil {
			return nil, err
		}
		s.history = h
	}
	v := s.folder.View
	name := v.Policy.Model.Name
	if t := v.Root.Turns.Active; t != nil {
		name = t.Model.Name
	}
	return s.history.Request(name, s.Cwd, v.Root.Script.Position, v.Root.Script.Used), nil
}
