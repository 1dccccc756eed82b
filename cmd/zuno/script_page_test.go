package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// addresses are those of a page, each with the variable of the server that stands for it.
var addresses = [][2]string{
	{"http://127.0.0.1:8080/v1", "LOCAL_URL"}, {"https://api.openai.com/v1", "OPENAI_URL"}, {"https://api.anthropic.com/v1", "CLAUDE_URL"},
}

// differing is what differs from run to run in a command's output.
var differing = regexp.MustCompile(`\b[0-9a-f]{64}\b|\b(ses|turn|inp)_[0-9a-z]+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z|\bin \d+ ms\b`)

// cmdPage plays a page of the documents: a jsonc block is the configuration from there on, and a console block is a command with
// what it prints. With -update the page gets what was printed.
func cmdPage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page NAME")
	}
	name := filepath.Join("..", "..", "docs", args[0])
	page, err := os.ReadFile(name)
	ts.Check(err)
	var out, block strings.Builder
	kind, played := "", 0
	for line := range strings.Lines(string(page)) {
		if kind == "" {
			out.WriteString(line)
			if k, ok := strings.CutPrefix(line, "```"); ok {
				kind = strings.TrimSpace(k)
				block.Reset()
			}
			continue
		}
		if line != "```\n" {
			block.WriteString(line)
			continue
		}
		text := block.String()
		switch kind {
		case "jsonc":
			pageConfig(ts, text)
		case "console":
			played++
			text = pageCommand(ts, text)
		}
		out.WriteString(text + line)
		kind = ""
	}
	if played == 0 {
		ts.Fatalf("%s has no commands", name)
	}
	if *update {
		ts.Check(os.WriteFile(name, []byte(out.String()), 0o644))
	}
}

// pageConfig takes a configuration. A provider without an address gets that of its server in a layer above.
func pageConfig(ts *testscript.TestScript, text string) {
	var above []string
	for _, id := range []string{"openai", "claude"} {
		if strings.Contains(text, `"`+id+`": {`) {
			above = append(above, `"`+id+`":{"options":{"baseURL":"`+ts.Getenv(strings.ToUpper(id)+"_URL")+`"}}`)
		}
	}
	ts.Setenv("ZUNO_CONFIG_CONTENT", `{"provider":{`+strings.Join(above, ",")+`}}`)
	for _, a := range addresses {
		text = strings.ReplaceAll(text, a[0], ts.Getenv(a[1]))
	}
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "config/zuno/zuno.json"), []byte(text), 0o600))
}

// pageCommand runs a block's command, compares, and gives the block as it should be.
func pageCommand(ts *testscript.TestScript, block string) string {
	first, want, _ := strings.Cut(block, "\n")
	command, ok := strings.CutPrefix(first, "$ ")
	if !ok {
		ts.Fatalf("a block begins with %q instead of a command", first)
	}
	_ = ts.Exec("bash", "-c", command) // a command that fails prints why, and that is compared
	got := ts.ReadFile("stdout")
	for _, a := range addresses {
		got = strings.ReplaceAll(got, ts.Getenv(a[1]), a[0])
	}
	if differing.ReplaceAllString(got, "…") == differing.ReplaceAllString(want, "…") {
		return block
	}
	if !*update {
		ts.Fatalf("the page says\n$ %s\n%s\nand it prints\n%s", command, want, got)
	}
	return first + "\n" + got
}
