package projections

import (
	"errors"
	"fmt"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

// Folder folds commits into a view. It owns scratch space, so it is not safe for concurrent use.
type Folder struct {
	View     *View
	options  Options
	handlers []handler // by kind
	reader   event.Reader
}

type handler func(f *Folder, s *Session, m Meta) error

// fold makes the handler of one event type for a Folder of its own, with scratch space of its own.
type fold struct {
	kind event.Kind
	make func() handler
}

type folds []fold

// on binds a fold to its event's struct.
func on[T any, P interface {
	*T
	event.Payload
}](apply func(v *View, s *Session, m Meta, e *T) error) fold {
	kind := event.TypeOf(P(new(T))).Kind
	counts := metered(P(new(T)))
	return fold{kind, func() handler {
		scratch := new(T)
		return func(f *Folder, s *Session, m Meta) error {
			var zero T
			*scratch = zero
			P(scratch).DecodeMsg(&f.reader)
			if err := f.reader.Done(); err != nil {
				return err
			}
			if err := apply(f.View, s, m, scratch); err != nil {
				return err
			}
			if counts {
				s.Usage.Apply(P(scratch), m.At) // a fold by itself, over events of many nouns
			}
			return nil
		}
	}}
}

// Inert are the event types that no view reads: they are for people and for clients.
var Inert = []string{}

var allFolds = []folds{
	sessionFolds, inputFolds, turnFolds, callFolds, permissionFolds, controlFolds, forkFolds,
}

// NewFolder starts from an empty journal.
func NewFolder(o Options) *Folder {
	f := &Folder{View: NewView(o), options: o, handlers: make([]handler, len(event.Types()))}
	f.reader.IDs = new(event.IDCache)
	for _, group := range allFolds {
		for _, x := range group {
			f.handlers[x.kind] = x.make()
		}
	}
	return f
}

// Folded says that some view reads events of this type.
func Folded(t *event.Type) bool {
	for _, group := range allFolds {
		for _, x := range group {
			if x.kind == t.Kind {
				return true
			}
		}
	}
	return false
}

// ErrUnknownEvent is an event type that this build does not know. It wraps the type's name.
var ErrUnknownEvent = errors.New("unknown event type")

// Commit folds one recorded commit. It fails only on what cannot be read: an unknown event type
// ([ErrUnknownEvent]), a malformed payload. An event that could not have happened marks the view corrupt instead.
func (f *Folder) Commit(c *journal.Raw) error {
	f.begin(c.Number, c.At)
	for i := range c.Events {
		e := &c.Events[i]
		if err := f.event(i, e.Stream, e.Type, e.Payload, c.Texts); err != nil {
			return fmt.Errorf("commit %d event %d (%s): %w", c.Number, i, e.Type, err)
		}
	}
	return nil
}

// Begin and Event fold a commit that is being decided; see [Folder.Commit].
func (f *Folder) begin(number uint64, at int64) { f.View.Number, f.View.At = number, at }

// Apply folds the events of a commit that was just decided, from their encoded form.
func (f *Folder) Apply(c *journal.Commit) error {
	f.begin(c.Number, c.At)
	var texts []journal.TextEntry
	if c.Texts != nil {
		texts = c.Texts.Entries
	}
	for i := range c.Events {
		e := &c.Events[i]
		if err := f.event(i, e.Stream, []byte(e.Type), e.Payload, texts); err != nil {
			return fmt.Errorf("event %d (%s): %w", i, e.Type, err)
		}
	}
	return nil
}

func (f *Folder) event(i int, stream uint64, typ, payload []byte, texts []journal.TextEntry) error {
	t := event.ByName(typ)
	if t == nil {
		return fmt.Errorf("%w %q", ErrUnknownEvent, typ)
	}
	v := f.View
	s := v.Stream(stream)
	if s == nil {
		if stream != uint64(len(v.Children))+2 {
			v.corrupt(Meta{Commit: v.Number, Index: uint16(i)}, fmt.Sprintf("stream %d does not exist", stream))
			return nil
		}
		s = newSession(f.options)
		v.Children[stream] = s
	}
	s.Sequence++
	m := Meta{Commit: v.Number, Index: uint16(i), At: v.At, Sequence: s.Sequence}
	if cur := t.Current(); cur != t {
		old := t.New()
		if err := event.Decode(old, payload, texts, nil); err != nil {
			return err
		}
		raised, table, err := reencode(t.Upcast(old), texts)
		if err != nil {
			return err
		}
		t, payload, texts = cur, raised, table
	}
	h := f.handlers[t.Kind]
	if h == nil {
		return nil
	}
	f.reader.Reader.Reset(payload)
	f.reader.Texts = texts
	err := h(f, s, m)
	if err == nil {
		return nil
	}
	var bad *Corruption // it escapes, so it is declared only where it is wanted
	if errors.As(err, &bad) {
		v.corrupt(m, bad.Why)
		return nil
	}
	return err
}

// reencode brings a raised payload into the form that folds read. Old versions are rare and this path may be slow.
func reencode(p event.Payload, texts []journal.TextEntry) ([]byte, []journal.TextEntry, error) {
	table := &journal.Texts{Entries: append([]journal.TextEntry(nil), texts...), Bodies: make([][]byte, len(texts))}
	b, err := event.NewEncoder().Encode(p, table)
	return b, table.Entries, err
}

func (v *View) corrupt(m Meta, why string) {
	if v.Corrupt == nil {
		v.Corrupt = &Corruption{m.Commit, m.Index, why}
	}
}

func impossible(format string, a ...any) error { return &Corruption{Why: fmt.Sprintf(format, a...)} }

// move folds one transition; a step that the table does not have is a [Corruption].
func move(m *lifecycle.Machine, s *lifecycle.State, t lifecycle.Trigger, id string) error {
	to, ok := m.Fold(*s, t)
	if !ok {
		return impossible("%s %s: %s in state %q", m.Name, id, t, s.String())
	}
	*s = to
	return nil
}
