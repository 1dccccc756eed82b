//go:build linux

package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"zuno/journal"
)

const ownerEnv = "ZUNO_LIVE_TEST_OWNER"

// TestMain lets this program be the process that owns a session.
func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		if err := own(dir, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(strangerEnv); path != "" {
		fmt.Print(stranger(path))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// own is told what to do line by line, and answers each line with one.
func own(dir string, in io.Reader, out io.Writer) error {
	s, err := newSession(dir)
	if err != nil {
		return err
	}
	server, err := Serve(s.file, strings.Fields(os.Getenv("ZUNO_LIVE_TEST_FOLDERS")))
	fmt.Fprintf(out, "owns %t\n", err == nil)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "append":
			n, err := strconv.Atoi(rest)
			if err != nil {
				return err
			}
			var worst time.Duration
			for range n {
				t := time.Now()
				if err := s.append(nil); err != nil {
					return err
				}
				server.Committed(s.file.Head())
				worst = max(worst, time.Since(t))
			}
			fmt.Fprintf(out, "%d %s %d\n", s.file.Head().Number, s.file.Head().Hash, worst.Microseconds())
		case "artifact":
			if err := s.append(make([]byte, journal.MaxBucket+1)); err != nil {
				return err
			}
			server.Committed(s.file.Head())
			fmt.Fprintln(out, s.file.Head().Number)
		}
	}
	server.Close()
	return s.file.Close()
}

// session is an owned journal.
type session struct {
	file *journal.File
	at   int64
	salt []byte
}

func newSession(dir string) (*session, error) {
	s := &session{salt: []byte("0123456789abcdef")}
	f, err := journal.Create(dir, journal.Options{Started: time.Now()})
	if errors.Is(err, os.ErrExist) {
		f, err = journal.Open(dir, journal.Options{Started: time.Now()}, func(c *journal.Raw) error { s.at = c.At; return nil })
	}
	s.file = f
	return s, err
}

// append makes a commit of half a kilobyte.
func (s *session) append(text []byte) error {
	s.at++
	texts := journal.NewTexts(s.salt)
	if s.file.Head().Number == 0 {
		texts.Add(s.salt)
	}
	texts.Add(append([]byte(strconv.FormatInt(s.at, 10)), make([]byte, 300)...))
	if text != nil {
		texts.Add(text)
	}
	payload := []byte{0x80}
	return s.file.Append([]*journal.Commit{{
		At: s.at, Texts: texts, Command: journal.Command{ID: "test:" + strconv.FormatInt(s.at, 10), Type: "test", Version: 1, Actor: "test", Payload: payload},
		Events: []journal.Event{{Stream: 1, Type: "test.1", Payload: payload}},
	}})
}

// owner is the other process.
type owner struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startOwner starts a process that owns the session and listens in one of the folders.
func startOwner(t *testing.T, dir string, folders ...string) *owner {
	t.Helper()
	o := &owner{t: t, cmd: exec.Command(os.Args[0])}
	o.cmd.Env = append(os.Environ(), ownerEnv+"="+dir, "ZUNO_LIVE_TEST_FOLDERS="+strings.Join(folders, " "))
	o.cmd.Stderr = os.Stderr
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	o.out = bufio.NewReader(out)
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.kill)
	if got, want := o.line(), fmt.Sprintf("owns %t", len(folders) > 0); got != want {
		t.Fatalf("the owner says %q, not %q", got, want)
	}
	return o
}

func (o *owner) line() string {
	o.t.Helper()
	line, err := o.out.ReadString('\n')
	if err != nil {
		o.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (o *owner) tell(what string) string {
	o.t.Helper()
	if _, err := fmt.Fprintln(o.in, what); err != nil {
		o.t.Fatal(err)
	}
	return o.line()
}

// append gives the head, and the time that the slowest commit took.
func (o *owner) append(n int) (journal.Head, time.Duration) {
	o.t.Helper()
	var number uint64
	var hash string
	var worst int64
	if _, err := fmt.Sscan(o.tell("append "+strconv.Itoa(n)), &number, &hash, &worst); err != nil {
		o.t.Fatal(err)
	}
	h, err := parseHead(fmt.Sprint(number, " ", hash))
	if err != nil {
		o.t.Fatal(err)
	}
	return h, time.Duration(worst) * time.Microsecond
}

func (o *owner) pid() int { return o.cmd.Process.Pid }

func (o *owner) signal(s syscall.Signal) {
	o.t.Helper()
	if err := o.cmd.Process.Signal(s); err != nil {
		o.t.Fatal(err)
	}
}

// stop returns when the process has stopped: a signal alone only says that it will.
func (o *owner) stop() {
	o.t.Helper()
	o.signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(o.pid(), &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		o.t.Fatal("not stopped:", status, err)
	}
}

// leave closes the session and waits for the process.
func (o *owner) leave() {
	o.t.Helper()
	if err := errors.Join(o.in.Close(), o.cmd.Wait()); err != nil {
		o.t.Fatal(err)
	}
}

func (o *owner) kill() {
	if o.cmd.ProcessState == nil {
		_ = o.cmd.Process.Kill()
		_ = o.cmd.Wait()
	}
}

// places are a session's folder and one for sockets.
func places(t *testing.T) (dir, folder string) {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "sessions", "ses_01hzy0000000000000000000aa"), filepath.Join(root, "zuno")
}

// inspect reads the session, and sees that each commit came once.
func inspect(t *testing.T, dir string) (Source, error) {
	t.Helper()
	next := uint64(1)
	f, s, err := Open(journal.Inspection{Path: dir, Deep: true, Fold: func(c *journal.Raw) error {
		if c.Number != next {
			t.Errorf("commit %d instead of %d", c.Number, next)
		}
		next++
		return nil
	}})
	if err != nil {
		return s, err
	}
	if f.Head().Number != next-1 || s.Head != f.Head() {
		t.Errorf("head %d after %d commits, told %d", f.Head().Number, next-1, s.Head.Number)
	}
	return s, f.Close()
}

func expect(t *testing.T, dir string, way Way, pid int, head journal.Head) {
	t.Helper()
	s, err := inspect(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Way != way || s.PID != pid || s.Head != head {
		t.Errorf("read by way %d of pid %d at commit %d, not %d of %d at %d", s.Way, s.PID, s.Head.Number, way, pid, head.Number)
	}
}
