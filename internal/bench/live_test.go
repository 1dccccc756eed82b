package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zuno/internal/live"
	"zuno/journal"
)

// BenchmarkAppendWhileInspected: the 99th percentile of an append to a session of 100,000 events while another process
// reads all of it through its owner, again and again, against that without.
//
// spec: D209
func BenchmarkAppendWhileInspected(b *testing.B) {
	zuno, _ := binaries(b)
	dir := fill(b, 100_000)
	var at int64
	f, err := journal.Open(dir, journal.Options{Started: time.Now()}, func(c *journal.Raw) error { at = c.At; return nil })
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	s, err := live.Serve(f, live.Folders(func(string) string { return b.TempDir() }))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	payload := append([]byte{0xc5, 1024 >> 8, 0}, make([]byte, 1024)...)
	appends := func(n int) (took []time.Duration) {
		for range n {
			at++
			c := &journal.Commit{At: at, Command: journal.Command{ID: "bench:" + time.UnixMilli(at).String(), Type: "bench", Version: 1, Actor: "bench", Payload: payload}, Events: []journal.Event{{Stream: 1, Type: "bench.1", Payload: payload}}}
			t := time.Now()
			if err := f.Append([]*journal.Commit{c}); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(t))
			s.Committed(f.Head())
		}
		return took
	}
	appends(100)
	// Other work on the machine comes and goes in seconds, so each round is compared with the one beside it.
	var with, without []time.Duration
	var ratios []float64
	inspections := 0
	for b.Loop() {
		for range 10 {
			without = append(without, p99(appends(200)))
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error)
			began := make(chan struct{})
			go func() { done <- inspect(ctx, zuno, dir, began, &inspections) }()
			<-began
			with = append(with, p99(appends(200)))
			stop()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
			ratios = append(ratios, float64(with[len(with)-1])/float64(without[len(without)-1]))
		}
	}
	if inspections == 0 {
		b.Fatal("nothing was inspected")
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(2, "limit")
	b.ReportMetric(float64(median(with).Microseconds())/1000, "ms")
	b.ReportMetric(float64(median(without).Microseconds())/1000, "ms-without")
	b.ReportMetric(float64(inspections), "inspections")
}

func p99(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)*99/100]
}

// inspect reads the session again and again until ctx ends.
func inspect(ctx context.Context, zuno, dir string, began chan struct{}, count *int) error {
	for first := true; ctx.Err() == nil; first = false {
		cmd := exec.CommandContext(ctx, zuno, "journal", "verify", dir)
		cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + os.TempDir(), "ZUNO_DATA_DIR=" + filepath.Dir(dir)}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		err := cmd.Start()
		if first {
			close(began)
		}
		if err == nil {
			err = cmd.Wait()
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil || !bytes.Contains(errs.Bytes(), []byte("through its owner")) {
			return errors.Join(err, errors.New(errs.String()))
		}
		*count++
	}
	return nil
}
