package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"zuno/internal/mp"
)

// A record is format ‖ hash ‖ body ‖ texts, where hash = SHA-256(body). The body carries the digests of the texts, so
// the hash covers them without their bytes: they can be dropped and the chain still verifies.
const (
	format     = 1                 // the first byte of every record
	bodyStart  = 1 + sha256.Size   // format and hash
	bodyFields = 8                 // number, run, at, cause, command, events, texts, prev
	minRecord  = bodyStart + 1     // the shortest that could hold anything
	textInBolt = 1                 // in the texts section: the bytes lie in the texts bucket
	nameSize   = 2 * sha256.Size   // of an artifact: a SHA-256 in hex
	textKey    = 8 + 2             // commit number ‖ index
	maxBolt    = math.MaxInt32 / 2 // bytes of one record; bbolt holds no value of 2 GiB
)

// Limits of what one commit can hold.
const (
	MaxInline   = 4 << 10   // bytes of a text inside its record; a longer one would be rewritten with every neighbour
	MaxBucket   = 1 << 20   // bytes of a text in the texts bucket; a longer one is a file in artifacts/
	MaxText     = 1 << 30   // bytes of any text
	MaxTexts    = 1<<16 - 1 // texts of a commit: a reference has two bytes
	MaxEvents   = 1<<16 - 1 // events of a commit
	MaxName     = 1 << 10   // bytes of a command id, a type or an actor
	MaxPayload  = 16 << 20  // bytes of one payload
	MinSalt     = 16        // bytes of the first text of commit 1
	MaxSalt     = 64
	maxBodySize = 256 << 20 // bytes of a body
)

func appendUint(b []byte, v uint64) []byte {
	switch {
	case v < 0x80:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xcf), v)
}

func appendArray(b []byte, n int) []byte {
	switch {
	case n < 16:
		return append(b, 0x90|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(n))
}

func appendStr(b []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		b = append(b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, 0xd9, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xda), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, s...)
}

func appendBin(b, s []byte) []byte {
	switch n := len(s); {
	case n <= math.MaxUint8:
		b = append(b, 0xc4, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xc5), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(n))
	}
	return append(b, s...)
}

// sameAsCommand says that an event only repeats its command, as those do that record what an effect reported. Such a payload
// stands as nil: it is written once.
func sameAsCommand(command, payload []byte) bool {
	return len(payload) > 0 && bytes.Equal(command, payload)
}

// appendRecord writes the commit's record and sets its Hash. names are the artifacts of its texts over [MaxBucket],
// in their order.
func (c *Commit) appendRecord(b []byte, names []string) []byte {
	start := len(b)
	b = append(b, format)
	b = append(b, c.Hash[:]...) // room
	b = appendArray(b, bodyFields)
	b = appendUint(b, c.Number)
	b = appendBin(b, c.Run[:])
	b = appendUint(b, uint64(c.At))
	b = appendUint(b, c.Cause)
	b = appendArray(b, 5)
	b = appendStr(b, c.Command.ID)
	b = appendStr(b, c.Command.Type)
	b = appendUint(b, c.Command.Version)
	b = appendStr(b, c.Command.Actor)
	b = appendBin(b, c.Command.Payload)
	b = appendArray(b, len(c.Events))
	for i := range c.Events {
		e := &c.Events[i]
		b = appendArray(b, 3)
		b = appendUint(b, e.Stream)
		b = appendStr(b, e.Type)
		if sameAsCommand(c.Command.Payload, e.Payload) {
			b = append(b, 0xc0)
		} else {
			b = appendBin(b, e.Payload)
		}
	}
	entries, bodies := c.Texts.all()
	b = appendArray(b, len(entries))
	for i := range entries {
		b = appendArray(b, 2)
		b = appendBin(b, entries[i].Digest[:])
		b = appendUint(b, entries[i].Size)
	}
	b = appendBin(b, c.Prev[:])
	c.Hash = sha256.Sum256(b[start+bodyStart:])
	copy(b[start+1:], c.Hash[:])

	b = appendArray(b, len(entries))
	for i, t := range entries {
		switch {
		case bodies[i] == nil && t.Size > 0:
			b = append(b, 0xc0)
		case t.Size <= MaxInline:
			b = appendBin(b, bodies[i])
		case t.Size <= MaxBucket:
			b = append(b, textInBolt)
		default:
			b = appendStr(b, names[0])
			names = names[1:]
		}
	}
	return b
}

// all is the table's entries and bodies; a nil table has none.
func (t *Texts) all() ([]TextEntry, [][]byte) {
	if t == nil {
		return nil, nil
	}
	return t.Entries, t.Bodies
}

