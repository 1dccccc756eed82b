package bench

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
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
// second. Each round is another surface; the worst of them counts.
//
// spec: D280
func BenchmarkTrickle(b *testing.B) {
	const words, each = 2000, 5 * time.Millisecond
	var first, last time.Duration
	var core, commits float64
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
		core = max(core, 100*float64(cpuTime(b, c.PID())-used)/float64(took))
		commits = max(commits, float64(after-before)/took.Seconds())
	}
	b.ReportMetric(float64(first.Microseconds())/1000, "ms-first")
	b.ReportMetric(5, "limit-first")
	b.ReportMetric(float64(last.Microseconds())/1000, "ms-last")
	b.ReportMetric(20, "limit-last")
	b.ReportMetric(core, "%-core")
	b.ReportMetric(3, "limit-core")
	b.ReportMetric(commits, "commits/s")
	b.ReportMetric(2, "limit-commits")
}

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
