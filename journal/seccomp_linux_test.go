package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// operation is a system call on a file that makes something durable or changes what will be.
type operation struct {
	Call   string // pwrite64, ftruncate, fdatasync, fsync; ack when an append has returned
	Path   string
	Offset int64
	Data   []byte // of a write
	Number uint64 // the head, for ack
}

// What the kernel's seccomp.h names.
const (
	notifReceive   = 0xc0502100 // ioctl: 80 bytes
	notifSend      = 0xc0182101 // ioctl: 24 bytes
	notifContinue  = 1
	flagTSync      = 1 << 0
	flagListener   = 1 << 3
	flagTSyncESRCH = 1 << 4
	setModeFilter  = 1
	retNotify      = 0x7fc00000
	retAllow       = 0x7fff0000
)

var watchedCalls = map[uint32]string{
	unix.SYS_PWRITE64: "pwrite64", unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_FSYNC: "fsync",
}

// errNoSeccomp says that this machine does not let a process watch its own system calls.
var errNoSeccomp = errors.New("a process may not watch its system calls here")

// watcher sees the system calls of its own process, before the kernel performs them. It cannot be ended.
type watcher struct {
	fd   int
	mu   sync.Mutex
	seen []operation
	fail func(op operation) unix.Errno // 0 lets the call happen
}

// watch begins to see what the process writes and syncs.
func watch() (*watcher, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the call
	for nr := range watchedCalls {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: retNotify})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: retAllow})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSeccomp, err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, flagTSync|flagListener|flagTSyncESRCH, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return nil, fmt.Errorf("%w: %w", errNoSeccomp, errno)
	}
	w := &watcher{fd: int(fd)}
	go w.serve()
	return w, nil
}

func (w *watcher) serve() {
	var in [80]byte
	var out [24]byte
	le := binary.NativeEndian
	for {
		clear(in[:])
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.fd), notifReceive, uintptr(unsafe.Pointer(&in))); errno == unix.EINTR || errno == unix.ENOENT {
			continue
		} else if errno != 0 {
			panic(errno)
		}
		arg := func(i int) uint64 { return le.Uint64(in[32+8*i:]) }
		op := operation{Call: watchedCalls[le.Uint32(in[16:])]}
		op.Path, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", arg(0)))
		switch op.Call {
		case "pwrite64":
			op.Offset, op.Data = int64(arg(3)), make([]byte, arg(2))
			from := []unix.RemoteIovec{{Base: uintptr(arg(1)), Len: int(arg(2))}}
			to := []unix.Iovec{{Base: &op.Data[0]}}
			to[0].SetLen(len(op.Data))
			if n, err := unix.ProcessVMReadv(os.Getpid(), to, from, 0); err != nil || n != len(op.Data) {
				panic(fmt.Sprint("cannot read what is written: ", n, err))
			}
		case "ftruncate":
			op.Offset = int64(arg(1))
		}
		copy(out[:8], in[:8])
		clear(out[8:])
		le.PutUint32(out[20:], notifContinue)
		w.mu.Lock()
		w.seen = append(w.seen, op)
		if w.fail != nil {
			if errno := w.fail(op); errno != 0 {
				le.PutUint32(out[16:], uint32(-int32(errno)))
				le.PutUint32(out[20:], 0)
			}
		}
		w.mu.Unlock()
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.fd), notifSend, uintptr(unsafe.Pointer(&out))); errno != 0 && errno != unix.ENOENT {
			panic(errno)
		}
	}
}

// failing has calls fail from now on.
func (w *watcher) failing(fn func(op operation) unix.Errno) {
	w.mu.Lock()
	w.fail = fn
	w.mu.Unlock()
}

// acknowledge notes that everything up to commit n was said to be durable.
func (w *watcher) acknowledge(n uint64) {
	w.mu.Lock()
	w.seen = append(w.seen, operation{Call: "ack", Number: n})
	w.mu.Unlock()
}

func (w *watcher) operations() []operation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]operation(nil), w.seen...)
}

func (op operation) String() string {
	s := op.Call
	switch {
	case op.Call == "ack":
		return s
	case strings.HasSuffix(op.Path, journalFile):
		s += " journal"
	case strings.HasSuffix(op.Path, artifactsDir):
		s += " artifacts"
	case strings.Contains(op.Path, artifactsDir+"/"):
		s += " artifact"
	default:
		s += " " + op.Path
	}
	if op.Call == "pwrite64" && op.Offset < firstDataPage*pageSize {
		s += " meta"
	}
	return s
}

// apply does to a file's bytes what the operation did to the file.
func (op operation) apply(b []byte) []byte {
	grow := func(n int64) {
		if n > int64(len(b)) {
			b = append(b, make([]byte, n-int64(len(b)))...)
		}
	}
	switch op.Call {
	case "pwrite64":
		grow(op.Offset + int64(len(op.Data)))
		copy(b[op.Offset:], op.Data)
	case "ftruncate":
		grow(op.Offset)
		b = b[:op.Offset]
	}
	return b
}
