package shell

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweepTime bounds how long ending what is left may take. A process that the kernel holds in a call cannot be killed.
const sweepTime = 5 * time.Second

// process is a running command: its shell and everything that the shell started.
type process struct {
	tree
	handle *os.Process
	ended  chan struct{} // closed when the shell has ended and waits to be reaped
}

// tree finds the processes of one command. A process belongs to it when one of these holds:
//
//   - it is in the shell's session or process group;
//   - it descends from such a process;
//   - it carries the command's mark: a soft limit on file locks, which Linux has kept but not enforced since 2.4.25.
//     A limit is inherited by every child, whatever session it opens, whoever adopts it and whichever descriptors and
//     variables it drops, and it is not seen in the environment.
//
// So a grandchild that forked twice and opened a session of its own is found. What is not: a process of another user,
// one that sets this limit itself, one started for the command by somebody else (a daemon, a container, cron), and one
// that escaped in the few microseconds between the start of bash and its marking.
type tree struct {
	shell int    // its pid, session and process group
	mark  uint64 // 0: the system would not have it
}

func startProcess(path string, argv []string, attr *os.ProcAttr) (*process, error) {
	// A shell does not go on when zuno is gone. The kernel ties this to the thread that forks, and Go ends no thread that
	// runs an ordinary goroutine.
	attr.Sys = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	handle, err := os.StartProcess(path, argv, attr)
	if err != nil {
		return nil, err
	}
	p := &process{tree: tree{shell: handle.Pid}, handle: handle, ended: make(chan struct{})}
	p.setMark()
	go func() {
		defer close(p.ended)
		// The shell is not reaped here: as long as it is a zombie no other process can get its number, which is also the
		// number of its session.
		for errors.Is(unix.Waitid(unix.P_PID, p.shell, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	return p, nil
}

// hasEnded asks the kernel, for the moment in which the news is still on its way.
func (p *process) hasEnded() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.shell, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || info.Signo != 0
}

// ask tells the command to end.
func (p *process) ask() {
	_ = unix.Kill(-p.shell, unix.SIGTERM)
	_ = unix.Kill(-p.shell, unix.SIGCONT) // a stopped process hears nothing
}

// reap collects the shell after killRest.
func (p *process) reap() syscall.WaitStatus {
	<-p.ended
	state, err := p.handle.Wait()
	if err != nil {
		return syscall.WaitStatus(syscall.SIGKILL) // somebody else collected it
	}
	return state.Sys().(syscall.WaitStatus)
}

func (t *tree) setMark() {
	var limit unix.Rlimit
	if unix.Prlimit(t.shell, unix.RLIMIT_LOCKS, nil, &limit) != nil {
		return
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	mark := binary.LittleEndian.Uint64(random[:])>>2 | 1<<40
	if limit.Max < mark {
		return
	}
	limit.Cur = mark
	if unix.Prlimit(t.shell, unix.RLIMIT_LOCKS, &limit, nil) == nil {
		t.mark = mark
	}
}

// killRest kills every process of the command, the shell too if it is alive, and returns when they are gone. It tells
// how many are still there after sweepTime.
func (t *tree) killRest() (survived int) {
	deadline := time.Now().Add(sweepTime)
	found := t.members()
	if len(found) == 0 {
		return 0
	}
	for {
		handles := t.kill(found)
		settle(handles, deadline)
		for _, fd := range handles {
			_ = unix.Close(fd)
		}
		// A process may have forked before it died.
		if found = t.members(); len(found) == 0 || time.Now().After(deadline) {
			return len(found)
		}
	}
}

// kill kills through handles, so that a number which was given away again in the meantime hits nobody.
func (t *tree) kill(found map[int]uint64) (handles []int) {
	for pid, started := range found {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			if errors.Is(err, unix.ENOSYS) {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			continue
		}
		if s, ok := readStat(pid); ok && s.started == started {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		handles = append(handles, fd)
	}
	return handles
}

// settle waits until all of them have ended.
func settle(handles []int, deadline time.Time) {
	for _, fd := range handles {
		for {
			left := time.Until(deadline)
			if left <= 0 {
				return
			}
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(fds, int(left/time.Millisecond)+1); !errors.Is(err, unix.EINTR) {
				break
			}
		}
	}
}

// members lists the living processes of the command with the time that they were started.
//
// It costs a few system calls for each process of the machine; only what belongs to the command is looked at closer.
func (t *tree) members() map[int]uint64 {
	pids := processes()
	found := map[int]uint64{}
	self := os.Getpid()
	for _, pid := range pids {
		if pid == self || pid == 1 {
			continue
		}
		mine := pid == t.shell || t.marked(pid)
		if !mine {
			session, err := unix.Getsid(pid)
			mine = err == nil && session == t.shell
		}
		if !mine {
			group, err := unix.Getpgid(pid)
			mine = err == nil && group == t.shell
		}
		if !mine {
			continue
		}
		if s, ok := readStat(pid); ok && s.alive {
			found[pid] = s.started
		}
	}
	if len(found) > 0 {
		adopt(found, pids)
	}
	return found
}

// adopt adds the descendants of what was found.
func adopt(found map[int]uint64, pids []int) {
	stats := make(map[int]stat, len(pids))
	for _, pid := range pids {
		if s, ok := readStat(pid); ok {
			stats[pid] = s
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, s := range stats {
			if _, ok := found[pid]; ok || !s.alive {
				continue
			}
			if _, ok := found[s.parent]; ok {
				found[pid] = s.started
				grown = true
			}
		}
	}
}

func (t *tree) marked(pid int) bool {
	if t.mark == 0 {
		return false
	}
	var limit unix.Rlimit
	return unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit) == nil && limit.Cur == t.mark
}

// processes lists all process numbers.
func processes() []int {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = folder.Close() }()
	names, _ := folder.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

type stat struct {
	parent  int
	started uint64 // clock ticks since the machine was started: with the number it names one process
	alive   bool
}

func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, false
	}
	// The name in parentheses may hold anything, a parenthesis too.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return stat{}, false
	}
	var s stat
	s.alive = fields[0] != "Z" && fields[0] != "X"
	s.parent, _ = strconv.Atoi(fields[1])
	s.started, _ = strconv.ParseUint(fields[19], 10, 64)
	return s, true
}
