package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// spec: D148
func TestNamedRequirementsExist(t *testing.T) {
	root, err := moduleRoot("")
	if err != nil {
		t.Fatal(err)
	}
	report, table, err := compareTree(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range report.Problems {
		t.Error(problem)
	}
	if len(table.Rows) == 0 {
		t.Error("the table has no rows")
	}
}

// copyTree gives a test its own copy of the fixture to spoil.
func copyTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/tree")); err != nil {
		t.Fatal(err)
	}
	return root
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// spec: D148
func TestNamingsAreFoundInCommentsOnly(t *testing.T) {
	root := copyTree(t)
	// What is installed is not ours. It cannot stand in the fixture, which git would ignore.
	if err := os.MkdirAll(filepath.Join(root, "node_modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, root, "node_modules/installed_test.go", "package x\n\n// spec: X994\n")
	namings, problems, err := Scan(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	want := []Naming{
		{"X002", "scripts/story.txtar", 2},
		{"X003", "scripts/story.txtar", 2},
		{"X004", "scripts/story.txtar", 2},
		{"X001", "test/acp/a.test.mjs", 1},
		{"X001", "thing_test.go", 3},
	}
	if !slices.Equal(namings, want) {
		t.Errorf("named: %v\nwant:  %v", namings, want)
	}
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
}

// spec: D148
func TestWrongNamesAreProblems(t *testing.T) {
	cases := []struct{ name, file, text, want string }{
		{"unknown id in Go", "late_test.go", "package x\n\n// spec: X001 X042\n", "late_test.go:3: X042 is not in requirements.tsv"},
		{"unknown id in a script", "late.txtar", "# spec: X042\n", "late.txtar:1: X042 is not in requirements.tsv"},
		{"unknown id in Node", "test/late.mjs", "// spec: X042\n", "test/late.mjs:1: X042 is not in requirements.tsv"},
		{"range past the table", "late.txtar", "# spec: X004-X005\n", "late.txtar:1: X005 is not in requirements.tsv"},
		{"mistyped id", "late.txtar", "# spec: X01\n", `late.txtar:1: "X01" is not an id`},
		{"range of two letters", "late.txtar", "# spec: X001-Y002\n", `late.txtar:1: "X001-Y002" is not an id`},
		{"range backwards", "late.txtar", "# spec: X003-X001\n", `late.txtar:1: "X003-X001" is not an id`},
		{"nothing named", "late.txtar", "# spec:\n", `late.txtar:1: "spec:" without an id`},
		{
			"duplicate row", "docs/requirements.tsv",
			"id\tsection\tpart\trequirement\tcheck\nX001\ta\t1\tr\tc\nX001\ta\t1\tr\tc\nX002\ta\t1\tr\tc\nX003\ta\t1\tr\tc\nX004\ta\t1\tr\tc\n",
			"docs/requirements.tsv:3: X001 stands twice, first on line 2",
		},
		{
			"short row", "docs/requirements.tsv",
			"id\tsection\tpart\trequirement\tcheck\nX001\ta\t1\tr\nX002\ta\t1\tr\tc\n",
			"docs/requirements.tsv:2: 4 columns instead of 5",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := copyTree(t)
			write(t, root, c.file, c.text)
			var stdout, stderr bytes.Buffer
			if code := run([]string{"-root", root}, &stdout, &stderr); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			if !strings.Contains(stderr.String(), c.want) {
				t.Errorf("stderr lacks %q:\n%s", c.want, stderr.String())
			}
		})
	}
}

// spec: D149
func TestReportListsWhatNoTestNames(t *testing.T) {
	root := copyTree(t)
	print := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(append([]string{"-root", root}, args...), &stdout, &stderr); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
		return stdout.String()
	}
	all := "part 1: 3 of 3 named by tests\npart 2: 1 of 1 named by tests\n"
	if got := print(); got != all {
		t.Errorf("with all named:\n%s", got)
	}

	write(t, root, "scripts/story.txtar", "# spec: X002\n")
	less := "part 1: 2 of 3 named by tests\n  two: 0 of 1\n    X003  Third thing.\n" +
		"part 2: 0 of 1 named by tests\n  two: 0 of 1\n    X004  Fourth thing.\n"
	if got := print(); got != less {
		t.Errorf("with a name removed:\n%s", got)
	}
	if got := print("--part", "2"); strings.Contains(got, "part 1") || !strings.Contains(got, "X004") {
		t.Errorf("part 2 alone:\n%s", got)
	}
	if got := print("--counts"); got != "part 1: 2 of 3 named by tests\npart 2: 0 of 1 named by tests\n" {
		t.Errorf("counts:\n%s", got)
	}

	var report Report
	if err := json.Unmarshal([]byte(print("--json", "--part", "1")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Parts) != 1 || report.Parts[0].Total != 3 || report.Parts[0].Named != 2 {
		t.Fatalf("JSON: %+v", report)
	}
	first := report.Parts[0].Sections[0].Named[0]
	if first.ID != "X001" || !slices.Equal(first.By, []string{"test/acp/a.test.mjs:1", "thing_test.go:3"}) {
		t.Errorf("JSON names X001 by %v", first.By)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"--part", "77"}, {"--nope"}, {"-root", "does-not-exist"}} {
		var stdout, stderr bytes.Buffer
		if code := run(append([]string{"-root", "testdata/tree"}, args...), &stdout, &stderr); code != 2 {
			t.Errorf("%v: exit code %d, want 2", args, code)
		}
		if stderr.Len() == 0 {
			t.Errorf("%v: nothing on stderr", args)
		}
	}
}
