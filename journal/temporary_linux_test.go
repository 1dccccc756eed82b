package journal

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A temporary file never has a name, so that whoever is killed leaves none.
//
// spec: D189
func TestTemporaryFileHasNoName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, fileMode)
	if err != nil {
		t.Skip("the file system gives each file a name:", err)
	}
	unix.Close(fd)
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, dir, unix.IN_CREATE); err != nil {
		t.Fatal(err)
	}
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	s, head, err := f.Snapshot()
	if err != nil || head.Number != 1 {
		t.Fatal(head, err)
	}
	s.Close()
	if n, err := unix.Read(watch, make([]byte, 4096)); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("a file was made in the folder: %d bytes of events, %v", n, err)
	}
}
