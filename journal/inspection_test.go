package journal

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// spec: D186 D189
func TestSnapshotIsAPrefix(t *testing.T) {
	f := create(t, Options{})
	for n := range uint64(20) {
		mustAppend(t, f, testCommit(n+1, 1, fmt.Sprint("text ", n)))
	}
	copied, head, err := f.Snapshot()
	if err != nil || head != f.Head() {
		t.Fatal(head, err)
	}
	defer copied.Close()
	for n := range uint64(200) {
		mustAppend(t, f, testCommit(n+21, 1, fmt.Sprint("text ", n)))
	}
	seen := uint64(0)
	r, err := Inspection{Path: f.Dir(), Deep: true, Fold: func(c *Raw) error { seen = c.Number; return nil }}.Snapshot(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Head() != head || seen != 20 {
		t.Errorf("head %d after %d", r.Head().Number, seen)
	}
}

// An owned journal is refused at once to whoever wants to read it freely.
//
// spec: D186
func TestFreeDoesNotWait(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1, "text"))
	began := time.Now()
	_, err := Inspection{Path: f.Dir(), Fold: ignore}.Free()
	var used *InUse
	if !errors.As(err, &used) || time.Since(began) > readWait {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if owned, err := Owned(f.Dir()); !owned || err != nil {
		t.Error(owned, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if owned, err := Owned(f.Dir()); owned || err != nil {
		t.Error(owned, err)
	}
}

// What the fold of a good copy refuses is no reason to take another and fold that too.
//
// spec: D187
func TestLiveFoldsOnce(t *testing.T) {
	f := create(t, Options{})
	for n := range uint64(5) {
		mustAppend(t, f, testCommit(n+1, 1, "text"))
	}
	calls := 0
	_, err := Inspection{Path: f.Dir(), Fold: func(c *Raw) error {
		calls++
		if c.Number == 3 {
			return &Damaged{File: "mine", Commit: 3, Reason: "the fold says so"}
		}
		return nil
	}}.Live()
	var d *Damaged
	if !errors.As(err, &d) || d.File != "mine" || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// A reader that stops in the middle of its copy keeps no owner out, and reads nothing that the owner left half.
//
// spec: D189
func TestOwnerComesDuringACopy(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var owner *File
	own := func(at uint64) {
		t.Helper()
		var err error
		if owner, err = Open(f.dir, Options{LockWait: time.Millisecond}, ignore); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, owner, testCommit(at, 1))
	}
	came := false
	r, err := Inspection{Path: f.dir, Fold: ignore, copying: func() {
		if !came { // and leaves again
			came = true
			own(2)
			owner.Close()
		}
	}}.Free()
	if err != nil || r.Head().Number != 2 {
		t.Fatal(r, err)
	}
	r.Close()
	_, err = Inspection{Path: f.dir, Fold: ignore, copying: func() { own(3) }}.Free()
	var used *InUse
	if !errors.As(err, &used) {
		t.Error(err)
	}
	owner.Close()
}
