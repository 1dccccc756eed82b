//go:build linux

package live

import (
	"testing"
	"time"

	"zuno/journal"
)

// BenchmarkServe: what a socket adds to the start of a session, against its first commit.
func BenchmarkServe(b *testing.B) {
	folder := b.TempDir() + "/zuno"
	var serve, commit time.Duration
	for b.Loop() {
		f, err := journal.Create(b.TempDir()+"/ses_x", journal.Options{})
		if err != nil {
			b.Fatal(err)
		}
		t := time.Now()
		server, err := Serve(f, []string{folder})
		if err != nil {
			b.Fatal(err)
		}
		serve += time.Since(t)
		t = time.Now()
		s := &session{file: f, salt: []byte("0123456789abcdef")}
		if err := s.append(nil); err != nil {
			b.Fatal(err)
		}
		commit += time.Since(t)
		server.Close()
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(serve)/float64(commit), "ratio")
	b.ReportMetric(float64(serve.Microseconds())/1000/float64(b.N), "ms")
	b.ReportMetric(0.5, "limit")
}

// BenchmarkCommitted: what telling followers costs an owner whom nobody follows.
func BenchmarkCommitted(b *testing.B) {
	s := &Server{}
	for b.Loop() {
		s.Committed(journal.Head{})
	}
}
