package event

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"zuno/internal/mp"
	"zuno/journal"
)

// Payload is a pointer to an event's or a command's struct. Its methods are generated.
type Payload interface {
	EncodeMsg(e *Encoder)
	DecodeMsg(r *Reader)
}

// Encoder writes payloads: msgpack maps from field names to values, with zero values left out. It collects the free
// texts in a commit's table. It is not safe for concurrent use.
type Encoder struct {
	buf   bytes.Buffer
	enc   *msgpack.Encoder
	texts *journal.Texts
	err   error
}

// NewEncoder makes an encoder.
func NewEncoder() *Encoder {
	e := &Encoder{}
	e.enc = msgpack.NewEncoder(&e.buf)
	return e
}

// Encode gives p's bytes, which the caller owns, and adds its texts to the table. It fails only for a text that is
// neither known nor in the table, or a table that is full: defects of the caller.
func (e *Encoder) Encode(p Payload, texts *journal.Texts) ([]byte, error) {
	e.buf.Reset()
	e.texts, e.err = texts, nil
	p.EncodeMsg(e)
	if e.err != nil {
		return nil, e.err
	}
	return bytes.Clone(e.buf.Bytes()), nil
}

func (e *Encoder) note(err error) {
	if e.err == nil && err != nil {
		e.err = err
	}
}

// Map begins a map of n pairs.
func (e *Encoder) Map(n int) { e.note(e.enc.EncodeMapLen(n)) }

// Array begins an array of n elements.
func (e *Encoder) Array(n int) { e.note(e.enc.EncodeArrayLen(n)) }

// String writes a string.
func (e *Encoder) String(s string) { e.note(e.enc.EncodeString(s)) }

// Uint writes a number in its shortest form.
func (e *Encoder) Uint(v uint64) { e.note(e.enc.EncodeUint(v)) }

// Int writes a signed number in its shortest form.
func (e *Encoder) Int(v int64) { e.note(e.enc.EncodeInt(v)) }

// Bool writes a boolean.
func (e *Encoder) Bool(v bool) { e.note(e.enc.EncodeBool(v)) }

// Bytes writes binary data.
func (e *Encoder) Bytes(b []byte) { e.note(e.enc.EncodeBytes(b)) }

// Text writes a reference into the table.
func (e *Encoder) Text(t Text) {
	if e.texts == nil {
		e.note(fmt.Errorf("a text without a table"))
		return
	}
	var i int
	if t.body != nil {
		i = e.texts.Add(t.body)
	} else if i = e.find(t.Digest); i < 0 {
		e.note(fmt.Errorf("text %s is not among its commit's texts", t.Digest))
		return
	}
	switch {
	case i < 1<<8:
		e.buf.Write([]byte{0xd4, mp.ExtText, byte(i)})
	case i < 1<<16:
		e.buf.Write([]byte{0xd5, mp.ExtText, byte(i >> 8), byte(i)})
	default:
		e.note(fmt.Errorf("more than %d texts in a commit", 1<<16))
	}
}

func (e *Encoder) find(d journal.Hash) int {
	for i := range e.texts.Entries {
		if e.texts.Entries[i].Digest == d {
			return i
		}
	}
	return -1
}

// Reader reads payloads. Texts is the table of the payload's commit. With Body set, texts come with their bytes.
type Reader struct {
	mp.Reader
	Texts []journal.TextEntry
	Body  func(i int) ([]byte, error)
	// IDs, where there is one, keeps a replay from allocating the same id for each event that names it.
	IDs *IDCache
}

// IDCache remembers short strings that were read lately.
type IDCache [256]string

// String reads a string, copied; a short one that was read lately is not copied again.
func (r *Reader) String() string {
	b := r.Bytes()
	if r.IDs == nil || len(b) < 4 || len(b) > 32 {
		return string(b)
	}
	slot := &r.IDs[(uint(b[len(b)-1])*31+uint(b[len(b)-2])*7+uint(b[len(b)-4]))%uint(len(r.IDs))]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// Text reads a reference and resolves it in the table.
func (r *Reader) Text() Text {
	i := r.TextRef()
	if r.Err() != nil {
		return Text{}
	}
	if i >= len(r.Texts) {
		r.Fail(fmt.Errorf("text %d of %d", i, len(r.Texts)))
		return Text{}
	}
	t := Text{Digest: r.Texts[i].Digest, Size: r.Texts[i].Size}
	if r.Body != nil {
		b, err := r.Body(i)
		if err != nil {
			t.missing = true
			return t
		}
		t.body = append(make([]byte, 0, len(b)), b...)
	}
	return t
}

// maxList bounds the elements of a list: one takes a byte on the wire and may take hundreds in memory.
const maxList = 1 << 16

// List is the number of elements of an array that follow.
func (r *Reader) List() int {
	n := r.Array()
	if n > maxList {
		r.Fail(fmt.Errorf("a list of %d elements, the limit is %d", n, maxList))
		return 0
	}
	return n
}

// Word reads a string of a small vocabulary without allocating for the words that are known.
func (r *Reader) Word() string {
	b := r.Bytes()
	if w, ok := words[string(b)]; ok {
		return w
	}
	return string(b)
}

// Text is a piece of free text. In a record stand its salted digest and size; its bytes lie beside the body, and
// a redacted journal has lost them. No decision reads them.
type Text struct {
	Digest  journal.Hash
	Size    uint64
	body    []byte
	missing bool
}

// NewText makes a text that will be added to its commit's table.
func NewText(s string) Text {
	return Text{Size: uint64(len(s)), body: append(make([]byte, 0, len(s)), s...)}
}

// OptionalText is the zero Text for an empty string.
func OptionalText(s string) Text {
	if s == "" {
		return Text{}
	}
	return NewText(s)
}

// IsZero says that there is no text, which differs from an empty one.
func (t Text) IsZero() bool { return t.body == nil && t.Size == 0 && t.Digest == journal.Hash{} }

// Known says that the bytes are at hand.
func (t Text) Known() bool { return t.body != nil }

// String is the text itself, or a placeholder where the journal has lost it.
func (t Text) String() string {
	if t.missing {
		return fmt.Sprintf("[redacted: %d bytes]", t.Size)
	}
	return string(t.body)
}

// MarshalJSON is the text itself where it is known, and its digest and size elsewhere.
func (t Text) MarshalJSON() ([]byte, error) {
	if t.body != nil {
		return json.Marshal(string(t.body))
	}
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(struct {
		Digest string `json:"digest"`
		Size   uint64 `json:"size"`
	}{t.Digest.String(), t.Size})
}

// Table is the text table of a commit.
type Table = []journal.TextEntry

// Decode reads one payload into p. It fails on anything but exactly one well-formed value; unknown keys are skipped.
func Decode(p Payload, payload []byte, texts []journal.TextEntry, body func(int) ([]byte, error)) error {
	r := Reader{Reader: mp.NewReader(payload), Texts: texts, Body: body}
	p.DecodeMsg(&r)
	return r.Done()
}
