package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// installation is this data folder's own id, made with its first session.
func (h *Host) installation() (string, error) {
	path := filepath.Join(h.data, "installation")
	for range 2 {
		b, err := os.ReadFile(path)
		if err == nil && len(b) > 0 {
			return strings.TrimSpace(string(b)), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("data folder %s cannot be used (set ZUNO_DATA_DIR to one that can): %w", h.data, err)
		}
		if err := h.makeInstallation(path); err != nil {
			return "", fmt.Errorf("data folder %s cannot be written (set ZUNO_DATA_DIR to one that can): %w", h.data, err)
		}
	}
	return "", fmt.Errorf("data folder %s has no readable installation id", h.data)
}

func (h *Host) makeInstallation(path string) error {
	if err := makePrivate(h.SessionsDir()); err != nil {
		return err
	}
	half, err := os.CreateTemp(h.data, ".installation-*")
	if err != nil {
		return err
	}
	defer os.Remove(half.Name())
	_, err = half.WriteString("ins_" + strings.ToLower(h.ids.ULID("installation").String()) + "\n")
	err = errors.Join(err, half.Sync(), half.Close())
	if err == nil {
		err = os.Link(half.Name(), path) // never over one that another process just made
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o700); err != nil {
			return err
		}
	}
	return nil
}
