package patch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zuno/tools"
)

// BenchmarkHundredFiles: a patch of 100 files, from its text to its result, with the pre-images in one synced file; against
// writing the same 100 contents and syncing each. The limit is 3.
//
// spec: D243
func BenchmarkHundredFiles(b *testing.B) {
	s := newSession(b)
	plain := b.TempDir()
	content := strings.Repeat("a line of some length, as they are\n", 100)
	lines := []string{}
	for i := range 100 {
		name := fmt.Sprintf("d%d/f%02d", i%5, i)
		s.known(name, "0\n"+content)
		must(b, os.MkdirAll(filepath.Join(plain, filepath.Dir(name)), 0o755))
		must(b, os.WriteFile(filepath.Join(plain, name), []byte("0\n"+content), 0o644))
		lines = append(lines, "*** Update File: "+name, "@@", "-%d", "+%d", " "+strings.TrimSuffix(content[:strings.IndexByte(content, '\n')+1], "\n"))
	}
	pack := filepath.Join(b.TempDir(), "pack")
	env := s.env()
	env.KeepPreImages = func(_ context.Context, images []tools.PreImage) (string, error) {
		var all []byte
		for _, image := range images {
			all = append(append(append(all, image.Path...), 0), image.Content...)
		}
		return "pack", writeSynced(pack, all)
	}
	round := 0
	ours := func() time.Duration {
		text := wrap(lines...)
		text = strings.ReplaceAll(strings.ReplaceAll(text, "-%d", fmt.Sprintf("-%d", round)), "+%d", fmt.Sprintf("+%d", round+1))
		round++
		start := time.Now()
		p := s.prepare("apply_patch", map[string]any{"patchText": text})
		r := p.Run(context.Background(), env)
		took := time.Since(start)
		if r.Outcome != tools.OK || len(r.Files) != 100 {
			b.Fatal(r.Text)
		}
		for _, f := range r.Files {
			s.receipts[f.Resolved] = f.Digest
		}
		return took
	}
	alone := func() time.Duration {
		start := time.Now()
		for i := range 100 {
			must(b, writeSynced(filepath.Join(plain, fmt.Sprintf("d%d/f%02d", i%5, i)), fmt.Appendf(nil, "%d\n%s", round, content)))
		}
		return time.Since(start)
	}
	_, _ = alone(), ours()
	var bare, tool []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		bare = append(bare, alone())
		tool = append(tool, ours())
	}
	slices.Sort(bare)
	slices.Sort(tool)
	base, took := bare[len(bare)/4], tool[len(tool)/4] // what else the machine does only ever adds
	b.ReportMetric(float64(took)/float64(base), "ratio")
	b.ReportMetric(3, "limit")
	b.ReportMetric(float64(base.Microseconds()), "bare-µs")
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
