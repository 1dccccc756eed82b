//go:build unix && !linux

package shell

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a running command. Where there is no /proc only the shell's process group is killed: a child that opens
// a session of its own escapes.
type process struct {
	shell  int
	handle *os.Process
	ended  chan struct{}
	status syscall.WaitStatus
}

func startProcess(path string, argv []string, attr *os.ProcAttr) (*process, error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	attr.Env = without(attr.Env, "BASH_ENV") // this bash reads no start-up file
	handle, err := os.StartProcess(path, argv, attr)
	if err != nil {
		return nil, err
	}
	p := &process{shell: handle.Pid, handle: handle, ended: make(chan struct{}), status: syscall.WaitStatus(syscall.SIGKILL)}
	go func() {
		defer close(p.ended)
		if state, err := handle.Wait(); err == nil {
			p.status = state.Sys().(syscall.WaitStatus)
		}
	}()
	return p, nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) ask() {
	_ = unix.Kill(-p.shell, unix.SIGTERM)
	_ = unix.Kill(-p.shell, unix.SIGCONT)
}

func (p *process) killRest() int {
	if err := unix.Kill(-p.shell, unix.SIGKILL); errors.Is(err, unix.ESRCH) {
		return 0
	}
	return 0
}

func (p *process) reap() syscall.WaitStatus {
	<-p.ended
	return p.status
}
