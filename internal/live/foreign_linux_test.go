package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"zuno/journal"
)

const strangerEnv = "ZUNO_LIVE_TEST_STRANGER"

// stranger asks the owner at a path for its head, as whoever this process is.
func stranger(path string) string {
	c, err := dial(path)
	if err != nil {
		return fmt.Sprint("not connected: ", errors.Is(err, syscall.EACCES))
	}
	defer c.close()
	if err := c.send(wordHead, nil, answerWait); err != nil {
		return "hung up: " + fmt.Sprint(deserted(err))
	}
	m, _, err := c.receive(answerWait)
	return fmt.Sprintf("hung up: %t %s", err == io.EOF || deserted(err), m)
}

// A process of another user cannot come to the socket, and is not answered where it can.
//
// spec: D188
func TestForeignUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	s, _, path := served(t, journal.Options{})
	if err := s.append(nil); err != nil {
		t.Fatal(err)
	}
	// The test binary lies where only its user comes to.
	dir, err := os.MkdirTemp("/tmp", "zuno-live-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "test")
	if err := errors.Join(os.WriteFile(binary, b, 0o755), os.Chmod(binary, 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	run := func(uid uint32, path string) string {
		cmd := exec.Command(binary)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), strangerEnv+"="+path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(string(out), err)
		}
		return strings.TrimSpace(string(out))
	}
	const nobody = 65534
	if got := run(nobody, path); got != "not connected: true" {
		t.Errorf("through the folder: %s", got)
	}
	open := filepath.Join(dir, "open") // as if the folder were not closed to others
	if err := errors.Join(os.Rename(path, open), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	if got := run(nobody, open); got != "hung up: true" {
		t.Errorf("past the folder: %s", got)
	}
	if got, want := run(0, open), "hung up: false "+version+headMessage(s.file.Head()); got != want {
		t.Errorf("as its own user: %s", got)
	}
}
