package mp

import (
	"encoding/binary"
	"errors"
	"math"
)

// The ways in which bytes fail to be the expected msgpack value.
var (
	ErrShort = errors.New("msgpack: value runs past its end")
	ErrType  = errors.New("msgpack: unexpected type")
	ErrDepth = errors.New("msgpack: nested too deeply")
	ErrTrail = errors.New("msgpack: bytes after the value")
	ErrRange = errors.New("msgpack: number out of range")
)

// maxDepth bounds nesting, and with it the stack, while a value is skipped.
const maxDepth = 64

// ExtText is the msgpack extension type of a reference into a commit's table of texts.
const ExtText = 1

// Reader reads values off a byte slice. Its error is sticky: after the first failure every read gives the
// zero value, so a decoder may check once at its end. The slice must not change while it is read.
type Reader struct {
	b   []byte
	pos int
	err error
}

// NewReader reads from b, which it aliases.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Reset starts over on b.
func (r *Reader) Reset(b []byte) { r.b, r.pos, r.err = b, 0, nil }

// Err is the first failure.
func (r *Reader) Err() error { return r.err }

// Pos is the offset of the next unread byte.
func (r *Reader) Pos() int { return r.pos }

// Done is Err, or [ErrTrail] when unread bytes are left.
func (r *Reader) Done() error {
	if r.err == nil && r.pos != len(r.b) {
		r.err = ErrTrail
	}
	return r.err
}

// Fail records err unless an earlier failure stands.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.pos = len(r.b)
}

