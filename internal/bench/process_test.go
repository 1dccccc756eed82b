package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"zuno/acp/client"
	"zuno/acp/schema"
)

// binaries builds zuno as the README does and, to compare with, the smallest Go program that prints a line.
func binaries(b *testing.B) (zuno, hello string) {
	b.Helper()
	zuno = filepath.Join(b.TempDir(), "zuno")
	build(b, zuno, "zuno/cmd/zuno")
	return zuno, built(b, "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n")
}

// built is a program of one file.
func built(b *testing.B, source string) (program string) {
	b.Helper()
	program = filepath.Join(b.TempDir(), "program")
	if err := os.WriteFile(program+".go", []byte(source), 0o600); err != nil {
		b.Fatal(err)
	}
	build(b, program, program+".go")
	return program
}

func build(b *testing.B, program, source string) {
	b.Helper()
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ratio(b *testing.B, what, against []time.Duration, limit float64) {
	m := median(what)
	b.ReportMetric(float64(m)/float64(median(against)), "ratio")
	b.ReportMetric(limit, "limit")
	b.ReportMetric(float64(m.Microseconds())/1000, "ms")
}

func environment(dir, script string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ZUNO_DATA_DIR=" + filepath.Join(dir, "data"), "XDG_STATE_HOME=" + dir}
	if script != "" {
		env = append(env, `ZUNO_CONFIG_CONTENT={"model":"scripted/bench","provider":{"scripted":{"type":"scripted","options":{"script":"`+script+`"}}}}`)
	}
	return env
}

// BenchmarkVersion: `zuno --version` as a whole process.
//
// spec: D157 D241
func BenchmarkVersion(b *testing.B) {
	zuno, hello := binaries(b)
	var a, h []time.Duration
	for b.Loop() {
		for range 40 {
			a, h = append(a, spawn(b, zuno, "--version")), append(h, spawn(b, hello))
		}
	}
	ratio(b, a, h, 2.5)
}

func spawn(b *testing.B, name string, args ...string) time.Duration {
	b.Helper()
	t := time.Now()
	if err := exec.Command(name, args...).Run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(t)
}

// BenchmarkInitialize: from spawn to the answer of initialize.
//
// spec: D156 D241
func BenchmarkInitialize(b *testing.B) {
	zuno, hello := binaries(b)
	env := environment(b.TempDir(), "")
	var a, h []time.Duration
	for b.Loop() {
		for range 40 {
			a, h = append(a, initialize(b, zuno, env)), append(h, spawn(b, hello))
		}
	}
	ratio(b, a, h, 3)
}

func initialize(b *testing.B, zuno string, env []string) time.Duration {
	b.Helper()
	t := time.Now()
	cmd := exec.Command(zuno, "acp")
	cmd.Env = env
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
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "protocolVersion") {
		b.Fatal(line, err)
	}
	took := time.Since(t)
	in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}

// agent starts the agent and a session in a folder of its own.
func agent(b *testing.B, script string) (c *client.Client, session, dir string) {
	b.Helper()
	return watched(b, script, nil)
}

// watched is agent, with a look at each update as it comes.
func watched(b *testing.B, script string, look func(session string, u schema.SessionUpdate)) (c *client.Client, session, dir string) {
	b.Helper()
	dir = b.TempDir()
	file := ""
	if script != "" {
		file = filepath.Join(dir, "script.yaml")
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	c, session = started(b, dir, environment(dir, file), look)
	return c, session, dir
}

// started is an agent with a session in dir.
func started(b *testing.B, dir string, env []string, look func(session string, u schema.SessionUpdate)) (c *client.Client, session string) {
	b.Helper()
	zuno, _ := binaries(b)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	c, err := client.Start(client.Config{Binary: zuno, Args: []string{"acp"}, Env: env, Dir: dir, Permission: client.Allow, OnUpdate: look})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.CloseInput()
		if _, err := c.Wait(context.Background()); err != nil {
			b.Error(err, c.Stderr())
		}
	})
	if _, err := c.Initialize(context.Background()); err != nil {
		b.Fatal(err)
	}
	if session, err = c.New(context.Background(), dir); err != nil {
		b.Fatal(err)
	}
	return c, session
}

