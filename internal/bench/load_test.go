package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"zuno/commands"
	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

const recorded = "ses_01k0000000000000000000load"

// conversation writes a session of so many turns – a prompt, one read, 1 KB of text – into a data folder of its own, and gives
// the environment in which the agent finds it.
func conversation(b *testing.B, turns int) (env []string, dir string) {
	b.Helper()
	dir = b.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(filepath.Join(data, "sessions"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "installation"), []byte("ins_bench\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := journal.Create(filepath.Join(data, "sessions", recorded), journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	m := &Mix{
		log: f, folder: projections.NewFolder(projections.Options{}), encoder: event.NewEncoder(), salt: []byte("0123456789abcdef"),
		at: 1893456000000, Kinds: map[string]int{},
	}
	copy(m.run[:], "0123456789abcdef")
	m.do(&commands.OpenSession{
		Salt: event.NewText(string(m.salt)), Run: m.run.String(), Build: "bench", Session: recorded, Installation: "ins_bench",
		Cwd: event.NewText(dir), Worktree: event.NewText(dir),
	})
	m.do(&commands.ResolvePolicy{Policy: event.Policy{Agent: "build", Mode: event.ModeAllowAll, Model: event.ModelChoice{Provider: "scripted", Name: "demo", Surface: "scripted", Context: 200000}, Concurrency: 8}})
	path := filepath.Join(dir, "a.txt")
	for n := range turns {
		m.short(n, path)
		if len(m.pending) >= 2048 {
			if err := m.flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := m.flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return environment(dir, ""), dir
}

// short is a turn: a prompt, one read, 1 KB of text.
func (m *Mix) short(n int, path string) {
	in := find[*event.InputAdmitted](m.do(&commands.AdmitInput{Delivery: event.DeliverSteer, Blocks: []event.Block{{Type: event.BlockText, Text: words(120, n)}}}))
	out := m.do(&commands.StartRequest{Input: in.ID, Number: 1, Attempt: 1})
	t, r := find[*event.TurnStarted](out), find[*event.RequestStarted](out)
	one := uint64(100)
	call := commands.ResolvedCall{
		ID: commands.DeriveID("call", r.ID, "1", "1"), Tool: "read", Args: event.NewText(`{"filePath":"` + path + `"}`), Title: event.NewText("a.txt"), Kind: "read",
		Declaration: event.Declaration{Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe},
		Paths:       []event.Text{event.NewText(path)}, Permission: event.Allow, Rule: event.NewText("mode allow_all"),
	}
	m.do(&commands.CompleteResponse{Request: r.ID, Attempt: 1, Finish: "tool_calls", Usage: event.Usage{Input: &one, Output: &one}, Calls: []commands.ResolvedCall{call}})
	m.do(&commands.StartCall{ID: call.ID, Attempt: 1})
	m.do(&commands.SettleCall{ID: call.ID, Attempt: 1, Outcome: event.OutcomeOK, Text: event.NewText("1: one\n2: two\n"), Millis: 1})
	r = find[*event.RequestStarted](m.do(&commands.StartRequest{Turn: t.ID, Number: 2, Attempt: 1}))
	m.do(&commands.CompleteResponse{Request: r.ID, Attempt: 1, Finish: "stop", Usage: event.Usage{Input: &one, Output: &one}, Parts: []commands.Part{{Kind: event.PartText, Text: words(1024, n)}}})
}

// loaded is one session/load, as the client sees it.
type loaded struct {
	first, all time.Duration
	frames     [][]byte // the updates, as lines
	peak       int      // KiB
}

// load starts an agent, waits until it is ready, and has the session loaded.
func load(b *testing.B, zuno string, env []string, dir string) (l loaded) {
	b.Helper()
	cmd := exec.Command(zuno, "acp")
	cmd.Env, cmd.Dir = env, dir
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReaderSize(out, 1<<20)
	next := func() []byte {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			b.Fatal(err)
		}
		return line
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	next()
	t := time.Now()
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`+"\n", recorded, dir)
	for {
		line := next()
		if bytes.Contains(line[:min(len(line), 40)], []byte(`"id":2`)) {
			if bytes.Contains(line, []byte(`"error"`)) {
				b.Fatalf("%s", line)
			}
			break
		}
		if len(l.frames) == 0 {
			l.first = time.Since(t)
		}
		l.frames = append(l.frames, line)
	}
	l.all = time.Since(t)
	l.peak = status(b, cmd.Process.Pid, "VmHWM:")
	in.Close()
	_, _ = io.Copy(io.Discard, lines)
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return l
}

// throughPipe is how long the frames take from one process to another, written at once.
func throughPipe(b *testing.B, frames [][]byte) time.Duration {
	b.Helper()
	cat := exec.Command("cat")
	cat.Stdin = bytes.NewReader(bytes.Join(frames, nil))
	out, err := cat.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	t := time.Now()
	if err := cat.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		b.Fatal(err)
	}
	took := time.Since(t)
	if err := cat.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}

// openEnv names a data folder to a process of this binary that opens the recorded session in it and prints how long that took.
const openEnv = "ZUNO_BENCH_OPEN"

func TestMain(m *testing.M) {
	if data := os.Getenv(openEnv); data != "" {
		took, err := openRecorded(data)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(took.Nanoseconds())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// openRecorded is how long the engine takes to open the session and no more: the journal verified and folded, its run begun.
func openRecorded(data string) (took time.Duration, err error) {
	h := engine.NewHost(engine.Options{
		Data: data, Build: func() string { return "bench" }, Clock: hostClock{}, IDs: hostIDs{}, Tools: tools.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		Settings: func(string, engine.Choice) (*engine.Settings, error) { return &engine.Settings{}, nil },
	})
	t := time.Now()
	if _, err = h.Open(context.Background(), recorded); err != nil {
		return 0, err
	}
	took = time.Since(t)
	return took, h.Shutdown(context.Background(), "shutdown")
}

// opened opens the session in a process that was just started, as the agent is: its memory is as cold.
func opened(b *testing.B, data string) time.Duration {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), openEnv+"="+data)
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(n)
}

// BenchmarkLoad200: session/load of 200 turns, against opening the journal and writing the same frames to a pipe.
//
// spec: D277
func BenchmarkLoad200(b *testing.B) {
	env, dir := conversation(b, 200)
	zuno, _ := binaries(b)
	var took, against []time.Duration
	for b.Loop() {
		for range 10 {
			l := load(b, zuno, env, dir)
			took, against = append(took, l.all), append(against, opened(b, filepath.Join(dir, "data"))+throughPipe(b, l.frames))
		}
	}
	ratio(b, took, against, 1.5)
}

// BenchmarkLoad10000: the first update of 10,000 turns, all of them, each card once and done, and the memory that it takes.
//
// spec: D278
func BenchmarkLoad10000(b *testing.B) {
	env, dir := conversation(b, 10_000)
	zuno, _ := binaries(b)
	var first, all []time.Duration
	peak := 0
	for b.Loop() {
		l := load(b, zuno, env, dir)
		first, all, peak = append(first, l.first), append(all, l.all), max(peak, l.peak)
		b.StopTimer()
		cards := map[string]int{}
		for _, f := range l.frames {
			var m struct {
				Params struct {
					Update struct{ SessionUpdate, ToolCallID, Status string }
				}
			}
			if err := json.Unmarshal(f, &m); err != nil {
				b.Fatal(err)
			}
			if u := m.Params.Update; u.ToolCallID != "" {
				if cards[u.ToolCallID]++; u.Status != "completed" {
					b.Fatalf("card %s is %s", u.ToolCallID, u.Status)
				}
			}
		}
		for id, n := range cards {
			if n != 1 {
				b.Fatalf("card %s was sent %d times", id, n)
			}
		}
		if len(cards) != 10_000 {
			b.Fatalf("%d cards", len(cards))
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(median(first).Microseconds())/1000, "ms-first")
	b.ReportMetric(float64(median(all).Microseconds())/1000, "ms-all")
	b.ReportMetric(float64(peak)/1024, "MB-peak")
}

// hostClock is the real time.
type hostClock struct{}

func (hostClock) Now() int64 { return time.Now().UnixMilli() }
func (hostClock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (hostClock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}
func (hostClock) Committed() {}

// hostIDs are random.
type hostIDs struct{}

func (hostIDs) ULID(string) (id journal.RunID) {
	_, _ = rand.Read(id[:])
	return id
}

func (hostIDs) Salt(string) []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return b
}
