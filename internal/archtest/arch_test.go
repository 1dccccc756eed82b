package archtest

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// tree is the module's own source.
var tree = os.DirFS("../..")

func check(t *testing.T, found []finding) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}

// spec: D027 D028 D029
func TestImportsGoOneWay(t *testing.T) {
	all := mustLoad(t, tree)
	if len(all) < 50 {
		t.Fatalf("only %d sources were found", len(all))
	}
	check(t, direction(all))
}

// spec: D028
func TestJournalImportsNothingOfOursButTheReader(t *testing.T) {
	for _, s := range mustLoad(t, tree) {
		if s.dir != "journal" {
			continue
		}
		for _, p := range s.importsOf() {
			if strings.HasPrefix(p, module+"/") && p != module+"/internal/mp" {
				t.Errorf("%s imports %s", s.name, p)
			}
		}
	}
}

// spec: D029
func TestPromptKnowsNoTool(t *testing.T) {
	for _, s := range mustLoad(t, tree) {
		for _, p := range s.importsOf() {
			if s.dir == "internal/prompt" && (p == module+"/tools" || strings.HasPrefix(p, module+"/tools/")) {
				t.Errorf("%s imports %s", s.name, p)
			}
		}
	}
}

// spec: D026
func TestPurePackagesReachNothing(t *testing.T) {
	all := mustLoad(t, tree)
	seen := map[string]bool{}
	for _, s := range all {
		seen[s.dir] = true
	}
	for _, dir := range pure {
		if !seen[dir] {
			t.Errorf("pure package %s does not exist", dir)
		}
	}
	check(t, purity(all))
}

// spec: D026 D081 D106
func TestTimeAndRandomnessEnterAtCmd(t *testing.T) {
	for _, e := range exceptions {
		if e.reason == "" {
			t.Errorf("the exception of %s gives no reason", e.file)
		}
	}
	check(t, sources(mustLoad(t, tree), exceptions))
}

func TestEveryPackageHasAComment(t *testing.T) { check(t, comments(mustLoad(t, tree))) }

func TestNothingIsLeftUnfinished(t *testing.T) { check(t, leftovers(mustLoad(t, tree))) }

// spec: D172
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := fs.ReadFile(tree, "docs/architecture.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("docs/architecture.md does not exist yet")
	}
	if err != nil {
		t.Fatal(err)
	}
	check(t, named(mustLoad(t, tree), string(text)))
}

