package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// Append makes all the commits durable in one transaction. It sets their Number, Prev and Hash. Its errors are
// [Invalid], [NotAppended], [Removed], ErrUnknownOutcome, ErrReadOnly and ErrRedacted.
func (f *File) Append(commits []*Commit) error {
	switch {
	case f.readOnly:
		return ErrReadOnly
	case f.broken:
		return ErrUnknownOutcome
	case len(commits) == 0:
		return nil
	case f.handle == nil:
		return ErrClosed
	case f.head.Number > 0 && f.salt == nil:
		return fmt.Errorf("append to a journal without its salt: %w", ErrRedacted)
	}
	if err := f.at(PointBeforeAppend); err != nil {
		return &NotAppended{err}
	}
	if removed(f.handle) {
		f.broken = true
		return &Removed{f.path}
	}
	salt, head, lastAt, err := f.prepare(commits)
	if err != nil {
		return err
	}
	if err := f.commit(commits); err != nil {
		return err
	}
	if err := f.at(PointAfterSync); err != nil {
		f.broken = true
		return fmt.Errorf("%w (%w)", ErrUnknownOutcome, err)
	}
	f.mu.Lock()
	f.head = head
	f.mu.Unlock()
	f.salt, f.lastAt = salt, lastAt
	return nil
}

// prepare checks the commits, writes their artifacts and lays their records out in buf.
func (f *File) prepare(commits []*Commit) (salt []byte, head Head, lastAt int64, err error) {
	salt, head, lastAt = f.salt, f.Head(), f.lastAt
	f.buf, f.ends, f.names = f.buf[:0], f.ends[:0], f.names[:0]
	if salt, lastAt, err = checkAll(commits, head, salt, lastAt); err != nil {
		return nil, head, 0, err
	}
	for _, c := range commits {
		_, bodies := c.Texts.all()
		for _, b := range bodies {
			if len(b) <= MaxBucket {
				continue
			}
			name, err := f.putArtifact(b)
			if err != nil {
				return nil, head, 0, &NotAppended{err}
			}
			f.names = append(f.names, name)
		}
	}
	if len(f.names) > 0 {
		if err := f.syncArtifacts(); err != nil {
			return nil, head, 0, &NotAppended{err}
		}
	}
	names := f.names
	for _, c := range commits {
		c.Prev = head.Hash
		f.buf = c.appendRecord(f.buf, names)
		f.ends = append(f.ends, len(f.buf))
		head = Head{c.Number, c.Hash}
		for _, b := range c.Texts.bodies() {
			if len(b) > MaxBucket {
				names = names[1:]
			}
		}
	}
	return salt, head, lastAt, nil
}

// checkAll numbers the commits that are to follow head and checks each.
func checkAll(commits []*Commit, head Head, salt []byte, lastAt int64) ([]byte, int64, error) {
	for i, c := range commits {
		c.Number = head.Number + 1 + uint64(i)
		if err := c.check(lastAt); err != nil {
			return nil, 0, err
		}
		var err error
		if salt, err = c.checkSalt(salt); err != nil {
			return nil, 0, err
		}
		lastAt = c.At
	}
	return salt, lastAt, nil
}

func (t *Texts) bodies() [][]byte {
	_, b := t.all()
	return b
}

// checkSalt sees that the commit's texts were digested with the session's salt; with another one the journal could
// never be opened again.
func (c *Commit) checkSalt(salt []byte) ([]byte, error) {
	if c.Number == 1 {
		b := c.Texts.bodies()
		if len(b) == 0 || len(b[0]) < MinSalt || len(b[0]) > MaxSalt {
			return nil, &Invalid{1, fmt.Sprintf("its first text must be the session's salt, %d to %d bytes", MinSalt, MaxSalt)}
		}
		salt = b[0]
	}
	if c.Texts != nil && len(c.Texts.Entries) > 0 && !bytes.Equal(c.Texts.salt, salt) {
		return nil, &Invalid{c.Number, "its texts were digested with another salt than the session's"}
	}
	return salt, nil
}

// commit writes what was prepared in one transaction.
func (f *File) commit(commits []*Commit) error {
	before, err := readMetas(f.handle, f.path)
	if err != nil {
		return &NotAppended{err}
	}
	complete := false // the transaction was handed to bbolt
	err = guard(f.path, func(g *guarded) error {
		tx, err := f.db.Begin(true)
		if err != nil {
			return err
		}
		// Not Update: after a panic it would walk the tree for free pages, in a goroutine that nothing guards.
		defer tx.Rollback()
		if err := f.put(tx, commits); err != nil {
			return err
		}
		g.foreign = true
		if err := f.at(PointBeforeSync); err != nil {
			return err
		}
		g.foreign, complete = false, true
		return tx.Commit()
	})
	var invalid *Invalid
	var damaged *Damaged
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return ErrClosed
	case errors.As(err, &invalid):
		return err
	case errors.As(err, &damaged): // and only a fresh open may look further
	case !complete, !isSync(err) && f.unchanged(before):
		return &NotAppended{err}
	}
	f.broken = true
	return fmt.Errorf("%w (%w)", ErrUnknownOutcome, err)
}

// put writes the records and the long texts into the transaction. The sequence of the commits bucket is the number of
// its last commit: nothing else would tell that a page had lost its last elements.
func (f *File) put(tx *bolt.Tx, commits []*Commit) error {
	b, texts := tx.Bucket(commitsBucket), tx.Bucket(textsBucket)
	b.FillPercent, texts.FillPercent = 1, 1 // keys only grow
	start := 0
	for i, c := range commits {
		end := f.ends[i]
		if end-start > maxBolt {
			return &Invalid{c.Number, fmt.Sprintf("its record has %d bytes, the limit is %d", end-start, maxBolt)}
		}
		if err := b.Put(commitKey(c.Number), f.buf[start:end:end]); err != nil {
			return err
		}
		start = end
		for j, body := range c.Texts.bodies() {
			if placeOf(uint64(len(body))) != placeBucket {
				continue
			}
			if err := texts.Put(appendTextKey(nil, c.Number, j), body); err != nil {
				return err
			}
		}
	}
	return b.SetSequence(commits[len(commits)-1].Number)
}

// unchanged tells whether the file still shows the state before a transaction. bbolt writes the meta page last and
// does not say whether an error came before it or from it.
func (f *File) unchanged(before meta) bool {
	now, err := readMetas(f.handle, f.path)
	return err == nil && now == before
}

// removed says that no name leads to the file any more. What is written to it goes with the last handle, so it must not be
// acknowledged. A file that was only moved is as good as before.
func removed(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

// isSync recognizes a failed sync: what the kernel took, it may have dropped since, and nothing shows it any more.
// bbolt gives fdatasync's error bare, that of fsync in a path error, and that of the sync after growing as text.
func isSync(err error) bool {
	if _, bare := err.(syscall.Errno); bare {
		return true
	}
	var p *fs.PathError
	if errors.As(err, &p) && p.Op == "sync" {
		return true
	}
	return strings.Contains(err.Error(), "sync error")
}
