package tools

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"zuno/journal/event"
)

// Where holds a session's folders. OutDir may be empty; what lies in it is the output of the session's own commands
// and counts as inside for reading.
type Where struct {
	Cwd      string // absolute
	Worktree string // absolute; empty stands for Cwd
	OutDir   string
}

// Target is a path that an argument named and what it leads to.
type Target struct {
	Named string // absolute and clean, as the user knows it
	// Real is Named with every symbolic link followed, the last one included. Of what does not exist yet, the deepest
	// existing ancestor is resolved and the rest stands as written.
	Real  string
	Place event.Place
	Mode  fs.FileMode // of what Real names; 0 when it does not exist
	// Err is why nothing can be said of the path: a loop of links, a folder that may not be searched. Its place is
	// outside then.
	Err error
	// Exists tells whether there was something at Real.
	Exists bool
}

// maxLinks bounds the symbolic links that are followed, as the kernel does.
const maxLinks = 40

// Locate resolves a path. It asks for the metadata of what lies on the way and opens nothing, so a fifo or a device
// cannot hold it up.
func (w Where) Locate(path string) Target {
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.Cwd, path)
	}
	t := Target{Named: filepath.Clean(path)}
	t.Real, t.Mode, t.Exists, t.Err = resolve(t.Named)
	t.Place = w.place(t)
	return t
}

func (w Where) place(t Target) event.Place {
	switch {
	case IsSecret(t.Named) || IsSecret(t.Real):
		return event.PlaceSecret
	case t.Err != nil:
		return event.PlaceOutside
	}
	root := w.Worktree
	if root == "" {
		root = w.Cwd
	}
	if real, _, found, err := resolve(filepath.Clean(root)); err == nil && found && within(real, t.Real) {
		return event.PlaceInside
	}
	return event.PlaceOutside
}

// Own tells whether the target is output of the session's own commands.
func (w Where) Own(t Target) bool {
	if w.OutDir == "" || t.Err != nil {
		return false
	}
	real, _, found, err := resolve(filepath.Clean(w.OutDir))
	return err == nil && found && real != t.Real && within(real, t.Real)
}

// IsSecret knows environment files: .env and everything that begins so, in any case, and the environment of a process
// as the kernel shows it.
func IsSecret(path string) bool {
	base := filepath.Base(path)
	if len(base) >= 4 && strings.EqualFold(base[:4], ".env") {
		return true
	}
	return base == "environ" && strings.HasPrefix(path, "/proc/")
}

func within(root, path string) bool {
	if root == path {
		return true
	}
	if !strings.HasSuffix(root, string(filepath.Separator)) {
		root += string(filepath.Separator)
	}
	return strings.HasPrefix(path, root)
}

var errLoop = errors.New("the symbolic links lead in a circle")

// resolve follows every symbolic link of an absolute, clean path.
func resolve(path string) (real string, mode fs.FileMode, found bool, err error) {
	rest := strings.Split(strings.TrimPrefix(path, "/"), "/")
	real, mode, found = "/", fs.ModeDir, true
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			mode = fs.ModeDir
			continue
		}
		next := filepath.Join(real, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			// Only a link's target can hold .. here, and it is taken as written: nothing below a missing folder is a link.
			return filepath.Join(append([]string{next}, rest...)...), 0, false, nil
		case err != nil:
			return filepath.Join(append([]string{next}, rest...)...), 0, false, err
		}
		mode = info.Mode()
		if mode&fs.ModeSymlink == 0 {
			real = next
			continue
		}
		if links++; links > maxLinks {
			return next, 0, false, errLoop
		}
		target, err := os.Readlink(next)
		if err != nil {
			return next, 0, false, err
		}
		if filepath.IsAbs(target) {
			real = "/"
		}
		mode = fs.ModeDir
		rest = append(strings.Split(target, "/"), rest...)
	}
	return real, mode, true, nil
}