func (r *Reader) next() byte {
	if r.pos >= len(r.b) {
		r.Fail(ErrShort)
		return 0xc1
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

func (r *Reader) bigEndian(width int) uint64 {
	if len(r.b)-r.pos < width {
		r.Fail(ErrShort)
		return 0
	}
	p := r.b[r.pos:]
	r.pos += width
	switch width {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(p))
	case 4:
		return uint64(binary.BigEndian.Uint32(p))
	default:
		return binary.BigEndian.Uint64(p)
	}
}

// count checks a declared number of elements against the bytes that are left: each takes at least unit bytes.
func (r *Reader) count(n uint64, unit int) int {
	if r.err != nil {
		return 0
	}
	if n > uint64((len(r.b)-r.pos)/unit) {
		r.Fail(ErrShort)
		return 0
	}
	return int(n)
}

// Array is the number of elements of an array that follow; nil counts as empty.
func (r *Reader) Array() int {
	switch c := r.next(); {
	case c&0xf0 == 0x90:
		return r.count(uint64(c&0x0f), 1)
	case c == 0xdc:
		return r.count(r.bigEndian(2), 1)
	case c == 0xdd:
		return r.count(r.bigEndian(4), 1)
	case c == 0xc0:
		return 0
	}
	r.Fail(ErrType)
	return 0
}

// Map is the number of key-value pairs that follow; nil counts as empty.
func (r *Reader) Map() int {
	switch c := r.next(); {
	case c&0xf0 == 0x80:
		return r.count(uint64(c&0x0f), 2)
	case c == 0xde:
		return r.count(r.bigEndian(2), 2)
	case c == 0xdf:
		return r.count(r.bigEndian(4), 2)
	case c == 0xc0:
		return 0
	}
	r.Fail(ErrType)
	return 0
}

// Uint reads a number that is not negative, whatever its width on the wire.
func (r *Reader) Uint() uint64 {
	c := r.next()
	if c < 0x80 {
		return uint64(c)
	}
	if c >= 0xcc && c <= 0xcf {
		return r.bigEndian(1 << (c - 0xcc))
	}
	if v := r.signed(c); v >= 0 {
		return uint64(v)
	}
	r.Fail(ErrRange)
	return 0
}

// Int reads a number that fits 64 signed bits.
func (r *Reader) Int() int64 {
	c := r.next()
	switch {
	case c < 0x80:
		return int64(c)
	case c >= 0xcc && c <= 0xcf:
		v := r.bigEndian(1 << (c - 0xcc))
		if v > math.MaxInt64 {
			r.Fail(ErrRange)
			return 0
		}
		return int64(v)
	}
	return r.signed(c)
}

func (r *Reader) signed(c byte) int64 {
	switch {
	case c >= 0xe0:
		return int64(int8(c))
	case c == 0xd0:
		return int64(int8(r.bigEndian(1)))
	case c == 0xd1:
		return int64(int16(r.bigEndian(2)))
	case c == 0xd2:
		return int64(int32(r.bigEndian(4)))
	case c == 0xd3:
		return int64(r.bigEndian(8))
	}
	r.Fail(ErrType)
	return 0
}

// Bool reads a boolean.
func (r *Reader) Bool() bool {
	switch r.next() {
	case 0xc2:
		return false
	case 0xc3:
		return true
	}
	r.Fail(ErrType)
	return false
}

// Bytes reads a string or binary value and aliases it; nil gives nil.
func (r *Reader) Bytes() []byte {
	var n int
	switch c := r.next(); {
	case c&0xe0 == 0xa0:
		n = r.count(uint64(c&0x1f), 1)
	case c == 0xd9 || c == 0xc4:
		n = r.count(r.bigEndian(1), 1)
	case c == 0xda || c == 0xc5:
		n = r.count(r.bigEndian(2), 1)
	case c == 0xdb || c == 0xc6:
		n = r.count(r.bigEndian(4), 1)
	case c == 0xc0:
		return nil
	default:
		r.Fail(ErrType)
		return nil
	}
	if r.err != nil {
		return nil
	}
	s := r.b[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return s
}

// String is Bytes, copied.
func (r *Reader) String() string { return string(r.Bytes()) }

// Fixed reads a binary value of exactly len(out) bytes into out.
func (r *Reader) Fixed(out []byte) {
	b := r.Bytes()
	if r.err != nil {
		return
	}
	if len(b) != len(out) {
		r.Fail(ErrRange)
		return
	}
	copy(out, b)
}

// TextRef reads a reference into the commit's table of texts (extension type [ExtText], one or two bytes).
func (r *Reader) TextRef() int {
	width := 1
	switch r.next() {
	case 0xd4:
	case 0xd5:
		width = 2
	default:
		r.Fail(ErrType)
		return 0
	}
	if r.next() != ExtText {
		r.Fail(ErrType)
		return 0
	}
	return int(r.bigEndian(width))
}

// Raw skips one value and gives its bytes, aliased.
func (r *Reader) Raw() []byte {
	start := r.pos
	r.Skip()
	if r.err != nil {
		return nil
	}
	return r.b[start:r.pos:r.pos]
}

// Skip passes over one value. It is the walk over every record before its hash is checked, so it does not recurse, and takes short
// strings and binaries, which most values are, without a call.
func (r *Reader) Skip() {
	var left [maxDepth + 1]int // values to pass over at each depth
	left[0] = 1
	for depth := 0; depth >= 0; {
		if left[depth] == 0 {
			depth--
			continue
		}
		left[depth]--
		if r.pos >= len(r.b) {
			r.Fail(ErrShort)
		}
		if r.err != nil {
			return
		}
		c, inside := r.b[r.pos], 0
		switch {
		case c < 0x80 || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3:
			r.pos++
		case c&0xe0 == 0xa0 && int(c&0x1f) < len(r.b)-r.pos:
			r.pos += 1 + int(c&0x1f)
		case (c == 0xc4 || c == 0xd9) && r.pos+1 < len(r.b) && int(r.b[r.pos+1]) < len(r.b)-r.pos-1:
			r.pos += 2 + int(r.b[r.pos+1])
		case c&0xf0 == 0x90 || c == 0xdc || c == 0xdd:
			inside = r.Array()
		case c&0xf0 == 0x80 || c == 0xde || c == 0xdf:
			inside = 2 * r.Map()
		case c&0xe0 == 0xa0 || (c >= 0xd9 && c <= 0xdb) || (c >= 0xc4 && c <= 0xc6):
			r.Bytes()
		case c >= 0xcc && c <= 0xcf:
			r.pos++
			r.bigEndian(1 << (c - 0xcc))
		case c >= 0xd0 && c <= 0xd3:
			r.pos++
			r.bigEndian(1 << (c - 0xd0))
		case c == 0xca:
			r.pos++
			r.bigEndian(4)
		case c == 0xcb:
			r.pos++
			r.bigEndian(8)
		case c >= 0xd4 && c <= 0xd8:
			r.pos++
			r.advance(1 + 1<<(c-0xd4))
		case c >= 0xc7 && c <= 0xc9:
			r.pos++
			r.advance(1 + r.count(r.bigEndian(1<<(c-0xc7)), 1))
		default:
			r.Fail(ErrType)
		}
		switch {
		case inside == 0:
		case depth == maxDepth:
			r.Fail(ErrDepth)
		default:
			depth++
			left[depth] = inside
		}
	}
}

func (r *Reader) advance(n int) {
	if len(r.b)-r.pos < n {
		r.Fail(ErrShort)
		return
	}
	r.pos += n
}
