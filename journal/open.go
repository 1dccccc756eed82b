package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

var _ Log = (*File)(nil)

// Create makes a session's folder with an empty journal and owns it. The folder above it must exist. It is
// fs.ErrExist when the folder holds a journal with a commit already.
func Create(dir string, o Options) (*File, error) {
	path := inFolder(dir)
	if _, err := os.Lstat(path); err == nil {
		return createAgain(dir, o)
	}
	for _, d := range []string{dir, filepath.Join(dir, artifactsDir), filepath.Join(dir, outDir)} {
		if err := os.Mkdir(d, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("create session: %w", err)
		}
		if err := os.Chmod(d, folderMode); err != nil {
			return nil, fmt.Errorf("create session: %w", err)
		}
	}
	if err := makeFile(path, o); err != nil {
		return nil, err
	}
	if err := errors.Join(syncFolder(dir), syncFolder(filepath.Dir(dir))); err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	f, err := Open(dir, o, func(*Raw) error { return nil })
	if err == nil {
		f.head.Hash = o.Parent // the first commit's prev
	}
	return f, err
}

// createAgain takes the journal that an earlier attempt left without a commit: the disk was full, or the process died.
func createAgain(dir string, o Options) (*File, error) {
	taken := fmt.Errorf("create journal %s: %w", inFolder(dir), fs.ErrExist)
	f, err := Open(dir, o, func(*Raw) error { return taken })
	switch {
	case errors.Is(err, taken):
		return nil, taken
	case err != nil:
		return nil, errors.Join(taken, err)
	}
	f.head.Hash = o.Parent
	return f, nil
}

// makeFile makes an empty journal under another name first: a crash never leaves half of one.
func makeFile(path string, o Options) error {
	half := path + ".new"
	if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create journal: %w", err)
	}
	db, err := bolt.Open(half, fileMode, &bolt.Options{
		Timeout: o.wait(), NoFreelistSync: true, PageSize: pageSize,
		FreelistType: bolt.FreelistArrayType, NoStatistics: true,
	})
	if err != nil {
		return fmt.Errorf("create journal %s: %w", path, err)
	}
	for range 2 { // twice, so that neither meta page is bbolt's first, with a free list
		if err == nil {
			err = db.Update(func(tx *bolt.Tx) error {
				_, err1 := tx.CreateBucketIfNotExists(commitsBucket)
				_, err2 := tx.CreateBucketIfNotExists(textsBucket)
				return errors.Join(err1, err2)
			})
		}
	}
	err = errors.Join(err, db.Close())
	if err == nil {
		err = os.Chmod(half, fileMode)
	}
	if err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		os.Remove(half)
		return fmt.Errorf("create journal %s: %w", path, err)
	}
	return nil
}

func (o *Options) wait() time.Duration {
	if o.LockWait > 0 {
		return o.LockWait
	}
	return DefaultLockWait
}

