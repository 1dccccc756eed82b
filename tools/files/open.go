package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"zuno/tools"
)

// Failure is why a call did nothing: a class and a sentence for the model.
type Failure struct {
	Class string
	Text  string
}

// Refuse makes a failure.
func Refuse(class, format string, args ...any) *Failure {
	return &Failure{Class: class, Text: fmt.Sprintf(format, args...)}
}

// Result is the failure as what became of the call.
func (f *Failure) Result() tools.Result {
	outcome := tools.Failed
	if f.Class == tools.ClassCancelled {
		outcome = tools.Cancelled
	}
	return tools.Result{Outcome: outcome, Class: f.Class, Text: f.Text}
}

// FailureOf puts an error of the operating system into words.
func FailureOf(doing, path string, err error) *Failure {
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, errChanged):
		return Refuse(tools.ClassPathChanged, "%s: the path changed after the call was permitted (%v). Nothing was done. Look at the folder, then call again.", path, err)
	case errors.Is(err, fs.ErrNotExist):
		return Refuse(tools.ClassNotFound, "%s does not exist.", path)
	case errors.Is(err, unix.ENOTDIR):
		return Refuse(tools.ClassNotDirectory, "%s cannot exist: a part of its path is a file, not a folder. Nothing was done. Check the path.", path)
	case errors.Is(err, fs.ErrPermission):
		return Refuse(tools.ClassPermissionDenied, "%s: %s: %v. Nothing was done; the permissions of the file or its folder do not allow it.", path, doing, err)
	}
	return Refuse(tools.ClassIO, "%s: %s: %v. Nothing was done.", path, doing, err)
}

var errChanged = errors.New("it leads to another file now")

// Verify holds a target against the file system once more: its name must still lead where it did when the call was
// permitted.
func Verify(w tools.Where, target tools.Target) (tools.Target, *Failure) {
	now := w.Locate(target.Named)
	if target.Err != nil {
		return now, Refuse(tools.ClassNotFound, "%s cannot be resolved: %v. Nothing was done. Check the path.", target.Named, target.Err)
	}
	if now.Err != nil || now.Real != target.Real || now.Place != target.Place || now.Git && !target.Git {
		return now, FailureOf("resolve", target.Named, errChanged)
	}
	return now, nil
}

// OpenFolder opens the folder that holds a resolved path, from the root down, following no symbolic link. The caller
// closes the descriptor and uses the base name below it. With make, folders that are missing are created; made lists
// those, outermost first.
func OpenFolder(real string, make bool) (fd int, base string, made []string, err error) {
	dir, base := filepath.Split(real)
	fd, err = unix.Open("/", folderFlags, 0)
	if err != nil {
		return -1, "", nil, err
	}
	at := "/"
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if name == "" {
			continue
		}
		at = filepath.Join(at, name)
		next, err := openat(fd, name, folderFlags, 0)
		if make && errors.Is(err, unix.ENOENT) {
			if err = unix.Mkdirat(fd, name, 0o777); err == nil {
				made = append(made, at)
				_ = SyncFolder(fd) // a file must not be more durable than the folder it is in; where it cannot be, it is not
			}
			if err == nil || errors.Is(err, unix.EEXIST) {
				next, err = openat(fd, name, folderFlags, 0)
			}
		}
		if errors.Is(err, unix.ENOTDIR) && isLink(fd, name) {
			err = unix.ELOOP
		}
		_ = unix.Close(fd)
		if err != nil {
			return -1, "", made, err
		}
		fd = next
	}
	if base == "" {
		base = "."
	}
	return fd, base, made, nil
}

// isLink tells a symbolic link from a file: opened as a folder without following, both are "not a directory".
func isLink(fd int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// openat never blocks: not on a fifo without a writer, not on a device.
func openat(fd int, name string, flags int, mode uint32) (int, error) {
	for {
		next, err := unix.Openat(fd, name, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, mode)
		if !errors.Is(err, unix.EINTR) {
			return next, err
		}
	}
}

// kindOf names what is no regular file, for people.
func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return "a fifo (named pipe)"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFCHR:
		return "a character device"
	case unix.S_IFBLK:
		return "a block device"
	case unix.S_IFDIR:
		return "a folder"
	case unix.S_IFLNK:
		return "a symbolic link"
	}
	return "no regular file"
}

// Source is an open regular file. It reads without the runtime's poller, so a file of the kernel that has nothing to
// say is an error instead of a wait.
type Source struct {
	fd   int
	Stat unix.Stat_t // as of after it was opened
}

// Reopen gives the file to somebody who closes it on his own.
func (s *Source) Reopen(name string) (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Read reads on, as an io.Reader does.
func (s *Source) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(s.fd, p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, errEnd
		}
		return n, nil
	}
}

// Close closes the file.
func (s *Source) Close() { _ = unix.Close(s.fd) }

// OpenRegular opens a file below an open folder after looking at what it is; and looks again afterwards, since the
// two steps are not one. Its error for a missing file is ENOENT, for a link ELOOP.
func OpenRegular(dir int, base, shown string) (*Source, *Failure) {
	s := &Source{fd: -1}
	if err := unix.Fstatat(dir, base, &s.Stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, FailureOf("stat", shown, err)
	}
	if f := notRegular(&s.Stat, shown); f != nil {
		return nil, f
	}
	fd, err := openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, FailureOf("open", shown, err)
	}
	s.fd = fd
	if err := unix.Fstat(fd, &s.Stat); err != nil {
		s.Close()
		return nil, FailureOf("stat", shown, err)
	}
	if f := notRegular(&s.Stat, shown); f != nil {
		s.Close()
		return nil, f
	}
	return s, nil
}

func notRegular(stat *unix.Stat_t, shown string) *Failure {
	switch uint32(stat.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return Refuse(tools.ClassIsDirectory, "%s is a folder. Nothing was done. Name a file in it.", shown)
	case unix.S_IFLNK:
		return FailureOf("open", shown, unix.ELOOP)
	}
	return Refuse(tools.ClassNotRegular, "%s is %s, not a regular file. It was not opened.", shown, kindOf(uint32(stat.Mode)))
}

// Open opens a regular file by its resolved path.
func Open(real, shown string) (*Source, *Failure) {
	dir, base, _, err := OpenFolder(real, false)
	if err != nil {
		return nil, FailureOf("open", shown, err)
	}
	defer func() { _ = unix.Close(dir) }()
	return OpenRegular(dir, base, shown)
}

// OpenDir opens a folder that can be listed, by its resolved path.
func OpenDir(real, shown string) (*os.File, *Failure) {
	dir, base, _, err := OpenFolder(real, false)
	if err != nil {
		return nil, FailureOf("open", shown, err)
	}
	defer func() { _ = unix.Close(dir) }()
	fd, err := openat(dir, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, FailureOf("list", shown, err)
	}
	return os.NewFile(uintptr(fd), shown), nil
}
