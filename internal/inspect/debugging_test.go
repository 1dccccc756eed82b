package inspect

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var updatePage = flag.Bool("update", false, "write anew what commands print: docs/debugging.md, testdata/gates")

// block is a command of the page and what it prints there.
type block struct{ command, output string }

const fence = "```"

// blocks gives the commands of a page in their order, and the page with other outputs in their places.
func pageBlocks(t *testing.T, page string, outputs []string) (found []block, rewritten string) {
	t.Helper()
	var b strings.Builder
	var in *block
	for l := range strings.Lines(page) {
		switch {
		case in == nil:
			b.WriteString(l)
			if l == fence+"console\n" {
				in = &block{}
			}
		case l == fence+"\n":
			if len(found) < len(outputs) {
				b.WriteString(outputs[len(found)])
			}
			b.WriteString(l)
			found, in = append(found, *in), nil
		case in.command == "":
			command, ok := strings.CutPrefix(l, "$ ")
			if !ok {
				t.Fatalf("a block begins with %q instead of a command", l)
			}
			in.command = strings.TrimSuffix(command, "\n")
			b.WriteString(l)
		default:
			in.output += l
		}
	}
	return found, b.String()
}

// The commands of the page are those that testscripts/debugging.txtar runs, in the same order, and what the page prints is what
// that script holds them to.
//
// spec: D213
func TestPageOnDebuggingIsRun(t *testing.T) {
	name := filepath.Join("..", "..", "docs", "debugging.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	a, err := txtar.ParseFile(filepath.Join("..", "..", "testscripts", "debugging.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	_, script, ok := strings.Cut(string(a.Comment), "# The commands of the page.\n")
	if !ok {
		t.Fatal("the script does not say where the commands of the page begin")
	}
	var want []block
	var outputs []string
	lines := strings.Split(strings.TrimSpace(script), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		command, isExec := strings.CutPrefix(lines[i], "exec ")
		if compared := fmt.Sprintf("cmp stdout $WORK/page/%d", i/2+1); !isExec || lines[i+1] != compared {
			t.Fatalf("%q, %q: expected a command and %q", lines[i], lines[i+1], compared)
		}
		out := files[fmt.Sprintf("page/%d", i/2+1)]
		want, outputs = append(want, block{command, out}), append(outputs, out)
	}
	got, rewritten := pageBlocks(t, string(page), outputs)
	if *updatePage {
		if err := os.WriteFile(name, []byte(rewritten), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("the page has %d commands, the script %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("the page says\n$ %s\n%s\nthe script\n$ %s\n%s", got[i].command, got[i].output, want[i].command, want[i].output)
		}
	}
}
