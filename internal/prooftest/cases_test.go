package prooftest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/commands"
)

// launch starts the agent and keeps every byte of its standard output.
func (p *place) launch(args ...string) (*client.Client, *lines) {
	p.t.Helper()
	out := &lines{}
	c, err := client.Start(client.Config{Binary: zuno, Args: append([]string{"acp"}, args...), Env: p.env, Dir: p.dir, Permission: client.Allow, Tap: out})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Kill() })
	if _, err := c.Initialize(p.ctx()); err != nil {
		p.t.Fatal(err, c.Stderr())
	}
	return c, out
}

// pure says what is wrong with a standard output: each line is one message, and nothing else is there.
func pure(text string) (wrong string) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return "it ends in the middle of a line"
	}
	for line := range strings.Lines(text) {
		var m struct {
			Version string `json:"jsonrpc"`
		}
		d := json.NewDecoder(strings.NewReader(line))
		if err := d.Decode(&m); err != nil || m.Version != "2.0" {
			return fmt.Sprintf("%.200q is no message: %v", line, err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return fmt.Sprintf("%.200q is more than one message", line)
		}
	}
	return ""
}

// Case S20: a fresh home, all logs on, a broken configuration, a server and commands that print: each line of the standard output is
// one message, and the logs are on the standard error.
//
// spec: D282 A005
func TestCaseS20StdoutPure(t *testing.T) {
	p := newPlace(t, `
responses:
  - text: I print.
    calls: [{ tool: shell, args: { command: "echo to-stdout; echo to-stderr >&2" } }]
  - text: Done.
`)
	config := p.env[len(p.env)-1]
	p.env[len(p.env)-1] = "ZUNO_CONFIG_CONTENT={ \"model\": broken"
	p.write("banner", "#!/bin/sh\necho BANNER\necho BANNER >&2\n")
	server := schema.McpServer{McpServerStdio: &schema.McpServerStdio{Name: "banner", Command: filepath.Join(p.dir, "banner")}}
	for _, broken := range []bool{true, false} {
		if !broken {
			p.env[len(p.env)-1] = config
		}
		c, out := p.launch("--print-logs", "--log-level", "TRACE")
		session, err := c.New(p.ctx(), p.dir, server)
		if broken {
			var e *wire.Error
			if !errors.As(err, &e) || e.Code != wire.CodeInvalidParams {
				t.Errorf("with a broken configuration session/new gives %v", err)
			}
		} else if err != nil {
			t.Fatal(err)
		} else if err := c.Notify(schema.MethodSessionCancel, []int{}); err != nil { // which is logged
			t.Fatal(err)
		} else if r, err := c.Prompt(session, "Print.").Wait(p.ctx()); err != nil || r.StopReason != schema.StopEndTurn {
			t.Errorf("the prompt: %v %v", r.StopReason, err)
		}
		p.stop(c)
		if wrong := pure(out.String()); wrong != "" {
			t.Errorf("standard output: %s", wrong)
		}
		if strings.Contains(out.String(), "BANNER") || strings.HasPrefix(out.String(), "\ufeff") {
			t.Errorf("standard output has what is not ours:\n%s", out)
		}
		if !broken && !strings.Contains(c.Stderr(), "level=") {
			t.Errorf("the logs are not on the standard error: %q", c.Stderr())
		}
	}
}

