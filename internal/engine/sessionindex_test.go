package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"zuno/journal"
)

// shelf is a data folder of sessions that have no more than a summary that is up to date. Where a list opens a journal
// in spite of that, it finds none.
type shelf struct {
	t    *testing.T
	data string
}

func newShelf(t *testing.T, n int) *shelf {
	t.Helper()
	s := &shelf{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(s.data, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		s.put(i, fmt.Sprint("title ", i), int64(i*7919%1000))
	}
	return s
}

func sessionID(i int) string            { return fmt.Sprintf("ses_%026d", i) }
func (s *shelf) folder(i int) string    { return filepath.Join(s.data, "sessions", sessionID(i)) }
func (s *shelf) cwd(i int) string       { return filepath.Join(s.data, fmt.Sprint("work-", i%10)) }
func (s *shelf) index() string          { return filepath.Join(s.data, indexFile) }
func (s *shelf) summary(i int) *Summary { return &Summary{Session: sessionID(i), Cwd: s.cwd(i)} }

// put writes a session and its summary, without telling the index.
func (s *shelf) put(i int, title string, updated int64) *Summary {
	s.t.Helper()
	sum, err := s.write(i, title, updated)
	if err != nil {
		s.t.Fatal(err)
	}
	return sum
}

func (s *shelf) write(i int, title string, updated int64) (*Summary, error) {
	dir := s.folder(i)
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	sum := s.summary(i)
	sum.Title, sum.Updated, sum.Head = title, updated, 7
	if err := os.WriteFile(filepath.Join(dir, journalFile), []byte(fmt.Sprint("no journal, but ", title)), 0o600); err != nil {
		return nil, err
	}
	return sum, errors.Join(sum.stamp(dir), sum.write(dir))
}

func (s *shelf) page(q Query) Page {
	s.t.Helper()
	p, err := ListPage(s.data, q)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *shelf) list() []Summary { return s.page(Query{}).Sessions }

// truth is the list without an index.
func (s *shelf) truth() []Summary {
	s.t.Helper()
	if err := os.Remove(s.index()); err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return s.list()
}

// settle makes the index one that can be trusted: the sessions folder was not changed just before.
func (s *shelf) settle() {
	s.t.Helper()
	for range 1000 {
		s.list()
		x := readIndex(s.data)
		x.close()
		if x.whole && !x.folder.racy() {
			return
		}
	}
	s.t.Fatal("the index is never trusted")
}

func (s *shelf) same(what string, got, want []Summary) {
	s.t.Helper()
	if !reflect.DeepEqual(got, want) {
		s.t.Fatalf("%s: the list of %d differs from that of %d", what, len(got), len(want))
	}
}

// spec: D211
func TestPagesAreTheList(t *testing.T) {
	s := newShelf(t, 300)
	all := s.truth()
	if len(all) != 300 {
		t.Fatal(len(all))
	}
	for i := range all[1:] {
		if before(&indexed{Summary: all[i]}, &indexed{Summary: all[i+1]}) >= 0 {
			t.Fatal("not in order at ", i)
		}
	}
	s.settle()
	for _, q := range []Query{{}, {Cwd: s.cwd(3)}, {Cwd: s.cwd(3) + "/../work-3/"}, {Cwd: "/none"}} {
		var want, got []Summary
		for i := range all {
			if q.Cwd == "" || strings.HasPrefix(q.Cwd, all[i].Cwd) {
				want = append(want, all[i])
			}
		}
		for q.Most = 7; ; q.From += q.Most {
			p := s.page(q)
			got = append(got, p.Sessions...)
			if !p.More {
				break
			}
			if len(p.Sessions) != q.Most {
				t.Fatalf("a page of %d", len(p.Sessions))
			}
		}
		s.same(fmt.Sprint(q.Cwd), got, want)
	}
	if err := errors.Join(os.Mkdir(s.cwd(3), 0o700), os.Symlink(s.cwd(3), filepath.Join(s.data, "link"))); err != nil {
		t.Fatal(err)
	}
	if p := s.page(Query{Cwd: filepath.Join(s.data, "link")}); len(p.Sessions) != 30 {
		t.Errorf("by a link there are %d", len(p.Sessions))
	}
}

// spec: D211
func TestDamagedIndexGivesTheSameList(t *testing.T) {
	s := newShelf(t, 150)
	want := s.truth()
	s.settle()
	good, err := os.ReadFile(s.index())
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string][]byte{"empty": {}, "garbage": []byte("garbage"), "appended": append(good[:len(good):len(good)], "half of a summary"...)}
	for i := 0; i < len(good); i += map[bool]int{true: 1, false: 211}[i < indexHead+blockHead] { // each byte of the head, and some of the rest
		b := append([]byte(nil), good...)
		b[i] ^= 0x21
		damages[fmt.Sprint("byte ", i)] = b
		damages[fmt.Sprint("cut at ", i)] = good[:i]
	}
	for name, b := range damages {
		if err := os.WriteFile(s.index(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s.same(name, s.list(), want)
		s.same(name+", again", s.list(), want)
		if err := os.WriteFile(s.index(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s.same(name+", a page", s.page(Query{From: 100, Most: 20}).Sessions, want[100:120])
	}
	if len(damages) < 200 {
		t.Errorf("only %d damages", len(damages))
	}
	if err := errors.Join(os.Remove(s.index()), os.Mkdir(s.index(), 0o700)); err != nil {
		t.Fatal(err)
	}
	s.same("a folder in its place", s.list(), want)
}

// What changes without a word to the index is seen: a session that came, one that went, and one whose journal is another.
//
// spec: D211
func TestIndexThatDisagrees(t *testing.T) {
	s := newShelf(t, 150)
	s.settle()
	for round := range 20 {
		s.put(1000+round, "new", int64(2000+round))
		if got := s.page(Query{Most: 1}).Sessions; got[0].Title != "new" || got[0].Session != sessionID(1000+round) {
			t.Fatalf("round %d: first is %s", round, got[0].Session)
		}
		if round%3 == 0 {
			s.settle()
		}
		if err := os.RemoveAll(s.folder(round)); err != nil {
			t.Fatal(err)
		}
		for _, sum := range s.list() {
			if sum.Session == sessionID(round) {
				t.Fatalf("round %d: %s is still listed", round, sum.Session)
			}
		}
	}
	s.settle()
	s.put(1019, "changed", 5000)
	s.put(1018, "changed too", 1)
	if got := s.page(Query{Most: 3}).Sessions; got[0].Title != "changed" || got[1].Title != "new" || got[2].Title != "new" {
		t.Errorf("%+v", got)
	}
	got := s.list()
	s.same("in the end", got, s.truth())
}

// A session that cannot be read is told of with each list; it comes back when it can be.
//
// spec: D211
func TestIndexOfBrokenSessions(t *testing.T) {
	s := newShelf(t, 5)
	if err := os.Remove(filepath.Join(s.folder(2), summaryFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.data, "sessions", sessionID(77)), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p := s.page(Query{Most: 2})
		var d *journal.Damaged
		if len(p.Sessions) != 2 || len(p.Broken) != 1 || !errors.As(p.Broken[0], &d) {
			t.Fatalf("%d sessions, broken: %v", len(p.Sessions), p.Broken)
		}
		s.settle()
	}
	s.put(2, "mended", 1)
	if p := s.page(Query{}); len(p.Sessions) != 5 || len(p.Broken) != 0 {
		t.Errorf("%d sessions, broken: %v", len(p.Sessions), p.Broken)
	}
}

// Owners write their summaries and tell the index while several lists read and exchange it. Nothing that an owner told is
// lost.
//
// spec: D211
func TestIndexOfManyAtOnce(t *testing.T) {
	s := newShelf(t, 100)
	s.settle()
	var owners, lists sync.WaitGroup
	end := make(chan struct{})
	for o := range 4 {
		owners.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(o)))
			for n := range 60 {
				i := 25*o + r.IntN(25)
				sum, err := s.write(i, fmt.Sprintf("owner %d, change %d", o, n), int64(1000+n))
				if err == nil {
					err = addToIndex(s.data, sum)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 3 {
		lists.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if p, err := ListPage(s.data, Query{Most: 10}); err != nil || len(p.Sessions) != 10 {
					t.Errorf("%d sessions, %v", len(p.Sessions), err)
					return
				}
				x := readIndex(s.data)
				if x.whole {
					x.changed = true // so that it is exchanged
					x.save()
				}
				x.close()
			}
		})
	}
	owners.Wait()
	close(end)
	lists.Wait()
	s.page(Query{Most: 1}) // makes the index anew if it was given up
	told := s.told()
	for i := range 100 {
		b, err := os.ReadFile(filepath.Join(s.folder(i), summaryFile))
		if err != nil {
			t.Fatal(err)
		}
		var sum Summary
		if err := json.Unmarshal(b, &sum); err != nil {
			t.Fatal(err)
		}
		if told[sum.Session].Title != sum.Title {
			t.Errorf("the index has %q instead of %q", told[sum.Session].Title, sum.Title)
		}
	}
}

// What an exchange takes along may have been said anew meanwhile: the newer summary stands.
//
// spec: D211
func TestIndexKeepsTheNewestSummary(t *testing.T) {
	s := newShelf(t, 3)
	s.settle()
	old, err := s.write(1, "old", 2000)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := s.write(1, "fresh", 2001)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range []*Summary{fresh, old} {
		if err := addToIndex(s.data, sum); err != nil {
			t.Fatal(err)
		}
	}
	x := readIndex(s.data)
	defer x.close()
	if err := x.gather(); err != nil || !x.whole {
		t.Fatal(x.whole, err)
	}
	for i := range x.loose {
		if e := &x.loose[i]; e.Session == fresh.Session && e.Title != "fresh" {
			t.Errorf("the index has %q", e.Title)
		}
	}
}

// told is what the index, which must be whole, says of each session.
func (s *shelf) told() map[string]Summary {
	s.t.Helper()
	x := readIndex(s.data)
	defer x.close()
	if !x.whole {
		s.t.Fatal("the index is damaged")
	}
	if err := x.gather(); err != nil {
		s.t.Fatal(err)
	}
	told := map[string]Summary{}
	for i := range x.loose {
		told[x.loose[i].Session] = x.loose[i].Summary
	}
	return told
}

// change is what an owner does.
func (s *shelf) change(i int, title string, updated int64) {
	s.t.Helper()
	if err := addToIndex(s.data, s.put(i, title, updated)); err != nil {
		s.t.Fatal(err)
	}
}

// What a list takes along when it exchanges the index does not stand above what the same owner has told since and another
// list has put in its place.
//
// spec: D211
func TestIndexTakesAlongNothingOlder(t *testing.T) {
	s := newShelf(t, 3)
	s.settle()
	a := readIndex(s.data)
	defer a.close()
	s.change(1, "old", 2000)
	s.put(1, "fresh", 2001) // its owner is about to tell the index
	a.ask(filepath.Join(s.data, "sessions"), sessionID(1))
	if err := a.gather(); err != nil {
		t.Fatal(err)
	}
	f, head, err := a.exchange()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if x := readIndex(s.data); x.whole {
		t.Error("an index is believed that lacks what its list has not taken along yet")
	} else {
		x.close()
	}
	if err := a.takeAlong(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(head, 0); err != nil {
		t.Fatal(err)
	}
	if got := s.told()[sessionID(1)].Title; got != "fresh" {
		t.Errorf("the index has %q", got)
	}
}

// A list that dies when it has exchanged the index, and has not taken along what was added meanwhile, leaves none that is
// believed.
//
// spec: D211
func TestIndexOfAListThatDied(t *testing.T) {
	s := newShelf(t, 30)
	s.settle()
	a := readIndex(s.data)
	defer a.close()
	s.change(1, "told to the old file", 2000)
	if err := a.gather(); err != nil {
		t.Fatal(err)
	}
	f, _, err := a.exchange()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	s.change(2, "told to the new file", 1999)
	if p := s.page(Query{Most: 2}); p.Sessions[0].Session != sessionID(1) || p.Sessions[1].Session != sessionID(2) {
		t.Errorf("%+v", p.Sessions)
	}
	s.told()
}

// What an owner tells while the first list makes the index is in it.
//
// spec: D211
func TestIndexThatIsBeingMade(t *testing.T) {
	s := newShelf(t, 30)
	now, err := stampFolder(filepath.Join(s.data, "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	a := readIndex(s.data)
	defer a.close()
	if _, err := a.answer(filepath.Join(s.data, "sessions"), now, Query{}); err != nil {
		t.Fatal(err)
	}
	s.change(1, "new", 2000)
	a.save()
	if got := s.told()[sessionID(1)].Title; got != "new" {
		t.Errorf("the index has %q", got)
	}
	if p := s.page(Query{Most: 1}); p.Sessions[0].Session != sessionID(1) {
		t.Errorf("%+v", p.Sessions)
	}
}

// The file does not grow for ever, whether somebody lists or nobody.
//
// spec: D211
func TestIndexStaysSmall(t *testing.T) {
	s := newShelf(t, 20)
	s.settle()
	sum := s.put(3, strings.Repeat("long ", 2000), 1)
	for range 100 {
		if err := addToIndex(s.data, sum); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(s.index()); err != nil || st.Size() < 1e6 {
		t.Fatal(st, err)
	}
	s.list()
	if st, err := os.Stat(s.index()); err != nil || st.Size() > 1<<15 {
		t.Error(st, err)
	}
	if err := os.Truncate(s.index(), maxIndex); err != nil {
		t.Fatal(err)
	}
	if err := addToIndex(s.data, sum); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.index()); !os.IsNotExist(err) {
		t.Error("it is still there:", err)
	}
	if err := addToIndex(s.data, sum); err != nil {
		t.Error(err)
	}
	s.same("afterwards", s.list(), s.truth())
}

func FuzzIndex(f *testing.F) {
	e := indexed{Summary: Summary{Session: sessionID(1), Title: "title", Cwd: "/w", Worktree: "/w"}}
	f.Add(appendBlock(nil, []indexed{e, e}))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		x := &index{}
		var err error
		if x.file, err = os.Open(path); err != nil {
			t.Fatal(err)
		}
		defer x.close()
		r := x.section(0, int64(len(b)))
		for {
			if _, err := r.block(); err != nil {
				return
			}
		}
	})
}

// What an owner left that died is asked for once more, and then is as quiet as any other.
//
// spec: D211
func TestIndexAfterADeadOwner(t *testing.T) {
	s := newShelf(t, 5)
	s.settle()
	sum := s.put(3, "at work", 5000)
	sum.Open = true
	if err := errors.Join(sum.write(s.folder(3)), addToIndex(s.data, sum)); err != nil {
		t.Fatal(err)
	}
	if got := s.page(Query{Most: 1}).Sessions[0]; got.Title != "at work" || got.Open {
		t.Errorf("%+v", got)
	}
	x := readIndex(s.data)
	defer x.close()
	if !x.whole || len(x.loose) != 0 {
		t.Errorf("%+v", x.loose)
	}
}

// What is no file in the place of the index, or of a summary, holds up neither a list nor an owner, and nothing is written
// through a link.
func TestIndexThatIsNoFile(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"fifo": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link": func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "mine"), path) },
		"folder": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "mine"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, 5)
			want := s.list()
			mine := filepath.Join(s.data, "mine")
			if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{s.index(), s.index() + ".new"} {
				if err := errors.Join(os.RemoveAll(path), put(path)); err != nil {
					t.Fatal(err)
				}
			}
			ends(t, func() { _ = addToIndex(s.data, s.put(1, "title 1", want[0].Updated)) })
			var got []Summary
			ends(t, func() { got = s.list() })
			if b, err := os.ReadFile(mine); err != nil || string(b) != "mine" {
				t.Errorf("%q %v", b, err)
			}
			if _, err := os.Stat(filepath.Join(s.index(), "mine")); name == "folder" && err != nil {
				t.Error(err)
			}
			if err := os.RemoveAll(s.index()); err != nil {
				t.Fatal(err)
			}
			s.same("the list", got, s.truth())
		})
	}
	s := newShelf(t, 3)
	path := filepath.Join(s.folder(1), summaryFile)
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	ends(t, func() {
		p, err := ListPage(s.data, Query{})
		if err != nil || len(p.Sessions) != 2 || len(p.Broken) != 1 { // the journals of a shelf are none
			t.Errorf("%+v %v", p, err)
		}
	})
}

// ends fails a test that hangs, instead of all of them.
func ends(t *testing.T, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	within(t, "it", done)
}

// A block that says it holds more summaries than its bytes can takes no memory for them.
func TestIndexThatPromisesTooMuch(t *testing.T) {
	s := newShelf(t, 1)
	want := s.list()
	const size = 1 << 20
	head := append([]byte(indexMagic), make([]byte, 6*8)...)
	head = binary.LittleEndian.AppendUint32(head, checksum(head))
	for _, n := range []uint32{size, size, checksum(make([]byte, size))} { // count, bytes, CRC
		head = binary.LittleEndian.AppendUint32(head, n)
	}
	if err := os.WriteFile(s.index(), append(head, make([]byte, size)...), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := s.list()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16*size {
		t.Errorf("%d bytes for a file of %d", took, size)
	}
	s.same("the list", got, want)
}
