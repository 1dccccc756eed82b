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
