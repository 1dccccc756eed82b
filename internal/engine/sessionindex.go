package engine

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// The index of all sessions is one file, <data>/sessions.index. Behind its head stand the summaries of the sessions that
// must be asked for again each time, because an owner has them or they cannot be read; then those of all others, in the
// order of the list, so that its first page is near the beginning; then what owners have added since, each in the place of
// what stands before it. Numbers are little-endian.
//
//	head     magic ‖ stamp of the sessions folder ‖ bytes of the blocks of others ‖ how many they are ‖ CRC
//	block    count ‖ bytes ‖ CRC ‖ summaries
//	summary  flags ‖ five numbers ‖ four texts, each with its length before it
//	added    a block of one summary
//
// Owners take no lock for it, since whoever has one may be stopped. A list that writes a new file takes along what was
// added to the old one meanwhile, and an owner that finds the file exchanged adds once more; see addToIndex and save.
const (
	indexFile  = "sessions.index"
	indexMagic = "zuno sessions 1\n"
	indexHead  = len(indexMagic) + 6*8 + 4
	blockHead  = 3 * 4
	blockCount = 64 // summaries of a block; a page is a hundred
	maxBlock   = 64 << 20
	minSummary = 1 + 5*8 + 4*2 // bytes
	// maxIndex is where owners give the index up, if nobody lists and so writes it anew; 100,000 sessions take 30 MB.
	maxIndex = 64 << 20
	// maxAdded is how many bytes may have been added before the next list writes the file anew.
	maxAdded = 256 << 10
	// racyFor is how long after a change of the sessions folder its time does not prove that nothing else changed: file
	// systems count in steps of up to ten milliseconds.
	racyFor = int64(20 * time.Millisecond)
)

const (
	flagOpen = 1 << iota
	flagUnlisted
)

// castagnoli is made at first use, which most processes never come to: it is a tenth of a millisecond.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// errIndex is an index that is not, byte by byte, what was written, as far as it was read.
var errIndex = errors.New("the index of sessions is damaged")

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
	f, err := os.OpenFile(filepath.Join(data, indexFile), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo in its place must not hang us
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
	head := make([]byte, indexHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return errIndex
	}
	if string(head[:len(indexMagic)]) != indexMagic || checksum(head[:indexHead-4]) != binary.LittleEndian.Uint32(head[indexHead-4:]) {
		return errIndex
	}
	h := reader{b: head[len(indexMagic):]}
	x.folder = folderStamp{h.int(), h.int(), h.int(), h.int()}
	size, count := h.int(), h.int()
	restless, err := r.block()
	if err != nil {
		return err
	}
	x.from = int64(indexHead) + r.taken
	if size < 0 || size > x.size-x.from || count < 0 || count > size/minSummary {
		return errIndex
	}
	x.to, x.count = x.from+size, int(count)
	x.added = x.size - x.to
	x.loose = restless
	for added := x.section(x.to, x.size); ; {
		one, err := added.block()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		x.loose = append(x.loose, one...)
	}
	x.latest()
	x.whole = true
	return nil
}

