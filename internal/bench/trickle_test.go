package bench

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/internal/model/fake"
)

// BenchmarkTrickle: a server that says a word each five milliseconds for ten seconds, as fast models do. When its first and its
// last words are visible after they were sent, what of a core the agent takes meanwhile, and how many commits it makes in a
// second. Each round is another surface; the worst counts, and of the core, where other work on the machine weighs more than the
// surface, the median. Most of what it takes is the price of waking up for each word, which depends on the machine: beside it
// stands what a program takes that does nothing but read the same stream (%-bare).
//
// spec: D280
func BenchmarkTrickle(b *testing.B) {
	const words, each = 2000, 5 * time.Millisecond
	reader := built(b, bareReader)
	var first, last time.Duration
	var core, bare []float64 // percent
	var commits float64
	surfaces := []fake.Surface{fake.Chat, fake.Responses, fake.Messages}
	for round := 0; b.Loop(); round++ {
		surface := surfaces[round%len(surfaces)]
		var sent, seen span
		base := trickle(b, surface, words, each, &sent)
		dir := b.TempDir()
		text := 0
		c, session := started(b, dir, append(environment(dir, ""), "ZUNO_CONFIG_CONTENT="+configured(surface, base)), func(_ string, u schema.SessionUpdate) {
			if u.Kind == schema.UpdateAgentMessageChunk {
				seen.mark()
				text += len(u.ContentChunk.Content.TextContent.Text)
			}
		})
		ask := func() (head uint64) {
			sent, seen, text = span{}, span{}, 0
			r, err := c.Prompt(session, "go on").Wait(context.Background())
			if err != nil {
				b.Fatal(err, c.Stderr())
			}
			return client.ReadMeta(r.Meta).Head.Number
		}
		before, used, t := ask(), cpuTime(b, c.PID()), time.Now()
		after := ask()
		took := time.Since(t)
		if want := words / 4 * len("the quick brown fox\n"); text != want {
			b.Fatalf("%d bytes of %d were shown", text, want)
		}
		first, last = max(first, seen.from.Sub(sent.from)), max(last, seen.to.Sub(sent.to))
		core = append(core, 100*float64(cpuTime(b, c.PID())-used)/float64(took))
		commits = max(commits, float64(after-before)/took.Seconds())

		t = time.Now()
		cmd := exec.Command(reader, base)
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		bare = append(bare, 100*float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())/float64(time.Since(t)))
	}
	slices.Sort(core)
	slices.Sort(bare)
	b.ReportMetric(float64(first.Microseconds())/1000, "ms-first")
	b.ReportMetric(5, "limit-first")
	b.ReportMetric(float64(last.Microseconds())/1000, "ms-last")
	b.ReportMetric(20, "limit-last")
	b.ReportMetric(core[len(core)/2], "%-core")
	b.ReportMetric(3, "limit-core")
	b.ReportMetric(bare[len(bare)/2], "%-bare")
	b.ReportMetric(commits, "commits/s")
	b.ReportMetric(2, "limit-commits")
}

// bareReader reads an answer to its end and writes a line for every fourth word.
const bareReader = `package main

import (
	"net/http"
	"os"
	"strings"
)

func main() {
	r, err := http.Post(os.Args[1], "application/json", strings.NewReader("{}"))
	if err != nil {
		panic(err)
	}
	buffer, line := make([]byte, 64<<10), []byte(strings.Repeat("x", 200)+"\n")
	for n := 0; ; n++ {
		if _, err := r.Body.Read(buffer); err != nil {
			return
		}
		if n%4 == 0 {
			os.Stdout.Write(line)
		}
	}
}
`

// span is from the first to the last of many moments.
type span struct{ from, to time.Time }

func (s *span) mark() {
	if s.to = time.Now(); s.from.IsZero() {
		s.from = s.to
	}
}

// trickle is a provider's server that says words at a steady pace, and what is not a word with the one beside it. Its first
// answer, which is not measured, is over at once.
func trickle(b *testing.B, surface fake.Surface, words int, each time.Duration, sent *span) (base string) {
	b.Helper()
	answer := fake.Long(words)
	events := surface.Events(&answer)
	first := slices.IndexFunc(events, func(e string) bool { return strings.Contains(e, answer.Text[0]) })
	warm := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		beat := time.NewTicker(each)
		defer beat.Stop()
		for i, e := range events {
			if i > first && i < first+words && !warm {
				<-beat.C
			}
			sent.mark()
			_, _ = io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
		warm = false
	}))
	b.Cleanup(s.Close)
	return s.URL + "/v1"
}
