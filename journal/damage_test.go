package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"golang.org/x/sys/unix"
)

// patient is a journal that is about to be damaged.
type patient struct {
	t     *testing.T
	dir   string
	whole []byte
	head  Head
	kinds map[string]int
}

func newPatient(t *testing.T, commits int) *patient {
	f := create(t, Options{})
	for n := range commits {
		texts := []string{"some text"}
		if n%7 == 2 {
			texts = append(texts, strings.Repeat("long", 2000))
		}
		mustAppend(t, f, testCommit(uint64(n+1), 6, texts...))
	}
	p := &patient{t: t, dir: f.dir, head: f.Head(), kinds: map[string]int{}}
	f.Close()
	p.whole = usedPages(t, f.path)
	return p
}

// usedPages is a journal without the room that it has grown to: damage there hits nothing.
func usedPages(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := openFile(path, os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	m, err := readMetas(h, path)
	if err != nil {
		t.Fatal(err)
	}
	return b[:m.pages*m.pageSize]
}

// put writes b over the journal in place, since ext4 flushes what replaces a file.
func (p *patient) put(b []byte) {
	p.t.Helper()
	f, err := os.OpenFile(inFolder(p.dir), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = f.WriteAt(b, 0)
	if err := errors.Join(err, f.Truncate(int64(len(b))), f.Close()); err != nil {
		p.t.Fatal(err)
	}
}

// try opens the damaged bytes. Either the error is typed and names the file, or nothing that is in use was hit and the
// history is whole and takes another commit. The file is left alone until then.
func (p *patient) try(kind string, damaged []byte) (err error) {
	p.t.Helper()
	path := inFolder(p.dir)
	p.put(damaged)
	typed := func(err error) bool {
		var d *Damaged
		var n *NewerError
		return errors.As(err, &d) && d.File == path || errors.As(err, &n) && n.File == path
	}
	report, verified := Verify(path, p.head.Hash)
	if verified == nil && report.Match != p.head.Number || verified != nil && !typed(verified) {
		p.t.Fatalf("%s: verifying gave %+v, %v", kind, report, verified)
	}
	f, err := Open(p.dir, Options{}, ignore)
	if (err == nil) != (verified == nil) {
		p.t.Fatalf("%s: opening gave %v, verifying %v", kind, err, verified)
	}
	if err != nil {
		if !typed(err) {
			p.t.Fatalf("%s: %v", kind, err)
		}
		if after, _ := os.ReadFile(path); sha256.Sum256(after) != sha256.Sum256(damaged) {
			p.t.Fatalf("%s: the file was changed", kind)
		}
		p.kinds[kind+": typed"]++
		return err
	}
	defer f.Close()
	if f.Head() != p.head {
		p.t.Fatalf("%s: the history ends at %d instead of %d", kind, f.Head().Number, p.head.Number)
	}
	if err := f.Append([]*Commit{testCommit(f.Head().Number+1, 3, "more")}); err != nil {
		p.t.Fatalf("%s: %v", kind, err)
	}
	f.Close()
	if r, err := Verify(p.dir, p.head.Hash); err != nil || r.Match != p.head.Number {
		p.t.Fatalf("%s: after an append: %v", kind, err)
	}
	p.kinds[kind+": nothing in use"]++
	return nil
}

// mustFind is try for damage that is always found.
func (p *patient) mustFind(kind string, damaged []byte, commit uint64) {
	p.t.Helper()
	err := p.try(kind, damaged)
	var d *Damaged
	if !errors.As(err, &d) || d.Commit != commit {
		p.t.Fatalf("%s: %v, not damage of commit %d", kind, err, commit)
	}
}

// spec: D072 D091 D095 D096 D199
func TestDamage(t *testing.T) {
	p := newPatient(t, 60)
	rnd := rand.New(rand.NewPCG(1, 2))
	pages := len(p.whole) / pageSize
	trials := 400
	if testing.Short() {
		trials = 50
	}
	for range trials {
		b := bytes.Clone(p.whole)
		b[rnd.IntN(len(b))] ^= byte(1 + rnd.IntN(255))
		p.try("flip", b)
	}
	for n := range pages {
		b := bytes.Clone(p.whole)
		clear(b[n*pageSize : (n+1)*pageSize])
		p.try("zero page", b)
		for range 8 {
			b := bytes.Clone(p.whole)
			b[n*pageSize+rnd.IntN(96)] ^= byte(1 + rnd.IntN(255))
			p.try("flip in page head", b)
		}
	}
	for n := range pages {
		p.mustFind("truncate at a page", p.whole[:n*pageSize], 0)
	}
	for range trials / 8 {
		p.mustFind("truncate", p.whole[:rnd.IntN(len(p.whole))], 0)
	}
	p.mustFind("empty", nil, 0)
	p.mustFind("garbage", bytes.Repeat([]byte("garbage "), 4096), 0)
	p.mustFind("short garbage", []byte("{}"), 0)
	for n := range 2 {
		b := bytes.Clone(p.whole)
		clear(b[n*pageSize : (n+1)*pageSize])
		p.mustFind("meta page", b, 0)
	}
	t.Log(p.kinds)
}

// spec: D072 D091
func TestEveryByteOfARecordCounts(t *testing.T) {
	p := newPatient(t, 12)
	for _, n := range []uint64{1, 6, 12} {
		var rec []byte
		p.put(p.whole)
		f, err := Open(p.dir, Options{}, ignore)
		if err != nil {
			t.Fatal(err)
		}
		f.db.View(func(tx *bolt.Tx) error {
			rec = bytes.Clone(tx.Bucket(commitsBucket).Get(commitKey(n)))
			return nil
		})
		f.Close()
		// Older copies of it lie in pages that are free by now; the one in use is found by what its damage does.
		found := 0
		for at := 0; ; at++ {
			i := bytes.Index(p.whole[at:], rec)
			if i < 0 {
				break
			}
			at += i
			b := bytes.Clone(p.whole)
			b[at+bodyStart+4] ^= 1
			if p.try("probe", b) == nil {
				continue
			}
			found++
			for j := range rec {
				b := bytes.Clone(p.whole)
				b[at+j] ^= 1 << (j % 8)
				p.mustFind(fmt.Sprintf("commit %d", n), b, n)
			}
		}
		if found != 1 {
			t.Fatalf("commit %d lies in %d pages", n, found)
		}
	}
}

// rewrite changes the journal through bbolt, as somebody could who has the file.
func (p *patient) rewrite(fn func(commits, texts *bolt.Bucket)) []byte {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), "x")
	if err := os.WriteFile(path, p.whole, fileMode); err != nil {
		p.t.Fatal(err)
	}
	db, err := bolt.Open(path, fileMode, &bolt.Options{NoFreelistSync: true})
	if err != nil {
		p.t.Fatal(err)
	}
	db.Update(func(tx *bolt.Tx) error {
		fn(tx.Bucket(commitsBucket), tx.Bucket(textsBucket))
		return nil
	})
	db.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// spec: D095 D096
func TestHistoriesThatAreNotWhole(t *testing.T) {
	p := newPatient(t, 30)
	p.mustFind("a gap", p.rewrite(func(c, _ *bolt.Bucket) { c.Delete(commitKey(17)) }), 17)
	p.mustFind("without the first", p.rewrite(func(c, _ *bolt.Bucket) { c.Delete(commitKey(1)) }), 1)
	p.mustFind("without the last", p.rewrite(func(c, _ *bolt.Bucket) { c.Delete(commitKey(30)) }), 30)
	p.mustFind("exchanged", p.rewrite(func(c, _ *bolt.Bucket) {
		a, b := bytes.Clone(c.Get(commitKey(4))), bytes.Clone(c.Get(commitKey(5)))
		c.Put(commitKey(4), b)
		c.Put(commitKey(5), a)
	}), 4)
	p.mustFind("a text is missing", p.rewrite(func(_, texts *bolt.Bucket) { texts.Delete(appendTextKey(nil, 10, 1)) }), 10)
	p.mustFind("a text was replaced", p.rewrite(func(_, texts *bolt.Bucket) {
		texts.Put(appendTextKey(nil, 10, 1), bytes.Repeat([]byte("LONG"), 2000))
	}), 10)
	p.mustFind("a foreign key", p.rewrite(func(c, _ *bolt.Bucket) { c.Put([]byte("x"), nil) }), 31)
	// A middle commit with a right hash of its own, but another content: only the next one tells.
	forged := testCommit(9, 1, "forged")
	p.mustFind("forged", p.rewrite(func(c, _ *bolt.Bucket) {
		forged.Number = 9
		copy(forged.Prev[:], prevOf(c, 9))
		c.Put(commitKey(9), forged.appendRecord(nil, nil))
	}), 10)
	var newer *NewerError
	err := p.try("a newer format", p.rewrite(func(c, _ *bolt.Bucket) { c.Put(commitKey(8), append([]byte{2}, make([]byte, 100)...)) }))
	if !errors.As(err, &newer) || !strings.Contains(newer.Error(), "record format 2") {
		t.Fatal(err)
	}
}

func prevOf(c *bolt.Bucket, n uint64) []byte { return c.Get(commitKey(n - 1))[1:bodyStart] }

// spec: D095
func TestAnOlderMetaPageIsNoShorterHistory(t *testing.T) {
	p := newPatient(t, 5)
	older := bytes.Clone(p.whole[:2*pageSize])
	p.put(p.whole)
	f, err := Open(p.dir, Options{}, ignore)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, f, testCommit(6, 1), testCommit(7, 1))
	mustAppend(t, f, testCommit(8, 1))
	mustAppend(t, f, testCommit(9, 1))
	p.head = f.Head()
	f.Close()
	p.whole = usedPages(t, f.path)
	for slot := range 2 {
		b := bytes.Clone(p.whole)
		copy(b[slot*pageSize:], older[slot*pageSize:(slot+1)*pageSize])
		p.mustFind("an older meta page", b, 0)
		b = bytes.Clone(p.whole)
		m := b[slot*pageSize+pageHead:]
		binary.LittleEndian.PutUint64(m[40:], 1<<40) // pages, with a right checksum
		h := fnv.New64a()
		h.Write(m[:56])
		binary.LittleEndian.PutUint64(m[56:], h.Sum64())
		p.mustFind("a meta page that promises more", b, 0)
	}
}

