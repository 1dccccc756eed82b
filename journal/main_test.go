package journal

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// roleVar makes the test binary play another process: a role and its arguments.
const roleVar = "JOURNAL_TEST_ROLE"

// moreRoles are those that some systems have.
var moreRoles = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	role := strings.Fields(os.Getenv(roleVar))
	if len(role) == 0 {
		os.Exit(m.Run())
	}
	roles := map[string]func(args []string) error{"hold": hold, "die": die, "full": full}
	maps.Copy(roles, moreRoles)
	if err := roles[role[0]](role[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func process(t *testing.T, role ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVar+"="+strings.Join(role, " "))
	return cmd
}

// hold owns the session until its input ends.
func hold(args []string) error {
	f, err := Open(args[0], Options{}, ignore)
	if err != nil {
		return err
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	return f.Close()
}

// die appends to a session and is killed at a point.
func die(args []string) error {
	f, err := Open(args[0], Options{Fault: func(p Point) error {
		if p == Point(args[1]) {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}}, ignore)
	if err != nil {
		return err
	}
	n := f.Head().Number + 1
	return f.Append([]*Commit{testCommit(n, 1, strings.Repeat(args[1], MaxBucket)), testCommit(n+1, 1)})
}

// full appends while the file may not grow beyond a limit, and once more without it.
func full(args []string) error {
	limit, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	texts, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	f, err := Open(args[0], Options{}, ignore)
	if err != nil {
		return err
	}
	defer f.Close()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: old.Max}); err != nil {
		return err
	}
	head := f.Head()
	big := func() *Commit {
		c := testCommit(head.Number+1, 0)
		for i := range texts {
			c.Texts.Add([]byte(strings.Repeat(strconv.Itoa(i), MaxInline+100)))
		}
		return c
	}
	err = f.Append([]*Commit{big()})
	var no *NotAppended
	if !errors.As(err, &no) || errors.Is(err, ErrUnknownOutcome) || f.Head() != head {
		return fmt.Errorf("appending to a full disk gave %v, head %v", err, f.Head())
	}
	fmt.Println(no.Cause)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	return f.Append([]*Commit{big()})
}
