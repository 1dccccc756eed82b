package search

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zuno/tools"
)

// tree makes folders of text: so many files of so many lines, of which each tenth says "hit".
func (s *session) tree(files, lines int) {
	for i := range files {
		text := []byte{}
		for j := range lines {
			word := "nothing of interest in here"
			if j%10 == 0 {
				word = "a hit, and more words beside it"
			}
			text = fmt.Appendf(text, "\tline %d: %s;\n", j, word)
		}
		s.file(fmt.Sprintf("d%02d/f%04d.go", i%20, i), string(text))
	}
}

// BenchmarkGrep: a call from its arguments to its result, against rg alone with the same arguments, its output read and
// thrown away. The limit is 1.5 × rg + 5 ms.
//
// spec: D242
func BenchmarkGrep(b *testing.B) {
	for _, c := range []struct {
		name         string
		files, lines int
		args         object
	}{
		{"small", 20, 50, object{"pattern": "line 10:"}},
		{"small-regex", 20, 50, object{"pattern": `line 1\d:`}},
		{"large", 1000, 2000, object{"pattern": "hit"}},
		{"large-regex-include", 1000, 2000, object{"pattern": `h[ij]t`, "include": "*.go"}},
		{"large-include-of-a-folder", 1000, 2000, object{"pattern": "hit", "include": "d*/**/*.go"}},
		{"none", 1000, 2000, object{"pattern": "nowhere to be found"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newSession(b)
			s.tree(c.files, c.lines)
			rg := filepath.Join(realRG(b), "rg")
			pattern, _ := c.args["pattern"].(string)
			args := slices.Concat(walk, []string{noGit, "--json", "--regexp=" + pattern, "--", "."})
			alone := func() time.Duration {
				start := time.Now()
				cmd := exec.Command(rg, args...)
				cmd.Dir = s.where.Cwd
				out, err := cmd.StdoutPipe()
				must(b, err)
				must(b, cmd.Start())
				_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, out, make([]byte, pieceSize))
				must(b, err)
				_ = cmd.Wait()
				return time.Since(start)
			}
			ours := func() time.Duration {
				start := time.Now()
				p, blocked := s.resolve("grep", c.args)
				if blocked != nil {
					b.Fatal(blocked.Message)
				}
				r := p.Run(context.Background(), tools.Env{Environ: s.environ})
				if r.Outcome != tools.OK {
					b.Fatal(r.Text)
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
			base, took := typical(bare), typical(tool)
			b.ReportMetric(float64(took)/float64(base), "ratio")
			b.ReportMetric(1.5+float64(5*time.Millisecond)/float64(base), "limit")
			b.ReportMetric(float64(base.Microseconds()), "rg-µs")
		})
	}
}

// typical is the lower quartile: what else the machine does only ever adds.
func typical(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/4]
}
