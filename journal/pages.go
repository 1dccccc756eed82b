package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Limits of a tree that bbolt writes; a damaged one could nest for ever.
const (
	maxDepth      = 40
	elementSize   = 16
	bucketHead    = 16 // root page ‖ sequence
	flagBranch    = 1
	flagLeaf      = 2
	elementBucket = 1
)

// walkPages checks the structure of every page that is in use, on the raw bytes. bbolt walks the same tree when it
// opens a file for writing, in a goroutine of its own, where a bad page would end the process: nothing guards that
// goroutine. It also trusts the page heads to tell which pages are free; one that lies would be overwritten later.
func walkPages(f *os.File, path string, m meta) error {
	size := m.pages * m.pageSize
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map journal %s: %w", path, err)
	}
	defer unix.Munmap(b)
	return guard(path, func(g *guarded) error {
		w := pageWalk{b: b, meta: m, seen: make([]bool, m.pages), g: g}
		if err := w.tree(m.root, nil, nil, 0); err != nil {
			return g.damaged(err)
		}
		return nil
	})
}

type pageWalk struct {
	b    []byte
	meta meta
	seen []bool
	g    *guarded
	in   string // the bucket
}

// tree checks page id and what hangs from it; its keys lie in [low, high).
func (w *pageWalk) tree(id uint64, low, high []byte, depth int) error {
	if id < firstDataPage || id >= w.meta.pages || depth > maxDepth {
		return fmt.Errorf("page %d does not exist or lies too deep", id)
	}
	if w.in == string(textsBucket) && len(low) == textKey {
		w.g.commit = binary.BigEndian.Uint64(low)
	}
	at := id * w.meta.pageSize
	head := w.b[at:]
	if n := binary.LittleEndian.Uint64(head); n != id {
		return fmt.Errorf("page %d says that it is page %d", id, n)
	}
	overflow := uint64(binary.LittleEndian.Uint32(head[12:]))
	if overflow >= w.meta.pages-id {
		return fmt.Errorf("page %d reaches past the end", id)
	}
	for i := id; i <= id+overflow; i++ {
		if w.seen[i] {
			return fmt.Errorf("page %d is used twice", i)
		}
		w.seen[i] = true
	}
	if err := w.page(w.b[at:at+(overflow+1)*w.meta.pageSize], low, high, depth); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

var errElement = errors.New("an element does not lie where it should")

// page checks one page, or the page that lies inside a small bucket's value.
func (w *pageWalk) page(p []byte, low, high []byte, depth int) error {
	le := binary.LittleEndian
	flags, count := le.Uint16(p[8:]), int(le.Uint16(p[10:]))
	if flags != flagBranch && flags != flagLeaf || flags == flagBranch && count == 0 {
		return fmt.Errorf("flags %#x and %d elements", flags, count)
	}
	next := pageHead + count*elementSize // keys and values follow the elements without gaps
	if next > len(p) {
		return errElement
	}
	last := low
	for i := range count {
		at := pageHead + i*elementSize
		e := p[at : at+elementSize]
		var pos, ksize, vsize int
		if flags == flagBranch {
			pos, ksize = int(le.Uint32(e)), int(le.Uint32(e[4:]))
		} else {
			pos, ksize, vsize = int(le.Uint32(e[4:])), int(le.Uint32(e[8:])), int(le.Uint32(e[12:]))
		}
		if at+pos != next || ksize == 0 || ksize > len(p)-next || vsize > len(p)-next-ksize {
			return errElement
		}
		key, value := p[next:next+ksize], p[next+ksize:next+ksize+vsize]
		next += ksize + vsize
		if c := bytes.Compare(key, last); c < 0 || c == 0 && i > 0 || high != nil && bytes.Compare(key, high) >= 0 {
			return errors.New("its keys are not in order")
		}
		last = key
		if flags == flagLeaf {
			if err := w.leaf(le.Uint32(e), key, value, depth); err != nil {
				return err
			}
			continue
		}
		bound := high
		if i+1 < count {
			n := p[at+elementSize:]
			from := at + elementSize + int(le.Uint32(n))
			if to := from + int(le.Uint32(n[4:])); to <= len(p) && from <= to {
				bound = p[from:to]
			}
		}
		if err := w.tree(le.Uint64(e[8:]), key, bound, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks one element of a leaf: a bucket in the root, or a key of ours, which tells how far the reader is.
func (w *pageWalk) leaf(flags uint32, key, value []byte, depth int) error {
	switch {
	case flags == 0:
		if w.in == string(commitsBucket) && len(key) == 8 {
			w.g.commit = binary.BigEndian.Uint64(key) + 1
		}
		return nil
	case flags != elementBucket || w.in != "" || len(value) < bucketHead:
		return fmt.Errorf("element %q has flags %#x", key, flags)
	}
	w.in, w.g.commit = string(key), 0
	if w.in == string(commitsBucket) {
		w.g.commit = 1
	}
	var err error
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		err = w.tree(root, nil, nil, depth+1)
	} else if len(value) < bucketHead+pageHead {
		err = errElement
	} else {
		err = w.page(value[bucketHead:], nil, nil, depth+1)
	}
	if err != nil {
		return fmt.Errorf("bucket %q: %w", key, err)
	}
	w.in, w.g.commit = "", 0
	return nil
}
