package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"zuno/internal/mp"
)

// source is where the texts lie that are too long for a record.
type source interface {
	bucketText(commit uint64, index int) []byte // nil when missing
	artifact(name string, size uint64) ([]byte, error)
}

// Where a text lies.
const (
	placeInline = iota
	placeBucket
	placeArtifact
	placeRedacted
)

type place struct {
	kind  uint8
	bytes []byte // the text when inline, the name of an artifact
}

// scanner decodes one record after another into the same Raw, so that a scan allocates nothing for each.
type scanner struct {
	raw     Raw
	section []byte // the texts section of the present record
	places  []place
	located bool // places holds those of the present record
	src     source

	// For checking: what the commits so far have established.
	head     Head
	parent   Hash // prev of commit 1
	lastAt   int64
	salt     []byte
	redacted uint64 // texts so far
	scratch  []byte
}

func newScanner(src source) *scanner {
	s := &scanner{src: src}
	s.raw.Body = s.body
	return s
}

func (s *scanner) decode(rec []byte) (err error) {
	s.located = false
	s.section, err = s.raw.decode(rec)
	return err
}

// locate reads the texts section. Its places follow from the sizes, so that a record has one form only.
func (s *scanner) locate() error {
	if s.located {
		return nil
	}
	s.places = s.places[:0]
	r := mp.NewReader(s.section)
	if n := r.Array(); r.Err() == nil && n != len(s.raw.Texts) {
		return fmt.Errorf("it has %d texts, its body names %d", n, len(s.raw.Texts))
	}
	for i, t := range s.raw.Texts {
		p := place{}
		switch c := firstByte(s.section, r.Pos()); {
		case c == 0xc0:
			r.Skip()
			p.kind = placeRedacted
		case c == textInBolt:
			r.Skip()
			p.kind = placeBucket
		case c >= 0xc4 && c <= 0xc6:
			p.bytes = r.Bytes()
		default:
			p.kind, p.bytes = placeArtifact, r.Bytes()
		}
		if r.Err() != nil {
			return r.Err()
		}
		if p.kind != placeRedacted && p.kind != placeOf(t.Size) {
			return fmt.Errorf("text %d of %d bytes lies in the wrong place", i, t.Size)
		}
		if p.kind == placeInline && uint64(len(p.bytes)) != t.Size || p.kind == placeArtifact && !isName(p.bytes) {
			return fmt.Errorf("text %d is not what the body says", i)
		}
		s.places = append(s.places, p)
	}
	if err := r.Done(); err != nil {
		return err
	}
	s.located = true
	return nil
}

func firstByte(b []byte, at int) byte {
	if at >= len(b) {
		return 0xc1 // never used in msgpack
	}
	return b[at]
}

func placeOf(size uint64) uint8 {
	switch {
	case size <= MaxInline:
		return placeInline
	case size <= MaxBucket:
		return placeBucket
	}
	return placeArtifact
}

func isName(b []byte) bool {
	if len(b) != nameSize {
		return false
	}
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// body is Raw.Body of the present record.
func (s *scanner) body(i int) ([]byte, error) {
	if i < 0 || i >= len(s.raw.Texts) {
		return nil, fmt.Errorf("commit %d has no text %d", s.raw.Number, i)
	}
	if err := s.locate(); err != nil {
		return nil, fmt.Errorf("commit %d: %w", s.raw.Number, err)
	}
	t, p := &s.raw.Texts[i], s.places[i]
	switch p.kind {
	case placeInline:
		return p.bytes, nil
	case placeRedacted:
		return nil, ErrRedacted
	case placeBucket:
		b := s.src.bucketText(s.raw.Number, i)
		if uint64(len(b)) != t.Size {
			return nil, fmt.Errorf("text %d of commit %d has %d bytes instead of %d", i, s.raw.Number, len(b), t.Size)
		}
		return b, nil
	}
	return s.src.artifact(string(p.bytes), t.Size)
}

// verify checks the next record of a history: its hash before anything is decoded, then number, chain, order and
// texts. Artifacts are read only when deep.
func (s *scanner) verify(rec []byte, deep bool) error {
	if len(rec) < minRecord {
		return fmt.Errorf("its record has only %d bytes", len(rec))
	}
	if err := checkHash(rec); err != nil {
		return err
	}
	if err := s.decode(rec); err != nil {
		return err
	}
	return s.follow(deep)
}

// follow checks the record that was just decoded, whose hash is right, against those before it.
func (s *scanner) follow(deep bool) error {
	c := &s.raw
	switch n := s.head.Number + 1; {
	case c.Number != n:
		return fmt.Errorf("it says that it is commit %d", c.Number)
	case n > 1 && c.Prev != s.head.Hash: // what the first commit names is the commit that a fork was made from
		return errors.New("it does not follow the commit before it")
	case c.Cause >= n:
		return fmt.Errorf("its cause, commit %d, is not before it", c.Cause)
	case c.At < s.lastAt:
		return errors.New("its time is before that of the commit before it")
	}
	if err := s.verifyTexts(deep); err != nil {
		return err
	}
	if c.Number == 1 {
		s.parent = c.Prev
	}
	s.head, s.lastAt = Head{c.Number, c.Hash}, c.At
	return nil
}

func (s *scanner) verifyTexts(deep bool) error {
	if err := s.locate(); err != nil {
		return err
	}
	if s.raw.Number == 1 {
		if err := s.takeSalt(); err != nil {
			return err
		}
	}
	for i := range s.places {
		switch kind := s.places[i].kind; {
		case kind == placeRedacted:
			s.redacted++
			continue
		case kind == placeArtifact && !deep:
			continue
		case s.salt == nil:
			return errors.New("it has a text, but the session's salt was dropped")
		}
		b, err := s.body(i)
		if err != nil {
			return err
		}
		if s.digest(b) != s.raw.Texts[i].Digest {
			return &textError{i, "does not match its digest"}
		}
	}
	return nil
}

// textError is what is wrong with one text of a commit.
type textError struct {
	index int
	why   string
}

func (e *textError) Error() string { return fmt.Sprintf("text %d %s", e.index, e.why) }

// takeSalt keeps the salt, which is the first text of commit 1. A journal whose texts were dropped has none.
func (s *scanner) takeSalt() error {
	if len(s.places) == 0 {
		return errors.New("it lacks the session's salt")
	}
	switch p := s.places[0]; {
	case p.kind == placeRedacted:
	case p.kind != placeInline || len(p.bytes) < MinSalt || len(p.bytes) > MaxSalt:
		return fmt.Errorf("the session's salt must have %d to %d bytes", MinSalt, MaxSalt)
	default:
		s.salt = append([]byte(nil), p.bytes...)
	}
	return nil
}

// digest is TextDigest without its allocations.
func (s *scanner) digest(b []byte) Hash {
	if len(b) > MaxInline {
		return TextDigest(s.salt, b)
	}
	s.scratch = append(append(s.scratch[:0], s.salt...), b...)
	return sha256.Sum256(s.scratch)
}
