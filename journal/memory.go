package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
)

var _ Log = (*Memory)(nil)

// Memory is a log without a file, for tests. It holds the same records as a [File] would. The zero Memory is empty
// and ready.
type Memory struct {
	// Before is called at the start of each Append, outside of any lock: it may block. With an error nothing is
	// appended, and Append returns it as it is.
	Before func([]*Commit) error
	// After is called when the commits are in the log, before they are visible. With an error Append returns it as it
	// is, the head stays, and the log takes no more: what a failed sync looks like.
	After func([]*Commit) error

	appending sync.Mutex // held for a whole Append, so that a hook that blocks leaves readers free
	mu        sync.RWMutex
	head      Head
	lastAt    int64
	salt      []byte
	records   [][]byte
	bucket    map[string][]byte
	files     map[string][]byte
	broken    bool
	closed    bool
}

// Head is the newest commit.
func (m *Memory) Head() Head {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.head
}

// Append takes the commits as [File.Append] does, with the same checks.
func (m *Memory) Append(commits []*Commit) error {
	if len(commits) == 0 {
		return nil
	}
	if m.Before != nil {
		if err := m.Before(commits); err != nil {
			return err
		}
	}
	m.appending.Lock()
	defer m.appending.Unlock()
	head, salt, lastAt, err := m.store(commits)
	if err != nil {
		return err
	}
	if m.After != nil {
		if err := m.After(commits); err != nil {
			m.mu.Lock()
			m.broken = true
			m.mu.Unlock()
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.head, m.salt, m.lastAt = head, salt, lastAt
	return nil
}

func (m *Memory) store(commits []*Commit) (head Head, salt []byte, lastAt int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return head, nil, 0, ErrClosed
	case m.broken:
		return head, nil, 0, ErrUnknownOutcome
	}
	if salt, lastAt, err = checkAll(commits, m.head, m.salt, m.lastAt); err != nil {
		return head, nil, 0, err
	}
	head = m.head
	for _, c := range commits {
		c.Prev = head.Hash
		m.records = append(m.records, c.appendRecord(nil, m.keep(c)))
		head = Head{c.Number, c.Hash}
	}
	return head, salt, lastAt, nil
}

// Reopen is what a fresh [Open] is to a file: it shows everything that is in the log, also the commits of an append
// whose outcome was unknown, and takes more.
func (m *Memory) Reopen() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken, m.closed = false, false
	s := newScanner(nil)
	for n := m.head.Number; n < uint64(len(m.records)); n++ {
		if err := s.decode(m.records[n]); err != nil {
			return &Damaged{"(memory)", n + 1, err.Error()}
		}
		m.head, m.lastAt = Head{s.raw.Number, s.raw.Hash}, s.raw.At
		if n == 0 {
			if err := s.locate(); err != nil {
				return &Damaged{"(memory)", 1, err.Error()}
			}
			if err := s.takeSalt(); err != nil {
				return &Damaged{"(memory)", 1, err.Error()}
			}
			m.salt = s.salt
		}
	}
	return nil
}

// Salt is the first text of commit 1.
func (m *Memory) Salt() []byte {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.salt
}

// keep stores the commit's long texts and gives the names of its artifacts.
func (m *Memory) keep(c *Commit) (names []string) {
	if m.bucket == nil {
		m.bucket, m.files = map[string][]byte{}, map[string][]byte{}
	}
	for i, b := range c.Texts.bodies() {
		switch placeOf(uint64(len(b))) {
		case placeBucket:
			m.bucket[string(appendTextKey(nil, c.Number, i))] = b
		case placeArtifact:
			sum := sha256.Sum256(b)
			name := hex.EncodeToString(sum[:])
			m.files[name] = b
			names = append(names, name)
		}
	}
	return names
}

// Scan calls fn for each commit from number from on.
func (m *Memory) Scan(from uint64, fn func(*Raw) error) error {
	from = max(from, 1)
	for n, head := from, m.Head().Number; n <= head; n++ {
		if err := m.Read(n, fn); err != nil {
			return err
		}
	}
	return nil
}

// Read calls fn with commit n. It holds no lock meanwhile.
func (m *Memory) Read(n uint64, fn func(*Raw) error) error {
	m.mu.RLock()
	if n == 0 || n > m.head.Number {
		m.mu.RUnlock()
		return ErrNoCommit
	}
	rec := m.records[n-1]
	m.mu.RUnlock()
	s := newScanner(memoryTexts{m})
	if err := s.decode(rec); err != nil {
		return &Damaged{"(memory)", n, err.Error()}
	}
	return fn(&s.raw)
}

// Close ends the log; what is in it can still be read.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

type memoryTexts struct{ m *Memory }

func (t memoryTexts) bucketText(commit uint64, index int) []byte {
	t.m.mu.RLock()
	defer t.m.mu.RUnlock()
	return t.m.bucket[string(appendTextKey(nil, commit, index))]
}

func (t memoryTexts) artifact(name string, _ uint64) ([]byte, error) {
	t.m.mu.RLock()
	defer t.m.mu.RUnlock()
	b, ok := t.m.files[name]
	if !ok {
		return nil, fmt.Errorf("artifact %s is missing", name)
	}
	return b, nil
}
