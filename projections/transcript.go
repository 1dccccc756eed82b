package projections

import (
	"crypto/sha256"
	"encoding/json"

	"zuno/journal"
)

// EntryKind tells what a transcript entry is.
type EntryKind uint8

// The kinds of entries.
const (
	EntryUser EntryKind = iota
	EntryText
	EntryReasoning
	EntryCall
	EntryResult
	EntryControl // what the model is told of a native command
)

// MarshalText is the kind's name.
func (k EntryKind) MarshalText() ([]byte, error) {
	return []byte([...]string{"user", "text", "reasoning", "call", "result", "control"}[k]), nil
}

// Entry names the event that holds a piece of the conversation; the text itself stays in the journal.
type Entry struct {
	Commit uint64    `json:"commit"`
	Event  uint16    `json:"event"`
	Kind   EntryKind `json:"kind"`
}

// Transcript is the conversation as the model sees it, in order: completed attempts only. It grows by blocks, so that a long
// session is never copied.
type Transcript struct {
	blocks [][]Entry // all full but the last
	length int
}

const transcriptBlock = 1 << 10

// Len is the number of entries.
func (t *Transcript) Len() int { return t.length }

// At is entry i.
func (t *Transcript) At(i int) Entry { return t.blocks[i/transcriptBlock][i%transcriptBlock] }

// MarshalJSON is the list of entries.
func (t Transcript) MarshalJSON() ([]byte, error) {
	all := make([]Entry, 0, t.length)
	for i := range t.length {
		all = append(all, t.At(i))
	}
	return json.Marshal(all)
}

func (t *Transcript) add(k EntryKind, p Place) {
	last := t.length / transcriptBlock
	if last == len(t.blocks) {
		t.blocks = append(t.blocks, make([]Entry, 0, transcriptBlock))
	}
	t.blocks[last] = append(t.blocks[last], Entry{p.Commit, p.Event, k})
	t.length++
}

// cut takes back the parts of the attempt that began with commit from: the model's history keeps only completed ones.
func (t *Transcript) cut(from uint64) {
	for t.length > 0 {
		e := t.At(t.length - 1)
		if e.Kind != EntryText && e.Kind != EntryReasoning || e.Commit < from {
			return
		}
		t.length--
		last := t.length / transcriptBlock
		t.blocks[last] = t.blocks[last][:t.length%transcriptBlock]
	}
}

// PartsDigest is the digest over a response's parts: SHA-256 of the digests of their texts, one after the other; zero where
// there are none.
func PartsDigest(digests []journal.Hash) (sum journal.Hash) {
	if len(digests) == 0 {
		return sum
	}
	h := make([]byte, 0, 16*len(sum))
	for i := range digests {
		h = append(h, digests[i][:]...)
	}
	return sha256.Sum256(h)
}
