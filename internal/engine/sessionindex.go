package engine

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// The index is a cache of what stands in the folders of sessions; indexformat.go says how. Owners add to it and take no lock
// for it, since whoever has one may be stopped; lists read it, and write it anew when it has become wrong or long.
//
// Nothing that an owner told is lost, because whoever ends last sees what the other did. An owner writes the summary of its
// session, adds it to the file, and then looks whether the file was exchanged: if so it adds once more. A list puts the new
// file in the place of the old one, takes along what was added to that after it was read, and only then writes the head: until
// then, and when it dies before, the new file is an index that cannot be read, and whoever reads it asks the sessions
// themselves. Where no index is, a list puts an empty one there before it asks. And what cannot be added or taken along takes
// the index away.
const (
	indexFile = "sessions.index"
	// maxIndex is where owners give the index up, if nobody lists and so writes it anew; 100,000 sessions take 30 MB.
	maxIndex = 64 << 20
	// maxAdded is how many bytes may have been added before the next list writes the file anew.
	maxAdded = 256 << 10
	// racyFor is how long after a change of the sessions folder its time does not prove that nothing else changed: file
	// systems count in steps of up to ten milliseconds.
	racyFor = int64(20 * time.Millisecond)
	// addTries is how often an owner finds the index exchanged before it takes it away.
	addTries = 50
)

// folderStamp tells whether session folders came or went. Scanned is the time just before it was taken.
type folderStamp struct{ modified, links, inode, scanned int64 }

func stampFolder(root string) (s folderStamp, err error) {
	s.scanned = time.Now().UnixNano()
	st, err := os.Stat(root)
	if err != nil {
		return s, err
	}
	s.modified = st.ModTime().UnixNano()
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		s.links, s.inode = int64(sys.Nlink), int64(sys.Ino)
	}
	return s, nil
}

func (s folderStamp) racy() bool { return s.scanned-s.modified < racyFor }

// same leaves the times of looking out.
func (s folderStamp) same(now folderStamp) bool {
	s.scanned = now.scanned
	return s == now
}

// indexed is one session of the index.
type indexed struct {
	Summary
	unlisted bool // it has no summary: it cannot be read, or has no journal
}

// restless sessions are asked for again each time.
func (e *indexed) restless() bool { return e.Open || e.unlisted }

// older says whether e tells of an earlier time than what is known. Of two alike the one that came last counts.
func (e *indexed) older(known *indexed) bool {
	return cmp.Or(cmp.Compare(e.Head, known.Head), cmp.Compare(e.Updated, known.Updated)) < 0
}

// before is the order of the list.
func before(a, b *indexed) int {
	return cmp.Or(cmp.Compare(b.Updated, a.Updated), cmp.Compare(b.Session, a.Session))
}

// index is the file, and what is found beyond it.
type index struct {
	data   string
	file   *os.File // nil when there was none
	size   int64    // of the file when it was read
	added  int64    // bytes that owners added
	whole  bool     // what was read of it is what was written
	folder folderStamp

	from, to int64 // of the blocks of others in the file; to is 0 when all of it is loose
	count    int   // of these others

	// loose are summaries that stand for those in the blocks.
	loose   []indexed
	place   map[string]int // of a session in loose, once it is sorted
	sorted  bool
	changed bool
	checked map[string]bool
	broken  []error
}

// readIndex reads the beginning and the end. Without them the index is empty.
func readIndex(data string) *index {
	x := &index{data: data}
	path := filepath.Join(data, indexFile)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo in its place must not hang us
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600) // from now on owners have a place to add to
	}
	if err != nil {
		return x
	}
	x.file = f
	if err := x.read(); err != nil {
		x.forget()
	}
	return x
}

// forget makes the index an empty one.
func (x *index) forget() {
	*x = index{data: x.data, file: x.file, size: x.size}
}

func (x *index) close() {
	if x.file != nil {
		x.file.Close()
	}
}

func (x *index) read() error {
	st, err := x.file.Stat()
	if err != nil {
		return err
	}
	if x.size = st.Size(); !st.Mode().IsRegular() || x.size > 2*maxIndex {
		return errIndex
	}
	r := x.section(0, x.size)
	head, err := readHead(r)
	if err != nil {
		return err
	}
	restless, err := r.block()
	if err != nil {
		return err
	}
	x.folder, x.from = head.folder, int64(indexHead)+r.taken
	if head.size < 0 || head.size > x.size-x.from || head.count < 0 || head.count > head.size/minSummary {
		return errIndex
	}
	x.to, x.count = x.from+head.size, int(head.count)
	x.added = x.size - x.to
	added, err := x.section(x.to, x.size).blocks()
	if err != nil {
		return err
	}
	x.loose = append(restless, added...)
	x.latest()
	x.whole = true
	return nil
}

// latest leaves the newest summary of each session in loose. Who exchanged the file takes along what was added to the old one
// meanwhile, so that an older summary may stand behind a newer one.
func (x *index) latest() {
	place := make(map[string]int, len(x.loose))
	kept := x.loose[:0]
	for _, e := range x.loose {
		if i, ok := place[e.Session]; ok {
			if !e.older(&kept[i]) {
				kept[i] = e
			}
			continue
		}
		place[e.Session] = len(kept)
		kept = append(kept, e)
	}
	x.loose = kept
}

// gather makes all summaries loose.
func (x *index) gather() error {
	x.sort()
	x.loose = slices.Grow(x.loose, x.count)
	for c := x.others(); ; c.take() {
		e, err := c.peek()
		if err != nil {
			return err
		}
		if e == nil {
			break
		}
		x.loose = append(x.loose, *e)
	}
	x.from, x.to, x.count, x.sorted = 0, 0, 0, false
	return nil
}

