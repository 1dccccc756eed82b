package journal

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"zuno/internal/mp"
)

const (
	payloadDepth = 64 // of nested arrays and maps
	shortBinary  = 64 // bytes that are shown in hex: a digest or an id
)

var errDepth = errors.New("nested too deeply")

// payload shows msgpack as JSON, without knowing its schema. What is no single msgpack value is shown in base64.
func (e *exporter) payload(b []byte) {
	from := e.enter("payload")
	mark := len(e.b)
	d := payloadReader{r: mp.NewReader(b), b: b, e: e}
	err := d.value(0)
	if err == nil {
		err = d.r.Done()
	}
	if err != nil {
		e.b = append(e.b[:mark], `{"base64":`...)
		e.base64(b)
		e.b = append(e.b, '}')
	}
	e.leave(from)
}

type payloadReader struct {
	r mp.Reader
	b []byte
	e *exporter
}

func (d *payloadReader) value(depth int) error {
	e := d.e
	if depth > payloadDepth {
		return errDepth
	}
	switch c := firstByte(d.b, d.r.Pos()); {
	case c < 0x80 || c >= 0xcc && c <= 0xcf:
		e.uintValue(d.r.Uint())
	case c >= 0xe0 || c >= 0xd0 && c <= 0xd3:
		d.int(d.r.Int())
	case c&0xf0 == 0x80 || c == 0xde || c == 0xdf:
		return d.object(depth)
	case c&0xf0 == 0x90 || c == 0xdc || c == 0xdd:
		e.b = append(e.b, '[')
		for n := d.r.Array(); n > 0 && d.r.Err() == nil; n-- {
			if e.b[len(e.b)-1] != '[' {
				e.b = append(e.b, ',')
			}
			if err := d.value(depth + 1); err != nil {
				return err
			}
		}
		e.b = append(e.b, ']')
	case c&0xe0 == 0xa0 || c >= 0xd9 && c <= 0xdb:
		e.bytesValue(d.r.Bytes())
	case c >= 0xc4 && c <= 0xc6:
		d.binary(d.r.Bytes())
	case c == 0xc0:
		d.r.Skip()
		e.b = append(e.b, "null"...)
	case c == 0xc2 || c == 0xc3:
		d.bool(d.r.Bool())
	case c == 0xca || c == 0xcb:
		d.float(d.r.Raw())
	default:
		return d.extension(d.r.Raw())
	}
	return d.r.Err()
}

func (d *payloadReader) object(depth int) error {
	e := d.e
	e.b = append(e.b, '{')
	for n := d.r.Map(); n > 0 && d.r.Err() == nil; n-- {
		var name string
		if c := firstByte(d.b, d.r.Pos()); c&0xe0 == 0xa0 || c >= 0xd9 && c <= 0xdb {
			name = string(d.r.Bytes())
		} else {
			name = hex.EncodeToString(d.r.Raw())
		}
		from := e.enter(name)
		if err := d.value(depth + 1); err != nil {
			return err
		}
		e.leave(from)
	}
	e.b = append(e.b, '}')
	return d.r.Err()
}

func (d *payloadReader) int(v int64) {
	if d.e.mask != nil {
		d.e.masked(v)
		return
	}
	d.e.b = strconv.AppendInt(d.e.b, v, 10)
}

func (d *payloadReader) bool(v bool) {
	if d.e.mask != nil {
		d.e.masked(v)
		return
	}
	d.e.b = strconv.AppendBool(d.e.b, v)
}

func (d *payloadReader) float(raw []byte) {
	var v float64
	switch len(raw) {
	case 5:
		v = float64(math.Float32frombits(binary.BigEndian.Uint32(raw[1:])))
	case 9:
		v = math.Float64frombits(binary.BigEndian.Uint64(raw[1:]))
	}
	if d.e.mask != nil {
		d.e.masked(v)
		return
	}
	d.e.b = appendFloat(d.e.b, v)
}

func (d *payloadReader) binary(v []byte) {
	e := d.e
	switch {
	case e.mask != nil:
		e.masked(hex.EncodeToString(v))
	case len(v) <= shortBinary:
		e.b = append(hex.AppendEncode(append(e.b, '"'), v), '"')
	default:
		e.b = append(e.b, `{"base64":`...)
		e.base64(v)
		e.b = append(e.b, '}')
	}
}

// extension shows a reference to a text, and any other extension as its bytes.
func (d *payloadReader) extension(raw []byte) error {
	e := d.e
	if d.r.Err() != nil {
		return d.r.Err()
	}
	r := mp.NewReader(raw)
	i := r.TextRef()
	if r.Done() != nil {
		e.b = append(e.b, `{"extension":"`...)
		e.b = append(base64.StdEncoding.AppendEncode(e.b, raw), '"', '}')
		return nil
	}
	e.b = append(e.b, `{"text":`...)
	e.b = strconv.AppendInt(e.b, int64(i), 10)
	salt := e.c.Number == 1 && i == 0 && e.mask != nil
	if !e.omit && !salt && i < len(e.c.Texts) && e.c.Texts[i].Size <= shortText {
		if b, err := e.c.Body(i); err == nil && utf8.Valid(b) {
			e.b = append(e.b, `,"value":`...)
			e.bytesValue(b)
		}
	}
	e.b = append(e.b, '}')
	return nil
}
