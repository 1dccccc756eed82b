package shell

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweepTime bounds how long ending what is left may take. A process that the kernel holds in a call cannot be killed.
const sweepTime = 5 * time.Second

const (
	startup = "BASH_ENV"
	// pipeRoom is what a pipe takes before its reader is there (64 KiB), with some to spare.
	pipeRoom = 60 << 10
)

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

// startProcess starts bash. Its opening is read by bash before the command: bash takes the file that BASH_ENV names,
// which is a pipe that holds our few words. Put in front of the command they would show in its error messages, and set
// from here the mark would come too late for a child that is started at once.
func startProcess(path string, argv []string, attr *os.ProcAttr) (*process, error) {
	mark := newMark()
	opening, err := openingOf(mark, attr.Env)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opening.Close() }()
	attr.Env = append(without(attr.Env, startup), startup+"=/dev/fd/3")
	attr.Files = append(attr.Files, opening) // descriptor 3
	// What zuno itself was started with is not for commands. Everything that Go opens is marked so already. It costs one
	// system call, and one that does not know it leaves things as they are.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	// A shell does not go on when zuno is gone. The kernel ties this to the thread that forks, and Go ends no thread that
	// runs an ordinary goroutine.
	attr.Sys = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	handle, err := os.StartProcess(path, argv, attr)
	if err != nil {
		return nil, err
	}
	p := &process{tree: tree{shell: handle.Pid, mark: mark}, handle: handle, ended: make(chan struct{})}
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

// openingOf is what bash does before the command: it marks itself, puts BASH_ENV back as it was for the command's own
// children, and closes the pipe.
func openingOf(mark uint64, environ []string) (*os.File, error) {
	text := "builtin unset BASH_ENV; "
	if value, ok := lookup(environ, startup); ok {
		text = "builtin export BASH_ENV=" + quote(value) + "; "
	}
	if mark != 0 {
		text += fmt.Sprintf("builtin ulimit -S -x %d 2>/dev/null; ", mark)
	}
	text += "exec 3<&-\n"
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Close() }()
	if len(text) > pipeRoom {
		_ = r.Close()
		return nil, unix.E2BIG
	}
	if _, err := w.WriteString(text); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// newMark is 0 where the limit that carries it is not free to be set.
func newMark() uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &limit) != nil {
		return 0
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	mark := binary.LittleEndian.Uint64(random[:])>>2 | 1<<40
	if limit.Max < mark {
		return 0
	}
	return mark
}

// killRest ends every process of the command, the shell too if it is alive, and returns when they are gone. It tells
// how many are still there after sweepTime.
//
// All of them are stopped before the first is killed: a script whose child dies would go on to its next line.
func (t *tree) killRest() (survived int) {
	found := t.members()
	if len(found) == 0 {
		return 0
	}
	deadline := time.Now().Add(sweepTime)
	for len(found) > 0 && time.Now().Before(deadline) {
		handles := map[int]int{}
		for hold(handles, found) && time.Now().Before(deadline) {
			found = t.members() // one may have forked before it was stopped
		}
		for _, fd := range handles {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		for _, fd := range handles {
			await(fd, deadline)
			_ = unix.Close(fd)
		}
		found = t.members()
	}
	return len(found)
}

// hold stops what is not in its hands yet. A handle names one process for good: a number that was given away again in
// the meantime is found out by its time of start.
func hold(handles map[int]int, found map[int]uint64) (grown bool) {
	for pid, started := range found {
		if _, ok := handles[pid]; ok {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ENOSYS) { // before Linux 5.3 there is only the number
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if err != nil {
			continue // gone
		}
		if s, ok := readStat(pid); !ok || s.started != started {
			_ = unix.Close(fd)
			continue
		}
		_ = unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0)
		handles[pid] = fd
		grown = true
	}
	return grown
}

// await returns when the process has ended.
func await(fd int, deadline time.Time) {
	for left := time.Until(deadline); left > 0; left = time.Until(deadline) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, int(left/time.Millisecond)+1); !errors.Is(err, unix.EINTR) {
			return
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

// readStat is called for every process of the machine, while a cancelled command is waited for: three system calls, where
// os.ReadFile makes twice as many.
func readStat(pid int) (stat, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return stat{}, false
	}
	var buffer [1024]byte // 52 numbers and a name of 64 bytes at most
	n, err := unix.Read(fd, buffer[:])
	_ = unix.Close(fd)
	if err != nil {
		return stat{}, false
	}
	text := string(buffer[:n])
	// The name in parentheses may hold anything, a parenthesis too.
	_, rest, _ := strings.Cut(text[strings.LastIndexByte(text, ')')+1:], " ")
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
