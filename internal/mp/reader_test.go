package mp

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// reads is one call of each method, for tables and for the fuzzer.
var reads = []func(r *Reader) any{
	func(r *Reader) any { return r.Array() },
	func(r *Reader) any { return r.Map() },
	func(r *Reader) any { return r.Uint() },
	func(r *Reader) any { return r.Int() },
	func(r *Reader) any { return r.Bool() },
	func(r *Reader) any { return r.Bytes() },
	func(r *Reader) any { return r.String() },
	func(r *Reader) any { var b [32]byte; r.Fixed(b[:]); return b },
	func(r *Reader) any { return r.TextRef() },
	func(r *Reader) any { return r.Raw() },
	func(r *Reader) any { r.Skip(); return nil },
}

// spec: D090
func TestNumbersOfEveryWidth(t *testing.T) {
	for _, v := range []int64{0, 1, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, -1, -32, -33, -128, -129, -32768, -32769, math.MinInt32, math.MinInt32 - 1, math.MinInt64} {
		for _, compact := range []bool{true, false} {
			var b bytes.Buffer
			e := msgpack.NewEncoder(&b)
			e.UseCompactInts(compact)
			if err := e.Encode(v); err != nil {
				t.Fatal(err)
			}
			r := NewReader(b.Bytes())
			if got := r.Int(); got != v || r.Done() != nil {
				t.Errorf("% x: Int %d, want %d (%v)", b.Bytes(), got, v, r.Err())
			}
			r.Reset(b.Bytes())
			got := r.Uint()
			if v >= 0 && (got != uint64(v) || r.Done() != nil) || v < 0 && !errors.Is(r.Err(), ErrRange) {
				t.Errorf("% x: Uint %d of %d (%v)", b.Bytes(), got, v, r.Err())
			}
		}
	}
	r := NewReader([]byte{0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	if r.Uint() != math.MaxUint64 || r.Done() != nil {
		t.Error("the largest number is not read")
	}
	r.Reset([]byte{0xcf, 0x80, 0, 0, 0, 0, 0, 0, 0})
	if r.Int(); !errors.Is(r.Err(), ErrRange) {
		t.Error("a number over 63 bits is taken as signed")
	}
}

// A header of a few bytes that promises gigabytes costs nothing and is a typed error.
//
// spec: D090
func TestHostileHeaders(t *testing.T) {
	for _, h := range [][]byte{
		{0xdb, 0xff, 0xff, 0xff, 0xff},
		{0xc6, 0xff, 0xff, 0xff, 0xff},
		{0xdd, 0xff, 0xff, 0xff, 0xff},
		{0xdf, 0xff, 0xff, 0xff, 0xff},
		{0xc9, 0xff, 0xff, 0xff, 0xff, 1},
		{0xdc, 0xff, 0xff, 0xc0},
		{0xde, 0xff, 0xff, 0xc0, 0xc0},
		{0xda, 0xff, 0xff, 'x'},
		{0x9f},
		{0x8f, 0xc0},
		{0xbf, 'x'},
		{0xc1},
		{},
		{0xd8, 1},
		{0xc7, 4, 1, 0, 0, 0},
		bytes.Repeat([]byte{0x91}, 1<<20), bytes.Repeat([]byte{0x81}, 1<<20),
	} {
		for i, read := range reads {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := NewReader(h)
			read(&r)
			if i >= 9 && r.Err() == nil {
				t.Errorf("% .12x was passed over by read %d", h, i)
			}
			err := r.Done()
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("% .12x was taken by read %d", h, i)
			}
			typed := false
			for _, e := range []error{ErrShort, ErrType, ErrDepth, ErrTrail, ErrRange} {
				typed = typed || errors.Is(err, e)
			}
			if !typed {
				t.Errorf("% .12x: %v is not typed", h, err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
				t.Errorf("% .12x: read %d allocated %d bytes", h, i, n)
			}
		}
	}
}

// After the first failure every read gives the zero value and the failure stays.
//
// spec: D090
func TestErrorIsSticky(t *testing.T) {
	zero := []any{0, 0, uint64(0), int64(0), false, []byte(nil), "", [32]byte{}, 0, []byte(nil), nil}
	for i, read := range reads {
		r := NewReader([]byte{0xc1, 1, 2, 3, 0xa1, 'x'})
		r.Bool()
		first := r.Err()
		got := read(&r)
		if r.Err() != first || first == nil {
			t.Errorf("read %d: %v after %v", i, r.Err(), first)
		}
		if b, ok := got.([]byte); ok && b == nil {
			continue
		}
		if got != zero[i] {
			t.Errorf("read %d after a failure gave %v", i, got)
		}
	}
	r := NewReader([]byte{1, 2})
	r.Uint()
	if !errors.Is(r.Done(), ErrTrail) {
		t.Error("bytes behind the value are not noticed")
	}
}

// Nesting is bounded, at the same depth for arrays and maps.
//
// spec: D090
func TestDepthIsBounded(t *testing.T) {
	for _, unit := range [][]byte{{0x91}, {0x81, 0xa0}} {
		deep := append(bytes.Repeat(unit, maxDepth), 0xc0)
		r := NewReader(deep)
		if r.Skip(); r.Done() != nil {
			t.Errorf("depth %d: %v", maxDepth, r.Err())
		}
		r.Reset(append(append([]byte{}, unit...), deep...))
		if r.Skip(); !errors.Is(r.Err(), ErrDepth) {
			t.Errorf("depth %d: %v", maxDepth+1, r.Err())
		}
	}
}

// FuzzReader reads any bytes by any sequence of methods: nothing panics, nothing is read past the end, and what Skip
// takes as one value the oracle takes as the same one.
//
// spec: D090 D178
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 1}, []byte{0x92, 0x01, 0xa1, 'x'})
	f.Fuzz(func(t *testing.T, methods, b []byte) {
		r := NewReader(b)
		for _, m := range methods {
			before := r.Pos()
			failed := r.Err()
			got := reads[int(m)%len(reads)](&r)
			if r.Pos() < before || r.Pos() > len(b) {
				t.Fatalf("position %d of %d, before %d", r.Pos(), len(b), before)
			}
			if failed != nil && r.Err() != failed {
				t.Fatalf("%v became %v", failed, r.Err())
			}
			if raw, ok := got.([]byte); ok && len(raw) > len(b) {
				t.Fatalf("%d bytes out of %d", len(raw), len(b))
			}
		}
		r.Reset(b)
		r.Skip()
		if r.Err() != nil {
			return
		}
		src := bytes.NewReader(b)
		d := msgpack.NewDecoder(src)
		if err := d.Skip(); err != nil {
			t.Fatalf("% x: we skip %d bytes, the oracle says %v", b, r.Pos(), err)
		}
		if n := len(b) - src.Len(); n != r.Pos() {
			t.Fatalf("% x: we skip %d bytes, the oracle %d", b, r.Pos(), n)
		}
	})
}
