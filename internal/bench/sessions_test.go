package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zuno/acp/client"
	"zuno/acp/schema"
)

// BenchmarkSessions: 32 sessions of one connection stream a thousand words at once, one each millisecond. Then one of them hangs
// in a command that does not end, and the others stream again. Each session's words hold its own folder, and what is lost,
// doubled, out of order or another's counts. The ratio is the slowest session's time beside the hanging one to that without.
//
// spec: D279
func BenchmarkSessions(b *testing.B) {
	const sessions, words, hangs = 32, 1000, 64
	var script strings.Builder
	script.WriteString("repeat: true\nresponses:\n")
	for i := range hangs {
		fmt.Fprintf(&script, "  - when: \"hang %02d\"\n    calls: [{tool: shell, args: {command: \"echo STARTED; sleep 86400\"}}]\n", i)
	}
	script.WriteString("  - parts:\n")
	for i := range words {
		fmt.Fprintf(&script, "      - {text: \"%s \", after: 1ms}\n", word("${cwd}", i))
	}
	var mu sync.Mutex
	text := map[string]*strings.Builder{}
	hung := make(chan struct{}, 1)
	c, first, dir := watched(b, script.String(), func(session string, u schema.SessionUpdate) {
		switch {
		case u.Kind == schema.UpdateAgentMessageChunk:
			mu.Lock()
			text[session].WriteString(u.ContentChunk.Content.TextContent.Text)
			mu.Unlock()
		case u.ToolCallUpdate != nil && strings.Contains(cardText(u.ToolCallUpdate), "STARTED") && u.ToolCallUpdate.Status == "":
			hung <- struct{}{}
		}
	})
	ids, folders := []string{first}, []string{dir}
	for i := range sessions - 1 {
		folder := filepath.Join(dir, fmt.Sprint("folder-", i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			b.Fatal(err)
		}
		id, err := c.New(context.Background(), folder)
		if err != nil {
			b.Fatal(err)
		}
		ids, folders = append(ids, id), append(folders, folder)
	}
	wrong := 0
	// stream has the sessions from one on stream, and gives the time of the slowest.
	stream := func(from int) time.Duration {
		mu.Lock()
		for _, id := range ids {
			text[id] = &strings.Builder{}
		}
		mu.Unlock()
		t := time.Now()
		var waiting []*client.Turn
		for _, id := range ids[from:] {
			waiting = append(waiting, c.Prompt(id, "go on"))
		}
		for i, p := range waiting {
			if _, err := p.Wait(context.Background()); err != nil {
				b.Fatal(ids[from+i], err, c.Stderr())
			}
		}
		took := time.Since(t)
		mu.Lock()
		defer mu.Unlock()
		for i := from; i < sessions; i++ {
			said := strings.Fields(text[ids[i]].String())
			for n := range max(words, len(said)) {
				if n >= len(said) || n >= words || said[n] != word(folders[i], n) {
					wrong++
				}
			}
		}
		return took
	}
	stream(0) // folders are made, providers begun
	var all, others []time.Duration
	hang := 0
	for b.Loop() {
		all = append(all, stream(0))
		p := c.Prompt(first, fmt.Sprintf("hang %02d", hang))
		hang++
		<-hung
		others = append(others, stream(1))
		if err := c.Cancel(first); err != nil {
			b.Fatal(err)
		}
		if r, err := p.Wait(context.Background()); err != nil || r.StopReason != schema.StopCancelled {
			b.Fatal(r.StopReason, err) // it was there all the time
		}
	}
	b.ReportMetric(float64(wrong), "wrong")
	b.ReportMetric(0, "limit")
	b.ReportMetric(float64(slices.Max(others).Milliseconds()), "ms")
	b.ReportMetric(float64(median(others))/float64(median(all)), "ratio")
}

// word is the n-th of a session's words; every hundredth is its folder.
func word(folder string, n int) string {
	if n%100 == 0 {
		return folder
	}
	return fmt.Sprint("word", n)
}
