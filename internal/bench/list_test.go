package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zuno/internal/engine"
)

// manySessions makes a data folder of so many sessions, each with a summary that is up to date: ten in each working folder.
// A list that reads no journal does not see that there are none in them.
func manySessions(b *testing.B, n int) (data, cwd string) {
	b.Helper()
	dir := b.TempDir()
	data = filepath.Join(dir, "data")
	for i := range n {
		id := fmt.Sprintf("ses_%026d", i)
		cwd = filepath.Join(dir, "work", fmt.Sprint("project-", i/10))
		session := filepath.Join(data, "sessions", id)
		journal := filepath.Join(session, "journal.zuno")
		if err := os.MkdirAll(session, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.MkdirAll(cwd, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(journal, []byte("a journal"), 0o600); err != nil {
			b.Fatal(err)
		}
		st, err := os.Stat(journal)
		if err != nil {
			b.Fatal(err)
		}
		sum, err := json.Marshal(engine.Summary{
			Session: id, Title: fmt.Sprintf("Find out why test %d fails on Mondays, and mend it", i), Cwd: cwd, Worktree: cwd,
			Created: 1e12 + int64(i), Updated: 1e12 + int64(i*7919%n)*1000, Head: 7, Size: st.Size(), Modified: st.ModTime().UnixNano(),
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(session, "summary.json"), sum, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return data, cwd
}

// BenchmarkSessionList: `zuno session list` as a whole process, of 10,000 sessions, warm: the first page, and that of one
// folder; against the start of zuno.
//
// spec: D211
func BenchmarkSessionList(b *testing.B) {
	zuno, _ := binaries(b)
	data, cwd := manySessions(b, 10_000)
	list := func(args ...string) time.Duration {
		cmd := exec.Command(zuno, append([]string{"session", "list"}, args...)...)
		cmd.Env = []string{"HOME=" + data, "ZUNO_DATA_DIR=" + data}
		var out strings.Builder
		cmd.Stdout = &out
		t := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		took := time.Since(t)
		if want := map[bool]int{true: 101, false: 11}[len(args) == 0]; strings.Count(out.String(), "\n") != want {
			b.Fatalf("%v: %d lines instead of %d", args, strings.Count(out.String(), "\n"), want)
		}
		return took
	}
	t := time.Now()
	list() // makes the index
	b.Logf("the first list took %v", time.Since(t))
	list()
	for _, c := range []struct {
		name  string
		args  []string
		limit float64
	}{{"first", nil, 3}, {"cwd", []string{"--cwd", cwd}, 8}} {
		b.Run(c.name, func(b *testing.B) {
			var took, start []time.Duration
			for b.Loop() {
				for range 40 {
					took, start = append(took, list(c.args...)), append(start, spawn(b, zuno, "--version"))
				}
			}
			ratio(b, took, start, c.limit)
		})
	}
}

// BenchmarkListPage: the same without a process around it.
func BenchmarkListPage(b *testing.B) {
	data, cwd := manySessions(b, 10_000)
	for name, q := range map[string]engine.Query{"first": {Most: 100}, "cwd": {Most: 100, Cwd: cwd}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if p, err := engine.ListPage(data, q); err != nil || len(p.Sessions) == 0 {
					b.Fatal(len(p.Sessions), err)
				}
			}
		})
	}
}
