//go:build unix && !linux

package search

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
}

func widen(*os.File) {}

func folderPath(_ *os.File, real string) string { return real }
