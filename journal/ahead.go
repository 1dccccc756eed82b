package journal

import (
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// aheadBatch is how many records are hashed while those before them are decoded and folded. A journal that has no more is
// checked without a goroutine.
const aheadBatch = 256

// ahead goes through the records of a bucket in order and hashes a batch of them beside the work on the one before it: of a
// verified replay, hashing is about as much work as all the rest. Nothing of a record is used before its hash is known.
type ahead struct {
	cur  *bolt.Cursor
	now  *hashBatch
	at   int
	soon *hashBatch // nil: there is no other
}

type hashBatch struct {
	keys, records [][]byte
	errs          []error
	done          chan struct{}
}

// hashAhead starts at the cursor's first record.
func hashAhead(cur *bolt.Cursor) *ahead {
	a := &ahead{cur: cur}
	a.now = a.read(cur.First())
	if a.soon = a.more(); a.soon == nil {
		a.now.check()
		return a
	}
	a.now.start()
	return a
}

// next is the next record and what is wrong with it; a nil key at the end.
func (a *ahead) next() (k, v []byte, err error) {
	if a.at == len(a.now.keys) {
		if a.soon == nil {
			return nil, nil, nil
		}
		a.now, a.at = a.soon, 0
		a.soon = a.more()
	}
	if a.at == 0 && a.now.done != nil {
		<-a.now.done
		if a.soon != nil {
			a.soon.start()
		}
	}
	i := a.at
	a.at++
	return a.now.keys[i], a.now.records[i], a.now.errs[i]
}

// stop waits until nothing reads the file any more.
func (a *ahead) stop() {
	for _, b := range []*hashBatch{a.now, a.soon} {
		if b != nil && b.done != nil {
			<-b.done
		}
	}
}

func (a *ahead) more() *hashBatch {
	if len(a.now.keys) < aheadBatch {
		return nil
	}
	if b := a.read(a.cur.Next()); len(b.keys) > 0 {
		return b
	}
	return nil
}

func (a *ahead) read(k, v []byte) *hashBatch {
	b := &hashBatch{}
	for ; k != nil; k, v = a.cur.Next() {
		b.keys, b.records = append(b.keys, k), append(b.records, v)
		if len(b.keys) == aheadBatch {
			break
		}
	}
	b.errs = make([]error, len(b.keys))
	return b
}

func (b *hashBatch) start() {
	b.done = make(chan struct{})
	go func() {
		defer close(b.done)
		b.check()
	}()
}

// check hashes the records. A fault in the mapped file is an error of the record that it was found in.
func (b *hashBatch) check() {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	at := 0
	defer func() {
		if p := recover(); p != nil {
			b.errs[at] = fmt.Errorf("a page of the file is unreadable (%v)", p)
		}
	}()
	for ; at < len(b.records); at++ {
		b.errs[at] = checkRecord(b.records[at])
	}
}
