package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type rawKey struct{}

// rawAgent is an agent that is spoken to line by line, where it matters which ids a client chooses, in which order it writes,
// and what it answers too late.
type rawAgent struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr bytes.Buffer
	passed int // lines that `raw wait` has looked at

	mu    sync.Mutex
	lines []string
	over  bool          // it writes no more
	news  chan struct{} // closed when there is more, and then made anew
}

// cmdRaw serves `raw STEP …`; its usage stands at TestScripts.
func cmdRaw(ts *testscript.TestScript, neg bool, args []string) {
	w := ts.Value(rawKey{}).(*rawAgent)
	if len(args) == 0 || neg && args[0] != "seen" {
		ts.Fatalf("usage: wire STEP …, where only `raw seen` can be expected to fail")
	}
	switch step, rest := args[0], args[1:]; step {
	case "start":
		w.start(ts, rest)
	case "send":
		_, err := io.WriteString(w.in, strings.Join(rest, "\n")+"\n")
		ts.Check(err)
	case "wait":
		fmt.Fprintln(ts.Stdout(), w.wait(ts, rest)[0])
	case "get":
		ts.Setenv(rest[0], w.wait(ts, rest[1:])[1])
	case "seen":
		re, all := pattern(ts, rest), w.all()
		if re.MatchString(all) == neg {
			ts.Fatalf("the agent wrote\n%s", all)
		}
	case "end", "kill":
		if step == "kill" {
			_ = w.cmd.Process.Kill()
		}
		w.end(ts)
	case "stderr":
		_, _ = ts.Stdout().Write(w.stderr.Bytes())
	default:
		ts.Fatalf("no step raw %s", step)
	}
}

func (w *rawAgent) start(ts *testscript.TestScript, flags []string) {
	*w = rawAgent{news: make(chan struct{})}
	w.cmd = exec.Command(find(ts, "zuno"), append([]string{"--test-clock-seed", "7", "acp"}, flags...)...)
	w.cmd.Env, w.cmd.Dir, w.cmd.Stderr = environ(ts), ts.MkAbs("."), &w.stderr
	out, err := w.cmd.StdoutPipe()
	ts.Check(err)
	w.in, err = w.cmd.StdinPipe()
	ts.Check(err)
	ts.Check(w.cmd.Start())
	go func() {
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			w.mu.Lock()
			if err == nil {
				w.lines = append(w.lines, strings.TrimSuffix(line, "\n"))
			}
			w.over = err != nil
			close(w.news)
			w.news = make(chan struct{})
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
}

func (w *rawAgent) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n")
}

// wait waits for a line that matches, behind the one that it found last.
func (w *rawAgent) wait(ts *testscript.TestScript, args []string) []string {
	re, deadline := pattern(ts, args), time.After(patience)
	for {
		w.mu.Lock()
		lines, over, news := w.lines, w.over, w.news
		w.mu.Unlock()
		for w.passed < len(lines) {
			line := lines[w.passed]
			w.passed++
			if m := re.FindStringSubmatch(line); m != nil {
				return append([]string{line}, m[1:]...)
			}
		}
		if over {
			ts.Fatalf("the agent ended without %s:\n%s", re, w.all())
		}
		select {
		case <-news:
		case <-deadline:
			ts.Fatalf("waited long enough for %s:\n%s", re, w.all())
		}
	}
}

// end ends the input, waits until the agent is gone, and looks through what it wrote.
func (w *rawAgent) end(ts *testscript.TestScript) {
	_ = w.in.Close()
	deadline := time.After(patience)
	for {
		w.mu.Lock()
		over, news := w.over, w.news
		w.mu.Unlock()
		if over {
			break
		}
		select {
		case <-news:
		case <-deadline:
			_ = w.cmd.Process.Kill()
			ts.Fatalf("the agent did not end")
		}
	}
	_ = w.cmd.Wait()
	w.cmd = nil
	for _, line := range w.lines {
		if !json.Valid([]byte(line)) {
			ts.Fatalf("no message: %q", line)
		}
	}
}
