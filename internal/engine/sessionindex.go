package engine

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// The index of all sessions is one file, <data>/sessions.index: a head, the summaries that were there when it was written,
// in the order of the list, and behind them what owners have added since, each later summary in the place of the earlier.
// Numbers are little-endian.
//
//	head     magic ‖ stamp of the sessions folder ‖ number of summaries ‖ their bytes ‖ their CRC ‖ CRC of the head
//	summary  flags ‖ five numbers ‖ four texts, each with its length before it
//	added    length ‖ CRC ‖ summary
//
// Owners take no lock for it, since whoever has one may be stopped. A list that writes a new file takes along what was
// added to the old one meanwhile, and an owner that finds the file exchanged adds once more; see addToIndex and save.
const (
	indexFile  = "sessions.index"
	indexMagic = "zuno sessions 1\n"
	indexHead  = len(indexMagic) + 4*8 + 2*8 + 2*4
	addedHead  = 2 * 4
	// maxIndex is where owners give the index up, if nobody lists and so writes it anew; 100,000 sessions take 30 MB.
	maxIndex = 64 << 20
	// maxAdded is how many bytes may stand behind the summaries before the next list writes the file anew.
	maxAdded = 256 << 10
	// racyFor is how long after a change of the sessions folder its time does not prove that nothing else changed: file
	// systems count in steps of up to ten milliseconds.
	racyFor = int64(20 * time.Millisecond)
)

const (
	flagOpen = 1 << iota
	flagUnlisted
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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

// index is the file in memory, and what is found beyond it.
type index struct {
	data    string
	file    *os.File // nil when there was none
	size    int64    // of what was read
	added   int      // bytes behind the summaries
	whole   bool
	folder  folderStamp
	sums    []indexed
	sorted  bool
	changed bool
	checked map[string]bool
	broken  []error
}

// readIndex reads what is there. Without a whole file the index is empty.
func readIndex(data string) *index {
	x := &index{data: data}
	f, err := os.Open(filepath.Join(data, indexFile))
	if err != nil {
		return x
	}
	x.file = f
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > 2*maxIndex {
		return x
	}
	b := make([]byte, st.Size())
	n, err := io.ReadFull(f, b)
	x.size = int64(n)
	if err == nil && x.parse(b) {
		x.whole = true
	} else {
		x.sums, x.sorted = nil, false
	}
	return x
}

func (x *index) close() {
	if x.file != nil {
		x.file.Close()
	}
}

// parse is false for a file that is not, byte by byte, what was written.
func (x *index) parse(b []byte) bool {
	if len(b) < indexHead || string(b[:len(indexMagic)]) != indexMagic || crc32.Checksum(b[:indexHead-4], castagnoli) != binary.LittleEndian.Uint32(b[indexHead-4:]) {
		return false
	}
	r := reader{b: b[len(indexMagic):indexHead]}
	x.folder = folderStamp{r.int(), r.int(), r.int(), r.int()}
	count, size := r.int(), r.int()
	rest := b[indexHead:]
	if count < 0 || size < 0 || size > int64(len(rest)) || count > size {
		return false
	}
	base := rest[:size]
	if crc32.Checksum(base, castagnoli) != binary.LittleEndian.Uint32(b[indexHead-8:]) {
		return false
	}
	// The summaries' texts are pieces of one string.
	r = reader{b: base, s: string(base)}
	x.sums = make([]indexed, count, count+64)
	for i := range x.sums {
		r.summary(&x.sums[i])
	}
	if r.bad || r.at != len(base) {
		return false
	}
	x.sorted = true
	x.added = len(rest) - int(size)
	return x.parseAdded(rest[size:])
}

func (x *index) parseAdded(b []byte) bool {
	var place map[string]int
	for len(b) > 0 {
		if len(b) < addedHead {
			return false
		}
		size := int(binary.LittleEndian.Uint32(b))
		if size > len(b)-addedHead {
			return false
		}
		rec := b[addedHead : addedHead+size]
		if crc32.Checksum(rec, castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
			return false
		}
		r := reader{b: rec, s: string(rec)}
		var e indexed
		r.summary(&e)
		if r.bad || r.at != len(rec) {
			return false
		}
		if place == nil {
			place = make(map[string]int, len(x.sums))
			for i := range x.sums {
				place[x.sums[i].Session] = i
			}
		}
		if i, ok := place[e.Session]; ok {
			x.sums[i] = e
		} // else its folder is new, and will be found
		x.sorted = false
		b = b[addedHead+size:]
	}
	return true
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
	b := appendSummary(make([]byte, addedHead), &indexed{Summary: *sum})
	binary.LittleEndian.PutUint32(b, uint32(len(b)-addedHead))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[addedHead:], castagnoli))
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
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return false, err
	}
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	if st.Size() > maxIndex {
		return false, os.Remove(path)
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
	half := filepath.Join(x.data, indexFile+".new")
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
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
	b := make([]byte, indexHead, indexHead+len(x.sums)*320)
	for i := range x.sums {
		b = appendSummary(b, &x.sums[i])
	}
	head := append(b[:0], indexMagic...)
	for _, n := range [...]int64{x.folder.modified, x.folder.links, x.folder.inode, x.folder.scanned, int64(len(x.sums)), int64(len(b) - indexHead)} {
		head = binary.LittleEndian.AppendUint64(head, uint64(n))
	}
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(b[indexHead:], castagnoli))
	binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
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
