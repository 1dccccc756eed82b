package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"zuno/commands"
	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/tools"
)

// sessionOf opens a real session whose model is never asked: its turn waits in the queue of a host that does not drive.
func sessionOf(b *testing.B) *engine.Session {
	b.Helper()
	host := engine.NewHost(engine.Options{
		Data: b.TempDir(), Build: func() string { return "bench" }, Clock: clock{}, IDs: ids{}, Tools: tools.NewRegistry(),
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		Settings: func(string, engine.Choice) (*engine.Settings, error) { return &engine.Settings{}, nil },
	})
	id, set, err := host.Reserve("/")
	if err != nil {
		b.Fatal(err)
	}
	s, _, err := host.Create(id, "/", set, nil, "cli:first", "user", &commands.ResolvePolicy{Policy: event.Policy{Agent: "build"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = host.Shutdown(context.Background(), "close") })
	return s
}

// section is a command whose commit holds a text of about 1 KB and causes nothing further.
func section(n int) commands.Command {
	return &commands.ResolveContext{Sections: []event.SectionResolved{{ID: "bench", Text: event.NewText(fmt.Sprintf("%08d", n) + strings.Repeat("x", 700))}}}
}

// BenchmarkCommit: one durable commit of 1 KB through the whole path, against a bare bbolt Update of the same bytes.
//
// spec: D159
func BenchmarkCommit(b *testing.B) {
	s := sessionOf(b)
	db, err := bolt.Open(filepath.Join(b.TempDir(), "bare"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	size := 0
	var path, plain []time.Duration
	n := 0
	for b.Loop() {
		for range 200 {
			n++
			t := time.Now()
			if _, err := s.Do(context.Background(), fmt.Sprintf("cli:%d", n), "user", section(n)); err != nil {
				b.Fatal(err)
			}
			path = append(path, time.Since(t))
			if size == 0 {
				size = recordSize(b, s)
			}
			t = time.Now()
			if err := db.Update(func(tx *bolt.Tx) error {
				k, err := tx.CreateBucketIfNotExists([]byte("c"))
				if err != nil {
					return err
				}
				k.FillPercent = 1
				return k.Put(binary.BigEndian.AppendUint64(nil, uint64(n)), make([]byte, size))
			}); err != nil {
				b.Fatal(err)
			}
			plain = append(plain, time.Since(t))
		}
	}
	b.ReportMetric(float64(size), "bytes")
	ratio(b, path, plain, 1.2)
}

// recordSize is about what the newest commit took in the file.
func recordSize(b *testing.B, s *engine.Session) int {
	b.Helper()
	size := 0
	f, err := journal.OpenLive(s.Dir(), func(c *journal.Raw) error {
		size = len(c.Record)
		for _, t := range c.Texts {
			size += int(t.Size) + 3
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	f.Close()
	return size
}

// BenchmarkWriters: how many times the commits of one writer 8 and 64 concurrent writers reach.
//
// spec: D160
func BenchmarkWriters(b *testing.B) {
	rate := map[int]float64{}
	n := 0
	for b.Loop() {
		for _, writers := range []int{1, 8, 64} {
			s := sessionOf(b)
			each := 300
			if writers > 8 {
				each = 100
			}
			var wg sync.WaitGroup
			t := time.Now()
			for w := range writers {
				n++
				first := n * 100000
				wg.Go(func() {
					for i := range each {
						if _, err := s.Do(context.Background(), fmt.Sprintf("cli:%d-%d", w, first+i), "user", section(first+i)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			rate[writers] = max(rate[writers], float64(writers*each)/time.Since(t).Seconds())
		}
	}
	b.ReportMetric(rate[8]/rate[1], "x-8")
	b.ReportMetric(rate[64]/rate[1], "x-64")
	b.ReportMetric(4, "limit-8")
	b.ReportMetric(12, "limit-64")
}

type clock struct{}

func (clock) Now() int64                                       { return 1893456000000 }
func (clock) Elapsed() int64                                   { return 0 }
func (clock) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
func (clock) AfterFunc(time.Duration, func()) func()           { return func() {} }
func (clock) Committed()                                       {}

type ids struct{}

func (ids) ULID(scope string) (id journal.RunID) {
	copy(id[:], scope)
	return id
}
func (ids) Salt(string) []byte { return []byte("0123456789abcdef") }
