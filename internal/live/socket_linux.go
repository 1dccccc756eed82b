package live

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The standard library's net would do, but costs each start of the program its initialization and a megabyte; what is
// needed of it is here.

// maxPath is what fits into a socket's address, with room to spare.
const maxPath = 100

// socket is one end of a connection, or a listener.
type socket struct {
	f        *os.File
	raw      syscall.RawConn
	pid, uid int // of the peer
}

func newSocket(fd int) (*socket, error) {
	s := &socket{f: os.NewFile(uintptr(fd), "socket")}
	var err error
	if s.raw, err = s.f.SyscallConn(); err != nil {
		s.f.Close()
		return nil, err
	}
	return s, nil
}

// connected names the peer.
func connected(fd int) (*socket, error) {
	s, err := newSocket(fd)
	if err != nil {
		return nil, err
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		s.close()
		return nil, err
	}
	s.pid, s.uid = int(cred.Pid), int(cred.Uid)
	return s, nil
}

func open() (int, error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}

// at calls fn with an address of path that is short enough: a long one leads through the folder's descriptor.
func at(path string, fn func(unix.Sockaddr) error) error {
	if len(path) <= maxPath {
		return fn(&unix.SockaddrUnix{Name: path})
	}
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return fn(&unix.SockaddrUnix{Name: "/proc/self/fd/" + strconv.Itoa(dir) + "/" + filepath.Base(path)})
}

// listen takes the place of whatever lies at path.
func listen(path string) (*socket, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	fd, err := open()
	if err != nil {
		return nil, err
	}
	if err := at(path, func(a unix.Sockaddr) error { return unix.Bind(fd, a) }); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("bind %s: %w", path, err)
	}
	if err := errors.Join(os.Chmod(path, 0o600), unix.Listen(fd, maxRequests)); err != nil {
		unix.Close(fd)
		return nil, errors.Join(err, os.Remove(path))
	}
	return newSocket(fd)
}

// dial connects at once or not at all: where a queue is full, it is unix.EAGAIN.
func dial(path string) (*socket, error) {
	fd, err := open()
	if err != nil {
		return nil, err
	}
	if err := at(path, func(a unix.Sockaddr) error { return unix.Connect(fd, a) }); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return connected(fd)
}

func (s *socket) accept() (*socket, error) {
	var fd int
	var err error
	wait := s.raw.Read(func(l uintptr) bool {
		fd, _, err = unix.Accept4(int(l), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		return !again(err)
	})
	if err = errors.Join(wait, err); err != nil {
		return nil, err
	}
	return connected(fd)
}

func again(err error) bool { return err == unix.EAGAIN || err == unix.EINTR }

// send waits at most so long for room; file may be nil.
func (s *socket) send(m string, file *os.File, most time.Duration) error {
	if err := s.f.SetWriteDeadline(time.Now().Add(most)); err != nil {
		return err
	}
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	var err error
	wait := s.raw.Write(func(fd uintptr) bool {
		err = unix.Sendmsg(int(fd), []byte(version+m), rights, nil, unix.MSG_NOSIGNAL)
		return !again(err)
	})
	return errors.Join(wait, err)
}

// receive waits at most so long, or without an end for 0. It is io.EOF when the peer is gone.
func (s *socket) receive(most time.Duration) (m string, file *os.File, err error) {
	var deadline time.Time
	if most > 0 {
		deadline = time.Now().Add(most)
	}
	if err := s.f.SetReadDeadline(deadline); err != nil {
		return "", nil, err
	}
	var b [maxMessage]byte
	rights := make([]byte, unix.CmsgSpace(4))
	var n, r int
	wait := s.raw.Read(func(fd uintptr) bool {
		n, r, _, _, err = unix.Recvmsg(int(fd), b[:], rights, unix.MSG_CMSG_CLOEXEC)
		return !again(err)
	})
	if err := errors.Join(wait, err); err != nil {
		return "", nil, err
	}
	if r > 0 {
		if file, err = received(rights[:r]); err != nil {
			return "", nil, err
		}
	}
	if n == 0 {
		if file != nil {
			file.Close()
		}
		return "", nil, io.EOF
	}
	return string(b[:n]), file, nil
}

// received is the one descriptor that belongs to a message. There is room for two, since rights are padded: whoever sends
// more than one gives none.
func received(rights []byte) (*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var all []int
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			all = append(all, fds...)
		}
	}
	if len(all) == 1 {
		return os.NewFile(uintptr(all[0]), "snapshot"), nil
	}
	for _, fd := range all {
		unix.Close(fd)
	}
	return nil, nil
}

func (s *socket) close() { s.f.Close() }

func ownerOf(st fs.FileInfo) int {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}

// deserted says that nobody listens at an address: the owner has left, or died.
func deserted(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}

// crowded says that too many wait to be heard already.
func crowded(err error) bool { return errors.Is(err, unix.EAGAIN) }
