package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

func umask(m int) int { return syscall.Umask(m) }

// spec: D072 D090
func TestCommitsOutsideTheLimitsAreRefused(t *testing.T) {
	cases := map[string]func(c *Commit){
		"time goes back":      func(c *Commit) { c.At = 1 },
		"cause is not before": func(c *Commit) { c.Cause = 2 },
		"no command id":       func(c *Commit) { c.Command.ID = "" },
		"no command type":     func(c *Commit) { c.Command.Type = "" },
		"long actor":          func(c *Commit) { c.Command.Actor = strings.Repeat("x", MaxName+1) },
		"large payload":       func(c *Commit) { c.Command.Payload = make([]byte, MaxPayload+1) },
		"too many events":     func(c *Commit) { c.Events = make([]Event, MaxEvents+1) },
		"no stream":           func(c *Commit) { c.Events = []Event{{Type: "x.1"}} },
		"no event type":       func(c *Commit) { c.Events = []Event{{Stream: 1}} },
		"too many texts": func(c *Commit) {
			c.Texts.Entries, c.Texts.Bodies = make([]TextEntry, MaxTexts+1), make([][]byte, MaxTexts+1)
		},
		"size of a text":   func(c *Commit) { c.Texts.Entries, c.Texts.Bodies = []TextEntry{{Size: 3}}, [][]byte{{1}} },
		"salt of a text":   func(c *Commit) { c.Texts = NewTexts([]byte("another salt, as long as it takes")); c.Texts.Add(nil) },
		"bodies and table": func(c *Commit) { c.Texts.Bodies = [][]byte{{1}} },
	}
	for _, log := range []Log{create(t, Options{}), &Memory{}} {
		var bad *Invalid
		if err := log.Append([]*Commit{testCommit(2, 1)}); !errors.As(err, &bad) {
			t.Fatalf("a session without its salt gave %v", err)
		}
		mustAppend(t, log, testCommit(1, 1))
		head := log.Head()
		for name, spoil := range cases {
			good, c := testCommit(2, 1), testCommit(3, 1)
			c.Cause = 0
			spoil(c)
			c.Cause *= 2
			if err := log.Append([]*Commit{good, c}); !errors.As(err, &bad) || bad.Commit != 3 {
				t.Errorf("%s: %v", name, err)
			}
			if log.Head() != head {
				t.Fatalf("%s: the batch was appended in part", name)
			}
		}
		mustAppend(t, log, testCommit(2, 1))
	}
}

// The largest table and the longest list of events still make a commit, and one that comes back.
// spec: D073 D074
func TestLargestCommit(t *testing.T) {
	f := create(t, Options{})
	c := testCommit(1, MaxEvents)
	for i := 1; i < MaxTexts; i++ {
		c.Texts.Add(binary.BigEndian.AppendUint16(nil, uint16(i)))
	}
	if n := c.Texts.Add([]byte{0, 9}); n != 9 {
		t.Fatalf("a text that is there already got index %d", n)
	}
	mustAppend(t, f, c)
	if err := reopen(t, f).Read(1, func(r *Raw) error { same(t, c, r); return nil }); err != nil {
		t.Fatal(err)
	}
}

// spec: D078 D079
func TestKillAtEachPoint(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	f.Close()
	head := uint64(1)
	for _, p := range []Point{
		PointBeforeAppend, PointArtifactWritten, PointArtifactSynced, PointArtifactRenamed,
		PointArtifactFolderSynced, PointBeforeSync, PointAfterSync, "none",
	} {
		out, err := process(t, "die", f.dir, string(p)).CombinedOutput()
		if killed := err != nil; killed != (p != "none") || len(out) > 0 {
			t.Fatalf("%s: %v %s", p, err, out)
		}
		if p == PointAfterSync || p == "none" {
			head += 2 // all of the batch, or none of it
		}
		r, err := Verify(f.dir, Hash{})
		if err != nil || r.Head.Number != head {
			t.Fatalf("%s: head %d instead of %d, %v", p, r.Head.Number, head, err)
		}
	}
	if reopen(t, f).Head().Number != head {
		t.Fatal("the session does not open")
	}
}

// spec: D088
func TestAFailedSyncLeavesTheOutcomeUnknown(t *testing.T) {
	var fail error
	f := create(t, Options{Fault: func(p Point) error {
		if p == PointAfterSync {
			return fail
		}
		return nil
	}})
	mustAppend(t, f, testCommit(1, 1))
	fail = errors.New("the disk is gone")
	head := f.Head()
	for range 2 {
		if err := f.Append([]*Commit{testCommit(2, 1)}); !errors.Is(err, ErrUnknownOutcome) {
			t.Fatalf("a failed sync gave %v", err)
		}
		if f.Head() != head {
			t.Fatal("the head moved")
		}
		fail = nil // the second append must be refused all the same
	}
	if n := reopen(t, f).Head().Number; n != 2 {
		t.Fatalf("a fresh open found %d commits", n)
	}
}

// Behind bbolt's back its file becomes one that takes every write and cannot be synced.
// spec: D088
func TestAFailedSyncOfTheFile(t *testing.T) {
	f := create(t, Options{})
	for n := range 20 {
		mustAppend(t, f, testCommit(uint64(n+1), 1)) // until there are free pages, so that the file need not grow
	}
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer null.Close()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, e := range fds {
		var fd int
		fmt.Sscan(e.Name(), &fd)
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); to == f.path && fd != int(f.handle.Fd()) {
			if err := unix.Dup2(int(null.Fd()), fd); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		if err := f.Append([]*Commit{testCommit(21, 1)}); !errors.Is(err, ErrUnknownOutcome) {
			t.Fatalf("a failed sync gave %v", err)
		}
	}
	f.Close()
	if r, err := Verify(f.dir, Hash{}); err != nil || r.Head.Number != 20 {
		t.Fatal(r, err)
	}
}

