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
	// Git tells that the path is or leads to what git keeps of a repository: its hooks and its configuration say what git
	// runs. [Target.WritePlace] is its place for who writes there.
	Git  bool
	Mode fs.FileMode // of what Real names; 0 when it does not exist
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
	t.Place, t.Git = w.place(t), w.git(t)
	return t
}

// WritePlace is the place of the target for an access that writes.
func (t Target) WritePlace() event.Place {
	if t.Git {
		return event.PlaceGit
	}
	return t.Place
}

func (w Where) root() string {
	if w.Worktree == "" {
		return filepath.Clean(w.Cwd)
	}
	return filepath.Clean(w.Worktree)
}

// git tells whether a target is .git or lies in it, by its name or by where that leads: that of the worktree, of a
// repository below it, or of any other one. A worktree may itself lie in a .git; what stands above it says nothing.
func (w Where) git(t Target) bool {
	root := w.root()
	real, _, _, err := resolve(root)
	if namesGit(below(root, t.Named)) || namesGit(below(real, t.Real)) {
		return true
	}
	if err != nil || t.Err != nil {
		return false
	}
	kept, _, found, err := resolve(filepath.Join(real, ".git")) // may be a link to a folder of another name
	return err == nil && found && within(kept, t.Real)
}

func below(root, path string) string {
	if within(root, path) {
		return path[len(root):]
	}
	return path
}

// namesGit tells whether a part of a path is .git to any file system: one that does not tell cases apart, leaves out
// signs that cannot be seen (HFS+), or blanks and dots at the end and knows short names (NTFS, FAT). So git sees it too.
func namesGit(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if len(name) < 4 {
			continue
		}
		if strings.EqualFold(name, "git~1") {
			return true
		}
		if name = strings.TrimRight(strings.Map(seen, name), ". "); strings.EqualFold(name, ".git") {
			return true
		}
	}
	return false
}

func seen(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

func (w Where) place(t Target) event.Place {
	switch {
	case IsSecret(t.Named) || IsSecret(t.Real):
		return event.PlaceSecret
	case t.Err != nil:
		return event.PlaceOutside
	}
	if real, _, found, err := resolve(w.root()); err == nil && found && within(real, t.Real) {
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
