package engine

import (
	"zuno/internal/model"
	"zuno/internal/prompt"
	"zuno/journal"
	"zuno/journal/event"
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

// modelRequest makes the request that the journal will ask for once the step's fence is committed: with the input that begins
// the turn delivered, and with the prompt context of this run. It runs in the owner's goroutine.
func (s *Session) modelRequest(st Step) (*model.Request, error) {
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
	h := s.history.Clone()
	s.mu.Lock()
	resolved := s.resolved
	s.mu.Unlock()
	if !resolved {
		c := s.context()
		for i := range c.Sections {
			h.Apply(&c.Sections[i])
		}
		h.Apply(&event.CatalogueResolved{Tools: c.Tools})
	}
	if in := v.Root.Inputs.Get(st.Input); in != nil && in.State.Is("admitted") {
		h.Apply(&event.InputDeliveryBatch{Inputs: []string{in.ID}})
	}
	return h.Request(s.answering(), s.Cwd, v.Root.Script.Position, v.Root.Script.Used), nil
}