// spec: D088
func TestSyncErrorsAreRecognized(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.EIO: true, &os.PathError{Op: "sync", Err: syscall.EIO}: true, errors.New("file sync error: input/output error"): true,
		&os.PathError{Op: "write", Err: syscall.ENOSPC}: false, errors.New("file resize error: no space left on device"): false,
	} {
		if isSync(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

// spec: D088 D096
func TestADiskThatIsFullRollsBack(t *testing.T) {
	for _, c := range []struct{ limit, texts, want string }{
		{"12288", "20", ": write "},       // a page cannot be written: past the meta pages
		{"1572864", "400", "file resize"}, // the file cannot grow
	} {
		t.Run(c.want, func(t *testing.T) {
			f := create(t, Options{})
			mustAppend(t, f, testCommit(1, 1, strings.Repeat("x", 100_000)), testCommit(2, 1)) // it has grown once
			f.Close()
			out, err := process(t, "full", f.dir, c.limit, c.texts).CombinedOutput()
			if err != nil || !strings.Contains(": "+string(out), c.want) {
				t.Fatalf("%v: %s", err, out)
			}
			if r, err := Verify(f.dir, Hash{}); err != nil || r.Head.Number != 3 {
				t.Fatal(r, err)
			}
		})
	}
}

// spec: D078
func TestAFailureBeforeTheSyncWritesNothing(t *testing.T) {
	for _, at := range []Point{PointBeforeAppend, PointArtifactWritten, PointArtifactSynced, PointArtifactRenamed, PointArtifactFolderSynced, PointBeforeSync} {
		cause := errors.New("no space")
		var fail error
		f := create(t, Options{Fault: func(p Point) error {
			if p == at {
				return fail
			}
			return nil
		}})
		mustAppend(t, f, testCommit(1, 1))
		head := f.Head()
		fail = cause
		text := strings.Repeat("x", MaxBucket+1)
		var no *NotAppended
		if err := f.Append([]*Commit{testCommit(2, 1, text)}); !errors.As(err, &no) || !errors.Is(err, cause) || f.Head() != head {
			t.Fatalf("%s: %v", at, err)
		}
		fail = nil
		mustAppend(t, f, testCommit(2, 1, text))
		left, err := filepath.Glob(filepath.Join(f.dir, artifactsDir, "*"))
		if hidden, _ := filepath.Glob(filepath.Join(f.dir, artifactsDir, ".*")); err != nil || len(left) != 1 || len(hidden) > 0 {
			t.Errorf("%s left %v %v", at, left, hidden)
		}
		if reopen(t, f).Head().Number != 2 {
			t.Fatal("not appended")
		}
	}
}

func written(t *testing.T) (n uint64) {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(b)) {
		if _, err := fmt.Sscanf(line, "wchar: %d", &n); err == nil {
			return n
		}
	}
	t.Skip("no count of written bytes")
	return 0
}

// spec: D077
func TestALongTextIsWrittenOnce(t *testing.T) {
	for _, size := range []int{64 << 10, MaxBucket, 10 << 20} {
		f := create(t, Options{})
		mustAppend(t, f, testCommit(1, 1))
		before := written(t)
		mustAppend(t, f, testCommit(2, 1, strings.Repeat("p", size)))
		if n := written(t) - before; n < uint64(size) || n > uint64(size)+64<<10 {
			t.Errorf("a text of %d bytes cost %d", size, n)
		}
		before = written(t)
		for n := range uint64(4) {
			mustAppend(t, f, testCommit(3+n, 1, "short"))
		}
		if n := written(t) - before; n > 128<<10 {
			t.Errorf("the four commits after a text of %d bytes cost %d", size, n)
		}
	}
}

// The map is address space; it must not become a file of a gigabyte.
// spec: D088
func TestTheMapDoesNotGrowTheFile(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	if f.db.NoSync || f.db.NoGrowSync {
		t.Fatal("syncing is off")
	}
	st, err := os.Stat(f.path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > 2*growStep {
		t.Errorf("the file has %d bytes", st.Size())
	}
	if blocks := st.Sys().(*syscall.Stat_t).Blocks * 512; blocks > 128<<10 {
		t.Errorf("the file takes %d bytes of the disk", blocks)
	}
}

// A reader that stands still must not hold up the owner, and sees what was durable when it began.
// spec: D088
func TestReadersSeeThePublishedHead(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	seen := 0
	err := f.Scan(1, func(*Raw) error {
		seen++
		for n := f.Head().Number + 1; n <= 60; n++ {
			mustAppend(t, f, testCommit(n, 1, strings.Repeat("x", 50_000)))
		}
		return nil
	})
	if err != nil || seen != 1 || f.Head().Number != 60 {
		t.Fatal(seen, f.Head(), err)
	}
	if reopen(t, f).Head().Number != 60 {
		t.Fatal("lost")
	}
}

// spec: D077 D082
func TestOneTransactionForABatch(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	id := func() (id int) {
		f.db.View(func(tx *bolt.Tx) error { id = tx.ID(); return nil })
		return id
	}
	before := id()
	mustAppend(t, f, testCommit(2, 2, strings.Repeat("x", MaxInline+1)), testCommit(3, 2), testCommit(4, 2))
	if n := id() - before; n != 1 {
		t.Fatalf("a batch took %d transactions", n)
	}
	if f.Append(nil) != nil || id()-before != 1 {
		t.Fatal("an empty batch was written")
	}
}

// spec: D084
func TestAClosedJournalSaysSo(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	f.Close()
	if err := f.Append([]*Commit{testCommit(2, 1)}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := f.Scan(1, ignore); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
