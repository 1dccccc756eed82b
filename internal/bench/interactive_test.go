package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/model/fake"
)

// endless is a script whose every answer is one word each five milliseconds, for longer than a benchmark waits.
func endless() string {
	var s strings.Builder
	s.WriteString("repeat: true\nresponses:\n  - parts:\n")
	for range 4000 {
		s.WriteString("      - {text: \"word \", after: 5ms}\n")
	}
	return s.String()
}

// told is what stands in an update's _meta.zuno.
type told struct {
	Zuno struct {
		TurnID  string
		Receipt struct{ State, TurnID string }
	}
}

func tells(u schema.SessionUpdate) (t told) {
	switch {
	case u.ContentChunk != nil:
		_ = json.Unmarshal(u.ContentChunk.Meta, &t)
	case u.ToolCallUpdate != nil:
		_ = json.Unmarshal(u.ToolCallUpdate.Meta, &t)
	case u.SessionInfoUpdate != nil:
		_ = json.Unmarshal(u.SessionInfoUpdate.Meta, &t)
	}
	return t
}

// awaitTurn is the id of the turn that a prompt began, as its first chunk tells it.
func awaitTurn(b *testing.B, turns chan string) string {
	b.Helper()
	select {
	case id := <-turns:
		return id
	case <-time.After(20 * time.Second):
		b.Fatal("no turn was told of")
		return ""
	}
}

// stop cancels a turn by its id and waits until the prompt that began it is answered with that.
func stop(b *testing.B, c *client.Client, session, turn string, p *client.Turn) time.Duration {
	b.Helper()
	t := time.Now()
	if err := c.Notify(schema.MethodSessionCancel, schema.CancelNotification{
		SessionID: session, Meta: json.RawMessage(`{"zuno":{"expectedTurnId":"` + turn + `"}}`),
	}); err != nil {
		b.Fatal(err)
	}
	r, err := p.Wait(context.Background())
	took := time.Since(t)
	if err != nil || r.StopReason != schema.StopCancelled {
		b.Fatal(r.StopReason, err, c.Stderr())
	}
	return took
}

// BenchmarkSecondPrompt: from a second prompt to the update that says that it is admitted, while a turn streams. Its delivery is
// queue, and it is withdrawn each time: the turn goes on. The ratio is between the 95th percentiles of both.
//
// spec: D274
func BenchmarkSecondPrompt(b *testing.B) {
	turns, admitted := make(chan string, 1), make(chan time.Time, 1)
	var seen string
	c, session, _ := watched(b, endless(), func(_ string, u schema.SessionUpdate) {
		switch t := tells(u); {
		case t.Zuno.Receipt.State == "admitted":
			admitted <- time.Now()
		case t.Zuno.TurnID != seen && t.Zuno.TurnID != "":
			seen = t.Zuno.TurnID
			turns <- seen
		}
	})
	put := bare(b)
	var took, commit []time.Duration
	for b.Loop() {
		first := c.Prompt(session, "go on")
		turn := awaitTurn(b, turns)
		for range 100 {
			t := time.Now()
			p := c.PromptWith(session, json.RawMessage(`{"zuno":{"delivery":"queue"}}`), schema.Text("and then this"))
			took = append(took, (<-admitted).Sub(t))
			if err := c.Withdraw(p); err != nil {
				b.Fatal(err)
			}
			var e *wire.Error
			if _, err := p.Wait(context.Background()); !errors.As(err, &e) || e.Code != wire.CodeRequestCancelled {
				b.Fatal(err, c.Stderr())
			}
			commit = append(commit, put())
		}
		stop(b, c, session, turn, first)
	}
	slices.Sort(took)
	slices.Sort(commit)
	p95 := func(d []time.Duration) float64 { return float64(d[len(d)*95/100]) }
	b.ReportMetric(p95(took)/p95(commit), "ratio")
	b.ReportMetric(3, "limit")
	b.ReportMetric(float64(median(took))/float64(median(commit)), "ratio-median")
	b.ReportMetric(p95(took)/1e6, "ms")
}

