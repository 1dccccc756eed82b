package engine

import (
	"zuno/commands"
	"zuno/internal/model"
	"zuno/internal/prompt"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
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
// the turn and what it takes along delivered, and with the prompt context of this run. It gives the ids of what is taken
// along. It runs in the owner's goroutine.
func (s *Session) modelRequest(st Step) (req *model.Request, along []string, err error) {
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
			return nil, nil, err
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
	taken := Along(v, st)
	switch in := v.Root.Inputs.Get(st.Input); {
	case in == nil:
	case in.Control != nil:
		h.Apply(&event.ControlRequested{Kind: string(in.Control.Kind), Text: event.OptionalText(commands.ControlText(in.Control.Kind))})
	default:
		h.Apply(&event.TurnStarted{Discussion: commands.Discussable(&v.Root.Execution)})
		deliver(h, in)
	}
	for _, in := range taken {
		along = append(along, in.ID)
	}
	deliver(h, taken...)
	return h.Request(s.answering(), s.Cwd, v.Root.Script.Position, v.Root.Script.Used), along, nil
}

// deliver takes into the history what is not there yet.
func deliver(h *prompt.History, ins ...*projections.Input) {
	batch := &event.InputDeliveryBatch{}
	for _, in := range ins {
		if in.State.Is("admitted") {
			batch.Inputs = append(batch.Inputs, in.ID)
		}
	}
	h.Apply(batch)
}
