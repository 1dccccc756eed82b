package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zuno/journal"
)

const (
	// changeWait is how long an owner without a socket that answers is taken for one that is just coming or going.
	changeWait = 300 * time.Millisecond
	changePoll = 10 * time.Millisecond
)

// Way is how a journal was read.
type Way uint8

// The ways.
const (
	Free   Way = iota // nobody owned the session
	Socket            // through its owner
	Copied            // from a verified copy, past an owner that does not answer
)

// Source says where a journal's commits came from.
type Source struct {
	Way  Way
	PID  int          // the owner's; 0 when unknown
	Name string       // the session, or the file that was named
	Head journal.Head // of what was read
}

// String is a line for people; "" of a journal that nobody owned.
func (s Source) String() string {
	who := "another process"
	if s.PID > 0 {
		who = fmt.Sprintf("pid %d", s.PID)
	}
	switch s.Way {
	case Socket:
		return fmt.Sprintf("session %s is in use by %s; read through its owner at commit %d", s.Name, who, s.Head.Number)
	case Copied:
		return fmt.Sprintf("session %s is in use by %s; the owner (%s) does not answer; read from a verified copy at commit %d", s.Name, who, who, s.Head.Number)
	}
	return ""
}

// Open reads and verifies a journal whoever owns it, and calls i.Fold with each of its commits as [journal.OpenRead] does:
// with the lock if nobody has it, else through the owner, and if that does not answer within a second from a copy that
// verifies. Its errors are those of [journal.OpenRead] but InUse.
func Open(i journal.Inspection) (*journal.File, Source, error) {
	s := Source{Name: name(i.Path)}
	f, err := s.open(i)
	if err == nil {
		s.Head = f.Head()
	}
	return f, s, err
}

func (s *Source) open(i journal.Inspection) (*journal.File, error) {
	began := time.Now()
	for {
		f, err := i.Free()
		var inUse *journal.InUse
		if !errors.As(err, &inUse) {
			return f, err
		}
		s.PID = inUse.PID
		patience := changeWait
		if o, err := journal.ReadOwner(folder(i.Path)); err == nil && o.Socket != "" {
			t, pid, err := backup(o.Socket)
			switch {
			case err == nil:
				f, err := snapshotOf(i, t)
				if !errors.Is(err, errNoSnapshot) {
					s.Way, s.PID = Socket, pid
					return f, err
				}
				patience = 0
			case errors.Is(err, errBusy), crowded(err):
				patience = answerWait
			case !deserted(err):
				patience = 0
			}
		}
		if time.Since(began) >= patience {
			s.Way = Copied
			return i.Live()
		}
		time.Sleep(changePoll)
	}
}

// errNoSnapshot: what was handed over is no journal at all. That says nothing of the journal.
var errNoSnapshot = errors.New("the owner sent no snapshot of the journal")

// snapshotOf reads t, and closes it. Once a commit reached the fold, which cannot be undone, there is no other way to read.
func snapshotOf(i journal.Inspection, t *os.File) (*journal.File, error) {
	defer t.Close()
	folded, fold := false, i.Fold
	i.Fold = func(c *journal.Raw) error {
		folded = true
		return fold(c)
	}
	f, err := i.Snapshot(t)
	var damaged *journal.Damaged
	if errors.As(err, &damaged) && !folded {
		return nil, errNoSnapshot
	}
	return f, err
}

// folder is the session's, of a path to it or to its journal.
func folder(path string) string {
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// name is how people know the session.
func name(path string) string {
	if abs, err := filepath.Abs(folder(path)); err == nil {
		if base := filepath.Base(abs); strings.HasPrefix(base, "ses_") {
			return base
		}
	}
	return path
}