// Each rule is shown to fail on a violation that is seeded in a small tree, and to pass on the same tree without it.
//
// spec: D026 D027
func TestRulesFindSeededViolations(t *testing.T) {
	byRule := map[string]func([]*source) []finding{
		"direction": direction, "purity": purity, "comments": comments, "leftovers": leftovers,
		"sources": func(all []*source) []finding { return sources(all, nil) },
		"named":   func(all []*source) []finding { return named(all, "internal/engine and tools/shell, but not the other") },
	}
	for _, c := range []struct {
		name, rule, file, text string
		want                   bool
	}{
		{"journal imports the catalogue", "direction", "journal/a.go", `import _ "zuno/journal/event"`, true},
		{"journal imports the reader", "direction", "journal/a.go", `import _ "zuno/internal/mp"`, false},
		{"lifecycle imports projections", "direction", "projections/lifecycle/a.go", `import _ "zuno/projections"`, true},
		{"projections imports commands", "direction", "projections/a.go", `import _ "zuno/commands"`, true},
		{"commands imports tools", "direction", "commands/a.go", `import _ "zuno/tools"`, true},
		{"commands imports projections", "direction", "commands/a.go", `import _ "zuno/projections/lifecycle"`, false},
		{"tools imports the engine", "direction", "tools/shell/a.go", `import _ "zuno/internal/engine"`, true},
		{"tools imports its family", "direction", "tools/shell/a.go", `import _ "zuno/tools"`, false},
		{"the engine imports acp", "direction", "internal/engine/a.go", `import _ "zuno/acp/schema"`, true},
		{"the engine imports an adapter", "direction", "internal/engine/a.go", `import _ "zuno/internal/headless"`, true},
		{"acp imports cmd", "direction", "acp/a.go", `import _ "zuno/cmd/zuno"`, true},
		{"the model imports projections", "direction", "internal/model/scripted/a.go", `import _ "zuno/projections"`, true},
		{"the model imports events", "direction", "internal/model/a.go", `import _ "zuno/journal/event"`, false},
		{"configuration imports lifecycle", "direction", "internal/config/a.go", `import _ "zuno/projections/lifecycle"`, true},
		{"prompt imports tools", "direction", "internal/prompt/a.go", `import _ "zuno/tools"`, true},

		{"os in commands", "purity", "commands/a.go", `import _ "os"`, true},
		{"os/exec in a fold", "purity", "projections/a.go", `import _ "os/exec"`, true},
		{"net in prompt", "purity", "internal/prompt/a.go", `import _ "net/http"`, true},
		{"randomness in permission", "purity", "internal/permission/a.go", `import _ "math/rand/v2"`, true},
		{"crypto/rand in lifecycle", "purity", "projections/lifecycle/a.go", `import _ "crypto/rand"`, true},
		{"time.Now in a decision", "purity", "commands/a.go", "import \"time\"\nvar x = time.Now()", true},
		{"time.Since under another name", "purity", "commands/a.go", "import t \"time\"\nvar x = t.Since(t.Time{})", true},
		{"time.After in a fold", "purity", "projections/a.go", "import \"time\"\nvar x = time.After(1)", true},
		{"a duration in a decision", "purity", "commands/a.go", "import \"time\"\nvar x time.Duration", false},
		{"a goroutine in a fold", "purity", "projections/a.go", "func f() { go f() }", true},
		{"os elsewhere", "purity", "tools/a.go", `import _ "os"`, false},

		{"time.Now in the engine", "sources", "internal/engine/a.go", "import \"time\"\nvar x = time.Now()", true},
		{"a timer in acp", "sources", "acp/a.go", "import \"time\"\nvar x = time.NewTimer(1)", true},
		{"randomness in tools", "sources", "tools/a.go", `import _ "crypto/rand"`, true},
		{"time.Now in cmd", "sources", "cmd/zuno/a.go", "import \"time\"\nvar x = time.Now()", false},

		{"no package comment", "comments", "tools/a.go", "", true},
		{"a word of unfinished work", "leftovers", "tools/a.go", "// TO" + "DO: write this.\nvar x = 1", true},
		{"an unfinished message", "leftovers", "tools/a.go", `var x = "not imple` + `mented"`, true},
		{"a word inside another", "leftovers", "tools/a.go", "// A stubborn peer.\nvar x = 1", false},

		{"an unnamed package", "named", "tools/a.go", "", true},
		{"a package named as part of another", "named", "tools/shell/sub/a.go", "", true},
		{"a named package", "named", "tools/shell/a.go", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{c.file: {Data: []byte("package a\n" + c.text + "\n")}}
			found := byRule[c.rule](mustLoad(t, root))
			if got := len(found) > 0; got != c.want {
				t.Errorf("found %v, want a finding: %v", found, c.want)
			}
		})
	}
}

// An exception that nothing needs any more is found as well.
func TestUnusedExceptionIsFound(t *testing.T) {
	all := mustLoad(t, fstest.MapFS{"tools/a.go": {Data: []byte("package a\nimport \"time\"\nvar x = time.Now()\n")}})
	if found := sources(all, []exception{{"tools/a.go", "time", "r"}}); len(found) != 0 {
		t.Error(found)
	}
	if found := sources(all, []exception{{"tools/a.go", "time", "r"}, {"tools/b.go", "time", "r"}}); len(found) != 1 {
		t.Error(found)
	}
}