// spec: D096
func TestForeignFiles(t *testing.T) {
	p := newPatient(t, 1)
	path := filepath.Join(t.TempDir(), "foreign")
	db, err := bolt.Open(path, fileMode, &bolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("things"))
			b.Put([]byte("k"), []byte("v"))
			return err
		})
	}
	db.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p.mustFind("another program's", b, 0)
	os.Remove(inFolder(p.dir))
	os.Mkdir(inFolder(p.dir), folderMode)
	if _, err := OpenRead(p.dir, ignore); err == nil {
		t.Fatal("a folder was opened")
	}
}

// spec: D094
func TestAnEventOfANewerReleaseIsForInspection(t *testing.T) {
	f := create(t, Options{})
	c := testCommit(2, 1)
	c.Events[0].Type = "session.test.happened.9"
	mustAppend(t, f, testCommit(1, 1), c)
	f.Close()
	fold := func(r *Raw) error {
		if string(r.Events[0].Type) == "session.test.happened.9" {
			return fmt.Errorf("fold: %w", &NewerError{What: "event type session.test.happened.9"})
		}
		return nil
	}
	_, err := Open(f.dir, Options{}, fold)
	var newer *NewerError
	if !errors.As(err, &newer) || newer.File != f.path || !strings.Contains(err.Error(), "session.test.happened.9") {
		t.Fatal(err)
	}
	g, err := OpenRead(f.dir, ignore)
	if err != nil || g.Head().Number != 2 {
		t.Fatal(err)
	}
	if err := g.Append([]*Commit{testCommit(3, 1)}); !errors.Is(err, ErrReadOnly) {
		t.Fatal(err)
	}
	g.Close()
}

