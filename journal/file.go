package journal

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The names in a session's folder.
const (
	journalFile  = "journal.zuno"
	ownerFile    = "owner.json"
	artifactsDir = "artifacts"
	outDir       = "out"
)

var commitsBucket, textsBucket = []byte("commits"), []byte("texts")

const (
	// DefaultLockWait is how long an opener tries to become the owner.
	DefaultLockWait = 2 * time.Second

	// mapSize is address space only. A map that must grow waits for every reader; one of this size does not grow
	// before the journal has 1 GiB.
	mapSize = 1 << 30
	// growStep is how far the file grows at a time once it must: each step costs a further sync.
	growStep = 1 << 20
)

// Options say how a journal is owned.
type Options struct {
	LockWait time.Duration // how long to wait for another owner to leave; 0 is [DefaultLockWait]
	Run      RunID         // of this ownership, for owner.json
	Started  time.Time     // for owner.json

	// Parent, for [Create], is the hash of the commit that the new session is forked from: its first commit names it
	// as the one before it. Zero for a session that begins by itself.
	Parent Hash

	// Fault is called at the named points, for crash tests: it may end the process. An error that it returns counts
	// as a failure of the step that was just done or is about to be done there.
	Fault func(Point) error
}

// Point names a place at which a crash test may strike.
type Point string

// The points, in the order in which an append passes them.
const (
	PointBeforeAppend         Point = "before-append"
	PointArtifactWritten      Point = "artifact-written"
	PointArtifactSynced       Point = "artifact-synced"
	PointArtifactRenamed      Point = "artifact-renamed"
	PointArtifactFolderSynced Point = "artifact-folder-synced"
	PointBeforeSync           Point = "before-sync" // the transaction is complete in memory; an error rolls it back
	PointAfterSync            Point = "after-sync"  // it is durable; an error counts as a sync that failed
)

// File is a log in a bbolt file. It implements [Log].
type File struct {
	dir, path string
	db        *bolt.DB
	handle    *os.File // holds the lock; nil for inspection
	readOnly  bool
	fault     func(Point) error
	owner     Owner
	salt      []byte
	redacted  uint64 // texts, when it was opened
	parent    Hash   // prev of commit 1

	mu     sync.RWMutex // guards head
	head   Head
	lastAt int64
	broken bool // an outcome is unknown

	buf   []byte   // records of the present append
	ends  []int    // where each ends in buf
	names []string // artifacts of the present append

	scanners sync.Pool
}

// Dir is the session's folder (for inspection: the folder that the file lies in).
func (f *File) Dir() string { return f.dir }

// Path is the journal's file.
func (f *File) Path() string { return f.path }

// Salt is the first text of commit 1, which every text digest is made with. It is nil before the first append, and in
// a journal whose texts were dropped. It must not be changed.
func (f *File) Salt() []byte { return f.salt }

// Parent is the commit of another session that this one was forked from, as it was when the file was opened; zero
// when it began by itself.
func (f *File) Parent() Hash { return f.parent }

// Redacted is the number of texts that were dropped from the journal, when it was opened.
func (f *File) Redacted() uint64 { return f.redacted }

// Head is the newest durable commit.
func (f *File) Head() Head {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.head
}

// SetSocket publishes in owner.json where the owner answers.
func (f *File) SetSocket(path string) error {
	if f.readOnly {
		return ErrReadOnly
	}
	f.owner.Socket = path
	return writeOwner(f.dir, f.owner)
}

func (f *File) at(p Point) error {
	if f.fault == nil {
		return nil
	}
	return f.fault(p)
}

// Scan calls fn for each commit from number from on, up to the present head. It does not hash again what was verified
// when the journal was opened.
func (f *File) Scan(from uint64, fn func(*Raw) error) error {
	from = max(from, 1)
	return f.view(from, func(g *guarded, b *bolt.Bucket, s *scanner, head Head) error {
		if from > head.Number {
			return nil
		}
		cur := b.Cursor()
		k, v := cur.Seek(commitKey(from))
		for n := from; n <= head.Number; n++ {
			g.commit = n
			if len(k) != 8 || binary.BigEndian.Uint64(k) != n {
				return g.damaged(errMissing)
			}
			if err := s.decode(v); err != nil {
				return g.damaged(err)
			}
			if err := g.call(fn, &s.raw); err != nil {
				return err
			}
			k, v = cur.Next()
		}
		return nil
	})
}

// ScanVerified is Scan from the first commit on, with hash, chain and the digests of all texts checked again.
func (f *File) ScanVerified(fn func(*Raw) error) error {
	return f.view(1, func(g *guarded, b *bolt.Bucket, s *scanner, head Head) error {
		verified := newScanner(s.src)
		cur := b.Cursor()
		for k, v := cur.First(); k != nil && verified.head.Number < head.Number; k, v = cur.Next() {
			g.commit = verified.head.Number + 1
			if err := verified.verify(v, false); err != nil {
				return g.damaged(err)
			}
			if err := g.call(fn, &verified.raw); err != nil {
				return err
			}
		}
		if verified.head != head {
			return g.damaged(errMissing)
		}
		return nil
	})
}

var errMissing = errors.New("it is missing")

// Read calls fn with commit n.
func (f *File) Read(n uint64, fn func(*Raw) error) error {
	return f.view(n, func(g *guarded, b *bolt.Bucket, s *scanner, head Head) error {
		if n == 0 || n > head.Number {
			return ErrNoCommit
		}
		v := b.Get(commitKey(n))
		if v == nil {
			return g.damaged(errMissing)
		}
		if err := s.decode(v); err != nil {
			return g.damaged(err)
		}
		return g.call(fn, &s.raw)
	})
}

// view runs fn in a read transaction that shows at least the commits up to head.
func (f *File) view(n uint64, fn func(*guarded, *bolt.Bucket, *scanner, Head) error) error {
	head := f.Head()
	return guard(f.path, func(g *guarded) error {
		g.commit = n
		tx, err := f.db.Begin(false)
		if err != nil {
			return ErrClosed
		}
		defer tx.Rollback()
		s, _ := f.scanners.Get().(*scanner)
		if s == nil {
			s = newScanner(nil)
		}
		s.src = boltTexts{tx.Bucket(textsBucket), f.dir}
		defer func() {
			s.src, s.section = nil, nil
			f.scanners.Put(s)
		}()
		return fn(g, tx.Bucket(commitsBucket), s, head)
	})
}

// Close gives the journal up. It waits for readers.
func (f *File) Close() error {
	err := f.db.Close()
	if f.handle != nil {
		err = errors.Join(err, unlock(f.handle))
		f.handle = nil
	}
	return err
}

func commitKey(n uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 0, 8), n) }

// boltTexts is the source of a journal's long texts.
type boltTexts struct {
	b   *bolt.Bucket
	dir string
}

func (t boltTexts) bucketText(commit uint64, index int) []byte {
	var k [textKey]byte
	return t.b.Get(appendTextKey(k[:0], commit, index))
}

func (t boltTexts) artifact(name string, size uint64) ([]byte, error) {
	return readText(t.dir, name, size)
}

func appendTextKey(b []byte, commit uint64, index int) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(b, commit), uint16(index))
}

func inFolder(dir string) string { return filepath.Join(dir, journalFile) }
