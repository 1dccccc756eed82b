package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		os.MkdirAll("testdata", 0o755)
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from what it was:\n%s", path, got)
	}
}

// records are those of a small history that has a text in each place.
func records(t testing.TB) (recs [][]byte) {
	var m Memory
	mustAppend(t, &m, testCommit(1, 2), testCommit(2, 1, "hello", strings.Repeat("b", MaxInline+1), strings.Repeat("c", MaxBucket+1)))
	redacted := testCommit(3, 0)
	redacted.Texts.AddDigest(Hash{1, 2, 3}, nil)
	redacted.Texts.Entries[0].Size = 7
	mustAppend(t, &m, redacted)
	return m.records
}

// The bytes of a record are the format: a journal that was written must stay readable.
// spec: D072 D073
func TestGoldenRecords(t *testing.T) {
	var out []byte
	for _, r := range records(t) {
		out = append(hex.AppendEncode(out, r), '\n')
	}
	golden(t, "records.hex", out)
}

// An independent decoder finds exactly the fields that the format names, and recomputes hash and digests.
// spec: D072 D073 D074
func TestRecordByAnIndependentDecoder(t *testing.T) {
	prev := make([]byte, 32)
	for i, rec := range records(t) {
		r := bytes.NewReader(rec[33:])
		d := msgpack.NewDecoder(r)
		var body, texts []any
		if err := d.Decode(&body); err != nil {
			t.Fatal(err)
		}
		hashed := rec[33 : len(rec)-r.Len()]
		if err := d.Decode(&texts); err != nil || r.Len() != 0 {
			t.Fatal(err, r.Len())
		}
		if sum := sha256.Sum256(hashed); rec[0] != 1 || !bytes.Equal(sum[:], rec[1:33]) {
			t.Fatal("the hash is not that of the body")
		}
		if len(body) != 8 || len(body[1].([]byte)) != 16 || !bytes.Equal(body[7].([]byte), prev) {
			t.Fatalf("the body is %v", body)
		}
		prev = rec[1:33]
		if command := body[4].([]any); len(command) != 5 || !strings.HasPrefix(command[0].(string), "cli:") {
			t.Fatalf("the command is %v", command)
		}
		for _, e := range body[5].([]any) {
			if e := e.([]any); len(e) != 3 || !strings.HasSuffix(e[1].(string), ".1") {
				t.Fatalf("an event is %v", e)
			}
		}
		entries := body[6].([]any)
		if len(entries) != len(texts) {
			t.Fatalf("%d entries, %d texts", len(entries), len(texts))
		}
		for j, e := range entries {
			text, inline := texts[j].([]byte)
			if !inline {
				continue
			}
			h := sha256.New()
			h.Write(testSalt)
			h.Write(text)
			if e := e.([]any); !bytes.Equal(h.Sum(nil), e[0].([]byte)) {
				t.Fatalf("commit %d, text %d: its digest is another", i+1, j)
			}
		}
	}
}

// spec: D090
func TestHostileRecordsCostNothing(t *testing.T) {
	deep := append(make([]byte, 33), bytes.Repeat([]byte{0x91}, 1<<20)...)
	huge := map[string][]byte{
		"array of 4 G": {0xdd, 0xff, 0xff, 0xff, 0xff}, "string of 4 GiB": {0x98, 1, 0xdb, 0xff, 0xff, 0xff, 0xff},
		"binary of 4 GiB": {0x98, 1, 0xc6, 0xff, 0xff, 0xff, 0xff}, "nested": deep[33:],
		"events": append([]byte{0x98, 1, 0xc4, 16}, append(make([]byte, 16), 1, 0, 0x95, 0xa0, 0xa0, 0, 0xa0, 0xa0, 0xdd, 0xff, 0xff, 0xff, 0xff)...),
	}
	for name, body := range huge {
		rec := append(make([]byte, 33), body...)
		rec[0] = format
		sum := sha256.Sum256(body)
		copy(rec[1:], sum[:])
		s := newScanner(memoryTexts{&Memory{}})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := errors.Join(s.verify(rec, true), s.decode(rec))
		runtime.ReadMemStats(&after)
		if err == nil || after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%s: %v, %d bytes", name, err, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

// What verifies can be decoded and written again to the same bytes, and nothing makes the reader fail otherwise than
// by an error.
// spec: D090
func FuzzRecord(f *testing.F) {
	for _, r := range records(f) {
		f.Add(r[bodyStart:], true)
	}
	f.Add([]byte{0x98}, false)
	f.Fuzz(func(t *testing.T, after []byte, hashed bool) {
		rec := append(make([]byte, bodyStart), after...)
		rec[0] = format
		if body, _, err := splitRecord(rec); hashed && err == nil {
			sum := sha256.Sum256(body)
			copy(rec[1:], sum[:])
		}
		s := newScanner(memoryTexts{&Memory{}})
		s.salt = testSalt
		if checkHash(rec) != nil || s.decode(rec) != nil || s.locate() != nil {
			s.verify(rec, true)
			return
		}
		c := Commit{Number: s.raw.Number, Run: s.raw.Run, At: s.raw.At, Cause: s.raw.Cause, Prev: s.raw.Prev, Texts: &Texts{}}
		c.Command = Command{string(s.raw.Command.ID), string(s.raw.Command.Type), s.raw.Command.Version, string(s.raw.Command.Actor), s.raw.Command.Payload}
		for _, e := range s.raw.Events {
			c.Events = append(c.Events, Event{e.Stream, string(e.Type), e.Payload})
		}
		c.Texts.Entries = s.raw.Texts
		c.Texts.Bodies = make([][]byte, len(s.raw.Texts))
		again := newScanner(memoryTexts{&Memory{}})
		out := c.appendRecord(nil, make([]string, len(s.raw.Texts)))
		if err := again.decode(out); err != nil || again.raw.Number != s.raw.Number || len(again.raw.Events) != len(s.raw.Events) {
			t.Fatalf("%v", err)
		}
		e := exporter{}
		e.line(&s.raw)
	})
}
