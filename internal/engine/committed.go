package engine

import (
	"fmt"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// Committed is a durable commit with its events decoded and their texts at hand. It may be kept.
type Committed struct {
	Number  uint64
	Hash    journal.Hash
	At      int64
	Cause   uint64
	Command string // id
	Type    string // of the command
	Actor   string
	Events  []Recorded
}

// Recorded is one event of a [Committed].
type Recorded struct {
	projections.Meta
	Stream  uint64
	Type    *event.Type
	Payload event.Payload
}

// Decode brings a raw commit into this form. Event types of older versions are raised. Sequence is left 0.
func Decode(c *journal.Raw) (*Committed, error) {
	out := &Committed{
		Number: c.Number, Hash: c.Hash, At: c.At, Cause: c.Cause, Command: string(c.Command.ID),
		Type: string(c.Command.Type), Actor: string(c.Command.Actor), Events: make([]Recorded, 0, len(c.Events)),
	}
	for i := range c.Events {
		e := &c.Events[i]
		if err := out.add(i, e.Stream, e.Type, e.Payload, c.Texts, c.Body); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func fromCommit(c *journal.Commit) (*Committed, error) {
	out := &Committed{
		Number: c.Number, Hash: c.Hash, At: c.At, Cause: c.Cause, Command: c.Command.ID,
		Type: c.Command.Type, Actor: c.Command.Actor, Events: make([]Recorded, 0, len(c.Events)),
	}
	var entries []journal.TextEntry
	body := func(i int) ([]byte, error) { return c.Texts.Bodies[i], nil }
	if c.Texts != nil {
		entries = c.Texts.Entries
	}
	for i := range c.Events {
		e := &c.Events[i]
		if err := out.add(i, e.Stream, []byte(e.Type), e.Payload, entries, body); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *Committed) add(i int, stream uint64, typ, payload []byte, texts []journal.TextEntry, body func(int) ([]byte, error)) error {
	t := event.ByName(typ)
	if t == nil {
		return fmt.Errorf("commit %d event %d: %w %q", c.Number, i, projections.ErrUnknownEvent, typ)
	}
	p := t.New()
	if err := event.Decode(p, payload, texts, body); err != nil {
		return fmt.Errorf("commit %d event %d (%s): %w", c.Number, i, typ, err)
	}
	p = t.Upcast(p)
	c.Events = append(c.Events, Recorded{
		Meta:   projections.Meta{Commit: c.Number, Index: uint16(i), At: c.At},
		Stream: stream, Type: t.Current(), Payload: p,
	})
	return nil
}
