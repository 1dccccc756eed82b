package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// namelessFile is nil where the file system cannot make one.
func namelessFile() *os.File {
	fd, err := unix.Open(os.TempDir(), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, fileMode)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "a temporary file in "+os.TempDir())
}
