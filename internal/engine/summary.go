package engine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

const summaryFile = "summary.json"

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
}

// list refreshes the summary when an input or a turn has come or gone. It runs in the owner's goroutine.
func (s *Session) list() {
	if s.journal != nil && s.folder.View.ID != "" && s.folder.View.Root.Updated != s.listed {
		s.listed = s.folder.View.Root.Updated
		s.writeSummary()
	}
}

func (s *Session) writeSummary() {
	if s.journal == nil || s.folder.View.ID == "" {
		return
	}
	v := s.folder.View
	sum := &Summary{Session: v.ID, Cwd: s.Cwd, Worktree: s.settings.Worktree, Created: v.Created.At, Updated: v.Root.Updated, Head: v.Number, Title: s.title()}
	if err := sum.write(s.dir); err != nil {
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

func (sum *Summary) stamp(dir string) error {
	st, err := os.Stat(filepath.Join(dir, "journal.zuno"))
	if err != nil {
		return err
	}
	sum.Size, sum.Modified = st.Size(), st.ModTime().UnixNano()
	return nil
}

func (sum *Summary) write(dir string) error {
	if err := sum.stamp(dir); err != nil {
		return err
	}
	b, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	half := filepath.Join(dir, summaryFile+".new")
	if err := os.WriteFile(half, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(half, filepath.Join(dir, summaryFile))
}

// List gives the sessions of a data folder, the last updated first. It opens no session and starts nothing. What cannot be
// read is left out and told in broken.
func List(data string) (sums []Summary, broken []error, err error) {
	root := filepath.Join(data, "sessions")
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if !ValidSessionID(e.Name()) {
			continue
		}
		sum, err := Summarize(filepath.Join(root, e.Name()))
		if err != nil {
			if !errors.Is(err, ErrNotFound) {
				broken = append(broken, err)
			}
			continue
		}
		sums = append(sums, *sum)
	}
	sort.SliceStable(sums, func(i, j int) bool {
		if sums[i].Updated != sums[j].Updated {
			return sums[i].Updated > sums[j].Updated
		}
		return sums[i].Session > sums[j].Session
	})
	return sums, broken, nil
}

// Summarize gives the summary of one session folder: the cached one if the journal is as it was, a rebuilt one otherwise. Of
// a session that a live process owns, the cached one stands: that process keeps it up to date.
func Summarize(dir string) (*Summary, error) {
	var cached Summary
	b, err := os.ReadFile(filepath.Join(dir, summaryFile))
	have := err == nil && json.Unmarshal(b, &cached) == nil && cached.Session == filepath.Base(dir)
	var now Summary
	if err := now.stamp(dir); err != nil {
		return nil, ErrNotFound
	}
	if have && now.Size == cached.Size && now.Modified == cached.Modified {
		return &cached, nil
	}
	sum, err := rebuild(dir)
	var inUse *journal.InUse
	if errors.As(err, &inUse) && have {
		return &cached, nil
	}
	return sum, err
}

func rebuild(dir string) (*Summary, error) {
	f := projections.NewFolder(projections.Options{})
	sum := &Summary{}
	file, err := journal.OpenRead(dir, func(c *journal.Raw) error {
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
	})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	v := f.View
	if v.ID == "" {
		return nil, ErrNotFound
	}
	sum.Session, sum.Created, sum.Updated, sum.Head = v.ID, v.Created.At, v.Root.Updated, v.Number
	sum.Title, _ = findTitle(file, v.Root.Title.Digest)
	if err := sum.write(dir); err != nil && !errors.Is(err, fs.ErrPermission) {
		return sum, nil // a cache that cannot be written is rebuilt again
	}
	return sum, nil
}
