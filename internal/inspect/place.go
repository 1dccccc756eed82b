package inspect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"zuno/internal/config"
	"zuno/internal/engine"
)

// Last is the argument for the session that was updated last: in this project, or overall when it has none.
const Last = "last"

const (
	prefix       = "ses_"
	journalName  = "journal.zuno"
	suffix       = ".zuno" // of a journal's file, by which an argument without a folder is known to be one
	maxArgument  = 4095    // bytes of a path
	maxAmbiguous = 10      // matches that are listed
)

// Store is the sessions of a data folder, as seen from a folder.
type Store struct {
	Data string
	Cwd  string // absolute; decides what "this project" is
}

// Place is where the journal lies that an argument names.
type Place struct {
	Path    string // of the session's folder or of the journal's file
	Session string // its id; "" when a file or folder was named
	// Chosen says that the argument was not the full id, so that the user has to be told which session was taken.
	Chosen bool
}

// Find leads from SESSION to a session: a full id, a prefix that only one has, of the whole id or of what follows
// ses_, or [Last]. The error is [*BadArgument], [*NoSession] or [*Ambiguous].
func (s Store) Find(arg string) (Place, error) {
	if err := checkArgument(arg); err != nil {
		return Place{}, err
	}
	if arg == Last {
		return s.last()
	}
	if !isPrefix(arg) {
		return Place{}, &BadArgument{arg, "an id is ses_ and 26 lower-case letters and digits, of which a unique beginning is enough; or say " + Last}
	}
	return s.byPrefix(arg)
}

// FindFile is Find that also takes the path of a journal's file or of a session's folder: an argument with a path
// separator in it, or one that ends in .zuno.
func (s Store) FindFile(arg string) (Place, error) {
	if err := checkArgument(arg); err != nil {
		return Place{}, err
	}
	if !strings.ContainsRune(arg, filepath.Separator) && !strings.HasSuffix(arg, suffix) {
		return s.Find(arg)
	}
	if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) {
		return Place{}, &BadArgument{arg, "there is no such file or folder"}
	}
	return Place{Path: arg}, nil
}

func checkArgument(arg string) error {
	switch {
	case arg == "":
		return &BadArgument{arg, "it is empty; give an id, the beginning of one, or " + Last}
	case len(arg) > maxArgument:
		return &BadArgument{arg, "it is too long"}
	case strings.ContainsFunc(arg, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }):
		return &BadArgument{arg, "it holds control characters or is not UTF-8"}
	}
	return nil
}

func isPrefix(arg string) bool {
	for _, c := range strings.TrimPrefix(arg, prefix) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(arg) <= len(prefix)+26
}

func (s Store) folder(id string) string { return filepath.Join(s.Data, "sessions", id) }

// ids are the ids of all sessions that have a journal, whatever its state.
func (s Store) ids() (ids []string, err error) {
	entries, err := os.ReadDir(filepath.Join(s.Data, "sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if engine.ValidSessionID(e.Name()) && s.has(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

func (s Store) has(id string) bool {
	_, err := os.Lstat(filepath.Join(s.folder(id), journalName))
	return err == nil
}

func (s Store) byPrefix(arg string) (Place, error) {
	if engine.ValidSessionID(arg) {
		if !s.has(arg) {
			return Place{}, &NoSession{arg, s.Data}
		}
		return Place{Path: s.folder(arg), Session: arg}, nil
	}
	ids, err := s.ids()
	if err != nil {
		return Place{}, err
	}
	var found []string
	for _, id := range ids {
		if strings.HasPrefix(id, arg) || strings.HasPrefix(id, prefix+arg) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return Place{}, &NoSession{arg, s.Data}
	case 1:
		return Place{Path: s.folder(found[0]), Session: found[0], Chosen: true}, nil
	}
	more := max(len(found)-maxAmbiguous, 0)
	found = found[:len(found)-more]
	for i, id := range found {
		if sum, err := engine.Summarize(s.folder(id)); err == nil && sum.Title != "" {
			found[i] = id + "  " + short(sum.Title, 60)
		}
	}
	return Place{}, &Ambiguous{arg, found, more}
}

// last takes the session of this worktree that had the last input or turn, else that of any.
func (s Store) last() (Place, error) {
	sums, _, err := engine.List(s.Data)
	if err != nil {
		return Place{}, err
	}
	if len(sums) == 0 {
		return Place{}, &NoSession{Last, s.Data}
	}
	taken, here := sums[0].Session, config.Worktree(s.Cwd)
	for _, sum := range sums {
		if sum.Worktree == here {
			taken = sum.Session
			break
		}
	}
	return Place{Path: s.folder(taken), Session: taken, Chosen: true}, nil
}
