package journal

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// ExportOptions say what an export shows.
type ExportOptions struct {
	// OmitTexts leaves the texts and the salt out; the chain still verifies. The lines are those of a redacted journal.
	OmitTexts bool

	// Mask replaces values that differ from machine to machine, so that two runs can be compared. It is called for
	// each string, number and boolean with its path, the names joined by dots and without positions
	// ("events.payload.duration_ms", "texts.text"); binary values come as hex. It returns what stands in its place:
	// a string, int64, uint64, float64, bool or nil. With it an export leaves out what would give the values
	// away: hash, prev, raw, and the digests and sizes of texts.
	Mask func(path string, value any) any
}

// shortText is the size up to which a text is shown where it is referred to, besides in the commit's table.
const shortText = 200

// Export writes each commit as one JSON object on a line of its own:
//
//	{"number":…,"hash":hex,"prev":hex,"run":ULID,"at":RFC 3339,"cause":…,
//	 "command":{"id":…,"type":…,"version":…,"actor":…,"payload":{…}},
//	 "events":[{"stream":…,"type":…,"payload":{…}}…],
//	 "texts":[{"digest":hex,"size":…,"text":…}…],"raw":base64}
//
// raw is format ‖ hash ‖ body, and with the texts the whole record; all else is derived from the two. A text that is not
// UTF-8 stands as "base64", one that was dropped has "redacted":true, one whose artifact is lost has "missing":true.
// In a payload {"text":3} refers to text 3, with its "value" when it is short; binary values are hex up to 64 bytes
// and {"base64":…} beyond.
func Export(l Log, w io.Writer, o ExportOptions) error {
	out := bufio.NewWriterSize(w, 64<<10)
	e := exporter{mask: o.Mask, omit: o.OmitTexts}
	err := l.Scan(1, func(c *Raw) error {
		e.line(c)
		_, err := out.Write(e.b)
		return err
	})
	if err != nil {
		return fmt.Errorf("export journal: %w", err)
	}
	return out.Flush()
}

type exporter struct {
	b    []byte
	path []byte
	c    *Raw
	mask func(string, any) any
	omit bool
}

func (e *exporter) line(c *Raw) {
	e.c, e.b, e.path = c, append(e.b[:0], '{'), e.path[:0]
	e.uint("number", c.Number)
	if e.mask == nil {
		e.hex("hash", c.Hash[:])
		e.hex("prev", c.Prev[:])
	}
	e.str("run", c.Run.String())
	e.str("at", time.UnixMilli(c.At).UTC().Format(timeFormat))
	e.uint("cause", c.Cause)

	from := e.enter("command")
	e.b = append(e.b, '{')
	e.bytes("id", c.Command.ID)
	e.bytes("type", c.Command.Type)
	e.uint("version", c.Command.Version)
	e.bytes("actor", c.Command.Actor)
	e.payload(c.Command.Payload)
	e.b = append(e.b, '}')
	e.leave(from)

	from = e.enter("events")
	e.b = append(e.b, '[')
	for i := range c.Events {
		v := &c.Events[i]
		e.b = append(separate(e.b), '{')
		e.uint("stream", v.Stream)
		e.bytes("type", v.Type)
		e.payload(v.Payload)
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, ']')
	e.leave(from)

	e.texts()
	if e.mask == nil {
		e.key("raw")
		e.base64(c.Record)
	}
	e.b = append(e.b, '}', '\n')
}

func (e *exporter) texts() {
	from := e.enter("texts")
	e.b = append(e.b, '[')
	for i, t := range e.c.Texts {
		e.b = append(separate(e.b), '{')
		if e.mask == nil {
			e.hex("digest", t.Digest[:])
			e.uint("size", t.Size)
		}
		e.text(i)
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, ']')
	e.leave(from)
}

func (e *exporter) text(i int) {
	b, err := []byte(nil), ErrRedacted
	if !e.omit {
		b, err = e.c.Body(i)
	}
	switch {
	case errors.Is(err, ErrRedacted):
		e.key("redacted")
		e.b = append(e.b, "true"...)
	case err != nil:
		e.key("missing")
		e.b = append(e.b, "true"...)
	case e.mask != nil && e.c.Number == 1 && i == 0: // the salt is random
	case utf8.Valid(b):
		e.bytes("text", b)
	default:
		e.key("base64")
		if e.mask != nil {
			e.masked(base64.StdEncoding.EncodeToString(b))
			return
		}
		e.base64(b)
	}
}

// enter writes a name and makes it part of the path until leave.
func (e *exporter) enter(name string) (from int) {
	e.b = append(appendString(separate(e.b), name), ':')
	from = len(e.path)
	if from > 0 {
		e.path = append(e.path, '.')
	}
	e.path = append(e.path, name...)
	return from
}

func (e *exporter) leave(from int) { e.path = e.path[:from] }

// key writes a name whose value is not masked.
func (e *exporter) key(name string) { e.b = append(appendString(separate(e.b), name), ':') }

func (e *exporter) uint(name string, v uint64) {
	from := e.enter(name)
	e.uintValue(v)
	e.leave(from)
}

func (e *exporter) str(name, v string) {
	from := e.enter(name)
	e.strValue(v)
	e.leave(from)
}

func (e *exporter) bytes(name string, v []byte) {
	from := e.enter(name)
	e.bytesValue(v)
	e.leave(from)
}

func (e *exporter) hex(name string, v []byte) {
	e.key(name)
	e.b = append(hex.AppendEncode(append(e.b, '"'), v), '"')
}

func (e *exporter) base64(v []byte) {
	e.b = append(base64.StdEncoding.AppendEncode(append(e.b, '"'), v), '"')
}

func (e *exporter) uintValue(v uint64) {
	if e.mask != nil {
		e.masked(v)
		return
	}
	e.b = strconv.AppendUint(e.b, v, 10)
}

func (e *exporter) strValue(v string) {
	if e.mask != nil {
		e.masked(v)
		return
	}
	e.b = appendString(e.b, v)
}

func (e *exporter) bytesValue(v []byte) {
	if e.mask != nil {
		e.masked(string(v))
		return
	}
	e.b = appendString(e.b, v)
}

// masked writes what the mask makes of v.
func (e *exporter) masked(v any) {
	switch v := e.mask(string(e.path), v).(type) {
	case nil:
		e.b = append(e.b, "null"...)
	case string:
		e.b = appendString(e.b, v)
	case bool:
		e.b = strconv.AppendBool(e.b, v)
	case int64:
		e.b = strconv.AppendInt(e.b, v, 10)
	case uint64:
		e.b = strconv.AppendUint(e.b, v, 10)
	case float64:
		e.b = appendFloat(e.b, v)
	default:
		e.b = appendString(e.b, fmt.Sprint(v))
	}
}

// separate puts a comma between two members or elements.
func separate(b []byte) []byte {
	switch b[len(b)-1] {
	case '{', '[', ':':
		return b
	}
	return append(b, ',')
}

// appendFloat writes what JSON has no number for as a string.
func appendFloat(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return appendString(b, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// appendString writes s as a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendString[T string | []byte](b []byte, s T) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, `\n`...)
			case '\t':
				b = append(b, `\t`...)
			default:
				b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRune([]byte(s[i:min(len(s), i+utf8.UTFMax)]))
		if r == utf8.RuneError && n == 1 {
			b = append(append(b, s[start:i]...), "\ufffd"...)
			start = i + 1
		}
		i += n
	}
	return append(append(b, s[start:]...), '"')
}
