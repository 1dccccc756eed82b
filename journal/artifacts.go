package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// WriteArtifact makes b a file in artifacts/, named by its SHA-256, and returns when it is durable, so that a commit may
// name it. A file that is there already is left alone. The bytes of a text over [MaxBucket] get theirs from Append.
func (f *File) WriteArtifact(b []byte) (name string, err error) {
	if f.readOnly {
		return "", ErrReadOnly
	}
	name, err = f.putArtifact(b)
	if err == nil {
		err = f.syncArtifacts()
	}
	return name, err
}

// ReadArtifact gives the bytes of an artifact, checked against its name.
func (f *File) ReadArtifact(name string) ([]byte, error) {
	if !isName([]byte(name)) {
		return nil, fmt.Errorf("%q does not name an artifact", name)
	}
	path := filepath.Join(f.dir, artifactsDir, name)
	r, _, err := openArtifact(path)
	if err != nil {
		return nil, fmt.Errorf("read artifact: %w", err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read artifact: %w", err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != name {
		return nil, &Damaged{path, 0, "the artifact's bytes do not match its name"}
	}
	return b, nil
}

// putArtifact writes, syncs and renames; the folder is not synced yet. A crash in between leaves a temporary file or
// an artifact that no commit names.
func (f *File) putArtifact(b []byte) (string, error) {
	sum := sha256.Sum256(b)
	name := hex.EncodeToString(sum[:])
	dir := filepath.Join(f.dir, artifactsDir)
	path := filepath.Join(dir, name)
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() == int64(len(b)) {
		return name, nil
	}
	t, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return "", fmt.Errorf("write artifact: %w", err)
	}
	_, err = t.Write(b)
	if err == nil {
		err = f.at(PointArtifactWritten)
	}
	if err == nil {
		err = errors.Join(t.Chmod(fileMode), t.Sync())
	}
	if err == nil {
		err = f.at(PointArtifactSynced)
	}
	err = errors.Join(err, t.Close())
	if err == nil {
		err = os.Rename(t.Name(), path)
	}
	if err != nil {
		os.Remove(t.Name())
		return "", fmt.Errorf("write artifact: %w", err)
	}
	return name, f.at(PointArtifactRenamed)
}

// syncArtifacts makes the names durable, also that of a file that was there: whoever renamed it may have died before
// he came to this.
func (f *File) syncArtifacts() error {
	if err := syncFolder(filepath.Join(f.dir, artifactsDir)); err != nil {
		return err
	}
	return f.at(PointArtifactFolderSynced)
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// openArtifact takes a regular file only, and gives its size. Anything else in its place must not hang us.
func openArtifact(path string) (f *os.File, size uint64, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, uint64(st.Size()), nil
}

// readText reads the artifact of a text; a missing or shorter file is told by its error.
func readText(dir, name string, size uint64) ([]byte, error) {
	path := filepath.Join(dir, artifactsDir, name)
	r, has, err := openArtifact(path)
	if err != nil {
		return nil, fmt.Errorf("its artifact is missing: %w", err)
	}
	defer r.Close()
	if has != size {
		return nil, fmt.Errorf("artifact %s has %d bytes instead of %d", path, has, size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("read artifact %s: %w", path, err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("the bytes of artifact %s do not match its name", path)
	}
	return b, nil
}
