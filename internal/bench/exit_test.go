package bench

import (
	"context"
	"testing"
	"time"

	"zuno/acp/client"
)

// BenchmarkExit: from the end of input to the exit of the process, its sessions open and nothing running: one that has had a
// turn, and a panel that was never used.
//
// spec: D281
func BenchmarkExit(b *testing.B) {
	zuno, _ := binaries(b)
	put := bare(b)
	var took, commit []time.Duration
	for b.Loop() {
		for range 10 {
			dir := b.TempDir()
			c, err := client.Start(client.Config{Binary: zuno, Args: []string{"acp"}, Env: environment(dir, ""), Dir: dir, Permission: client.Allow})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Initialize(context.Background()); err != nil {
				b.Fatal(err)
			}
			session, err := c.New(context.Background(), dir)
			if err != nil {
				b.Fatal(err)
			}
			turn(b, c, session)
			if _, err := c.New(context.Background(), dir); err != nil {
				b.Fatal(err)
			}
			t := time.Now()
			c.CloseInput()
			if status, err := c.Wait(context.Background()); err != nil || status != 0 {
				b.Fatal(status, err, c.Stderr())
			}
			took, commit = append(took, time.Since(t)), append(commit, put())
		}
	}
	b.ReportMetric(float64(median(took).Microseconds())/1000, "ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-most")
	b.ReportMetric(float64(median(took))/float64(median(commit)), "ratio")
	b.ReportMetric(30, "limit")
}
