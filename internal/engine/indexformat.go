package engine

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
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
const (
	indexMagic = "zuno sessions 1\n"
	indexHead  = len(indexMagic) + 6*8 + 4
	blockHead  = 3 * 4
	blockCount = 64 // summaries of a block; a page is a hundred
	maxBlock   = 64 << 20
	minSummary = 1 + 5*8 + 4*2 // bytes
)

const (
	flagOpen = 1 << iota
	flagUnlisted
)

// castagnoli is made at first use, which most processes never come to: it is a tenth of a millisecond.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// errIndex is an index that is not, byte by byte, what was written, as far as it was read.
var errIndex = errors.New("the index of sessions is damaged")

// indexHeader is what the head says.
type indexHeader struct {
	folder      folderStamp
	size, count int64 // of the blocks of others, and how many they are
}

func (h *indexHeader) append(b []byte) []byte {
	start := len(b)
	b = append(b, indexMagic...)
	for _, n := range [...]int64{h.folder.modified, h.folder.links, h.folder.inode, h.folder.scanned, h.size, h.count} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
}

func readHead(from io.Reader) (h indexHeader, err error) {
	b := make([]byte, indexHead)
	if _, err := io.ReadFull(from, b); err != nil {
		return h, errIndex
	}
	if string(b[:len(indexMagic)]) != indexMagic || checksum(b[:indexHead-4]) != binary.LittleEndian.Uint32(b[indexHead-4:]) {
		return h, errIndex
	}
	r := reader{b: b[len(indexMagic):]}
	h.folder = folderStamp{r.int(), r.int(), r.int(), r.int()}
	h.size, h.count = r.int(), r.int()
	return h, nil
}

// section reads blocks from a part of the file.
type section struct {
	*bufio.Reader
	taken int64 // bytes of blocks
}

func newSection(file io.ReaderAt, from, to int64) *section {
	return &section{Reader: bufio.NewReaderSize(io.NewSectionReader(file, from, to-from), int(min(max(to-from, 16), 32<<10)))}
}

// blocks are the summaries of all blocks that are left.
func (s *section) blocks() (all []indexed, err error) {
	for {
		some, err := s.block()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
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
