package journal

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { moreRoles["record"] = record }

// batch is what the recording process appends in its nth transaction: small ones, several commits at once, long texts that
// make the file grow, and every fourth time one that lies in a file of its own.
func batch(head uint64, n int) (commits []*Commit) {
	for i := range 1 + n%3 {
		number := head + 1 + uint64(i)
		switch {
		case n%4 == 3 && i == 0:
			commits = append(commits, testCommit(number, 3, fmt.Sprint(n), strings.Repeat(fmt.Sprint(n), MaxBucket+1)))
		case n%4 == 1:
			commits = append(commits, testCommit(number, 3, strings.Repeat(fmt.Sprintf("%d bucket ", n), 9000)))
		default:
			commits = append(commits, testCommit(number, 3, fmt.Sprint("text ", n, i)))
		}
	}
	return commits
}

const recordedBatches = 12

// record appends to a session while it watches its own system calls, and writes down what it saw.
//
//	record DIR LOG          everything as it is
//	record DIR LOG nosync   with bbolt's syncs off
//	record DIR LOG fail N   the Nth sync of the journal fails
func record(args []string) error {
	f, err := Open(args[0], Options{}, ignore)
	if err != nil {
		return err
	}
	f.db.NoSync = len(args) > 2 && args[2] == "nosync"
	w, err := watch()
	if err != nil {
		return err
	}
	if len(args) > 3 {
		var nth, count int
		if _, err := fmt.Sscan(args[3], &nth); err != nil {
			return err
		}
		w.failing(func(op operation) unix.Errno {
			if strings.HasSuffix(op.Path, journalFile) && strings.Contains(op.Call, "sync") {
				if count++; count == nth {
					return unix.EIO
				}
			}
			return 0
		})
	}
	for n := range recordedBatches {
		if err := f.Append(batch(f.Head().Number, n)); err != nil {
			head := f.Head()
			if again := f.Append(batch(head.Number, n)); !errors.Is(err, ErrUnknownOutcome) || !errors.Is(again, ErrUnknownOutcome) || f.Head() != head {
				return fmt.Errorf("after a failed sync: %w, then %w, head %d", err, again, f.Head().Number)
			}
			break
		}
		w.acknowledge(f.Head().Number)
	}
	out, err := os.Create(args[1])
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(out).Encode(w.operations()), out.Close())
}

// recorded runs a recording process on a fresh session.
func recorded(t *testing.T, more ...string) (f *File, before []byte, ops []operation) {
	t.Helper()
	f = create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	f.Close()
	before, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "operations")
	out, err := process(t, append([]string{"record", f.dir, log}, more...)...).CombinedOutput()
	if strings.Contains(string(out), errNoSeccomp.Error()) {
		t.Skip(string(out))
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	in, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := gob.NewDecoder(in).Decode(&ops); err != nil {
		t.Fatal(err)
	}
	return f, before, ops
}

// syncFaults says what is wrong with the order of writes and syncs: each batch costs two syncs of the journal, one between
// its pages and the meta page that names them and one behind that; another one each time that the file grows; and one for
// each artifact and one for their folder, all before the pages.
func syncFaults(ops []operation) (faults []string) {
	var names []string
	for n := 0; len(ops) > 0; n++ {
		names = names[:0]
		i := 0
		for ; i < len(ops) && ops[i].Call != "ack"; i++ {
			if s := ops[i].String(); len(names) == 0 || s != "pwrite64 journal" || names[len(names)-1] != s {
				names = append(names, s)
			}
		}
		ops = ops[min(i+1, len(ops)):]
		got := strings.Join(names, ", ")
		want := "pwrite64 journal, fdatasync journal, pwrite64 journal meta, fdatasync journal"
		if strings.HasPrefix(strings.TrimPrefix(got, "fsync artifact, fsync artifacts, "), "ftruncate") {
			want = "ftruncate journal, fsync journal, " + want
		}
		if n%4 == 3 {
			want = "fsync artifact, fsync artifacts, " + want
		}
		if got != want {
			faults = append(faults, fmt.Sprintf("batch %d: %s", n, got))
		}
	}
	return faults
}

// spec: D204
func TestEachBatchCostsItsSyncsAndNoMore(t *testing.T) {
	_, _, ops := recorded(t)
	for _, s := range syncFaults(ops) {
		t.Error(s)
	}
	grown := 0
	for _, op := range ops {
		if op.Call == "ftruncate" {
			grown++
		}
	}
	if grown == 0 || ops[len(ops)-1].Call != "ack" {
		t.Errorf("the file grew %d times", grown)
	}
	// With syncing off the same check fails, at every batch.
	_, _, ops = recorded(t, "nosync")
	if n := len(syncFaults(ops)); n != recordedBatches {
		t.Errorf("without syncs %d of %d batches are found wanting", n, recordedBatches)
	}
}