// BenchmarkCancelModel: from the cancel that names the turn to the prompt's answer, while the model streams: the scripted one,
// and a server on the loopback that has gone silent in the middle of its answer.
//
// spec: D275
func BenchmarkCancelModel(b *testing.B) {
	for _, model := range []string{"scripted", "server"} {
		b.Run(model, func(b *testing.B) {
			turns := make(chan string, 1)
			var seen string
			look := func(_ string, u schema.SessionUpdate) {
				if t := tells(u); t.Zuno.TurnID != seen && t.Zuno.TurnID != "" {
					seen = t.Zuno.TurnID
					turns <- seen
				}
			}
			var c *client.Client
			var session string
			if model == "scripted" {
				c, session, _ = watched(b, endless(), look)
			} else {
				dir := b.TempDir()
				c, session = started(b, dir, append(environment(dir, ""), "ZUNO_CONFIG_CONTENT="+silent(b)), look)
			}
			put := bare(b)
			var took, commit []time.Duration
			for b.Loop() {
				for range 50 {
					p := c.Prompt(session, "go on")
					took = append(took, stop(b, c, session, awaitTurn(b, turns), p))
					commit = append(commit, put())
				}
			}
			ratio(b, took, commit, 6)
		})
	}
}

// BenchmarkCancelCommand: the same while a command runs: one that ends on SIGTERM, and one that ignores it and is given two seconds,
// which are not counted. Each has children, one of them in a session of its own, and none of its processes may be there when the
// prompt is answered.
//
// spec: D276
func BenchmarkCancelCommand(b *testing.B) {
	for _, k := range []struct {
		name, first string
		often       int
		grace       time.Duration // which is not counted
		limit       float64       // in ms
	}{
		{"ends", "", 20, 0, 20},
		{"ignores", "trap '' TERM; ", 1, 2 * time.Second, 50},
	} {
		b.Run(k.name, func(b *testing.B) {
			turns := make(chan string, 1)
			var seen string
			mark := fmt.Sprintf("86400.%d%d", os.Getpid(), time.Now().UnixNano())
			script := "repeat: true\nresponses:\n  - calls:\n      - tool: shell\n        args: { command: \"" + k.first +
				"sleep " + mark + " & setsid sleep " + mark + " & echo STARTED; sleep " + mark + "\" }\n"
			c, session, _ := watched(b, script, func(_ string, u schema.SessionUpdate) {
				if u.ToolCallUpdate == nil || !strings.Contains(cardText(u.ToolCallUpdate), "STARTED") {
					return
				}
				if t := tells(u); t.Zuno.TurnID != seen && t.Zuno.TurnID != "" {
					seen = t.Zuno.TurnID
					turns <- seen
				}
			})
			var took []time.Duration
			for b.Loop() {
				for range k.often {
					p := c.Prompt(session, "go on")
					turn := awaitTurn(b, turns)
					for running(b, mark) < 3 {
						time.Sleep(time.Millisecond)
					}
					took = append(took, stop(b, c, session, turn, p)-k.grace)
					if n := running(b, mark); n > 0 {
						b.Fatalf("%d processes of the command are left", n)
					}
				}
			}
			b.ReportMetric(float64(median(took).Microseconds())/1000, "ms")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-most")
			b.ReportMetric(k.limit, "limit")
		})
	}
}

func cardText(u *schema.ToolCallUpdate) (text string) {
	for i := range u.Content {
		if x := u.Content[i].Content; x != nil && x.Content.TextContent != nil {
			text += x.Content.TextContent.Text
		}
	}
	return text
}

// running counts the processes that have the mark as an argument of their own.
func running(b *testing.B, mark string) (n int) {
	b.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 {
		b.Skip("no /proc here: ", err)
	}
	for _, name := range all {
		line, err := os.ReadFile(name) // a zombie has none, and one that is gone has no file
		if err == nil && bytes.HasPrefix(line, []byte("sleep\x00"+mark)) {
			n++
		}
	}
	return n
}

// silent is the configuration of a model whose server says a few words and then nothing more.
func silent(b *testing.B) string {
	b.Helper()
	answer := fake.Long(4)
	events := fake.Chat.Events(&answer)[:4]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Join(events, ""))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	b.Cleanup(s.Close)
	return configured(fake.Chat, s.URL+"/v1")
}