// latest leaves the newest summary of each session in loose, and of two alike the last. Who exchanged the file takes along what was
// added to the old one meanwhile, so that an older summary may stand behind a newer one.
func (x *index) latest() {
	place := make(map[string]int, len(x.loose))
	kept := x.loose[:0]
	for _, e := range x.loose {
		if i, ok := place[e.Session]; ok {
			if cmp.Or(cmp.Compare(e.Head, kept[i].Head), cmp.Compare(e.Updated, kept[i].Updated)) >= 0 {
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

// section reads blocks from a part of the file.
type section struct {
	*bufio.Reader
	taken int64 // bytes of blocks
}

func (x *index) section(from, to int64) *section {
	return &section{Reader: bufio.NewReaderSize(io.NewSectionReader(x.file, from, to-from), int(min(max(to-from, 16), 32<<10)))}
}

// block is io.EOF at the end.
func (s *section) block() ([]indexed, error) {
	var head [blockHead]byte
	if _, err := io.ReadFull(s, head[:]); err == io.EOF {
		return nil, err
	} else if err != nil {
		return nil, errIndex
	}
	count, size := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if size > maxBlock || count > size/minSummary {
		return nil, errIndex
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(s, b); err != nil || checksum(b) != binary.LittleEndian.Uint32(head[8:]) {
		return nil, errIndex
	}
	s.taken += blockHead + int64(size)
	r := reader{b: b, s: string(b)} // the texts are pieces of one string
	out := make([]indexed, count)
	for i := range out {
		r.summary(&out[i])
	}
	if r.bad || r.at != len(b) {
		return nil, errIndex
	}
	return out, nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }

// appendBlock appends a block of these summaries.
func appendBlock(b []byte, sums []indexed) []byte {
	start := len(b)
	b = append(b, make([]byte, blockHead)...)
	for i := range sums {
		b = appendSummary(b, &sums[i])
	}
	body := b[start+blockHead:]
	binary.LittleEndian.PutUint32(b[start:], uint32(len(sums)))
	binary.LittleEndian.PutUint32(b[start+4:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[start+8:], checksum(body))
	return b
}

// reader takes numbers and texts off bytes. One that reached past the end is bad from there on.
type reader struct {
	b   []byte
	s   string // the same
	at  int
	bad bool
}

func (r *reader) take(n int) int {
	if r.bad || n > len(r.b)-r.at {
		r.bad = true
		return 0
	}
	r.at += n
	return r.at - n
}

func (r *reader) int() int64 {
	if at := r.take(8); !r.bad {
		return int64(binary.LittleEndian.Uint64(r.b[at:]))
	}
	return 0
}

func (r *reader) text() string {
	at := r.take(2)
	if r.bad {
		return ""
	}
	n := int(binary.LittleEndian.Uint16(r.b[at:]))
	if at = r.take(n); r.bad {
		return ""
	}
	return r.s[at : at+n]
}

func (r *reader) summary(e *indexed) {
	at := r.take(1)
	if r.bad {
		return
	}
	e.Open, e.unlisted = r.b[at]&flagOpen != 0, r.b[at]&flagUnlisted != 0
	e.Created, e.Updated, e.Head, e.Size, e.Modified = r.int(), r.int(), uint64(r.int()), r.int(), r.int()
	e.Session, e.Title, e.Cwd, e.Worktree = r.text(), r.text(), r.text(), r.text()
}

func appendSummary(b []byte, e *indexed) []byte {
	texts := [...]string{e.Session, e.Title, e.Cwd, e.Worktree}
	for i := range texts {
		if len(texts[i]) > math.MaxUint16 { // it is summarized each time
			return appendSummary(b, &indexed{Summary: Summary{Session: e.Session}, unlisted: true})
		}
	}
	flags := byte(0)
	if e.Open {
		flags |= flagOpen
	}
	if e.unlisted {
		flags |= flagUnlisted
	}
	b = append(b, flags)
	for _, n := range [...]int64{e.Created, e.Updated, int64(e.Head), e.Size, e.Modified} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for _, t := range texts {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(t)))
		b = append(b, t...)
	}
	return b
}

// addToIndex tells the index of an owner's summary, if there is an index.
func addToIndex(data string, sum *Summary) error {
	b := appendBlock(nil, []indexed{{Summary: *sum}})
	path := filepath.Join(data, indexFile)
	for range 3 {
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
	return nil
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
	if x.gather() != nil { // the part that was not read is damaged
		os.Remove(filepath.Join(x.data, indexFile))
		return
	}
	half := filepath.Join(x.data, indexFile+".new")
	os.Remove(half) // whatever another left there when it died
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	err = x.writeTo(f)
	if err == nil {
		err = os.Rename(half, filepath.Join(x.data, indexFile))
	}
	if err != nil {
		os.Remove(half)
		return
	}
	x.takeAlong()
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

func (x *index) writeTo(f *os.File) error {
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
	head := append(b[:0], indexMagic...)
	for _, n := range [...]int64{x.folder.modified, x.folder.links, x.folder.inode, x.folder.scanned, int64(len(b) - from), int64(len(others))} {
		head = binary.LittleEndian.AppendUint64(head, uint64(n))
	}
	binary.LittleEndian.AppendUint32(head, checksum(head))
	_, err := f.Write(b)
	return err
}

// takeAlong adds what owners had added to the old file after it was read.
func (x *index) takeAlong() {
	if x.file == nil {
		return
	}
	b, err := io.ReadAll(io.NewSectionReader(x.file, x.size, maxIndex))
	if err != nil || len(b) == 0 {
		return
	}
	_, _ = addTo(filepath.Join(x.data, indexFile), b)
}