const sector = 512 // what a disk writes whole or not at all

// remains are states in which a power cut may leave what was written since the last sync: any of it, in any order, the
// last of it torn.
func remains(rnd *rand.Rand, durable []byte, pending []operation) (states [][]byte) {
	apply := func(keep func(i int) bool, tear int) {
		b := bytes.Clone(durable)
		for i, op := range pending {
			if !keep(i) {
				continue
			}
			if i == tear && op.Call == "pwrite64" && len(op.Data) > sector {
				// Some sectors of it, not only the first.
				for at := 0; at < len(op.Data); at += sector {
					if rnd.IntN(2) == 0 {
						end := min(at+sector, len(op.Data))
						b = operation{Call: op.Call, Offset: op.Offset + int64(at), Data: op.Data[at:end]}.apply(b)
					}
				}
				continue
			}
			b = op.apply(b)
		}
		states = append(states, b)
	}
	all := func(int) bool { return true }
	apply(func(int) bool { return false }, -1)
	if len(pending) == 0 {
		return states
	}
	apply(all, -1)
	apply(all, len(pending)-1)
	if len(pending) > 1 {
		lost := rnd.IntN(len(pending))
		apply(func(i int) bool { return i != lost }, -1)
		apply(func(int) bool { return rnd.IntN(2) == 0 }, rnd.IntN(len(pending)))
	}
	return states
}

// cutPower plays a recording and cuts the power at each point. It gives the number of states, and those that were not
// opened with everything that had been acknowledged.
func cutPower(t *testing.T, f *File, before []byte, ops []operation) (tried int, lost []string) {
	rnd := rand.New(rand.NewPCG(5, 6))
	durable, pending := bytes.Clone(before), []operation(nil)
	acknowledged := uint64(1)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(f.dir, artifactsDir), filepath.Join(dir, artifactsDir)); err != nil {
		t.Fatal(err)
	}
	path := inFolder(dir)
	for n, op := range ops {
		switch {
		case op.Call == "ack":
			acknowledged = op.Number
		case !strings.HasSuffix(op.Path, journalFile):
			continue
		case strings.Contains(op.Call, "sync"):
			for _, p := range pending {
				durable = p.apply(durable)
			}
			pending = nil
		default:
			pending = append(pending, op)
		}
		if testing.Short() && n%4 != 0 {
			continue
		}
		for _, b := range remains(rnd, durable, pending) {
			tried++
			if err := os.WriteFile(path, b, fileMode); err != nil {
				t.Fatal(err)
			}
			r, err := Verify(path, Hash{})
			if err != nil || r.Head.Number < acknowledged {
				lost = append(lost, fmt.Sprintf("cut after operation %d (%v): commit %d of %d, %v", n, op, r.Head.Number, acknowledged, err))
				continue
			}
			if tried%20 == 0 { // and it goes on
				g, err := Open(dir, Options{}, ignore)
				if err != nil {
					t.Fatal(err)
				}
				mustAppend(t, g, testCommit(g.Head().Number+1, 1))
				g.Close()
			}
		}
	}
	return tried, lost
}

// spec: D205
func TestPowerCutAtEveryPoint(t *testing.T) {
	f, before, ops := recorded(t)
	tried, lost := cutPower(t, f, before, ops)
	for _, s := range lost {
		t.Error(s)
	}
	if tried < 200 && !testing.Short() {
		t.Errorf("only %d states were tried", tried)
	}
	// Without syncs the cuts do lose commits, so they would be found.
	f, before, ops = recorded(t, "nosync")
	if tried, lost := cutPower(t, f, before, ops); len(lost) < tried/4 {
		t.Errorf("without syncs only %d of %d cuts lose anything", len(lost), tried)
	}
}

// Each of the first syncs fails once, as the kernel tells it: the outcome is unknown, the log takes no more, and a fresh
// open finds all that was acknowledged and whatever else it finds is whole.
// spec: D201
func TestRealSyncFails(t *testing.T) {
	for nth := 1; nth <= 6; nth++ {
		f, _, ops := recorded(t, "fail", fmt.Sprint(nth))
		acknowledged := uint64(1)
		for _, op := range ops {
			if op.Call == "ack" {
				acknowledged = op.Number
			}
		}
		if last := ops[len(ops)-1]; last.Call == "ack" {
			t.Fatalf("sync %d: nothing failed", nth)
		}
		g := reopen(t, f)
		if n := g.Head().Number; n < acknowledged {
			t.Fatalf("sync %d: %d commits after %d were acknowledged", nth, n, acknowledged)
		}
		mustAppend(t, g, testCommit(g.Head().Number+1, 1))
	}
}