// A file that is cut under an open journal must not end the process.
// spec: D096
func TestAFileThatIsCutWhileItIsOpen(t *testing.T) {
	f := create(t, Options{})
	for n := range uint64(50) {
		mustAppend(t, f, testCommit(n+1, 10, strings.Repeat("x", 8000)))
	}
	if err := os.Truncate(f.path, 2*pageSize); err != nil {
		t.Fatal(err)
	}
	var d *Damaged
	read := func(r *Raw) error {
		for i := range r.Texts {
			if _, err := r.Body(i); err != nil {
				return err
			}
		}
		return nil
	}
	if err := f.Scan(1, read); !errors.As(err, &d) {
		t.Errorf("a scan gave %v", err)
	}
	if err := f.Read(50, read); !errors.As(err, &d) {
		t.Errorf("a read gave %v", err)
	}
	if err := f.Append([]*Commit{testCommit(51, 1)}); err == nil {
		t.Error("an append succeeded")
	}
	if f.Head().Number != 50 {
		t.Error("the head moved")
	}
}

// spec: D078
func TestVerifyReadsArtifacts(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 2), testCommit(2, 1, "a", strings.Repeat("A", MaxBucket+1)), testCommit(3, 1))
	var second Hash
	f.Read(2, func(r *Raw) error { second = r.Hash; return nil })
	f.Close()
	r, err := Verify(f.dir, second)
	if err != nil || r != (Report{Head: f.Head(), Commits: 3, Events: 6, Texts: 3, Match: 2}) {
		t.Fatal(r, err)
	}
	if r, err := Verify(f.path, Hash{1}); err != nil || r.Match != 0 {
		t.Fatal(r, err)
	}
	names, _ := filepath.Glob(filepath.Join(f.dir, artifactsDir, "*"))
	if len(names) != 1 {
		t.Fatal(names)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	b[7] ^= 1
	os.WriteFile(names[0], b, fileMode)
	var d *Damaged
	if _, err := Verify(f.dir, Hash{}); !errors.As(err, &d) || d.Commit != 2 {
		t.Fatal(err)
	}
	os.Remove(names[0])
	if _, err := Verify(f.dir, Hash{}); !errors.As(err, &d) || d.Commit != 2 {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(names[0], fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(f.dir, Hash{}); !errors.As(err, &d) || d.Commit != 2 {
		t.Fatal(err)
	}
	if _, err := f.ReadArtifact(filepath.Base(names[0])); err == nil {
		t.Error("a fifo was read as an artifact")
	}
	g := reopen(t, f) // the session itself can go on
	mustAppend(t, g, testCommit(4, 1))
}