// BenchmarkSessionNew: over pipes.
//
// spec: D158
func BenchmarkSessionNew(b *testing.B) {
	c, _, dir := agent(b, "")
	var d []time.Duration
	for b.Loop() {
		for range 100 {
			t := time.Now()
			id, err := c.New(context.Background(), dir)
			d = append(d, time.Since(t))
			if err == nil { // a connection has 32 at most
				err = c.Close(context.Background(), id)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(median(d).Microseconds())/1000, "ms")
	b.ReportMetric(2, "limit")
}

// BenchmarkIdleMemory: of the agent after session/new.
//
// spec: D170 D241
func BenchmarkIdleMemory(b *testing.B) {
	c, _, _ := agent(b, "")
	for b.Loop() {
	}
	b.ReportMetric(float64(status(b, c.PID(), "RssAnon:"))/1024, "MB-anon")
	b.ReportMetric(float64(status(b, c.PID(), "VmRSS:"))/1024, "MB-RSS")
	b.ReportMetric(8, "limit")
	b.ReportMetric(15, "limit-RSS")
}

// bare makes durable commits of 1 KB in a plain bbolt file, for comparison.
func bare(b *testing.B) func() time.Duration {
	b.Helper()
	db, err := bolt.Open(filepath.Join(b.TempDir(), "bare"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	n := uint64(0)
	value := make([]byte, 1024)
	put := func() time.Duration {
		t := time.Now()
		n++
		if err := db.Update(func(tx *bolt.Tx) error {
			k, err := tx.CreateBucketIfNotExists([]byte("c"))
			if err != nil {
				return err
			}
			k.FillPercent = 1
			return k.Put(binary.BigEndian.AppendUint64(nil, n), value)
		}); err != nil {
			b.Fatal(err)
		}
		return time.Since(t)
	}
	put()
	return put
}

func turn(b *testing.B, c *client.Client, session string) {
	b.Helper()
	if _, err := c.Prompt(session, "go on").Wait(context.Background()); err != nil {
		b.Fatal(err, c.Stderr())
	}
}

// BenchmarkReadRound: model, tool, model; from the second prompt of a session on. A prompt has twenty rounds.
//
// spec: D167 D241
func BenchmarkReadRound(b *testing.B) {
	const rounds = 20
	var s strings.Builder
	s.WriteString("responses:\n")
	for range 400 {
		for range rounds {
			s.WriteString("  - calls: [{tool: read, args: {filePath: \"${cwd}/a.txt\"}}]\n")
		}
		s.WriteString("  - text: done\n")
	}
	c, session, _ := agent(b, s.String())
	turn(b, c, session)
	put := bare(b)
	var round, commit []time.Duration
	for b.Loop() {
		for range 10 {
			t := time.Now()
			turn(b, c, session)
			round = append(round, time.Since(t)/rounds)
			for range rounds {
				commit = append(commit, put())
			}
		}
	}
	ratio(b, round, commit, 8)
}

// BenchmarkFirstChunk: from a prompt to the first chunk of the answer; from the second prompt of a session on.
//
// spec: D168 D241
func BenchmarkFirstChunk(b *testing.B) {
	chunks := make(chan time.Time, 16)
	c, session, _ := watched(b, "repeat: true\nresponses:\n  - text: A short answer.\n", func(_ string, u schema.SessionUpdate) {
		if u.Kind == schema.UpdateAgentMessageChunk {
			chunks <- time.Now()
		}
	})
	next := func() time.Duration {
		t := time.Now()
		p := c.Prompt(session, "go on")
		first := <-chunks
		if _, err := p.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
		for len(chunks) > 0 {
			<-chunks
		}
		return first.Sub(t)
	}
	next()
	put := bare(b)
	var first, commit []time.Duration
	for b.Loop() {
		for range 50 {
			first, commit = append(first, next()), append(commit, put())
		}
	}
	ratio(b, first, commit, 6)
}

// BenchmarkWords: 2,000 words, one part per word, over real pipes.
//
// spec: D169
func BenchmarkWords(b *testing.B) {
	var s strings.Builder
	s.WriteString("repeat: true\nresponses:\n  - parts:\n")
	for i := range 2000 {
		fmt.Fprintf(&s, "      - {text: \"word%d \"}\n", i%1000)
	}
	c, session, _ := agent(b, s.String())
	turn(b, c, session)
	var wall, cpu []time.Duration
	for b.Loop() {
		for range 10 {
			before := cpuTime(b, c.PID())
			t := time.Now()
			turn(b, c, session)
			wall = append(wall, time.Since(t))
			cpu = append(cpu, cpuTime(b, c.PID())-before)
		}
	}
	var total time.Duration
	for _, d := range cpu {
		total += d
	}
	b.ReportMetric(float64(median(wall).Microseconds())/1000, "ms")
	b.ReportMetric(float64((total/time.Duration(len(cpu))).Microseconds())/1000, "ms-CPU")
	b.ReportMetric(25, "limit")
}

// cpuTime is what a process has used so far, in ticks of 10 ms.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		b.Skip("no /proc here: ", err)
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
