package search

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeSize lets rg run ahead; the kernel gives an unprivileged process no more.
const pipeSize = 1 << 20

// group puts rg into a process group of its own, which ends with zuno or with the call.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
}

func widen(pipe *os.File) { _, _ = unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, pipeSize) }

// folderPath leads to the folder that was opened, whatever has become of its path: the child of the fork still has the
// descriptor when it enters the folder.
func folderPath(folder *os.File, real string) string {
	path := fmt.Sprintf("/proc/self/fd/%d", folder.Fd())
	if _, err := os.Stat(path); err != nil {
		return real
	}
	return path
}
