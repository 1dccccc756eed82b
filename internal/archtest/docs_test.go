package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func root(t *testing.T, path ...string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

func text(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(root(t, path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var codeBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestReadmeOpensWithTheTwoCommands: they come before anything else, and nothing in the page needs just.
//
// spec: D006
func TestReadmeOpensWithTheTwoCommands(t *testing.T) {
	page := text(t, "README.md")
	blocks := codeBlock.FindAllStringSubmatch(page, -1)
	if len(blocks) < 2 || strings.TrimSpace(blocks[0][1]) != "go run ./cmd/zuno demo" || strings.TrimSpace(blocks[1][1]) != "./scripts/test" {
		t.Errorf("the first two blocks are %q", blocks[:min(2, len(blocks))])
	}
	for _, b := range blocks {
		for line := range strings.Lines(b[1]) {
			if strings.HasPrefix(line, "just ") {
				t.Errorf("the README needs just: %s", line)
			}
		}
	}
}

// TestCIRunsTheTestCommand: and nothing else.
//
// spec: D007
func TestCIRunsTheTestCommand(t *testing.T) {
	var commands []string
	for line := range strings.Lines(text(t, ".ci", "run")) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "set ") && !strings.HasPrefix(line, "cd ") {
			commands = append(commands, line)
		}
	}
	if len(commands) != 1 || strings.TrimPrefix(commands[0], "exec ") != "./scripts/test" {
		t.Errorf(".ci/run does %q", commands)
	}
	if out, err := exec.Command("git", "-C", root(t), "check-ignore", ".tools").CombinedOutput(); err != nil {
		t.Errorf("what ./scripts/test installs is not ignored: %v %s", err, out)
	}
}

// TestToolsNeedNoNetworkTwice: once they are installed, the tools step works in a namespace that has no network at all.
//
// spec: D008
func TestToolsNeedNoNetworkTwice(t *testing.T) {
	if _, err := os.Stat(root(t, ".tools", "npm", ".stamp")); err != nil {
		t.Skip("the tools are not installed yet: ./scripts/test tools")
	}
	if err := exec.Command("unshare", "-rn", "true").Run(); err != nil {
		t.Skip("no network namespace to be had here: ", err)
	}
	cmd := exec.Command("unshare", "-rn", root(t, "scripts", "test"), "tools")
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDecisionsAreCarriedOn: the page begins from the list that was agreed on, and says what is not available.
//
// spec: D173
func TestDecisionsAreCarriedOn(t *testing.T) {
	page := text(t, "docs", "decisions.md")
	for _, n := range []string{"1.", "19.", "44.", "57.", "75."} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(n) + ` `).MatchString(page) {
			t.Errorf("decision %s is missing", n)
		}
	}
	for _, surface := range []string{"terminal", "HTTP", "Windows", "PowerShell"} {
		if !strings.Contains(page, surface) {
			t.Errorf("nothing is said of %s", surface)
		}
	}
	if !strings.Contains(page, "unavailable") {
		t.Error("no surface is said to be unavailable")
	}
}

// TestScriptsTellTheirPurpose: a golden script opens with what it protects, and names the requirements that it shows.
//
// spec: D174
func TestScriptsTellTheirPurpose(t *testing.T) {
	scripts, err := filepath.Glob(root(t, "testscripts", "*.txtar"))
	if err != nil || len(scripts) < 20 {
		t.Fatal(len(scripts), err)
	}
	for _, file := range scripts {
		lines := strings.SplitN(text(t, "testscripts", filepath.Base(file)), "\n", 40)
		if !strings.HasPrefix(lines[0], "# Protects ") {
			t.Errorf("%s opens with %q", filepath.Base(file), lines[0])
		}
		spec := false
		for _, l := range lines {
			if !strings.HasPrefix(l, "#") {
				break
			}
			spec = spec || strings.HasPrefix(l, "# spec: ")
		}
		if !spec {
			t.Errorf("%s names no requirement in its opening comment", filepath.Base(file))
		}
	}
}
