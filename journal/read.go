package journal

import (
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
// temporary one and holds the lock only for that, so that nobody waits for a reader that prints, and whoever owns the
// session afterwards changes nothing for the reader. It is [InUse] while an owner has the session.
func OpenRead(path string, fold func(*Raw) error) (*File, error) {
	return openRead(path, fold, false)
}

func openRead(path string, fold func(*Raw) error, deep bool) (*File, error) {
	return withFile(path, func(f *File, handle *os.File) error {
		if err := lock(handle, unix.LOCK_SH, readWait, f.path); err != nil {
			return err
		}
		t, err := f.copied(handle)
		if err != nil {
			return err
		}
		defer t.Close()
		if err := unix.Flock(int(handle.Fd()), unix.LOCK_UN); err != nil {
			return err
		}
		return f.inspect(t, fold, deep)
	})
}

// OpenLive is OpenRead of a journal whose owner does not answer: it takes no lock. A copy is accepted only if all of it
// verifies; one that the owner changed meanwhile does not, and is taken again a few times. It may lack the newest
// commits.
func OpenLive(path string, fold func(*Raw) error) (*File, error) {
	return withFile(path, func(f *File, handle *os.File) error {
		for try := 1; ; try++ {
			err := f.live(handle, fold)
			var d *Damaged
			if err == nil || try == liveTries || !errors.As(err, &d) {
				return err
			}
		}
	})
}

func (f *File) live(handle *os.File, fold func(*Raw) error) error {
	t, err := f.copied(handle)
	if err != nil {
		return err
	}
	defer t.Close()
	// Only a copy that is known to be good reaches the fold, which could not be undone.
	if err := f.inspect(t, func(*Raw) error { return nil }, false); err != nil {
		return err
	}
	return f.verify(fold, false)
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
		return nil, fmt.Errorf("copy journal %s: %w", f.path, err)
	}
	if _, err := io.Copy(t, io.NewSectionReader(handle, 0, int64(m.pages*m.pageSize))); err != nil {
		t.Close()
		return nil, fmt.Errorf("copy journal %s: %w", f.path, err)
	}
	return t, nil
}

func unlinkedFile() (*os.File, error) {
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

// Backup writes the whole journal file, as of now, to w. The pages go through an unlinked file first: a reader that
// stopped taking bytes would hold up the owner.
func (f *File) Backup(w io.Writer) error {
	t, err := unlinkedFile()
	if err != nil {
		return fmt.Errorf("back up journal %s: %w", f.path, err)
	}
	defer t.Close()
	err = guard(f.path, func(*guarded) error {
		return f.db.View(func(tx *bolt.Tx) error {
			_, err := tx.WriteTo(t)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("back up journal %s: %w", f.path, err)
	}
	if _, err := t.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(w, t)
	return err
}
