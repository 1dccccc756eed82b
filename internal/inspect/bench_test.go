package inspect

import (
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"zuno/internal/bench"
	"zuno/journal"
	"zuno/projections"
)

// mixed is a session of the agreed mixture with at least that many events.
func mixed(b *testing.B, events int) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "session")
	f, err := journal.Create(dir, journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	m, err := bench.NewMix(f)
	if err == nil {
		err = m.Fill(events)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d events in %d commits", m.Events, f.Head().Number)
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkCheck: deciding every command of a session again, against the fold of the same session, both from the file on with
// all checks. Bare is the same without what both have in common, the verification.
//
// spec: D208
func BenchmarkCheck(b *testing.B) {
	dir := mixed(b, 195_000)
	file, err := journal.OpenRead(dir, nothing)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if n := file.Head().Number; n < 100_000 {
		b.Fatal(n, " commands are too few")
	}
	var fold, check, foldAll, checkAll []time.Duration
	timed := func(all *[]time.Duration, fn func() error) { *all = append(*all, timing(b, fn)) }
	for b.Loop() {
		timed(&fold, func() error {
			folder := projections.NewFolder(projections.Options{})
			return file.Scan(1, folder.Commit)
		})
		timed(&check, func() error {
			k := newChecker("bench")
			err := file.Scan(1, k.commit)
			if len(k.out.Differ) > 0 {
				b.Fatal(k.out.Differ[0].First)
			}
			return err
		})
		timed(&foldAll, func() error {
			folder := projections.NewFolder(projections.Options{})
			f, err := journal.OpenRead(dir, folder.Commit)
			if err == nil {
				err = f.Close()
			}
			return err
		})
		timed(&checkAll, func() error {
			_, err := Check(dir, CheckOptions{Build: "bench"})
			return err
		})
	}
	b.ReportMetric(float64(median(checkAll))/float64(median(foldAll)), "ratio")
	b.ReportMetric(3, "limit")
	b.ReportMetric(median(checkAll).Seconds()*1e3, "ms-check")
	b.ReportMetric(median(foldAll).Seconds()*1e3, "ms-fold")
	b.ReportMetric(float64(median(check))/float64(median(fold)), "ratio-bare")
}

func timing(b *testing.B, fn func() error) time.Duration {
	b.Helper()
	runtime.GC()
	t := time.Now()
	if err := fn(); err != nil {
		b.Fatal(err)
	}
	return time.Since(t)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkExplain: each kind of explanation of a session of 100,000 events, the one that takes longest, against opening
// the session with all checks and the fold; and the verification of the same session.
//
// spec: D210
func BenchmarkExplain(b *testing.B) {
	dir := mixed(b, 100_000)
	var opening, verify []time.Duration
	explain := map[string][]time.Duration{}
	for b.Loop() {
		opening = append(opening, timing(b, func() error {
			folder := projections.NewFolder(projections.Options{})
			f, err := journal.Open(dir, journal.Options{}, folder.Commit)
			if err != nil {
				return err
			}
			return f.Close()
		}))
		for _, kind := range ExplainKinds {
			explain[kind] = append(explain[kind], timing(b, func() error {
				_, err := Explain(dir, kind, Last)
				return err
			}))
		}
		verify = append(verify, timing(b, func() error {
			_, err := Verify(dir, "")
			return err
		}))
	}
	longest := time.Duration(0)
	for kind, d := range explain {
		m := median(d)
		longest = max(longest, m)
		b.ReportMetric(m.Seconds()*1e3, "ms-"+kind)
	}
	m := median(opening)
	b.ReportMetric(float64(longest)/float64(m), "ratio")
	b.ReportMetric(1.5, "limit")
	b.ReportMetric(float64(median(verify))/float64(m), "ratio-verify")
	b.ReportMetric(m.Seconds()*1e3, "ms-open")
}