// check holds the commit, whose Number is set, against the limits of the format.
func (c *Commit) check(lastAt int64) error {
	bad := func(why string, args ...any) error { return &Invalid{c.Number, fmt.Sprintf(why, args...)} }
	entries, bodies := c.Texts.all()
	switch m := &c.Command; {
	case c.At < lastAt:
		return bad("its time %d is before %d, that of the commit before it", c.At, lastAt)
	case c.Cause >= c.Number:
		return bad("its cause, commit %d, is not before it", c.Cause)
	case len(m.ID) == 0 || len(m.ID) > MaxName || len(m.Type) == 0 || len(m.Type) > MaxName || len(m.Actor) > MaxName:
		return bad("command id and type must have 1 to %d bytes, the actor at most that", MaxName)
	case len(m.Payload) > MaxPayload:
		return bad("the command's payload has %d bytes, the limit is %d", len(m.Payload), MaxPayload)
	case len(c.Events) > MaxEvents:
		return bad("it has %d events, the limit is %d", len(c.Events), MaxEvents)
	case len(entries) > MaxTexts:
		return bad("it has %d texts, the limit is %d", len(entries), MaxTexts)
	case len(entries) != len(bodies):
		return bad("its table has %d texts but %d bodies", len(entries), len(bodies))
	}
	size := len(c.Command.Payload)
	for i := range c.Events {
		e := &c.Events[i]
		if e.Stream == 0 || len(e.Type) == 0 || len(e.Type) > MaxName || len(e.Payload) > MaxPayload {
			return bad("event %d needs a stream, a type of 1 to %d bytes, and a payload of at most %d bytes", i, MaxName, MaxPayload)
		}
		size += len(e.Payload)
	}
	if size > maxBodySize {
		return bad("its payloads have %d bytes together, the limit is %d", size, maxBodySize)
	}
	for i := range entries {
		if n := entries[i].Size; n > MaxText || (bodies[i] != nil && uint64(len(bodies[i])) != n) {
			return bad("text %d has %d bytes, said to be %d; the limit is %d", i, len(bodies[i]), n, MaxText)
		}
	}
	return nil
}

// splitRecord finds the body of a record without looking into it, and gives what follows it.
func splitRecord(rec []byte) (body, texts []byte, err error) {
	if len(rec) < minRecord {
		return nil, nil, fmt.Errorf("its record has only %d bytes", len(rec))
	}
	r := mp.NewReader(rec[bodyStart:])
	r.Skip()
	if r.Err() != nil {
		return nil, nil, fmt.Errorf("its record is cut or garbled: %w", r.Err())
	}
	end := bodyStart + r.Pos()
	return rec[bodyStart:end:end], rec[end:], nil
}

// checkHash compares a record's hash with its body, before anything is decoded.
func checkHash(rec []byte) error {
	body, _, err := splitRecord(rec)
	if rec[0] > format && (err != nil || sha256.Sum256(body) != Hash(rec[1:bodyStart])) {
		// A flipped format byte on an intact record is damage; any other layout is somebody's who came later.
		return &NewerError{What: fmt.Sprintf("record format %d", rec[0])}
	}
	switch {
	case err != nil:
		return err
	case sha256.Sum256(body) != Hash(rec[1:bodyStart]):
		return errors.New("its hash does not match its bytes")
	case rec[0] != format:
		return fmt.Errorf("its format byte is %d instead of %d", rec[0], format)
	}
	return nil
}

// decode reads a record into raw, reusing its slices, and gives the texts section, undecoded.
func (raw *Raw) decode(rec []byte) (texts []byte, err error) {
	if len(rec) < minRecord || rec[0] != format {
		return nil, errors.New("its record is cut or of another format")
	}
	r := mp.NewReader(rec[bodyStart:])
	if r.Array() != bodyFields {
		return nil, fmt.Errorf("its body is not an array of %d", bodyFields)
	}
	copy(raw.Hash[:], rec[1:])
	raw.Number = r.Uint()
	r.Fixed(raw.Run[:])
	at := r.Uint()
	raw.At, raw.Cause = int64(at), r.Uint()
	if r.Array() != 5 || at > math.MaxInt64 {
		return nil, errors.New("its command is not an array of 5, or its time is out of range")
	}
	raw.Command.ID, raw.Command.Type, raw.Command.Version = r.Bytes(), r.Bytes(), r.Uint()
	raw.Command.Actor, raw.Command.Payload = r.Bytes(), r.Bytes()
	n := r.Array()
	if n > MaxEvents {
		return nil, fmt.Errorf("it has %d events, the limit is %d", n, MaxEvents)
	}
	raw.Events = raw.Events[:0]
	for range n {
		if r.Array() != 3 {
			return nil, errors.New("one of its events is not an array of 3")
		}
		e := RawEvent{Stream: r.Uint(), Type: r.Bytes(), Payload: r.Bytes()}
		if e.Payload == nil {
			e.Payload = raw.Command.Payload
		}
		raw.Events = append(raw.Events, e)
	}
	n = r.Array()
	if n > MaxTexts {
		return nil, fmt.Errorf("it has %d texts, the limit is %d", n, MaxTexts)
	}
	raw.Texts = raw.Texts[:0]
	for range n {
		if r.Array() != 2 {
			return nil, errors.New("an entry of its texts is not an array of 2")
		}
		raw.Texts = append(raw.Texts, TextEntry{})
		t := &raw.Texts[len(raw.Texts)-1]
		r.Fixed(t.Digest[:])
		t.Size = r.Uint()
	}
	r.Fixed(raw.Prev[:])
	if r.Err() != nil {
		return nil, r.Err()
	}
	end := bodyStart + r.Pos()
	raw.Record = rec[:end:end]
	return rec[end:], nil
}
