package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	fileMode   = 0o600
	folderMode = 0o700
	lockPoll   = 10 * time.Millisecond
	maxOwner   = 16 << 10 // bytes of an owner.json; it has a path in it
)

// Owner is owner.json: who holds the session. A file that a dead owner left blocks nothing, the lock alone decides.
type Owner struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // RFC 3339, UTC, milliseconds
	Run     string `json:"run"`     // ULID
	Socket  string `json:"socket"`  // where the owner answers; "" when nowhere
}

// ReadOwner reads the owner.json of a session folder.
func ReadOwner(dir string) (o Owner, err error) {
	path := filepath.Join(dir, ownerFile)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a fifo in its place must not hang us
	if err != nil {
		return o, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > maxOwner {
		return o, errors.Join(err, fmt.Errorf("%s does not name an owner", path))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxOwner))
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return o, fmt.Errorf("read %s: %w", path, err)
	}
	return o, nil
}

// ownerPID is the pid in owner.json if that process lives, else 0.
func ownerPID(dir string) int {
	o, err := ReadOwner(dir)
	if err != nil || o.PID <= 0 {
		return 0
	}
	if err := unix.Kill(o.PID, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return 0
	}
	return o.PID
}

func writeOwner(dir string, o Owner) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, ownerFile), append(b, '\n'))
}

// replaceFile puts b in the place of a file at once, so that a reader sees the old or the new one. It does not sync:
// after a power failure nobody owns anything.
func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing to remove
	_, err = f.Write(b)
	if err := errors.Join(err, f.Chmod(fileMode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// lock takes bbolt's lock on f, waiting at most so long. bbolt is given duplicates of f later, which share the lock,
// so it is held from here until f is closed, whatever bbolt's handles do.
func lock(f *os.File, how int, wait time.Duration, path string) error {
	deadline := time.Now().Add(wait)
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock journal %s: %w", path, err)
		case !time.Now().Before(deadline):
			return &InUse{path, ownerPID(filepath.Dir(path))}
		default:
			time.Sleep(lockPoll)
		}
	}
}

// unlock gives up the lock, also when bbolt lost a handle in a panic, and closes f.
func unlock(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// openFile opens the file of a journal; flag is os.O_RDONLY or os.O_RDWR.
func openFile(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|unix.O_CLOEXEC|unix.O_NONBLOCK, 0) // a fifo in its place must not hang us
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &NotFound{path}
	case err != nil:
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return f, nil
}

// duplicate is a second handle that shares f's lock; bbolt closes it.
func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate a file handle: %w", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
