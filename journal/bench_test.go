package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// kilobyte is a commit whose record has about 1 KB.
func kilobyte(n uint64) *Commit {
	c := testCommit(n, 0)
	c.Command.Payload = bytes.Repeat([]byte{7}, 200)
	c.Events = []Event{{1, "session.input.admitted.1", bytes.Repeat([]byte{7}, 600)}}
	return c
}

// BenchmarkAppend compares one commit of 1 KB with a bare bbolt update of the same bytes, in turn, so that noise hits
// both alike.
func BenchmarkAppend(b *testing.B) {
	f := create(b, Options{})
	mustAppend(b, f, testCommit(1, 1))
	db, err := bolt.Open(filepath.Join(b.TempDir(), "bare"), fileMode, &bolt.Options{
		NoFreelistSync: true, FreelistType: bolt.FreelistArrayType, InitialMmapSize: mapSize, NoStatistics: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.AllocSize = growStep
	db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket(commitsBucket); return err })
	var ours, bare []time.Duration
	one := make([]*Commit, 1)
	n := uint64(1)
	for b.Loop() {
		n++
		one[0] = kilobyte(n)
		began := time.Now()
		if err := f.Append(one); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(began))
		rec := bytes.Clone(f.buf)
		began = time.Now()
		err := db.Update(func(tx *bolt.Tx) error {
			c := tx.Bucket(commitsBucket)
			c.FillPercent = 1
			return c.Put(binary.BigEndian.AppendUint64(nil, n), rec)
		})
		if err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Since(began))
	}
	slices.Sort(ours)
	slices.Sort(bare)
	p := func(d []time.Duration, q int) float64 { return float64(d[len(d)*q/100].Nanoseconds()) }
	b.ReportMetric(p(ours, 50), "append-p50-ns")
	b.ReportMetric(p(ours, 99), "append-p99-ns")
	b.ReportMetric(p(bare, 50), "bare-p50-ns")
	b.ReportMetric(p(ours, 50)/p(bare, 50), "ratio")
}

// history is a session of so many events, one to four in a commit, as a session has them: 40 % parts of a response
// of 200 bytes, 30 % of calls, 20 % of inputs and turns, 10 % results of 1 KB.
func history(b *testing.B, events int) *File {
	f := create(b, Options{})
	mustAppend(b, f, testCommit(1, 0))
	ref := []byte{0x81, 0xa4, 't', 'e', 'x', 't', 0xd4, 1, 0}
	var batch []*Commit
	for n, i := uint64(2), 0; i < events; n++ {
		c := testCommit(n, 0)
		for range min(1+int(n%4), events-i) {
			e := Event{1, "session.call.started.1", append(bytes.Repeat([]byte{0x80}, 60), byte(i))}
			switch k := i % 10; {
			case k < 4:
				e.Type, e.Payload = "session.response.part.1", ref
				c.Texts.Add(fmt.Appendf(nil, "%0200d", i))
			case k == 9:
				e.Type, e.Payload = "session.call.settled.1", ref
				c.Texts.Add(fmt.Appendf(nil, "%01024d", i))
			}
			c.Events = append(c.Events, e)
			i++
		}
		if batch = append(batch, c); len(batch) == 1000 || i == events {
			mustAppend(b, f, batch...)
			batch = batch[:0]
		}
	}
	return f
}

// BenchmarkScan reads 1,000,000 events with their envelopes, which were verified when the journal was opened.
func BenchmarkScan(b *testing.B) {
	f := history(b, 1_000_000)
	for b.Loop() {
		n := 0
		if err := f.Scan(1, func(r *Raw) error { n += len(r.Events); return nil }); err != nil || n != 1_000_000 {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkScanVerified is BenchmarkScan with hash, chain and the digests of the texts.
func BenchmarkScanVerified(b *testing.B) {
	f := history(b, 1_000_000)
	for b.Loop() {
		if err := f.verify(ignore, false); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkOpen opens a session of 100,000 events, in turn with reading and hashing its file.
func BenchmarkOpen(b *testing.B) {
	f := history(b, 100_000)
	f.Close()
	var opening, hashing time.Duration
	var size int
	for b.Loop() {
		began := time.Now()
		g, err := Open(f.dir, Options{}, ignore)
		if err != nil {
			b.Fatal(err)
		}
		opening += time.Since(began)
		g.Close()
		began = time.Now()
		data, err := os.ReadFile(f.path)
		if err != nil {
			b.Fatal(err)
		}
		sha256.Sum256(data)
		hashing += time.Since(began)
		size = len(data)
	}
	b.ReportMetric(float64(opening.Milliseconds())/float64(b.N), "open-ms")
	b.ReportMetric(float64(hashing.Milliseconds())/float64(b.N), "read+hash-ms")
	b.ReportMetric(float64(opening)/float64(hashing), "ratio")
	b.ReportMetric(float64(size)/100_000, "bytes/event")
}

// BenchmarkExport writes 100,000 events as JSON lines.
func BenchmarkExport(b *testing.B) {
	f := history(b, 100_000)
	for b.Loop() {
		if err := Export(f, io.Discard, ExportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1e5*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
