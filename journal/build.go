package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

const (
	// batchBytes bounds a transaction of an import.
	batchBytes = 8 << 20
	stagePart  = ".import-*"
)

// builder makes a journal of records that are written already. All of it lies in a folder beside the target until the end.
type builder struct {
	target string
	folder bool // the target is a session's folder
	stage  string
	f      File // of the stage
	tx     *bolt.Tx
	size   int // of the transaction
	last   uint64
	names  map[string]bool // artifacts
}

func newBuilder(target string, folder bool) (*builder, error) {
	if _, err := os.Lstat(target); err == nil {
		return nil, fmt.Errorf("%s: %w", target, fs.ErrExist)
	}
	stage, err := os.MkdirTemp(filepath.Dir(target), stagePart)
	if err != nil {
		return nil, err
	}
	b := &builder{target: target, folder: folder, stage: stage, names: map[string]bool{}}
	b.f.dir, b.f.path = stage, inFolder(stage)
	for _, d := range []string{stage, filepath.Join(stage, artifactsDir), filepath.Join(stage, outDir)} {
		err := os.Mkdir(d, folderMode)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		if err := errors.Join(err, os.Chmod(d, folderMode)); err != nil {
			b.discard()
			return nil, err
		}
	}
	if err := makeFile(b.f.path, Options{}); err != nil {
		b.discard()
		return nil, err
	}
	b.f.db, err = bolt.Open(b.f.path, fileMode, &bolt.Options{
		NoFreelistSync: true, FreelistType: bolt.FreelistArrayType, NoStatistics: true,
		InitialMmapSize: mapSize, NoSync: true, NoGrowSync: true, // a file that nobody sees yet is synced once, at the end
	})
	if err != nil {
		b.discard()
		return nil, err
	}
	b.f.db.AllocSize = growStep
	return b, nil
}

// add takes a commit whose record is rec.
func (b *builder) add(c *Raw, rec []byte, text func(i int) []byte) (err error) {
	if b.tx == nil {
		if b.tx, err = b.f.db.Begin(true); err != nil {
			return err
		}
	}
	if len(rec) > maxBolt {
		return &Invalid{c.Number, fmt.Sprintf("its record has %d bytes, the limit is %d", len(rec), maxBolt)}
	}
	commits, texts := b.tx.Bucket(commitsBucket), b.tx.Bucket(textsBucket)
	commits.FillPercent, texts.FillPercent = 1, 1
	if err := commits.Put(commitKey(c.Number), bytes.Clone(rec)); err != nil {
		return err
	}
	b.size += len(rec)
	b.last = c.Number
	for i := range c.Texts {
		body := text(i)
		switch placeOf(uint64(len(body))) {
		case placeBucket:
			if err := texts.Put(appendTextKey(nil, c.Number, i), bytes.Clone(body)); err != nil {
				return err
			}
			b.size += len(body)
		case placeArtifact:
			name, err := b.f.putArtifact(body)
			if err != nil {
				return err
			}
			b.names[name] = true
		}
	}
	if b.size < batchBytes {
		return nil
	}
	return b.commit()
}

func (b *builder) commit() error {
	if b.tx == nil {
		return nil
	}
	tx := b.tx
	b.tx, b.size = nil, 0
	if err := tx.Bucket(commitsBucket).SetSequence(b.last); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// finish makes the journal durable, opens it as everybody else will, and puts it in its place.
func (b *builder) finish(head Head) error {
	if err := b.commit(); err != nil {
		return err
	}
	err := b.f.db.Sync()
	err = errors.Join(err, b.f.db.Close())
	b.f.db = nil
	if err == nil {
		err = errors.Join(b.f.syncArtifacts(), syncFolder(b.stage))
	}
	if err != nil {
		return err
	}
	r, err := Verify(b.f.path, Hash{})
	if err != nil {
		return err
	}
	if r.Head != head {
		return fmt.Errorf("the journal ends with commit %d instead of %d", r.Head.Number, head.Number)
	}
	if b.folder {
		err = os.Rename(b.stage, b.target)
	} else {
		err = b.placeFile()
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(b.target))
}

// placeFile moves the artifacts and then the journal; on failure it takes back what it moved.
func (b *builder) placeFile() (err error) {
	var moved []string
	defer func() {
		if err != nil {
			for i := len(moved) - 1; i >= 0; i-- {
				os.Remove(moved[i])
			}
		}
	}()
	if len(b.names) > 0 {
		dir := filepath.Join(filepath.Dir(b.target), artifactsDir)
		switch err := os.Mkdir(dir, folderMode); {
		case err == nil:
			moved = append(moved, dir)
		case !errors.Is(err, fs.ErrExist):
			return err
		}
		for name := range b.names {
			to := filepath.Join(dir, name)
			if _, err := os.Lstat(to); err == nil {
				continue // named by its bytes
			}
			if err := os.Rename(filepath.Join(b.stage, artifactsDir, name), to); err != nil {
				return err
			}
			moved = append(moved, to)
		}
		if err := syncFolder(dir); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(b.target); err == nil {
		return fmt.Errorf("%s: %w", b.target, fs.ErrExist)
	}
	return os.Rename(b.f.path, b.target)
}

// discard removes what lies in the stage.
func (b *builder) discard() {
	if b.tx != nil {
		_ = b.tx.Rollback()
		b.tx = nil
	}
	if b.f.db != nil {
		_ = b.f.db.Close()
		b.f.db = nil
	}
	_ = os.RemoveAll(b.stage)
}
