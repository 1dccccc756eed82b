package journal

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

var testSalt = []byte("0123456789abcdef0123456789abcdef")

// testCommit is a commit of n events and the given texts. The first of a session has the salt among them.
func testCommit(n uint64, events int, texts ...string) *Commit {
	c := &Commit{
		Run: RunID{1, 2, 3}, At: int64(1_700_000_000_000 + n), Cause: n - 1, Texts: NewTexts(testSalt),
		Command: Command{ID: fmt.Sprintf("cli:%d", n), Type: "session.test", Version: 1, Actor: "user", Payload: []byte{0x81, 0xa1, 'n', byte(n & 0x7f)}},
	}
	if n == 1 {
		c.Texts.Add(testSalt)
	}
	for i := range events {
		c.Events = append(c.Events, Event{Stream: uint64(i%2 + 1), Type: "session.test.happened.1", Payload: []byte{0x81, 0xa1, 'i', byte(i & 0x7f)}})
	}
	for _, t := range texts {
		i := c.Texts.Add([]byte(t))
		c.Events = append(c.Events, Event{Stream: 1, Type: "session.test.said.1", Payload: []byte{0x81, 0xa4, 't', 'e', 'x', 't', 0xd4, 1, byte(i)}})
	}
	return c
}

func ignore(*Raw) error { return nil }

func create(t testing.TB, o Options) *File {
	t.Helper()
	f, err := Create(filepath.Join(t.TempDir(), "ses"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func reopen(t testing.TB, f *File) *File {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := Open(f.dir, Options{}, ignore)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func mustAppend(t testing.TB, l Log, commits ...*Commit) {
	t.Helper()
	if err := l.Append(commits); err != nil {
		t.Fatal(err)
	}
}

// same compares a commit as it was appended with what a log gives.
func same(t *testing.T, want *Commit, got *Raw) {
	t.Helper()
	m := &want.Command
	if got.Number != want.Number || got.Run != want.Run || got.At != want.At || got.Cause != want.Cause ||
		got.Prev != want.Prev || got.Hash != want.Hash || string(got.Command.ID) != m.ID || string(got.Command.Type) != m.Type ||
		got.Command.Version != m.Version || string(got.Command.Actor) != m.Actor || !bytes.Equal(got.Command.Payload, m.Payload) ||
		len(got.Events) != len(want.Events) || len(got.Texts) != len(want.Texts.bodies()) {
		t.Fatalf("commit %d came back as %+v", want.Number, got)
	}
	for i, e := range want.Events {
		g := got.Events[i]
		if g.Stream != e.Stream || string(g.Type) != e.Type || !bytes.Equal(g.Payload, e.Payload) {
			t.Fatalf("commit %d, event %d came back as %+v", want.Number, i, g)
		}
	}
	for i, body := range want.Texts.bodies() {
		b, err := got.Body(i)
		if err != nil || !bytes.Equal(b, body) || got.Texts[i] != want.Texts.Entries[i] {
			t.Fatalf("commit %d, text %d: %d bytes, %v", want.Number, i, len(b), err)
		}
	}
}

// spec: D072 D073 D074 D077 D078 D082 D084
func TestRoundTrip(t *testing.T) {
	for name, log := range map[string]Log{"file": create(t, Options{}), "memory": &Memory{}} {
		t.Run(name, func(t *testing.T) {
			if log.Head() != (Head{}) {
				t.Fatalf("an empty log has head %v", log.Head())
			}
			long, longer := strings.Repeat("a bucket text ", 5000), strings.Repeat("an artifact ", 100_000)
			commits := []*Commit{
				testCommit(1, 1), testCommit(2, 0, "hello", "", "hello"), testCommit(3, 3, long, "x", longer), testCommit(4, 70, long),
				testCommit(5, 0, strings.Repeat("i", MaxInline), strings.Repeat("b", MaxInline+1), strings.Repeat("B", MaxBucket), strings.Repeat("a", MaxBucket+1)),
			}
			mustAppend(t, log, commits[:3]...)
			mustAppend(t, log, commits[3:]...)
			check := func(log Log) {
				t.Helper()
				if want := (Head{5, commits[4].Hash}); log.Head() != want {
					t.Fatalf("head is %v instead of %v", log.Head(), want)
				}
				n := 0
				err := log.Scan(0, func(r *Raw) error {
					same(t, commits[n], r)
					n++
					return nil
				})
				if err != nil || n != 5 {
					t.Fatalf("scan saw %d commits: %v", n, err)
				}
				n = 0
				if err := log.Scan(4, func(*Raw) error { n++; return nil }); err != nil || n != 2 {
					t.Fatalf("scan from 4 saw %d commits: %v", n, err)
				}
				for _, c := range commits {
					if err := log.Read(c.Number, func(r *Raw) error { same(t, c, r); return nil }); err != nil {
						t.Fatal(err)
					}
				}
				for _, n := range []uint64{0, 6, 1 << 63} {
					if err := log.Read(n, ignore); !errors.Is(err, ErrNoCommit) {
						t.Fatalf("reading commit %d gave %v", n, err)
					}
				}
			}
			check(log)
			if f, ok := log.(*File); ok {
				g := reopen(t, f)
				if !bytes.Equal(g.Salt(), testSalt) {
					t.Fatal("the salt was lost")
				}
				check(g)
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