func (x *index) sort() {
	if x.sorted {
		return
	}
	slices.SortFunc(x.loose, func(a, b indexed) int { return before(&a, &b) })
	x.place = make(map[string]int, len(x.loose))
	for i := range x.loose {
		x.place[x.loose[i].Session] = i
	}
	x.sorted = true
}

// put takes what is known of a session now.
func (x *index) put(e indexed) {
	x.sort()
	i, ok := x.place[e.Session]
	switch {
	case !ok:
		x.place[e.Session] = len(x.loose)
		x.loose = append(x.loose, e)
	case x.loose[i] == e:
		return
	default:
		x.loose[i] = e
	}
	x.changed = true
}

func (x *index) section(from, to int64) *section { return newSection(x.file, from, to) }

// cursor goes through the summaries that stand in the blocks and are not loose.
type cursor struct {
	x    *index
	r    *section
	rest []indexed
}

func (x *index) others() *cursor { return &cursor{x: x, r: x.section(x.from, x.to)} }

// peek is nil at the end.
func (c *cursor) peek() (*indexed, error) {
	for {
		for len(c.rest) > 0 {
			if _, loose := c.x.place[c.rest[0].Session]; !loose {
				return &c.rest[0], nil
			}
			c.rest = c.rest[1:]
		}
		var err error
		if c.rest, err = c.r.block(); err == io.EOF {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
}

func (c *cursor) take() { c.rest = c.rest[1:] }

// addToIndex tells the index of an owner's summary, which stands in the session's folder by now, if there is an index.
func addToIndex(data string, sum *Summary) error {
	b := appendBlock(nil, []indexed{{Summary: *sum}})
	path := filepath.Join(data, indexFile)
	for range addTries {
		moved, err := addTo(path, b)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil: // half of a summary may be there
			return errors.Join(err, os.Remove(path))
		case !moved:
			return nil
		}
	}
	return os.Remove(path)
}

// addTo says whether the file is not the one at path any more. Who exchanged it may have looked for additions before
// this one, so it is made again: twice does no harm.
func addTo(path string, b []byte) (moved bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return false, err
	case !st.Mode().IsRegular(): // nobody who lists would take it, and a fifo may never be read
		return false, errIndex
	case st.Size() > maxIndex-int64(len(b)):
		return false, os.Remove(path)
	}
	if _, err := f.Write(b); err != nil {
		return false, err
	}
	at, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return !os.SameFile(at, st), nil
}

// save writes the index anew if something was found that it did not say. It is a cache, so that a failure is none; where
// another list is just writing it, that one is enough.
func (x *index) save() {
	if !x.changed && x.added <= maxAdded {
		return
	}
	lock, err := os.Open(filepath.Join(x.data, "sessions"))
	if err != nil {
		return
	}
	defer lock.Close() // and with it the lock
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || x.exchanged() {
		return
	}
	path := filepath.Join(x.data, indexFile)
	if x.gather() != nil { // the part that was not read is damaged
		os.Remove(path)
		return
	}
	f, head, err := x.exchange()
	if err != nil {
		return
	}
	defer f.Close()
	if err = x.takeAlong(); err == nil {
		_, err = f.WriteAt(head, 0)
	}
	if err != nil {
		os.Remove(path)
	}
}

// exchanged says whether another list has written the index since it was read.
func (x *index) exchanged() bool {
	now, err := os.Stat(filepath.Join(x.data, indexFile))
	if x.file == nil || err != nil {
		return (x.file == nil) != errors.Is(err, fs.ErrNotExist)
	}
	was, err := x.file.Stat()
	return err != nil || !os.SameFile(now, was)
}

// exchange puts a new file without its head in the place of the index. Only who has the lock does so.
func (x *index) exchange() (f *os.File, head []byte, err error) {
	half := filepath.Join(x.data, indexFile+".new")
	os.Remove(half) // whatever another left there when it died
	if f, err = os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, nil, err
	}
	b := x.encode()
	head = slices.Clone(b[:indexHead])
	clear(b[:indexHead])
	if _, err = f.Write(b); err == nil {
		err = os.Rename(half, filepath.Join(x.data, indexFile))
	}
	if err != nil {
		f.Close()
		os.Remove(half)
		return nil, nil, err
	}
	return f, head, nil
}

// encode gives the whole file.
func (x *index) encode() []byte {
	x.sort()
	var restless, others []indexed
	for i := range x.loose {
		if e := x.loose[i]; e.restless() {
			restless = append(restless, e)
		} else {
			others = append(others, e)
		}
	}
	b := appendBlock(make([]byte, indexHead, indexHead+len(x.loose)*320), restless)
	from := len(b)
	for block := range slices.Chunk(others, blockCount) {
		b = appendBlock(b, block)
	}
	head := indexHeader{x.folder, int64(len(b) - from), int64(len(others))}
	head.append(b[:0])
	return b
}

// takeAlong adds what owners had added to the old file after it was read, if it is not older than what the new one says: it may
// come after what the same owner has added to the new one since.
func (x *index) takeAlong() error {
	if x.file == nil {
		return nil
	}
	b, err := io.ReadAll(io.NewSectionReader(x.file, x.size, maxIndex))
	if err != nil || len(b) == 0 {
		return err
	}
	added, err := newSection(bytes.NewReader(b), 0, int64(len(b))).blocks()
	if err != nil { // an owner is in the middle of adding, or was when the file was read
		return err
	}
	x.sort()
	b = b[:0]
	for i := range added {
		if at, ok := x.place[added[i].Session]; !ok || !added[i].older(&x.loose[at]) {
			b = appendBlock(b, added[i:i+1])
		}
	}
	_, err = addTo(filepath.Join(x.data, indexFile), b)
	return err
}