// Open takes ownership of a session and calls fold for each of its commits, each verified before. Nothing is written to
// the journal until all of it is verified. An error of fold ends it; a [NewerError] gets the file's name. Other errors
// are [NotFound], [InUse] and [Damaged].
func Open(dir string, o Options, fold func(*Raw) error) (*File, error) {
	path := inFolder(dir)
	handle, err := openFile(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := lock(handle, unix.LOCK_EX, o.wait(), path); err != nil {
		handle.Close()
		return nil, err
	}
	opened, first := false, false
	defer func() {
		if !opened { // also when fold panics
			if first { // nobody ever owned it, and whoever could not open it does not either
				os.Remove(filepath.Join(dir, ownerFile))
			}
			unlock(handle)
		}
	}()
	f := &File{dir: dir, path: path, handle: handle, fault: o.Fault}
	f.owner = Owner{PID: os.Getpid(), Run: o.Run.String(), Started: o.Started.UTC().Format(timeFormat)}
	if _, err := os.Lstat(filepath.Join(dir, ownerFile)); errors.Is(err, fs.ErrNotExist) {
		first = true
	}
	if err := writeOwner(dir, f.owner); err != nil {
		return nil, fmt.Errorf("take ownership of session %s: %w", dir, err)
	}
	if err := f.inspect(handle, fold, false); err != nil {
		return nil, err
	}
	if err := f.openForWriting(o.wait()); err != nil {
		return nil, err
	}
	opened = true
	return f, nil
}

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// inspect verifies and folds the whole file without a chance of writing to it.
func (f *File) inspect(handle *os.File, fold func(*Raw) error, deep bool) error {
	m, err := readMetas(handle, f.path)
	if err != nil {
		return err
	}
	if err := walkPages(handle, f.path, m); err != nil {
		return err
	}
	db, err := f.bolt(handle, true, DefaultLockWait)
	if err != nil {
		return err
	}
	f.db = db
	if err := f.verify(fold, deep); err != nil {
		db.Close()
		return err
	}
	if f.readOnly {
		return nil
	}
	return db.Close()
}

// bolt opens bbolt on a duplicate of handle, and so under the lock that handle has.
func (f *File) bolt(handle *os.File, readOnly bool, wait time.Duration) (db *bolt.DB, err error) {
	size := mapSize
	if readOnly {
		size = 0
	}
	err = guard(f.path, func(g *guarded) error {
		db, err = bolt.Open(f.path, fileMode, &bolt.Options{
			Timeout: wait, ReadOnly: readOnly, InitialMmapSize: size, NoStatistics: true,
			NoFreelistSync: true, FreelistType: bolt.FreelistArrayType, // a stored free list has no checksum
			OpenFile: func(string, int, os.FileMode) (*os.File, error) { return duplicate(handle) },
		})
		switch {
		case errors.Is(err, bolterrors.ErrTimeout):
			return &InUse{f.path, ownerPID(f.dir)}
		case err != nil:
			return g.damaged(err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	db.AllocSize = growStep
	return db, nil
}

// verify scans in order, then gets every commit by its number: a cursor never looks at the keys of branch pages, by
// which the commits are found later.
func (f *File) verify(fold func(*Raw) error, deep bool) error {
	return guard(f.path, func(g *guarded) error {
		tx, err := f.db.Begin(false)
		if err != nil {
			return g.damaged(err)
		}
		defer tx.Rollback()
		b, texts := tx.Bucket(commitsBucket), tx.Bucket(textsBucket)
		if b == nil || texts == nil {
			return g.damaged(errors.New("it is a bbolt file, but no journal"))
		}
		s := newScanner(boltTexts{texts, f.dir})
		cur := b.Cursor()
		for k, v := cur.First(); k != nil; k, v = cur.Next() {
			g.commit = s.head.Number + 1
			if len(k) != 8 || binary.BigEndian.Uint64(k) != g.commit {
				return g.damaged(errMissing)
			}
			if err := s.verify(v, deep); err != nil {
				return g.damaged(err)
			}
			if err := g.call(fold, &s.raw); err != nil {
				return f.foldError(g, err)
			}
		}
		g.commit = s.head.Number + 1
		if n := b.Sequence(); n != s.head.Number {
			if n < s.head.Number {
				g.commit = n + 1
			}
			return g.damaged(fmt.Errorf("the file counts %d commits and holds %d", n, s.head.Number))
		}
		var key [8]byte
		for n := uint64(1); n <= s.head.Number; n++ {
			g.commit = n
			binary.BigEndian.PutUint64(key[:], n)
			if k, _ := cur.Seek(key[:]); !bytes.Equal(k, key[:]) { // from the root down, as Get does
				return g.damaged(errors.New("it is in its page but not found by its number"))
			}
		}
		f.head, f.parent, f.lastAt, f.salt, f.redacted = s.head, s.parent, s.lastAt, s.salt, s.redacted
		return nil
	})
}

func (f *File) foldError(g *guarded, err error) error {
	var newer *NewerError
	if errors.As(err, &newer) {
		if newer.File == "" {
			newer.File = f.path
		}
		return err
	}
	return fmt.Errorf("journal %s, commit %d: %w", f.path, g.commit, err)
}

// openForWriting opens bbolt again and compares the head: bbolt changes the lock from shared to exclusive in two steps,
// and somebody else may have owned the session for a moment.
func (f *File) openForWriting(wait time.Duration) error {
	db, err := f.bolt(f.handle, false, wait)
	if err != nil {
		return err
	}
	f.db = db
	var same bool
	err = guard(f.path, func(*guarded) error {
		return db.View(func(tx *bolt.Tx) error {
			k, v := tx.Bucket(commitsBucket).Cursor().Last()
			if k == nil {
				same = f.head.Number == 0
				return nil
			}
			same = len(v) > bodyStart && len(k) == 8 && f.head == Head{binary.BigEndian.Uint64(k), Hash(v[1:bodyStart])}
			return nil
		})
	})
	if err == nil && !same {
		err = &InUse{f.path, ownerPID(f.dir)}
	}
	if err != nil {
		db.Close()
	}
	return err
}
