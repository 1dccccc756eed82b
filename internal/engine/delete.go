package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"zuno/journal"
)

// deletedDir holds, inside the data folder, what was taken from the sessions and is not removed yet.
const deletedDir = "deleted"

// Delete removes a session from the list and from the disk. One that this process has open is closed first; while another
// process owns it, it is a [*journal.InUse] and stays as it is. One that does not exist is deleted already. The session is
// gone at once: its folder is set aside, and what a crash leaves of it there the next deletion or opening removes.
func (h *Host) Delete(ctx context.Context, id string) error {
	if !ValidSessionID(id) {
		return nil
	}
	if err := h.Close(ctx, id, "close"); err != nil {
		return err
	}
	dir := filepath.Join(h.SessionsDir(), id)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := h.setAside(dir)
	var inUse *journal.InUse
	switch {
	case errors.As(err, &inUse):
		return inUse
	case err != nil:
		return fmt.Errorf("session %s cannot be deleted: %w", id, err)
	}
	h.point(PointDeleteAside)
	return h.sweep()
}

// setAside moves a session's folder into one of its own among the deleted. Another process may just be removing that.
func (h *Host) setAside(dir string) (err error) {
	root := filepath.Join(h.data, deletedDir)
	for range 3 {
		var place string
		if err = makePrivate(root); err == nil {
			place, err = os.MkdirTemp(root, "")
		}
		if errors.Is(err, fs.ErrNotExist) { // it was just swept away
			continue
		}
		if err != nil {
			return err
		}
		h.point(PointDeletePrepared)
		err = journal.SetAside(dir, filepath.Join(place, filepath.Base(dir)))
		if err == nil {
			return nil
		}
		_ = os.Remove(place)
		_ = os.Remove(root) // unless something else is in it
		if _, there := os.Lstat(dir); errors.Is(there, fs.ErrNotExist) {
			return nil // another process was first
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// sweep removes what was set aside, here or by a process that died.
func (h *Host) sweep() error {
	root := filepath.Join(h.data, deletedDir)
	all, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range all {
		err = errors.Join(err, os.RemoveAll(filepath.Join(root, e.Name())))
	}
	_ = os.Remove(root) // unless another process is just putting something there
	return err
}

// sweepOnce removes, before this process opens its first session, what one that died did not come to remove.
func (h *Host) sweepOnce() {
	h.swept.Do(func() {
		if err := h.sweep(); err != nil {
			h.log.Warn("a deleted session is not removed yet", "error", err)
		}
	})
}
