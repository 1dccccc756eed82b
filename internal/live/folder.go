package live

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Folders are where sockets may be made, the best one first: zuno in $XDG_RUNTIME_DIR, else a folder of this user in
// $TMPDIR. None of them is touched before [Serve].
func Folders(getenv func(string) string) (dirs []string) {
	if d := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(d) {
		dirs = append(dirs, filepath.Join(d, "zuno"))
	}
	tmp := getenv("TMPDIR")
	if !filepath.IsAbs(tmp) {
		tmp = "/tmp"
	}
	return append(dirs, filepath.Join(tmp, "zuno-"+strconv.Itoa(os.Geteuid())))
}

// socketName is short, because a socket's path is limited to about a hundred bytes and a data folder's is not. It is
// the same for each owner of a session, so that one clears away what another left.
func socketName(session string) (string, error) {
	dir, err := filepath.Abs(session)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8]), nil
}

// prepare makes the folder unless it is there, and sees that nobody else can reach what lies in it.
func prepare(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	st, err := os.Lstat(dir) // a symbolic link is none of ours
	if err != nil {
		return err
	}
	return private(dir, st.Mode(), ownerOf(st), os.Geteuid())
}

// private says why a folder is not this user's alone.
func private(dir string, mode fs.FileMode, owner, self int) error {
	switch {
	case !mode.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case owner != self:
		return fmt.Errorf("folder %s belongs to user %d", dir, owner)
	case mode.Perm() != 0o700:
		return fmt.Errorf("folder %s has mode %#o instead of 0700", dir, mode.Perm())
	}
	return nil
}

// allowed says whether a peer may ask: the user's own processes and root, who can read the files as well.
func allowed(peer, self int) bool { return peer == self || peer == 0 }
