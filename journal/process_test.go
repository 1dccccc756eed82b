package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

func init() { moreRoles["contend"] = contend }

// contend takes the session's lock again and again and appends one commit each time, whose number it prints.
func contend(args []string) error {
	turns, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for range turns {
		f, err := Open(args[0], Options{LockWait: time.Minute}, ignore)
		var used *InUse
		if errors.As(err, &used) {
			return err
		}
		if err != nil {
			return err
		}
		n := f.Head().Number + 1
		c := testCommit(n, 1)
		c.Command.ID = fmt.Sprintf("pid %d: %d", os.Getpid(), n)
		if err := errors.Join(f.Append([]*Commit{c}), f.Close()); err != nil {
			return err
		}
		fmt.Println(n)
	}
	return nil
}

// Two processes on one session take turns; no number is given out twice, and both find all of the other's commits.
// spec: D206
func TestTwoProcessesNeverBothAppend(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	f.Close()
	const turns = 25
	type result struct {
		out []byte
		err error
	}
	results := make(chan result)
	for range 2 {
		go func() {
			out, err := process(t, "contend", f.dir, strconv.Itoa(turns)).CombinedOutput()
			results <- result{out, err}
		}()
	}
	seen := map[string]bool{}
	for range 2 {
		r := <-results
		if r.err != nil {
			t.Fatalf("%v\n%s", r.err, r.out)
		}
		for _, n := range strings.Fields(string(r.out)) {
			if seen[n] {
				t.Errorf("commit %s was acknowledged twice", n)
			}
			seen[n] = true
		}
	}
	if r, err := Verify(f.dir, Hash{}); err != nil || r.Head.Number != 1+2*turns || len(seen) != 2*turns {
		t.Fatal(r, err, len(seen))
	}
}

// Eight processes each own a session at the same time, and each appends while the seven others do.
// spec: D206
func TestEightProcessesOnEightSessions(t *testing.T) {
	const processes = 8
	type owner struct {
		dir string
		in  io.WriteCloser
		out *bufio.Reader
		end func() error
	}
	var owners []owner
	for range processes {
		f := create(t, Options{})
		mustAppend(t, f, testCommit(1, 1))
		f.Close()
		cmd := process(t, "together", f.dir, "30")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		owners = append(owners, owner{f.dir, in, bufio.NewReader(out), cmd.Wait})
	}
	for _, o := range owners { // all hold their session before one of them goes on
		if line, err := o.out.ReadString('\n'); line != "held\n" {
			t.Fatal(line, err)
		}
	}
	for _, o := range owners {
		o.in.Close()
	}
	for _, o := range owners { // and none gives it up before all have appended
		if line, err := o.out.ReadString('\n'); line != "done\n" {
			t.Fatal(line, err)
		}
		if err := o.end(); err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(o.dir, Hash{}); err != nil || r.Head.Number != 31 {
			t.Error(r, err)
		}
	}
}

func init() { moreRoles["together"] = together }

func together(args []string) error {
	f, err := Open(args[0], Options{}, ignore)
	if err != nil {
		return err
	}
	fmt.Println("held")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	turns, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for range turns {
		if err := f.Append([]*Commit{testCommit(f.Head().Number+1, 2, "text")}); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return f.Close()
}

// stuck takes nothing until it is released.
type stuck struct{ reached, release chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	select {
	case <-s.reached:
	default:
		close(s.reached)
	}
	<-s.release
	return len(p), nil
}

// An inspector that has stopped reading holds nothing of the owner's: the journal grows over many steps meanwhile, and is
// mapped anew, for which bbolt waits until no read transaction is open.
// spec: D189 D209
func TestStalledInspectorHoldsNobodyUp(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1), testCommit(2, 1, strings.Repeat("x", MaxBucket)))
	f.db.Close()
	db, err := bolt.Open(f.path, fileMode, &bolt.Options{
		NoFreelistSync: true, FreelistType: bolt.FreelistArrayType, // and a small map
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return duplicate(f.handle) },
	})
	if err != nil {
		t.Fatal(err)
	}
	db.AllocSize = growStep
	f.db = db
	s := stuck{make(chan struct{}), make(chan struct{})}
	done := make(chan error)
	go func() { done <- f.Backup(s) }()
	live, err := OpenLive(f.dir, ignore) // and one that never reads on from where it is
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	err = live.Scan(1, func(*Raw) error {
		<-s.reached
		before, err := os.Stat(f.path)
		if err != nil {
			return err
		}
		for n := range uint64(12) {
			mustAppend(t, f, testCommit(3+n, 1, strings.Repeat("y", MaxBucket)))
		}
		after, err := os.Stat(f.path)
		if err == nil && after.Size() < before.Size()+8*growStep {
			t.Errorf("the file grew from %d to %d bytes only", before.Size(), after.Size())
		}
		return errors.Join(err, io.EOF)
	})
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	close(s.release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if live.Head().Number != 2 || f.Head().Number != 14 {
		t.Error(live.Head(), f.Head())
	}
}

