package journal

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// spec: D098 D099
func TestSecondOpenerIsToldWhoOwns(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	child := process(t, "hold", f.dir)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}

	began := time.Now()
	_, err = Open(f.dir, Options{}, ignore)
	took := time.Since(began)
	var used *InUse
	if !errors.As(err, &used) || used.PID != child.Process.Pid || used.File != f.path {
		t.Fatalf("the second opener got %v, the owner is %d", err, child.Process.Pid)
	}
	if took < DefaultLockWait || took > DefaultLockWait+time.Second {
		t.Errorf("the second opener waited %v", took)
	}
	if _, err := OpenRead(f.dir, ignore); !errors.As(err, &used) || used.PID != child.Process.Pid {
		t.Errorf("a reader got %v", err)
	}
	r, err := OpenLive(f.dir, ignore)
	if err != nil || r.Head().Number != 1 {
		t.Errorf("a reader without a lock got %v", err)
	} else {
		r.Close()
	}

	in.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if pid := ownerPID(f.dir); pid != 0 {
		t.Errorf("pid %d is dead, and still named", pid)
	}
	g, err := Open(f.dir, Options{}, ignore) // the stale owner.json is still there
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
}

// spec: D098 D099
func TestOwnersOfOneProcessExcludeEachOther(t *testing.T) {
	run := RunID{0x01, 0x9a, 15: 7}
	began := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	f := create(t, Options{Run: run, Started: began})
	mustAppend(t, f, testCommit(1, 1))
	var used *InUse
	if _, err := Open(f.dir, Options{LockWait: time.Millisecond}, ignore); !errors.As(err, &used) || used.PID != os.Getpid() {
		t.Fatalf("the second open gave %v", err)
	}
	if err := f.SetSocket("/run/zuno/x"); err != nil {
		t.Fatal(err)
	}
	o, err := ReadOwner(f.dir)
	if err != nil || o != (Owner{os.Getpid(), "2026-01-02T03:04:05.006Z", "01K80000000000000000000007", "/run/zuno/x"}) {
		t.Fatalf("owner.json says %+v, %v", o, err)
	}
	mustAppend(t, f, testCommit(2, 1)) // the failed open must not have cost the lock
	if _, err := Open(f.dir, Options{LockWait: time.Millisecond}, ignore); !errors.As(err, &used) {
		t.Fatalf("the third open gave %v", err)
	}
}

// A fold that fails, or a damaged file, must leave neither a lock nor a changed file.
// spec: D095 D098
func TestFailedOpenGivesTheLockBack(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	f.Close()
	mine := errors.New("mine")
	if _, err := Open(f.dir, Options{}, func(*Raw) error { return mine }); !errors.Is(err, mine) {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() != "a defect" {
				t.Error("a panic of the fold was taken for damage")
			}
		}()
		Open(f.dir, Options{}, func(*Raw) error { panic("a defect") })
	}()
	g, err := Open(f.dir, Options{LockWait: time.Millisecond}, ignore)
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
}

// spec: D070
func TestModesHoldUnderAnyUmask(t *testing.T) {
	for _, mask := range []int{0, 0o777} {
		dir := filepath.Join(t.TempDir(), "ses")
		old := umask(mask)
		f, err := Create(dir, Options{})
		if err == nil {
			err = f.Append([]*Commit{testCommit(1, 1, string(make([]byte, MaxBucket+1)))})
			f.Close()
		}
		umask(old)
		if err != nil {
			t.Fatal(err)
		}
		files := 0
		filepath.Walk(dir, func(path string, st os.FileInfo, err error) error {
			if err != nil {
				t.Fatal(err)
			}
			files++
			want := os.FileMode(fileMode)
			if st.IsDir() {
				want = folderMode | os.ModeDir
			}
			if st.Mode() != want {
				t.Errorf("umask %o: %s has mode %v", mask, path, st.Mode())
			}
			return nil
		})
		if files != 6 { // the folder, artifacts, one artifact, out, journal, owner
			t.Errorf("the session has %d files", files)
		}
	}
}

// spec: D070
func TestCreateTwiceIsRefused(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	f.Close()
	if _, err := Create(f.dir, Options{}); !errors.Is(err, os.ErrExist) {
		t.Fatalf("the second create gave %v", err)
	}
	if _, err := Open(filepath.Join(f.dir, "x"), Options{}, ignore); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("no journal gave %v", err)
	}
	if reopen(t, f).Head().Number != 1 {
		t.Fatal("the journal was replaced")
	}
}

// Owners, readers and readers without a lock at once: nobody ever sees less than what was acknowledged before.
// spec: D095 D098
func TestOwnersTakeTurns(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	f.Close()
	const owners, turns = 4, 6
	var acknowledged atomic.Uint64
	acknowledged.Store(1)
	var wg sync.WaitGroup
	for range owners {
		wg.Go(func() {
			for done := 0; done < turns; {
				least := acknowledged.Load()
				g, err := Open(f.dir, Options{LockWait: 10 * time.Second}, ignore)
				var used *InUse
				if errors.As(err, &used) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				n := g.Head().Number + 1
				if err := g.Append([]*Commit{testCommit(n, 3, strings.Repeat("x", 5000))}); err != nil || n <= least {
					t.Errorf("commit %d after %d: %v", n, least, err)
				}
				acknowledged.Store(n)
				done++
				g.Close()
			}
		})
		wg.Go(func() {
			for range turns {
				least := acknowledged.Load()
				r, err := OpenLive(f.dir, ignore)
				if err != nil {
					t.Error(err)
					return
				}
				if r.Head().Number < least {
					t.Errorf("a reader saw %d commits after %d were acknowledged", r.Head().Number, least)
				}
				r.Close()
			}
		})
	}
	wg.Wait()
	if r, err := Verify(f.dir, Hash{}); err != nil || r.Head.Number != 1+owners*turns {
		t.Fatal(r, err)
	}
}

// What is no file in the place of owner.json names nobody, and hangs nobody who asks.
func TestOwnerThatIsNoFile(t *testing.T) {
	f := create(t, Options{})
	path := filepath.Join(f.dir, ownerFile)
	for name, put := range map[string]func() error{
		"fifo":   func() error { return syscall.Mkfifo(path, 0o600) },
		"folder": func() error { return os.Mkdir(path, 0o700) },
		"huge":   func() error { return errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Truncate(path, 1<<40)) },
	} {
		if err := errors.Join(os.Remove(path), put()); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := ReadOwner(f.dir)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: it hangs", name)
		}
		var used *InUse
		if _, err := OpenRead(f.dir, ignore); !errors.As(err, &used) || used.PID != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
