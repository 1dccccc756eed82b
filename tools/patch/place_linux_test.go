package patch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"zuno/tools"
)

// Two names of one file are two files of a patch: that the first was changed is not a change behind its back.
//
// spec: T177
func TestHardLinks(t *testing.T) {
	update := func(name string) []string { return []string{"*** Update File: " + name, "@@", "-one", "+" + name} }
	for _, c := range []struct {
		name  string
		lines []string
		tree  string
	}{
		{"both updated", append(update("a"), update("b")...), `a "a\n" b "b\n"`},
		{"one deleted", append(update("a"), "*** Delete File: b"), `a "a\n"`},
		{"both deleted", []string{"*** Delete File: a", "*** Delete File: b"}, ``},
		{"moved over the other", []string{"*** Update File: a", "*** Move to: b"}, `b "one\n"`},
		{"one moved and the other updated", append([]string{"*** Update File: a", "*** Move to: c"}, update("b")...), `b "b\n" c "one\n"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSession(t)
			s.file("a", "one\n")
			must(t, os.Link(s.path("a"), s.path("b")))
			s.read("a")
			s.read("b")
			is(t, s.patch(c.lines...), tools.OK, "")
			var holds []string
			for line := range strings.Lines(tree(t, s.where.Cwd)) {
				if name, rest, _ := strings.Cut(strings.TrimSpace(line), " "); name != "." {
					holds = append(holds, name+" "+rest[strings.Index(rest, `"`):])
				}
			}
			if got := strings.Join(holds, " "); got != c.tree {
				t.Errorf("%s, want %s", got, c.tree)
			}
		})
	}
	s := newSession(t)
	s.file("a", "one\n")
	must(t, os.Link(s.path("a"), s.path("b")))
	s.read("a")
	s.read("b")
	d := realDisk
	d.place = func(dir int, name, base string, old *unix.Stat_t) error {
		defer func() { _ = os.WriteFile(s.path("b"), []byte("theirs\n"), 0o600) }()
		return realDisk.place(dir, name, base, old)
	}
	is(t, s.on(d).patch(append(update("a"), update("b")...)...), tools.Uncertain, tools.ClassIO)
	s.holds("b", "theirs\n")
}

// One file by two paths that are no links of each other – a file system that does not tell cases apart, a folder that is
// mounted twice – cannot be two sections.
func TestOneFileTwice(t *testing.T) {
	if os.Getenv("ZUNO_MOUNT_TEST") == "" {
		cmd := exec.Command("unshare", "--mount", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), "ZUNO_MOUNT_TEST=1")
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), "=== RUN") {
			t.Skipf("no mounts: %v %s", err, out)
		}
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s := newSession(t)
	s.known("one/a", "x\n")
	must(t, os.Mkdir(s.path("two"), 0o755))
	must(t, unix.Mount(s.path("one"), s.path("two"), "", unix.MS_BIND, ""))
	defer func() { _ = unix.Unmount(s.path("two"), unix.MNT_DETACH) }()
	s.read("two/a")
	is(t, s.unchanged(func() tools.Result {
		return s.patch("*** Update File: one/a", "@@", "-x", "+y", "*** Update File: two/a", "@@", "-x", "+z")
	}), tools.Failed, tools.ClassInvalidArguments, "one/a", "two/a", "the same file")

	s.known("held", "x\n") // a file that something is mounted on
	s.known("f", "x\n")
	must(t, unix.Mount(s.path("one/a"), s.path("held"), "", unix.MS_BIND, ""))
	defer func() { _ = unix.Unmount(s.path("held"), unix.MNT_DETACH) }()
	s.read("held")
	is(t, s.unchanged(func() tools.Result {
		return s.patch("*** Update File: f", "@@", "-x", "+y", "*** Update File: held", "@@", "-x", "+z")
	}), tools.Failed, tools.ClassIO, "held", "Nothing was done")
}

// What can be known to fail fails before the first file is changed.
//
// spec: T177
func TestWhatCannotBeReplacedIsKnownBefore(t *testing.T) {
	if os.Geteuid() == 0 { // everything can be written by root: once more as somebody else
		immutable(t)
		rerunAsNobody(t)
		return
	}
	s := newSession(t)
	s.known("f", "x\n")
	s.known("closed/a", "x\n")
	must(t, os.Chmod(s.path("closed"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(s.path("closed"), 0o755) })
	for _, lines := range [][]string{
		{"*** Delete File: closed/a"},
		{"*** Update File: closed/a", "*** Move to: moved"},
		{"*** Update File: closed/a", "@@", "-x", "+y"},
		{"*** Add File: closed/b", "+y"},
	} {
		r := s.unchanged(func() tools.Result {
			return s.patch(append([]string{"*** Update File: f", "@@", "-x", "+y"}, lines...)...)
		})
		is(t, r, tools.Failed, tools.ClassPermissionDenied, "Nothing was done")
	}
}

// immutable is a file that even root cannot replace.
func immutable(t *testing.T) {
	s := newSession(t)
	s.known("f", "x\n")
	s.known("fixed", "x\n")
	if out, err := exec.Command("chattr", "+i", s.path("fixed")).CombinedOutput(); err != nil {
		t.Logf("no file can be made immutable here: %v %s", err, out)
		return
	}
	t.Cleanup(func() { _ = exec.Command("chattr", "-i", s.path("fixed")).Run() })
	for _, lines := range [][]string{
		{"*** Delete File: fixed"}, {"*** Update File: fixed", "@@", "-x", "+y"}, {"*** Update File: fixed", "*** Move to: moved"},
	} {
		r := s.unchanged(func() tools.Result {
			return s.patch(append([]string{"*** Update File: f", "@@", "-x", "+y"}, lines...)...)
		})
		is(t, r, tools.Failed, tools.ClassPermissionDenied, "fixed", "Nothing was done")
	}
}

func rerunAsNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "zuno-patch-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777))
	own, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "test"), own, 0o755))
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}
