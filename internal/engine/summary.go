package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"zuno/internal/live"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

const (
	journalFile = "journal.zuno"
	summaryFile = "summary.json"
)

// Summary is what a list of sessions shows. Beside the journal it is a cache: it is rebuilt when it is missing or when the
// journal has moved on.
type Summary struct {
	Session  string `json:"session"`
	Title    string `json:"title"`
	Cwd      string `json:"cwd"`
	Worktree string `json:"worktree"`
	Created  int64  `json:"created"` // milliseconds since the epoch
	Updated  int64  `json:"updated"` // last input or turn, never an opening
	Head     uint64 `json:"head"`
	Size     int64  `json:"journal_size"`  // of the journal when this was written
	Modified int64  `json:"journal_mtime"` // nanoseconds
	Open     bool   `json:"open"`          // an owner wrote this and may go on, or have died
}

// list refreshes the summary when an input or a turn has come or gone. It runs in the owner's goroutine.
func (s *Session) list() {
	if s.journal != nil && s.folder.View.ID != "" && s.folder.View.Root.Updated != s.listed {
		s.listed = s.folder.View.Root.Updated
		s.writeSummary(true)
	}
}

// writeSummary tells what the session is now, in its own file and in the index of all; open says that more may come.
func (s *Session) writeSummary(open bool) {
	if s.journal == nil || s.folder.View.ID == "" {
		return
	}
	v := s.folder.View
	sum := &Summary{Session: v.ID, Cwd: s.Cwd, Worktree: s.settings.Load().Worktree, Created: v.Created.At, Updated: v.Root.Updated, Head: v.Number, Title: s.title(), Open: open}
	err := sum.stamp(s.dir)
	if err == nil {
		err = sum.write(s.dir)
	}
	if err == nil {
		err = addToIndex(s.host.data, sum)
	}
	if err != nil {
		s.host.log.Warn("summary not written", "session", s.ID, "error", err)
	}
}

// title reads the title back from the journal, once.
func (s *Session) title() string {
	d := s.folder.View.Root.Title.Digest
	if s.titled.digest == d {
		return s.titled.text
	}
	if t, ok := findTitle(s.log, d); ok {
		s.titled.digest, s.titled.text = d, t
	}
	return s.titled.text
}

func findTitle(log journal.Log, digest journal.Hash) (title string, found bool) {
	if digest == (journal.Hash{}) {
		return "", true
	}
	errFound := errors.New("found")
	err := log.Scan(1, func(c *journal.Raw) error {
		for i, t := range c.Texts {
			if t.Digest == digest {
				b, err := c.Body(i)
				if err != nil {
					return err
				}
				title = string(b)
				return errFound
			}
		}
		return nil
	})
	return title, errors.Is(err, errFound)
}

// stamp notes the journal's state, before it is read, so that what comes meanwhile shows as a difference.
func (sum *Summary) stamp(dir string) error {
	st, err := os.Stat(filepath.Join(dir, journalFile))
	if err != nil {
		return err
	}
	sum.Size, sum.Modified = st.Size(), st.ModTime().UnixNano()
	return nil
}

// write replaces the file at once. Two may write at a time, an owner and a reader of what it was before.
func (sum *Summary) write(dir string) error {
	b, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	half, err := os.CreateTemp(dir, "."+summaryFile+"-*")
	if err != nil {
		return err
	}
	_, err = half.Write(append(b, '\n'))
	err = errors.Join(err, half.Close())
	if err == nil {
		err = os.Rename(half.Name(), filepath.Join(dir, summaryFile))
	}
	if err != nil {
		os.Remove(half.Name())
	}
	return err
}

// maxSummary bounds a summary.json that is believed; its texts are a title and two paths.
const maxSummary = 1 << 20

// readSummary takes nothing but a file: a fifo in its place must not hang the list of all sessions.
func readSummary(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxSummary {
		return nil, fmt.Errorf("%s is no summary", path)
	}
	return io.ReadAll(io.LimitReader(f, maxSummary))
}

// Summarize gives the summary of one session folder: the cached one if the journal is as it was, a rebuilt one otherwise. Of
// a session that a live process owns, the cached one stands: that process keeps it up to date.
func Summarize(dir string) (*Summary, error) {
	var cached, now Summary
	b, err := readSummary(filepath.Join(dir, summaryFile))
	have := err == nil && json.Unmarshal(b, &cached) == nil && cached.Session == filepath.Base(dir)
	if err := now.stamp(dir); err != nil {
		return nil, ErrNotFound
	}
	if have && now.Size == cached.Size && now.Modified == cached.Modified {
		if !cached.Open {
			return &cached, nil
		}
		if owned, err := journal.Owned(dir); err == nil {
			if cached.Open = owned; !owned { // its owner died, and this is still true
				_ = cached.write(dir)
			}
			return &cached, nil
		}
	}
	sum, err := rebuild(dir, now, func(i journal.Inspection) (*journal.File, error) { return i.Free() })
	var inUse *journal.InUse
	switch {
	case !errors.As(err, &inUse):
		return sum, err
	case have:
		cached.Open = true
		return &cached, nil
	}
	now.Open = true
	return rebuild(dir, now, func(i journal.Inspection) (*journal.File, error) {
		f, _, err := live.Open(i)
		return f, err
	})
}

// rebuild completes sum from the journal, and writes it unless an owner is there to do that.
func rebuild(dir string, sum Summary, open func(journal.Inspection) (*journal.File, error)) (*Summary, error) {
	f := projections.NewFolder(projections.Options{})
	file, err := open(journal.Inspection{Path: dir, Fold: func(c *journal.Raw) error {
		if c.Number == 1 {
			if d, err := Decode(c); err == nil {
				for _, e := range d.Events {
					if created, ok := e.Payload.(*event.Created); ok {
						sum.Cwd, sum.Worktree = created.Cwd.String(), created.Worktree.String()
					}
				}
			}
		}
		return f.Commit(c)
	}})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	v := f.View
	if v.ID == "" {
		return nil, ErrNotFound
	}
	// An imported session keeps the id that it was created with, and is found under that of its folder.
	sum.Session, sum.Created, sum.Updated, sum.Head = filepath.Base(dir), v.Created.At, v.Root.Updated, v.Number
	sum.Title, _ = findTitle(file, v.Root.Title.Digest)
	if !sum.Open {
		_ = sum.write(dir) // a cache that cannot be written is rebuilt again
	}
	return &sum, nil
}
