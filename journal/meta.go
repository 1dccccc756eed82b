package journal

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
)

// What bbolt (file version 2) writes in its first two pages. A page has a head of 16 bytes; numbers are in the
// machine's order, which is little-endian wherever zuno runs.
const (
	pageHead      = 16
	metaSize      = 64
	metaMagic     = 0xED0CDAED
	metaVersion   = 2
	noFreelist    = ^uint64(0) // instead of a free list's page: it is found by walking the tree
	pageSize      = 8192       // fixed, so that a journal is the same on every machine; of 4096 a fifth would stay empty between records of half a KB
	minPage       = 1 << 10
	maxPage       = 64 << 10
	metaTxOffset  = pageHead + 48
	firstDataPage = 2
)

// meta is one of bbolt's two root pages. A transaction writes the one whose turn it is, last of all.
type meta struct {
	pageSize, root, freelist, pages, tx uint64
}

func readMeta(f *os.File, off int64) (m meta, err error) {
	var p [pageHead + metaSize]byte
	if _, err := f.ReadAt(p[:], off); err != nil {
		return m, err
	}
	b, le := p[pageHead:], binary.LittleEndian
	h := fnv.New64a()
	h.Write(b[:56])
	switch {
	case le.Uint32(b) != metaMagic:
		return m, fmt.Errorf("is not bbolt's")
	case le.Uint32(b[4:]) != metaVersion:
		return m, fmt.Errorf("has version %d instead of %d", le.Uint32(b[4:]), metaVersion)
	case h.Sum64() != le.Uint64(b[56:]):
		return m, fmt.Errorf("does not match its checksum")
	}
	m = meta{uint64(le.Uint32(b[8:])), le.Uint64(b[16:]), le.Uint64(b[32:]), le.Uint64(b[40:]), le.Uint64(b[48:])}
	if m.pageSize < minPage || m.pageSize > maxPage || m.pageSize&(m.pageSize-1) != 0 {
		return m, fmt.Errorf("names a page size of %d", m.pageSize)
	}
	return m, nil
}

// readMetas gives the newer meta page, provided that both are whole: bbolt itself would fall back to the older one,
// silently, and hide the last commits. It holds the file's size against what they promise, because a map of a file
// that is too short faults.
func readMetas(f *os.File, path string) (meta, error) {
	bad := func(why string, args ...any) (meta, error) {
		return meta{}, &Damaged{path, 0, fmt.Sprintf(why, args...)}
	}
	st, err := f.Stat()
	if err != nil {
		return meta{}, err
	}
	switch {
	case !st.Mode().IsRegular():
		return bad("it is not a regular file")
	case st.Size() == 0:
		return bad("it is empty")
	}
	a, err := readMeta(f, 0)
	if err != nil {
		return bad("its first meta page %v", err)
	}
	b, err := readMeta(f, int64(a.pageSize))
	if err != nil {
		return bad("its second meta page %v", err)
	}
	if a.tx < b.tx {
		a, b = b, a
	}
	switch {
	case a.pageSize != b.pageSize || a.tx != b.tx+1 || a.pages < b.pages:
		return bad("its meta pages, of transactions %d and %d, do not belong together", b.tx, a.tx)
	case a.pages < firstDataPage || a.pages > uint64(st.Size())/a.pageSize:
		return bad("it has %d bytes instead of %d", st.Size(), a.pages*a.pageSize)
	case a.freelist != noFreelist:
		return bad("another program wrote to it: it has a stored free list")
	}
	return a, nil
}
