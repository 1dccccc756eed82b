package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"zuno/journal"
)

// realIDs are ULIDs: 48 bits of time and 80 of randomness.
type realIDs struct{}

func (realIDs) ULID(string) (id journal.RunID) {
	ms := uint64(time.Now().UnixMilli())
	binary.BigEndian.PutUint64(id[:8], ms<<16)
	_, _ = rand.Read(id[6:]) // never fails
	return id
}

func (realIDs) Salt(string) []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return b
}

// seededIDs are a function of the seed, the scope and how often the scope was asked before.
type seededIDs struct {
	seed uint64
	mu   sync.Mutex
	used map[string]uint64
}

func newSeededIDs(seed uint64) *seededIDs { return &seededIDs{seed: seed, used: map[string]uint64{}} }

func (s *seededIDs) sum(kind, scope string) [32]byte {
	s.mu.Lock()
	s.used[kind+scope]++
	n := s.used[kind+scope]
	s.mu.Unlock()
	b := binary.BigEndian.AppendUint64(nil, s.seed)
	b = binary.BigEndian.AppendUint64(b, n)
	return sha256.Sum256(append(append(b, kind...), scope...))
}

func (s *seededIDs) ULID(scope string) (id journal.RunID) {
	sum := s.sum("ulid:", scope)
	binary.BigEndian.PutUint64(id[:8], testEpoch<<16)
	copy(id[6:], sum[:])
	return id
}

func (s *seededIDs) Salt(scope string) []byte {
	sum := s.sum("salt:", scope)
	return sum[:16]
}
