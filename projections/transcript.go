package projections

import (
	"crypto/sha256"

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
)

// MarshalText is the kind's name.
func (k EntryKind) MarshalText() ([]byte, error) {
	return []byte([...]string{"user", "text", "reasoning", "call", "result"}[k]), nil
}

// Entry names the event that holds a piece of the conversation; the text itself stays in the journal.
type Entry struct {
	Kind EntryKind `json:"kind"`
	Place
}

// Transcript is the conversation as the model sees it, in order: completed attempts only.
type Transcript struct {
	Entries []Entry `json:"entries"`
}

func (t *Transcript) add(k EntryKind, p Place) { t.Entries = append(t.Entries, Entry{k, p}) }

// cut takes back the parts of the attempt that began with commit from: the model's history keeps only completed ones.
func (t *Transcript) cut(from uint64) {
	n := len(t.Entries)
	for n > 0 && (t.Entries[n-1].Kind == EntryText || t.Entries[n-1].Kind == EntryReasoning) && t.Entries[n-1].Commit >= from {
		n--
	}
	t.Entries = t.Entries[:n]
}

// ChainParts extends the digest over a response's parts by one part's text digest.
func ChainParts(sum, digest journal.Hash) (out journal.Hash) {
	h := sha256.New()
	h.Write(sum[:])
	h.Write(digest[:])
	h.Sum(out[:0])
	return out
}
