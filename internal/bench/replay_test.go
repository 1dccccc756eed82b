package bench

import (
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"zuno/commands"
	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

func fill(b *testing.B, events int) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "session")
	f, err := journal.Create(dir, journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	m, err := NewMix(f)
	if err == nil {
		err = m.Fill(events)
	}
	if err != nil {
		b.Fatal(err)
	}
	total := float64(m.Events)
	b.Logf("%d events in %d commits: parts %.0f %%, calls %.0f %%, inputs and turns %.0f %%, results %.0f %%", m.Events, f.Head().Number,
		100*float64(m.Kinds["parts"])/total, 100*float64(m.Kinds["calls"])/total, 100*float64(m.Kinds["inputs and turns"])/total, 100*float64(m.Kinds["results"])/total)
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkBytesPerEvent: the file of a session of 100,000 events.
//
// spec: D166
func BenchmarkBytesPerEvent(b *testing.B) {
	dir := fill(b, 100_000)
	st, err := os.Stat(filepath.Join(dir, "journal.zuno"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
	}
	b.ReportMetric(float64(st.Size())/100_000, "bytes/event")
	b.ReportMetric(450, "limit")
}

// BenchmarkReplay: a million events on one core: the scan with envelopes, the whole fold with every payload decoded, and
// that with the chain and the digests of all texts verified.
//
// spec: D161 D162 D163
func BenchmarkReplay(b *testing.B) {
	dir := fill(b, 1_000_000)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f, err := journal.Open(dir, journal.Options{}, func(*journal.Raw) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	measure := func(name string, scan func(uint64, func(*journal.Raw) error) error, fold bool) {
		b.Run(name, func(b *testing.B) {
			events := 0
			for b.Loop() {
				folder := projections.NewFolder(projections.Options{})
				if err := scan(1, func(c *journal.Raw) error {
					events += len(c.Events)
					if fold {
						return folder.Commit(c)
					}
					return nil
				}); err != nil {
					b.Fatal(err)
				}
				if folder.View.Corrupt != nil {
					b.Fatal(folder.View.Corrupt)
				}
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
	measure("envelopes", f.Scan, false)
	measure("fold", f.Scan, true)
	measure("verified", func(_ uint64, fn func(*journal.Raw) error) error { return f.ScanVerified(fn) }, true)
}

// BenchmarkOpen: opening a session of 100,000 events with all checks and the full fold, against reading the file and its
// SHA-256 in the same run, and the anonymous memory after it.
//
// spec: D164 D165
func BenchmarkOpen(b *testing.B) {
	const events = 100_000
	dir := fill(b, events)
	var open, raw time.Duration
	var anon int
	for b.Loop() {
		t := time.Now()
		h := sha256.New()
		r, err := os.Open(filepath.Join(dir, "journal.zuno"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(h, r); err != nil {
			b.Fatal(err)
		}
		r.Close()
		raw += time.Since(t)
		t = time.Now()
		folder := projections.NewFolder(projections.Options{})
		index := map[uint64]uint64{}
		f, err := journal.Open(dir, journal.Options{}, func(c *journal.Raw) error {
			index[uint64(len(index))] = c.Number
			return folder.Commit(c)
		})
		if err != nil {
			b.Fatal(err)
		}
		open += time.Since(t)
		runtime.GC()
		anon = max(anon, rssAnon(b, os.Getpid()))
		f.Close()
		runtime.KeepAlive(folder)
	}
	n := time.Duration(b.N)
	reach := 2*raw/n + events*time.Microsecond
	b.ReportMetric(float64(open/n)/float64(raw/n), "x-read+sha")
	b.ReportMetric(float64(open/n)/float64(reach), "ratio")
	b.ReportMetric(1, "limit")
	b.ReportMetric(float64((open/n).Microseconds())/1000, "ms/open")
	b.ReportMetric(float64(anon)/1024, "MB-anon")
}

// rssAnon is the anonymous memory of a process in KiB.
func rssAnon(b *testing.B, pid int) int { return status(b, pid, "RssAnon:") }

func status(b *testing.B, pid int, field string) int {
	b.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		b.Skip("no /proc here: ", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal(field, " is missing")
	return 0
}

// BenchmarkNext: what should run next costs what is active, not what is history: after 20,000 finished turns against after 100.
//
// spec: D038
func BenchmarkNext(b *testing.B) {
	view := func(turns int) *projections.View {
		log := &journal.Memory{}
		m, err := NewMix(log)
		if err != nil {
			b.Fatal(err)
		}
		for range turns {
			m.turn(m.n)
			m.pending = m.pending[:0] // the view is all that is wanted
		}
		m.do(&commands.AdmitInput{Delivery: event.DeliverSteer, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("one more")}}})
		return m.folder.View
	}
	few, many := view(100), view(20_000)
	var short, long time.Duration
	for b.Loop() {
		for range 1000 {
			t := time.Now()
			for range 100 {
				if len(engine.Next(few)) != 1 {
					b.Fatal("nothing to do")
				}
			}
			short += time.Since(t)
			t = time.Now()
			for range 100 {
				if len(engine.Next(many)) != 1 {
					b.Fatal("nothing to do")
				}
			}
			long += time.Since(t)
		}
	}
	b.ReportMetric(float64(long)/float64(short), "ratio")
	b.ReportMetric(1.5, "limit")
}
