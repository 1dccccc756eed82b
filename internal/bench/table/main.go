// Command table runs the benchmarks that state a figure of the README and prints them as its table: what is measured, what
// it must reach, what it reached in this run. Progress goes to standard error.
//
//	go run ./internal/bench/table [NAME …]
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is a figure: the metric of a benchmark, and in which direction it must not go.
type row struct {
	what, benchmark, metric, unit string
	limit                         float64
	least                         bool // the limit is the least that counts
}

var rows = []row{
	{what: "`zuno --version`, against a Go hello-world", benchmark: "Version", metric: "ratio", unit: "×", limit: 2.5},
	{what: "spawn → `initialize` answered, against a Go hello-world", benchmark: "Initialize", metric: "ratio", unit: "×", limit: 3},
	{what: "`session/new`", benchmark: "SessionNew", metric: "ms", unit: "ms", limit: 2},
	{what: "one durable commit of 1 KB, whole path, against a bare bbolt update", benchmark: "Commit", metric: "ratio", unit: "×", limit: 1.2},
	{what: "8 concurrent writers, against one", benchmark: "Writers", metric: "x-8", unit: "×", limit: 4, least: true},
	{what: "64 concurrent writers, against one", benchmark: "Writers", metric: "x-64", unit: "×", limit: 12, least: true},
	{what: "replay of 1 M events: scan and envelopes", benchmark: "Replay/envelopes", metric: "Mevents/s", unit: "M/s", limit: 8, least: true},
	{what: "replay: every payload and the whole fold", benchmark: "Replay/fold", metric: "Mevents/s", unit: "M/s", limit: 2, least: true},
	{what: "replay: and the chain verified, digests of texts included", benchmark: "Replay/verified", metric: "Mevents/s", unit: "M/s", limit: 1.5, least: true},
	{what: "opening 100,000 events, against 2 × (reading + SHA-256) + 1 µs per event", benchmark: "Open", metric: "ratio", unit: "×", limit: 1},
	{what: "anonymous memory after opening them", benchmark: "Open", metric: "MB-anon", unit: "MB", limit: 20},
	{what: "bytes on disk per event", benchmark: "BytesPerEvent", metric: "bytes/event", unit: "B", limit: 450},
	{what: "a `read` round (model → tool → model), against one bare commit", benchmark: "ReadRound", metric: "ratio", unit: "×", limit: 8},
	{what: "prompt → first chunk, against one bare commit", benchmark: "FirstChunk", metric: "ratio", unit: "×", limit: 6},
	{what: "2,000 words over real pipes", benchmark: "Words", metric: "ms", unit: "ms", limit: 25},
	{what: "CPU of those 2,000 words", benchmark: "Words", metric: "ms-CPU", unit: "ms", limit: 25},
	{what: "2,000 words from a local provider's server, the slowest surface", benchmark: "ProviderWords", metric: "ms", unit: "ms", limit: 45},
	{what: "the server's first byte → first chunk visible", benchmark: "ProviderWords", metric: "ms-first", unit: "ms", limit: 2},
	{what: "a second prompt admitted while a turn streams, 95th percentile, against a bare commit's", benchmark: "SecondPrompt", metric: "ratio", unit: "×", limit: 3},
	{what: "cancel → `cancelled`, the scripted model streams, against one bare commit", benchmark: "CancelModel/scripted", metric: "ratio", unit: "×", limit: 6},
	{what: "cancel → `cancelled`, a local server has gone silent, against one bare commit", benchmark: "CancelModel/server", metric: "ratio", unit: "×", limit: 6},
	{what: "cancel → `cancelled`, a command that ends on SIGTERM, none of its processes left", benchmark: "CancelCommand/ends", metric: "ms", unit: "ms", limit: 20},
	{what: "cancel → `cancelled`, a command that ignores it, beyond the 2 s that it is given", benchmark: "CancelCommand/ignores", metric: "ms", unit: "ms", limit: 50},
	{what: "words lost, doubled or out of order in 32 sessions that stream at once, one of them stuck", benchmark: "Sessions", metric: "wrong", unit: "words", limit: 0},
	{what: "a model of 5 ms a word: the server's first byte → first words visible", benchmark: "Trickle", metric: "ms-first", unit: "ms", limit: 5},
	{what: "its last byte → last words visible", benchmark: "Trickle", metric: "ms-last", unit: "ms", limit: 20},
	{what: "CPU meanwhile, of one core", benchmark: "Trickle", metric: "%-core", unit: "%", limit: 3},
	{what: "commits meanwhile, in a second", benchmark: "Trickle", metric: "commits/s", unit: "/s", limit: 2},
	{what: "end of input → exit, idle", benchmark: "Exit", metric: "ms", unit: "ms", limit: 30},
	{what: "`session/load` of 200 turns, against opening the session and sending the same frames through a pipe", benchmark: "Load200", metric: "ratio", unit: "×", limit: 1.5},
	{what: "`session/load` of 10,000 turns: first update", benchmark: "Load10000", metric: "ms-first", unit: "ms", limit: 50},
	{what: "all of them, each card once", benchmark: "Load10000", metric: "ms-all", unit: "ms", limit: 1000},
	{what: "the agent's peak memory (RSS) then", benchmark: "Load10000", metric: "MB-peak", unit: "MB", limit: 150},
	{what: "idle after `session/new`: anonymous memory", benchmark: "IdleMemory", metric: "MB-anon", unit: "MB", limit: 8},
	{what: "idle after `session/new`: RSS", benchmark: "IdleMemory", metric: "MB-RSS", unit: "MB", limit: 15},
}

func main() {
	log.SetFlags(0)
	names := os.Args[1:]
	if len(names) == 0 {
		for _, r := range rows {
			name, _, _ := strings.Cut(r.benchmark, "/")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^Benchmark("+strings.Join(names, "|")+")$", "-benchtime", "3x", "-timeout", "30m", "./internal/bench")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	got := read(out)
	if err := cmd.Wait(); err != nil {
		log.Fatal("benchmarks failed: ", err)
	}
	fmt.Println("| what | reach | this run |\n| --- | --- | --- |")
	for _, r := range rows {
		v, ok := got[r.benchmark][r.metric]
		if !ok {
			continue
		}
		sign, miss := "≤", v > r.limit
		if r.least {
			sign, miss = "≥", v < r.limit
		}
		mark := ""
		if miss {
			mark = " – missed"
		}
		fmt.Printf("| %s | %s %s %s | %.3g %s%s |\n", r.what, sign, strconv.FormatFloat(r.limit, 'g', -1, 64), r.unit, v, r.unit, mark)
	}
}

var benchmarkLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// read takes the metrics of each benchmark from go test's output.
func read(r io.Reader) map[string]map[string]float64 {
	got := map[string]map[string]float64{}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		m := benchmarkLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		fmt.Fprintln(os.Stderr, lines.Text())
		metrics := map[string]float64{}
		f := strings.Fields(m[2])
		for i := 0; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				metrics[f[i+1]] = v
			}
		}
		got[m[1]] = metrics
	}
	return got
}