// Case S23: another process loads a session of two turns with a read, a patch and a command that fails. Everything comes once and in
// its order, before the answer, and is as it was live; a resume sends nothing of it. (A plan is no part of sessions yet.)
//
// spec: D282 D137
func TestCaseS23LoadReplaysEverything(t *testing.T) {
	p := newPlace(t, `
responses:
  - text: I look and change.
    calls:
      - { tool: read, args: { filePath: "${cwd}/a.txt" } }
      - { tool: apply_patch, args: { patchText: "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch" } }
  - text: Changed.
  - text: I run.
    calls: [{ tool: shell, args: { command: "echo no >&2; exit 4" } }]
  - text: It failed.
`)
	p.write("a.txt", "one\n")
	c, out := p.launch()
	session, err := c.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Change it.", "Run it."} {
		if r, err := c.Prompt(session, text).Wait(p.ctx()); err != nil || r.StopReason != schema.StopEndTurn {
			t.Fatal(r.StopReason, err)
		}
	}
	live := c.State(session)
	if strings.Contains(out.String(), schema.UpdateUserMessageChunk) {
		t.Error("a live prompt was echoed")
	}
	p.stop(c)

	c, out = p.launch()
	servers := []schema.McpServer{{McpServerStdio: &schema.McpServerStdio{Name: "one", Command: "/bin/true"}}, {McpServerStdio: &schema.McpServerStdio{Name: "two", Command: "/bin/true"}}}
	if err := c.Load(p.ctx(), session, p.dir, servers...); err != nil {
		t.Fatal(err)
	}
	isNotice := func(it *client.Item) bool { return it.Code == commands.NoticeMCP } // of the servers, which comes behind the answer
	if err := c.Until(p.ctx(), session, func(e *client.Editor) bool { return slices.ContainsFunc(e.Items, isNotice) }); err != nil {
		t.Fatal(err)
	}
	text, loaded := out.String(), ""
	c.Look(session, func(e *client.Editor) {
		without := *e
		without.Items = slices.DeleteFunc(slices.Clone(e.Items), isNotice)
		loaded = without.String()
	})
	if loaded != live {
		t.Errorf("a load draws\n%s\nand live was drawn\n%s", loaded, live)
	}
	for _, words := range []string{"Change it.", "Run it.", "I look and change.", "Changed.", "I run.", "It failed."} {
		if n := strings.Count(text, `"text":"`+words+`"`); n != 1 {
			t.Errorf("%q is drawn %d times", words, n)
		}
	}
	_, after, found := strings.Cut(text, `"result":{"configOptions"`)
	if !found {
		_, after, found = strings.Cut(text, `"result":{"modes"`)
	}
	for _, kind := range []string{schema.UpdateUserMessageChunk, schema.UpdateAgentMessageChunk, `"tool_call"`, `"tool_call_update"`} {
		if !found || strings.Contains(after, kind) {
			t.Errorf("%s comes after the answer (found: %v):\n%s", kind, found, after)
		}
	}
	c.Look(session, func(e *client.Editor) {
		var status, titles []string
		for _, it := range e.Items {
			if it.Kind != client.Tool {
				continue
			}
			status, titles = append(status, string(it.Card.Status)), append(titles, it.Card.Title)
			for _, l := range it.Card.Locations {
				if !filepath.IsAbs(l.Path) {
					t.Errorf("%s is at %s", it.Card.Title, l.Path)
				}
			}
		}
		if s := strings.Join(status, " "); s != "completed completed failed" {
			t.Errorf("the cards are %s", s)
		}
		if len(titles) < 2 || !strings.Contains(titles[1], "a.txt") {
			t.Errorf("titles %q name no file", titles)
		}
	})
	p.stop(c)

	c, out = p.launch()
	if err := c.Call(p.ctx(), schema.MethodSessionResume, schema.ResumeSessionRequest{SessionID: session, Cwd: p.dir}, nil); err != nil {
		t.Fatal(err)
	}
	p.stop(c)
	for _, kind := range []string{"message_chunk", `"tool_call`} {
		if strings.Contains(out.String(), kind) {
			t.Errorf("a resume sends %s", kind)
		}
	}
}

// Case S24: a long text works, an image that is too large is refused in words, a result of a MiB is drawn in bounded lines, and a line
// without an end is refused in bounded memory.
//
// spec: D282 D151
func TestCaseS24BigLines(t *testing.T) {
	p := newPlace(t, `
responses:
  - text: Long.
    calls: [{ tool: shell, args: { command: "head -c 1048576 /dev/zero | tr '\\0' x; head -c 1048576 /dev/zero | tr '\\0' '\\n'" } }]
  - text: Done.
repeat: true
`)
	c, out := p.launch()
	session, err := c.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Prompt(session, strings.Repeat("long ", 300<<10/5)).Wait(p.ctx()); err != nil || r.StopReason != schema.StopEndTurn {
		t.Errorf("300 KiB: %v %v", r.StopReason, err)
	}
	image := schema.ContentBlock{Kind: schema.BlockImage, ImageContent: &schema.ImageContent{MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(make([]byte, 6<<20))}}
	var e *wire.Error
	if _, err := c.PromptBlocks(session, schema.Text("See."), image).Wait(p.ctx()); !errors.As(err, &e) || e.Code != wire.CodeInvalidParams || !strings.Contains(e.Message, "5242880") {
		t.Errorf("an image of 6 MiB: %v", err)
	}
	p.stop(c)
	longest := 0
	for line := range strings.Lines(out.String()) {
		longest = max(longest, len(line))
	}
	if longest > 512<<10 {
		t.Errorf("a line of %d bytes was written", longest)
	}
	if n := len(p.commits(session)); n == 0 {
		t.Error("nothing was saved")
	}

	cmd := p.command("acp")
	in, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.ctx(), time.Minute)
	defer cancel()
	go func() { <-ctx.Done(); _ = cmd.Process.Kill() }()
	chunk := bytes.Repeat([]byte{'x'}, 1<<20)
	for range 200 {
		if _, err := in.Write(chunk); err != nil {
			t.Logf("the agent has ended its input: %v", err)
			break
		}
	}
	peak := peakMiB(cmd)
	_ = in.Close()
	answer, _ := bufio.NewReader(stdout).ReadString('\n')
	var m struct {
		ID    *int
		Error *wire.Error
	}
	answered := json.Unmarshal([]byte(answer), &m) == nil && m.Error != nil
	if err := cmd.Wait(); err != nil || strings.Contains(stderr.String(), "goroutine ") {
		t.Errorf("the agent ended with %v: %s", err, stderr.String())
	}
	if !answered && stderr.Len() == 0 {
		t.Errorf("a line of 200 MiB was answered with %q, and nothing was said of it", answer)
	}
	if peak > 256 {
		t.Errorf("it took %d MiB", peak)
	}
}

// peakMiB is the most memory that a process has had; 0 where the system does not tell.
func peakMiB(cmd *exec.Cmd) (mib int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kib int
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				return kib >> 10
			}
		}
	}
	return 0
}
