package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

const (
	// readWait is how long an inspection waits for an owner that is just leaving.
	readWait = 300 * time.Millisecond
	// liveTries bounds the copies of a journal that is being written to meanwhile.
	liveTries = 5
)

// OpenRead opens a journal for inspection: path is a session's folder or a journal's file anywhere, also in a folder
// that cannot be written to. It verifies everything and calls fold as [Open] does. It copies the file into an unlinked
// temporary one, and only asks before and after whether anybody has the lock, so that nobody waits for a reader, and whoever
// owns the session afterwards changes nothing for the reader. It is [InUse] while an owner has the session.
func OpenRead(path string, fold func(*Raw) error) (*File, error) {
	return Inspection{Path: path, Fold: fold}.free(readWait)
}

// OpenLive is OpenRead of a journal whose owner does not answer; see [Inspection.Live].
func OpenLive(path string, fold func(*Raw) error) (*File, error) {
	return Inspection{Path: path, Fold: fold}.Live()
}

// Inspection is a journal to be read from its first commit to its head, and verified on the way. There is one way to
// read it while nobody owns it, and there are two while somebody does. Each ends in a [File] for inspection.
type Inspection struct {
	Path string           // a session's folder or a journal's file anywhere
	Fold func(*Raw) error // as for [Open]
	Deep bool             // check the bytes of the artifacts too

	copying func() // for tests: called before a copy is held against the journal
}

// Free reads a journal that nobody owns, as [OpenRead] does; it is [InUse] at once while somebody does.
func (i Inspection) Free() (*File, error) { return i.free(0) }

func (i Inspection) free(wait time.Duration) (*File, error) {
	return withFile(i.Path, func(f *File, handle *os.File) error {
		for try := 1; ; try++ {
			before, err := f.unowned(handle, wait)
			if err != nil {
				return err
			}
			t, err := f.copied(handle)
			if err != nil {
				return err
			}
			if i.copying != nil {
				i.copying()
			}
			after, err := f.unowned(handle, wait)
			if err == nil && after == before {
				defer t.Close()
				return f.inspect(t, i.Fold, i.Deep)
			}
			t.Close()
			switch {
			case err != nil:
				return err
			case try == liveTries: // owners come and go
				return &InUse{f.path, ownerPID(f.dir)}
			}
		}
	})
}

// unowned is the state of a journal that nobody owns at this moment. It gives the lock back at once: an inspector that is
// stopped while it copies keeps no owner out. A copy between two equal states is whole: pages that are in use are not
// written to before there is another state.
func (f *File) unowned(handle *os.File, wait time.Duration) (meta, error) {
	if err := lock(handle, unix.LOCK_SH, wait, f.path); err != nil {
		return meta{}, err
	}
	m, err := readMetas(handle, f.path)
	if failed := unix.Flock(int(handle.Fd()), unix.LOCK_UN); err == nil {
		err = failed
	}
	return m, err
}

// Snapshot reads t, which the journal's owner made with [File.Snapshot]. It does not close t.
func (i Inspection) Snapshot(t *os.File) (*File, error) {
	return withFile(i.Path, func(f *File, _ *os.File) error { return f.inspect(t, i.Fold, i.Deep) })
}

// Live reads the journal of an owner that does not answer: it takes no lock. A copy is accepted only if all of it
// verifies; one that the owner changed meanwhile does not, and is taken again a few times. It may lack the newest
// commits.
func (i Inspection) Live() (*File, error) {
	return withFile(i.Path, func(f *File, handle *os.File) error {
		for try := 1; ; try++ {
			err := f.good(handle)
			if err == nil {
				break
			}
			var d *Damaged
			if try == liveTries || !errors.As(err, &d) {
				return err
			}
		}
		return f.verify(i.Fold, i.Deep)
	})
}

// good opens a copy that verifies. Only such a one reaches the fold, which could not be undone.
func (f *File) good(handle *os.File) error {
	t, err := f.copied(handle)
	if err != nil {
		return err
	}
	defer t.Close()
	return f.inspect(t, func(*Raw) error { return nil }, false)
}

// Owned says whether somebody has the session at this moment.
func Owned(path string) (owned bool, err error) {
	_, err = withFile(path, func(f *File, handle *os.File) error {
		err := lock(handle, unix.LOCK_SH, 0, f.path)
		var used *InUse
		if owned = errors.As(err, &used); owned {
			return nil
		}
		return err
	})
	return owned, err
}

// withFile resolves path and runs open on it.
func withFile(path string, open func(f *File, handle *os.File) error) (*File, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &NotFound{path}
	case err != nil:
		return nil, fmt.Errorf("open journal: %w", err)
	case st.IsDir():
		path = inFolder(path)
	}
	handle, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	f := &File{dir: filepath.Dir(path), path: path, readOnly: true}
	if err := open(f, handle); err != nil {
		if f.db != nil {
			f.db.Close()
		}
		return nil, err
	}
	return f, nil
}

// copied is a copy of the pages in use in an unlinked file.
func (f *File) copied(handle *os.File) (*os.File, error) {
	m, err := readMetas(handle, f.path)
	if err != nil {
		return nil, err
	}
	t, err := unlinkedFile()
	if err != nil {
		return nil, f.notCopied(err)
	}
	if _, err := io.Copy(t, io.NewSectionReader(handle, 0, int64(m.pages*m.pageSize))); err != nil {
		t.Close()
		return nil, f.notCopied(err)
	}
	return t, nil
}

func (f *File) notCopied(err error) error {
	var d *Damaged
	if errors.As(err, &d) {
		return fmt.Errorf("copy journal %s: %w", f.path, err)
	}
	return fmt.Errorf("copy journal %s to a temporary file (set TMPDIR to a folder with room for it): %w", f.path, err)
}

// unlinkedFile has no name from the start, if it can: whoever is killed before the removal would leave it.
func unlinkedFile() (*os.File, error) {
	if f := namelessFile(); f != nil {
		return f, nil
	}
	t, err := os.CreateTemp("", "zuno-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(t.Name()); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Snapshot copies the whole journal file, as of now, into an unlinked temporary file, which is the caller's to close,
// and gives its newest commit. That commit may not be durable yet: it is when [File.Head] has come to it. Whoever is
// given the file and stops reading holds up nobody: the journal is read only as long as the copy takes.
func (f *File) Snapshot() (*os.File, Head, error) {
	t, err := unlinkedFile()
	if err != nil {
		return nil, Head{}, f.notCopied(err)
	}
	var head Head
	err = guard(f.path, func(g *guarded) error {
		return f.db.View(func(tx *bolt.Tx) error {
			k, v := tx.Bucket(commitsBucket).Cursor().Last()
			switch {
			case k == nil:
			case len(k) != 8 || len(v) <= bodyStart:
				return g.damaged(errMissing)
			default:
				head = Head{binary.BigEndian.Uint64(k), Hash(v[1:bodyStart])}
			}
			_, err := tx.WriteTo(t)
			return err
		})
	})
	if err == nil {
		_, err = t.Seek(0, io.SeekStart)
	}
	if err != nil {
		t.Close()
		return nil, Head{}, f.notCopied(err)
	}
	return t, head, nil
}

// Backup writes the whole journal file, as of now, to w, by way of a [File.Snapshot].
func (f *File) Backup(w io.Writer) error {
	t, _, err := f.Snapshot()
	if err != nil {
		return err
	}
	defer t.Close()
	_, err = io.Copy(w, t)
	return err
}