// spec: D202
func TestRemovedFolderIsTold(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	moved := f.dir + "-moved"
	if err := os.Rename(f.dir, moved); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, f, testCommit(2, 1)) // it is still there, under another name
	if r, err := OpenLive(moved, ignore); err != nil || r.Head() != f.Head() {
		t.Fatal(err)
	} else {
		r.Close()
	}
	head := f.Head()
	if err := os.RemoveAll(moved); err != nil {
		t.Fatal(err)
	}
	var gone *Removed
	if err := f.Append([]*Commit{testCommit(3, 1)}); !errors.As(err, &gone) || !errors.Is(err, ErrUnknownOutcome) {
		t.Fatalf("appending to a removed journal gave %v", err)
	}
	if err := f.Append([]*Commit{testCommit(3, 1)}); !errors.Is(err, ErrUnknownOutcome) || f.Head() != head {
		t.Fatal(err)
	}
	n := 0
	if err := f.Scan(1, func(*Raw) error { n++; return nil }); err != nil || n != 2 {
		t.Error(n, err) // what is mapped can still be read
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Not one handle is free: what needs none goes on, what needs one is told so and leaves nothing, and works later.
// spec: D202
func TestNoFreeFileHandles(t *testing.T) {
	out, err := process(t, "handles", filepath.Join(t.TempDir(), "ses")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func init() { moreRoles["handles"] = handles }

func handles(args []string) error {
	f, err := Create(args[0], Options{})
	if err != nil {
		return err
	}
	if err := f.Append([]*Commit{testCommit(1, 1)}); err != nil {
		return err
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}); err != nil {
		return err
	}
	if err := f.Append([]*Commit{testCommit(2, 1, "small")}); err != nil {
		return fmt.Errorf("an append that needs no handle: %w", err)
	}
	var no *NotAppended
	big := strings.Repeat("b", MaxBucket+1)
	if err := f.Append([]*Commit{testCommit(3, 1, big)}); !errors.As(err, &no) || !errors.Is(err, unix.EMFILE) {
		return fmt.Errorf("an append that needs one: %w", err)
	}
	for name, fn := range map[string]func() error{
		"open":   func() error { _, err := Open(args[0], Options{LockWait: 1}, ignore); return err },
		"read":   func() error { _, err := OpenRead(args[0], ignore); return err },
		"create": func() error { _, err := Create(args[0]+"2", Options{}); return err },
		"import": func() error { _, err := Import(strings.NewReader("{}"), args[0]+"3", Hash{}); return err },
		"backup": func() error { return f.Backup(io.Discard) },
	} {
		if err := fn(); !errors.Is(err, unix.EMFILE) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		return err
	}
	if err := f.Append([]*Commit{testCommit(3, 1, big)}); err != nil {
		return err
	}
	head := f.Head()
	if err := f.Close(); err != nil {
		return err
	}
	if _, err := os.Lstat(args[0] + "3"); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("an import left %w", err)
	}
	r, err := Verify(args[0], head.Hash)
	if err != nil || r.Match != 3 {
		return fmt.Errorf("%+v: %w", r, err)
	}
	return nil
}

// spec: D203
func TestNetworkFileSystemsAreKnown(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x6969: "nfs", 0xff534d42: "cifs", 0xfe534d42: "smb2", 0x65735546: "fuse", 0x01021997: "9p", 0x00c36400: "ceph",
		0xef53: "", 0x58465342: "", 0x01021994: "", 0x9123683e: "", 0x794c7630: "", 0x2fc12fc1: "", 0: "",
	} {
		if got := networkName(magic); got != want {
			t.Errorf("%#x is %q instead of %q", magic, got, want)
		}
	}
	dir := t.TempDir()
	if here, below := NetworkFS(dir), NetworkFS(filepath.Join(dir, "not", "made")); here != below {
		t.Errorf("%q and %q", here, below)
	}
}
