package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String is the hash in lower-case hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText is the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// Head names the newest commit: the whole history hangs on its hash. The zero Head is that of an empty log; that of an
// empty fork has the hash of the commit that it was made from.
type Head struct {
	Number uint64
	Hash   Hash
}

// RunID is the ULID of one ownership of a session, in its 16 bytes.
type RunID [16]byte

// String is the ULID in its usual 26 characters.
func (r RunID) String() string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var out [26]byte
	hi, lo := binary.BigEndian.Uint64(r[:8]), binary.BigEndian.Uint64(r[8:])
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}

// Command is what somebody asked for, as it was decided: Payload is msgpack.
type Command struct {
	ID      string
	Type    string
	Version uint64
	Actor   string
	Payload []byte
}

// Event is one thing that happened. Stream counts from 1 (the root session) within the file; Type ends in its
// version ("session.turn.started.1"); Payload is msgpack.
type Event struct {
	Stream  uint64
	Type    string
	Payload []byte
}

// Commit is the unit of everything: the command, the events that it was decided to cause, and the free texts of
// both. The log sets Number, Prev and Hash when it appends; the caller sets the rest and must not touch it afterwards.
type Commit struct {
	Number  uint64
	Run     RunID
	At      int64  // milliseconds since the epoch, never less than that of the commit before
	Cause   uint64 // number of the commit that led to this command, 0 when it came from outside
	Command Command
	Events  []Event
	Texts   *Texts // nil when there is none
	Prev    Hash
	Hash    Hash
}

// TextEntry stands for a text in a commit's body.
type TextEntry struct {
	Digest Hash // SHA-256(salt ‖ bytes)
	Size   uint64
}

// Texts is the table of one commit's free texts, each once, in the order in which they were added.
type Texts struct {
	Entries []TextEntry
	Bodies  [][]byte
	salt    []byte
	index   map[Hash]int // of the digests, once there are too many to look through
}

// manyTexts is where looking through a table gets slower than a map.
const manyTexts = 32

// NewTexts starts a table. The salt is the session's; it is the first text of commit 1.
func NewTexts(salt []byte) *Texts { return &Texts{salt: salt} }

// Digest is the salted digest of body.
func (t *Texts) Digest(body []byte) Hash { return TextDigest(t.salt, body) }

// TextDigest is SHA-256(salt ‖ body): it names a text without giving it away to somebody who guesses.
func TextDigest(salt, body []byte) (d Hash) {
	h := sha256.New()
	h.Write(salt)
	h.Write(body)
	h.Sum(d[:0])
	return d
}

// Add gives the index of body in the table, adding it when it is new. The table keeps body.
func (t *Texts) Add(body []byte) int { return t.AddDigest(t.Digest(body), body) }

// AddDigest is Add for a text whose digest is known already.
func (t *Texts) AddDigest(d Hash, body []byte) int {
	if t.index == nil {
		for i := range t.Entries {
			if t.Entries[i].Digest == d {
				return i
			}
		}
	} else if i, ok := t.index[d]; ok {
		return i
	}
	n := len(t.Entries)
	t.Entries = append(t.Entries, TextEntry{d, uint64(len(body))})
	t.Bodies = append(t.Bodies, body)
	switch {
	case t.index != nil:
		t.index[d] = n
	case n == manyTexts:
		t.index = make(map[Hash]int, 2*manyTexts)
		for i := range t.Entries {
			t.index[t.Entries[i].Digest] = i
		}
	}
	return n
}

// Raw is a commit as it lies in the file. Its slices alias the mapped file and are valid only inside the
// callback that received it.
type Raw struct {
	Number  uint64
	Run     RunID
	At      int64
	Cause   uint64
	Command RawCommand
	Events  []RawEvent
	Texts   []TextEntry
	Prev    Hash
	Hash    Hash

	// Record is format ‖ hash ‖ body as they lie in the file; the hash is the SHA-256 of what follows it.
	Record []byte

	// Body resolves text i: from the record, the texts bucket or the artifacts. The bytes may alias the file.
	// It is [ErrRedacted] in a journal whose texts were dropped.
	Body func(i int) ([]byte, error)
}

// RawCommand is the command of a [Raw] commit.
type RawCommand struct {
	ID, Type, Actor, Payload []byte
	Version                  uint64
}

// RawEvent is an event of a [Raw] commit.
type RawEvent struct {
	Stream  uint64
	Type    []byte
	Payload []byte
}

// Log is an append-only sequence of commits: a bbolt file ([File]), or memory in tests ([Memory]); a shared log of a
// fleet could hold the same. It has one writer, and Append is not safe for concurrent use; Scan and Read are, beside it.
type Log interface {
	// Head is the newest durable commit.
	Head() Head
	// Append makes all the commits durable, in order, together or not at all, and sets their Number, Prev and Hash.
	// After [ErrUnknownOutcome] the commits may or may not be there and the log takes no more; after any other
	// error they are not there.
	Append(commits []*Commit) error
	// Scan calls fn for each commit from number from on, up to the head at the time of the call.
	Scan(from uint64, fn func(*Raw) error) error
	// Read calls fn with commit n. It is [ErrNoCommit] when there is none.
	Read(n uint64, fn func(*Raw) error) error
	Close() error
}
