package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"zuno/acp/schema"
	"zuno/internal/model/fake"
)

// BenchmarkProviderWords: 2,000 words from a server on the loopback that flushes each of them, over real pipes, and how long
// after the server's first byte the first of them is visible. It is the slowest of the three surfaces. What is visible first is
// measured with a server that rests after its first words, as models do: one that floods takes a core from the agent and from
// the editor, and on two cores that is most of what one measures then (ms-first-flooded).
//
// spec: D240
func BenchmarkProviderWords(b *testing.B) {
	var turns []func()
	var wall, first, flooded [3][]time.Duration
	for i, surface := range []fake.Surface{fake.Chat, fake.Responses, fake.Messages} {
		sent, seen := make(chan time.Time, 1), make(chan time.Time, 1)
		var rests atomic.Bool
		base := serve(b, surface, sent, &rests)
		dir := b.TempDir()
		c, session := started(b, dir, append(environment(dir, ""), "ZUNO_CONFIG_CONTENT="+configured(surface, base)), func(_ string, u schema.SessionUpdate) {
			if u.Kind == schema.UpdateAgentMessageChunk {
				mark(seen)
			}
		})
		next := func(rest bool) (whole, first time.Duration) {
			rests.Store(rest)
			t := time.Now()
			turn(b, c, session)
			whole = time.Since(t)
			begun := <-sent
			return whole, (<-seen).Sub(begun)
		}
		next(false)
		turns = append(turns, func() {
			whole, flood := next(false)
			_, calm := next(true)
			wall[i], first[i], flooded[i] = append(wall[i], whole), append(first[i], calm), append(flooded[i], flood)
		})
	}
	for b.Loop() {
		for range 10 {
			for _, turn := range turns {
				turn()
			}
		}
	}
	slowest := func(of [3][]time.Duration) float64 {
		return float64(max(median(of[0]), median(of[1]), median(of[2])).Microseconds()) / 1000
	}
	b.ReportMetric(slowest(wall), "ms")
	b.ReportMetric(45, "limit")
	b.ReportMetric(slowest(first), "ms-first")
	b.ReportMetric(2, "limit-first")
	b.ReportMetric(slowest(flooded), "ms-first-flooded")
}

// mark keeps the first time until it is taken.
func mark(at chan time.Time) {
	select {
	case at <- time.Now():
	default:
	}
}

// serve is a provider's server that notes when it sends the first byte of an answer.
func serve(b *testing.B, surface fake.Surface, sent chan time.Time, rests *atomic.Bool) (base string) {
	b.Helper()
	answer := fake.Long(2000)
	events := surface.Events(&answer)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		mark(sent)
		for i, e := range events {
			_, _ = io.WriteString(w, e)
			w.(http.Flusher).Flush()
			if i == 7 && rests.Load() { // every surface has said a word by then
				time.Sleep(5 * time.Millisecond)
			}
		}
	}))
	b.Cleanup(s.Close)
	return s.URL + "/v1"
}

func configured(surface fake.Surface, base string) string {
	speaks := `"type":"openai","surface":"` + string(surface) + `"`
	if surface == fake.Messages {
		speaks = `"type":"anthropic"`
	}
	return `{"model":"local/m","provider":{"local":{` + speaks + `,"options":{"baseURL":"` + base + `","apiKey":"k"}}}}`
}
