package inspect

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"zuno/internal/forge"
	"zuno/internal/model/scripted"
	"zuno/journal"
)

// golden plays the scripts of testscripts, keeps what they leave behind, and gives the folders of their sessions.
func golden(t *testing.T) (folders []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it plays all scripts")
	}
	cmd := exec.Command("go", "test", "-count=1", "-run", "^TestScripts$", "zuno/cmd/zuno", "-testwork")
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	out, err := cmd.CombinedOutput() // a script that fails is told by its own test
	walkErr := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == journalName {
			folders = append(folders, filepath.Dir(path))
		}
		return nil
	})
	if walkErr != nil || len(folders) < 30 {
		t.Fatalf("only %d sessions were left: %v %v\n%.4000s", len(folders), err, walkErr, out)
	}
	return folders
}

// Every session that the golden scripts leave behind, killed or stopped or well, is decided again as it was recorded; can be
// explained, with commits that it has; and has a script that loads.
//
// spec: D183 D179 D180 D190
func TestGoldenSessions(t *testing.T) {
	var bySize uint64
	var scripts, sessions int
	for _, dir := range golden(t) {
		head, events, ok := intact(t, dir)
		if !ok {
			continue // damaged, foreign or newer on purpose
		}
		sessions++
		if forged(t, dir) { // no rule makes all of it, so it cannot be decided again; the rest holds of it, too
			explainAll(t, dir, head)
			if n := tailLines(t, dir); n != events {
				t.Errorf("%s: %d lines of %d events", dir, n, events)
			}
			continue
		}
		r, err := Check(dir, CheckOptions{Build: "test", Strict: true})
		if err != nil || len(r.Differ) > 0 || r.Commits != head {
			text, _ := r.Tell()
			t.Errorf("%s: %v\n%s", dir, err, text)
		}
		bySize += checkRedacted(t, dir)
		explainAll(t, dir, head)
		if n := tailLines(t, dir); n != events {
			t.Errorf("%s: %d lines of %d events", dir, n, events)
		}
		b, _, err := Script(dir)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if _, err := scripted.Parse("script", b); err != nil {
			t.Errorf("%s: %v\n%s", dir, err, b)
		}
		scripts++
	}
	t.Logf("%d sessions, %d scripts, %d texts compared by size in redacted copies", sessions, scripts, bySize)
	if bySize == 0 {
		t.Error("no redacted copy had a text that a decision adds")
	}
}

// forged says that a test has written into the journal what no rule makes.
func forged(t *testing.T, dir string) (found bool) {
	t.Helper()
	r, err := Fold(dir, ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.file.Scan(1, func(c *journal.Raw) error { found = found || string(c.Command.Type) == forge.Command; return nil }); err != nil {
		t.Fatal(err)
	}
	return found
}

func intact(t *testing.T, dir string) (head uint64, events int, ok bool) {
	t.Helper()
	r, err := Fold(dir, ReplayOptions{})
	if err != nil || r.View.Number == 0 {
		return 0, 0, false
	}
	defer r.Close()
	if err := r.file.Scan(1, func(c *journal.Raw) error { events += len(c.Events); return nil }); err != nil {
		t.Fatal(err)
	}
	return r.Head.Number, events, r.View.Corrupt == nil
}

// checkRedacted checks a copy that has lost its texts.
func checkRedacted(t *testing.T, dir string) uint64 {
	t.Helper()
	out := filepath.Join(t.TempDir(), "redacted.zuno")
	if _, err := Redact(dir, out); err != nil {
		t.Errorf("%s: %v", dir, err)
		return 0
	}
	r, err := Check(out, CheckOptions{Build: "test", Strict: true})
	if err != nil || len(r.Differ) > 0 {
		text, _ := r.Tell()
		t.Errorf("%s, redacted: %v\n%s", dir, err, text)
		return 0
	}
	if text, err := r.Tell(); err != nil || (r.BySize > 0) != strings.Contains(text, "compared by size only") {
		t.Errorf("%v %s", err, text)
	}
	explainAll(t, out, r.Commits)
	return r.BySize
}

var commitPattern = regexp.MustCompile(`commit ([0-9]+)`)

func explainAll(t *testing.T, dir string, head uint64) {
	t.Helper()
	h, err := openHistory(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.file.Close()
	ids := map[string][]string{"gate": {Last}}
	for _, x := range h.view.Root.Calls.All {
		ids["call"] = append(ids["call"], x.ID)
	}
	for _, x := range h.view.Root.Turns.All {
		ids["turn"] = append(ids["turn"], x.ID)
	}
	for _, x := range h.view.Root.Inputs.All {
		ids["input"] = append(ids["input"], x.ID)
	}
	for kind, ids := range ids {
		for _, id := range ids {
			x, err := Explain(dir, kind, id)
			if err != nil {
				t.Errorf("%s: explain %s %s: %v", dir, kind, id, err)
				continue
			}
			for _, m := range commitPattern.FindAllStringSubmatch(x.Tell(), -1) {
				if n, err := strconv.ParseUint(m[1], 10, 64); err != nil || n == 0 || n > head {
					t.Errorf("%s: explain %s %s names %s of %d", dir, kind, id, m[0], head)
				}
			}
			if _, err := x.JSON(); err != nil {
				t.Error(err)
			}
		}
	}
}

func tailLines(t *testing.T, dir string) int {
	t.Helper()
	var b bytes.Buffer
	if err := Tail(context.Background(), dir, &b, TailOptions{}); err != nil {
		t.Error(fmt.Errorf("tail %s: %w", dir, err))
	}
	return strings.Count(b.String(), "\n")
}
