package journal

import (
	"fmt"
	"runtime/debug"
)

// guard runs fn and turns a panic of bbolt, or a fault in the mapped file, into [Damaged]: pages carry no checksum, so
// bbolt trusts whatever stands in them, and a file that is cut while it is mapped faults on access. It covers the
// calling goroutine only.
func guard(path string, fn func(g *guarded) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	g := guarded{path: path}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, fault := p.(interface{ Addr() uintptr }); g.foreign && !fault {
			panic(p) // the caller's own defect, which must not pass for a damaged file
		}
		err = &Damaged{path, g.commit, fmt.Sprintf("a page of the file is unreadable (%v)", p)}
	}()
	return fn(&g)
}

// guarded is what the guard has to know of the work: which commit is being read, and whether the caller's code runs.
type guarded struct {
	path    string
	commit  uint64
	foreign bool
}

// call runs the caller's fn on raw.
func (g *guarded) call(fn func(*Raw) error, raw *Raw) error {
	g.foreign = true
	err := fn(raw)
	g.foreign = false
	return err
}

// damaged types err, which was found in the present commit.
func (g *guarded) damaged(err error) error {
	if newer, ok := err.(*NewerError); ok {
		newer.File = g.path
		return newer
	}
	return &Damaged{g.path, g.commit, err.Error()}
}
