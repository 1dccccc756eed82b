package journal

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// SetAside moves a session's folder to another place of the same file system, at once and durably, while nobody owns the
// session; what is open for inspection goes on reading. The error is [InUse] while somebody owns it after [DefaultLockWait],
// and then nothing has changed. A folder that is not there is fs.ErrNotExist. It looks at no journal, so that a damaged one
// can be set aside too.
func SetAside(dir, to string) error {
	if _, err := os.Lstat(dir); err != nil {
		return err
	}
	path := inFolder(dir)
	f, err := openFile(path, os.O_RDONLY)
	var none *NotFound
	switch {
	case errors.As(err, &none) || errors.Is(err, unix.ENOTDIR): // there is nothing to own
	case err != nil:
		return err
	default:
		if err := lock(f, unix.LOCK_EX, DefaultLockWait, path); err != nil {
			return errors.Join(err, f.Close())
		}
		defer func() { _ = unlock(f) }() // it is gone from its place, whatever becomes of the handle
	}
	if err := os.Rename(dir, to); err != nil {
		return err
	}
	return errors.Join(syncFolder(filepath.Dir(to)), syncFolder(filepath.Dir(dir)))
}
