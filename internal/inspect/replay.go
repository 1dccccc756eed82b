package inspect

import (
	"errors"
	"fmt"

	"zuno/internal/live"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// InUse is told how the journal of a session that another process owns was read.
var InUse = func(live.Source) {}

// open reads a journal to its end and verifies it, whoever owns it. It is the one place through which inspection comes
// to a journal's commits.
func open(path string, fold func(*journal.Raw) error) (*journal.File, error) {
	return read(journal.Inspection{Path: path, Fold: fold})
}

func read(i journal.Inspection) (*journal.File, error) {
	f, source, err := live.Open(i)
	if err == nil && source.Way != live.Free {
		InUse(source)
	}
	return f, err
}

// Replay is a journal folded up to one commit.
type Replay struct {
	View *projections.View
	Head journal.Head // of the journal, which may lie beyond the view

	file  *journal.File
	texts map[journal.Hash]textPlace
	mask  *mask // nil unless normalized
}

// textPlace is where a text stands.
type textPlace struct {
	commit uint64
	index  int
	size   uint64
}

// ReplayOptions say what is folded.
type ReplayOptions struct {
	Until     *uint64 // the last commit that is folded; nil is the head
	Normalize bool    // mask what differs between two runs of one script
}

// Fold verifies the journal at path and folds its commits. Its errors are those of [journal.OpenRead] and [*Beyond];
// an event type of a newer release among the folded commits is a [*journal.NewerError], and one that cannot be read a
// [*journal.Damaged]. An event that could not have happened is no error here: it stands in View.Corrupt.
func Fold(path string, o ReplayOptions) (*Replay, error) {
	r := &Replay{texts: map[journal.Hash]textPlace{}}
	folder := projections.NewFolder(projections.Options{Keep: true})
	r.View = folder.View
	file, err := open(path, func(c *journal.Raw) error {
		if o.Until != nil && c.Number > *o.Until {
			return nil
		}
		r.learn(c)
		return unreadable(path, c, folder.Commit(c))
	})
	if err != nil {
		return nil, unwrapped(err)
	}
	r.file, r.Head = file, file.Head()
	if o.Until != nil && *o.Until > r.Head.Number {
		return nil, errors.Join(&Beyond{*o.Until, r.Head.Number}, r.Close())
	}
	if o.Normalize {
		if r.mask, err = learn(file); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

// learn keeps where the commit's texts stand.
func (r *Replay) learn(c *journal.Raw) {
	for i, t := range c.Texts {
		if _, ok := r.texts[t.Digest]; !ok {
			r.texts[t.Digest] = textPlace{c.Number, i, t.Size}
		}
	}
}

// Close gives the copy of the journal up.
func (r *Replay) Close() error { return r.file.Close() }

// unreadable types what kept a commit from being folded.
func unreadable(path string, c *journal.Raw, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, projections.ErrUnknownEvent):
		return &journal.NewerError{What: newer(c)}
	}
	return &journal.Damaged{File: path, Commit: c.Number, Reason: err.Error()}
}

// newer names the first event type of c that this release does not know, and the versions of it that it does.
func newer(c *journal.Raw) string {
	for i := range c.Events {
		name := string(c.Events[i].Type)
		if event.ByName(c.Events[i].Type) != nil {
			continue
		}
		base, version := event.SplitVersion(name)
		known := 0
		for _, t := range event.Types() {
			if b, v := event.SplitVersion(t.Name); b == base {
				known = max(known, v)
			}
		}
		if known > 0 {
			return fmt.Sprintf("event type %s at commit %d (version %d; this release knows versions up to %d)", short(name, 100), c.Number, version, known)
		}
		return fmt.Sprintf("event type %s at commit %d (version %d; this release knows no version of it)", short(name, 100), c.Number, version)
	}
	return fmt.Sprintf("an event of commit %d", c.Number)
}

// unwrapped is the typed error inside err without the words that the journal put around it, which say the same.
func unwrapped(err error) error {
	var d *journal.Damaged
	if errors.As(err, &d) {
		return d
	}
	return err
}

// text is the text of that digest, with its bytes where the journal has them.
func (r *Replay) text(t event.Text) (event.Text, error) {
	if t.Known() || t.IsZero() {
		return t, nil
	}
	at, ok := r.texts[t.Digest]
	if !ok {
		return t, nil
	}
	t.Size = at.size
	err := r.file.Read(at.commit, func(c *journal.Raw) error {
		b, err := c.Body(at.index)
		if err == nil {
			t = event.NewText(string(b))
		}
		return err
	})
	if errors.Is(err, journal.ErrRedacted) {
		return t, nil
	}
	return t, err
}

// Corrupt is the first event that could not have happened, as a typed error; nil when there is none.
func (r *Replay) Corrupt() error {
	if c := r.View.Corrupt; c != nil {
		return &journal.Damaged{File: r.file.Path(), Commit: c.Commit, Reason: c.Error()}
	}
	return nil
}
