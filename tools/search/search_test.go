package search

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"

	"golang.org/x/sys/unix"

	"zuno/journal/event"
	"zuno/tools"
)

// realRG is the folder of the rg that the tests were set up with, or one that is on PATH.
func realRG(t testing.TB) string {
	t.Helper()
	if dir, err := filepath.Abs("../../.tools/bin"); err == nil {
		if _, err := os.Stat(filepath.Join(dir, "rg")); err == nil {
			return dir
		}
	}
	path, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("rg is not here: ./scripts/test tools installs it")
	}
	return filepath.Dir(path)
}

// session calls the tools as a session would.
type session struct {
	t        testing.TB
	registry *tools.Registry
	where    tools.Where
	environ  []string
}

func newSession(t testing.TB) *session {
	s := bare(t)
	s.usePath(realRG(t))
	return s
}

// bare has no rg.
func bare(t testing.TB) *session {
	s := &session{t: t, registry: tools.NewRegistry(), where: tools.Where{Cwd: t.TempDir()}}
	Register(s.registry)
	return s
}

// usePath sets PATH for the process and for what commands inherit.
func (s *session) usePath(dir string) {
	path := dir + ":" + os.Getenv("PATH")
	if tb, ok := s.t.(interface{ Setenv(string, string) }); ok {
		tb.Setenv("PATH", path)
		tb.Setenv("XDG_CONFIG_HOME", s.t.TempDir())
	}
	s.environ = os.Environ()
}

// repository makes the folder one of git, as far as rg looks.
func (s *session) repository() { must(s.t, os.MkdirAll(s.path(".git"), 0o755)) }

func (s *session) path(name string) string { return filepath.Join(s.where.Cwd, name) }

func (s *session) file(name, content string) string {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	must(s.t, os.WriteFile(s.path(name), []byte(content), 0o644))
	return s.path(name)
}

type object = map[string]any

func (s *session) resolve(tool string, args object) (tools.Prepared, *tools.Blocked) {
	encoded, err := json.Marshal(args)
	must(s.t, err)
	return s.registry.Resolve(s.where, tool, string(encoded))
}

func (s *session) callWith(ctx context.Context, tool string, args object) tools.Result {
	s.t.Helper()
	p, blocked := s.resolve(tool, args)
	if blocked != nil {
		s.t.Fatalf("%s %v: %s", tool, args, blocked.Message)
	}
	return p.Run(ctx, tools.Env{Cwd: s.where.Cwd, Environ: s.environ})
}

func (s *session) call(tool string, args object) tools.Result {
	s.t.Helper()
	return s.callWith(context.Background(), tool, args)
}

func (s *session) glob(pattern string, path ...string) tools.Result {
	s.t.Helper()
	args := object{"pattern": pattern}
	if len(path) > 0 {
		args["path"] = path[0]
	}
	return s.call("glob", args)
}

func (s *session) grep(pattern string, more ...string) tools.Result {
	s.t.Helper()
	args := object{"pattern": pattern}
	for i, value := range more {
		args[[]string{"path", "include"}[i]] = value
	}
	return s.call("grep", args)
}

// blocked is the message of a call that was refused for its arguments before it began.
func (s *session) blocked(tool string, args object) string {
	s.t.Helper()
	_, blocked := s.resolve(tool, args)
	if blocked == nil {
		s.t.Fatalf("%s %v was not blocked", tool, args)
	}
	if blocked.Kind != tools.InvalidArguments {
		s.t.Errorf("%s %v is blocked as %s", tool, args, blocked.Kind)
	}
	return blocked.Message
}

func (s *session) found(r tools.Result) (o outcome) {
	s.t.Helper()
	if err := json.Unmarshal(r.Raw, &o); err != nil {
		s.t.Fatalf("%s: raw %q: %v", r.Text, r.Raw, err)
	}
	return o
}

// names are the files of a result below the session's folder, in its order.
func (s *session) names(r tools.Result) []string {
	s.t.Helper()
	names := []string{}
	for _, f := range s.found(r).Files {
		name, ok := strings.CutPrefix(f.Path, s.where.Cwd+"/")
		if !ok {
			s.t.Errorf("%q is not below the folder", f.Path)
		}
		names = append(names, name)
	}
	return names
}

func (s *session) finds(r tools.Result, names ...string) {
	s.t.Helper()
	is(s.t, r, tools.OK, "")
	if got := s.names(r); !slices.Equal(got, names) && len(got)+len(names) > 0 {
		s.t.Errorf("found %q, want %q\n%s", got, names, r.Text)
	}
}

func is(t testing.TB, r tools.Result, outcome tools.Outcome, class string, says ...string) {
	t.Helper()
	if r.Outcome != outcome || r.Class != class {
		t.Errorf("got %s %s, want %s %s: %.300s", r.Outcome, r.Class, outcome, class, r.Text)
	}
	has(t, r.Text, says...)
}

func has(t testing.TB, text string, says ...string) {
	t.Helper()
	for _, part := range says {
		if !strings.Contains(text, part) {
			t.Errorf("%.400q does not say %q", text, part)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// spec: T004 T005
func TestDeclarations(t *testing.T) {
	s := newSession(t)
	want := event.Declaration{Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe}
	for _, entry := range s.registry.Catalogue() {
		if entry.Declaration != want {
			t.Errorf("%s is %v", entry.Name, entry.Declaration)
		}
		has(t, entry.Description, rule, "100 results", ".git")
	}
	s.file("src/a.go", "")
	p, _ := s.resolve("glob", object{"pattern": "*.go", "path": "src"})
	if p.Kind != "search" || p.Title != "*.go in src" || p.Paths[0] != s.path("src") ||
		p.Accesses[0] != (tools.Access{Kind: event.AccessRead, Place: event.PlaceInside, Name: s.path("src")}) {
		t.Errorf("%+v", p)
	}
	p, _ = s.resolve("grep", object{"pattern": "x", "include": "*.go"})
	if p.Title != "x (*.go)" || p.Paths[0] != s.where.Cwd {
		t.Errorf("%+v", p)
	}
	if p, _ = s.resolve("grep", object{"pattern": "x", "path": "/etc"}); p.Accesses[0].Place != event.PlaceOutside {
		t.Errorf("%+v", p)
	}
	if p, _ = s.resolve("grep", object{"pattern": "x", "path": ".env"}); p.Accesses[0].Place != event.PlaceSecret {
		t.Errorf("%+v", p)
	}
}

// spec: T004
func TestGlobPatterns(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"a.go", "b.ts", "src/a.go", "src/deep/c.go", "src/deep/d.tsx", "src/#x", "a:b.txt", "-x.go", " lead", "other/c.go"} {
		s.file(name, "")
	}
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"*.go", []string{"-x.go", "a.go", "other/c.go", "src/a.go", "src/deep/c.go"}},
		{"**/*.go", []string{"-x.go", "a.go", "other/c.go", "src/a.go", "src/deep/c.go"}},
		{"/*.go", []string{"-x.go", "a.go"}},
		{"./*.go", []string{"-x.go", "a.go"}},
		{"src/*.go", []string{"src/a.go"}},
		{"src/**/*.go", []string{"src/a.go", "src/deep/c.go"}},
		{"src/**/*.{go,tsx}", []string{"src/a.go", "src/deep/c.go", "src/deep/d.tsx"}},
		{"{src,other}/**/c.*", []string{"other/c.go", "src/deep/c.go"}},
		{"**/deep/*", []string{"src/deep/c.go", "src/deep/d.tsx"}},
		{"[ab].*", []string{"a.go", "b.ts", "src/a.go"}},
		{"a:b.*", []string{"a:b.txt"}},
		{"#x", []string{"src/#x"}},
		{"-x.go", []string{"-x.go"}},
		{"?x.go", []string{"-x.go"}},
		{" lead", []string{" lead"}},
		{"!*.go", []string{" lead", "a:b.txt", "b.ts", "src/#x", "src/deep/d.tsx"}},
		{"*.none", nil},
		{s.path("src/*.go"), []string{"src/a.go"}},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			s.finds(s.glob(c.pattern), c.want...)
			s.finds(s.grep("^", "", c.pattern)) // the files are empty
		})
	}
	s.finds(s.glob("*.go", "src"), "src/a.go", "src/deep/c.go")
	is(t, s.glob("*.none"), tools.OK, "", nothing)
	if text := s.glob("*.go").Text; !strings.HasPrefix(text, s.path("-x.go")+"\n"+s.path("a.go")+"\n") {
		t.Errorf("%q", text)
	}
}

// Both tools see the same files, however the pattern is written: a glob of rg alone would bring ignored files back.
//
// spec: D231 D244
func TestOneRuleForHiddenAndIgnored(t *testing.T) {
	s := newSession(t)
	s.repository()
	s.file(".gitignore", "*.log\nnode_modules/\n/dist\n")
	for _, name := range []string{
		".github/workflows/ci.yml", ".env.sample", ".git/config", ".git/hooks/ci.yml", "a.yml", "x.log", "sub/y.log",
		"node_modules/m/ci.yml", "sub/node_modules/n.yml", "dist/ci.yml", "sub/dist/ci.yml", "sub/.hidden",
	} {
		s.file(name, "on: push\n")
	}
	seen := []string{".env.sample", ".github/workflows/ci.yml", "a.yml", "sub/.hidden", "sub/dist/ci.yml"}
	all := append([]string{seen[0], ".github/workflows/ci.yml", ".gitignore"}, seen[2:]...)
	for _, pattern := range []string{"*", "**", "**/*", "/**", "!*.none", "{*,**/*}"} {
		s.finds(s.glob(pattern), all...)
		s.finds(s.grep("on:", "", pattern), seen...)
	}
	s.finds(s.grep("on:"), seen...)
	s.finds(s.glob("**/*.yml"), ".github/workflows/ci.yml", "a.yml", "sub/dist/ci.yml")
	s.finds(s.glob(".github/workflows/*.yml"), ".github/workflows/ci.yml")
	s.finds(s.grep("on:", ".github"), ".github/workflows/ci.yml")
	for _, pattern := range []string{"*.log", "**/*.log", "sub/*.log", "node_modules/**", "**/node_modules/**/*.yml", ".git/**", "**/.git/*", "**/config"} {
		s.finds(s.glob(pattern))
		s.finds(s.grep("on:", "", pattern))
	}
	has(t, s.blocked("glob", object{"pattern": "*", "path": ".git/hooks"}), ".git", "never searched")
	has(t, s.blocked("grep", object{"pattern": "on", "path": ".git"}), ".git", "never searched")
}

// What reading an environment file by its name would ask for is not shown by a search of its folder.
func TestEnvironmentFilesAreNamedWithoutText(t *testing.T) {
	s := newSession(t)
	s.file("sub/.env", "A=1\nTOKEN=hunter2\n")
	r := s.grep("TOKEN")
	s.finds(r, "sub/.env")
	has(t, r.Text, "2: [not shown]", "read the file")
	if strings.Contains(r.Text, "hunter2") || s.found(r).Truncated {
		t.Error(r.Text)
	}
	is(t, s.grep("TOKEN", "sub/.env"), tools.OK, "", "2: TOKEN=hunter2")
}

// spec: T005
func TestGrepText(t *testing.T) {
	s := newSession(t)
	s.file("b.go", "package b\nfunc foo() {}\n\nfunc bar() { foo() }\n")
	s.file("a.txt", "say \"foo\\n\"\r\nfoo\\")
	r := s.grep("foo")
	want := s.path("a.txt") + "\n1: say \"foo\\n\"\n2: foo\\\n\n" + s.path("b.go") + "\n2: func foo() {}\n4: func bar() { foo() }"
	if r.Text != want {
		t.Errorf("got  %q\nwant %q", r.Text, want)
	}
	if f := s.found(r); f.Truncated || !slices.Equal(f.Files[1].Lines, []int{2, 4}) {
		t.Errorf("%s", r.Raw)
	}
	s.finds(s.grep("foo", "", "*.go"), "b.go")
	s.finds(s.grep("foo", "b.go"), "b.go")
	s.finds(s.grep("foo", "b.go", "*.txt"), "b.go")
	s.finds(s.grep("-foo|--bar"))
	s.finds(s.grep("--help"))
	is(t, s.grep("nowhere"), tools.OK, "", nothing)
	is(t, s.grep("nowhere", "b.go"), tools.OK, "", nothing)
	is(t, s.grep("(?i)FOO", "b.go"), tools.OK, "", "2: func foo() {}")
}

// spec: T204 T205 T206 D244
func TestRefusedPatterns(t *testing.T) {
	s := newSession(t)
	s.file("a.go", "func foo(\n")
	for _, c := range []struct {
		name string
		tool string
		args object
		says []string
		not  string
	}{
		{"regex", "grep", object{"pattern": "foo("}, []string{`pattern "foo("`, "(?:foo()", "unclosed group", "regular expression"}, "include"},
		{"include", "grep", object{"pattern": "foo", "include": "a{"}, []string{`include "a{"`, "'a{'", "glob"}, "regular expression"},
		{"include with folder", "grep", object{"pattern": "foo", "include": "src/a{"}, []string{`include "src/a{"`, "'src/a{'"}, "regular expression"},
		{"include after the pattern's words", "grep", object{"pattern": "rg: error parsing glob 'x'("}, []string{"regular expression", "unclosed group"}, "include"},
		{"size", "grep", object{"pattern": `\w{1000}{1000}`}, []string{`\w{1000}{1000}`, "size limit"}, "include"},
		{"line feed", "grep", object{"pattern": "a\nb"}, []string{`"\n"`}, "include"},
		{"look-around", "grep", object{"pattern": "(?=x)"}, []string{"look-around"}, "include"},
		{"glob", "glob", object{"pattern": "a{"}, []string{`pattern "a{"`, "'a{'"}, "include"},
		{"glob range", "glob", object{"pattern": "src/[z-a]"}, []string{"'src/[z-a]'", "invalid range"}, "include"},
		{"empty regex", "grep", object{"pattern": ""}, []string{"empty"}, "include"},
		{"empty glob", "glob", object{"pattern": " "}, []string{"empty"}, "include"},
		{"nul", "grep", object{"pattern": "a\x00b"}, []string{"NUL"}, "include"},
		{"nul in include", "grep", object{"pattern": "a", "include": "\x00"}, []string{"include", "NUL"}, "pattern\""},
		{"nul in path", "grep", object{"pattern": "a", "path": "\x00"}, []string{"path", "NUL"}, "include"},
		{"long", "grep", object{"pattern": strings.Repeat("(a|b)", 10_000)}, []string{"50000 bytes"}, "include"},
		{"above", "glob", object{"pattern": "../*.go"}, []string{"..", "as path"}, "include"},
		{"file", "glob", object{"pattern": "*", "path": "a.go"}, []string{"no folder"}, "include"},
	} {
		t.Run(c.name, func(t *testing.T) {
			message := s.blocked(c.tool, c.args)
			has(t, message, append(c.says, "nothing was")...)
			if strings.Contains(message, c.not) {
				t.Errorf("%q speaks of %q", message, c.not)
			}
		})
	}
	for _, pattern := range []string{"foo", `func foo\(`, `a\.b`, "{}"} {
		if _, blocked := s.resolve("grep", object{"pattern": pattern}); blocked != nil && pattern != "{}" {
			t.Errorf("%s: %s", pattern, blocked.Message)
		}
	}
	is(t, s.grep("zzz"), tools.OK, "", nothing)
}

// Should rg refuse only when the call runs, it is still no empty result.
//
// spec: T204
func TestRefusedWhileRunning(t *testing.T) {
	s := newSession(t)
	good := s.environ
	s.environ = nil
	t.Setenv("PATH", t.TempDir()) // the check finds no rg
	p, blocked := s.resolve("grep", object{"pattern": "foo("})
	if blocked != nil {
		t.Fatal(blocked.Message)
	}
	r := p.Run(context.Background(), tools.Env{Environ: good})
	is(t, r, tools.Failed, tools.ClassInvalidArguments, "foo(", "unclosed group")
}

// What rg says in words that are not known is blamed on the argument without which it is content, and on none where it
// never is.
//
// spec: T204 T205
func TestBlameIsFoundOut(t *testing.T) {
	const says = `case "$1" in --version) echo "ripgrep 15.0.0"; exit;; esac
case "$*" in *%s*) echo "rg: it is Tuesday" >&2; exit 2;; esac; exit 1`
	s := newSession(t)
	s.file("a", "")
	s.fakeRG(fmt.Sprintf(says, "[q]"))
	has(t, s.blocked("grep", object{"pattern": "[q]", "include": "x/{a,b}"}), `pattern "[q]" is a regular expression that rg refuses: it is Tuesday`)
	s.fakeRG(fmt.Sprintf(says, "x/{"))
	has(t, s.blocked("grep", object{"pattern": "[q]", "include": "x/{a,b}"}), `include "x/{a,b}" is a glob that rg refuses: it is Tuesday`)
	has(t, s.blocked("glob", object{"pattern": "x/{a,b}"}), `pattern "x/{a,b}" is a glob that rg refuses: it is Tuesday`)
	s.fakeRG(fmt.Sprintf(says, ""))
	for _, r := range []tools.Result{s.grep("[q]"), s.grep("q"), s.grep("[q]", ".", "x/{a,b}"), s.glob("x/{a,b}"), s.glob("*")} {
		is(t, r, tools.Failed, tools.ClassIO, "rg failed (rg: it is Tuesday)")
	}
}

// A refusal recommends nothing that a call cannot do.
func TestRefusalsNameNoFlags(t *testing.T) {
	s := newSession(t)
	for _, pattern := range []string{`a\nb`, `\x00`, `(?=x)`, "a\x00"} {
		if text := s.blocked("grep", object{"pattern": pattern}); strings.Contains(text, "Consider") || strings.Contains(text, "--") || strings.Contains(text, "can say") {
			t.Error(text)
		}
	}
}

// fakeRG puts a script in the place of rg.
func (s *session) fakeRG(script string) {
	dir := s.t.TempDir()
	must(s.t, os.WriteFile(filepath.Join(dir, "rg"), []byte("#!/bin/sh\n"+script), 0o755))
	s.usePath(dir)
}

// spec: T198 T201
func TestRgIsWhatRuns(t *testing.T) {
	s := bare(t)
	s.file("a", "")
	log := filepath.Join(t.TempDir(), "log")
	s.fakeRG(`echo "$@" >>` + log + `
case "$1" in --version) echo "ripgrep 14.1.0"; exit;; esac
case "$*" in
*--files*) printf './b\0./a\0';;
*) printf '%s\n' '{"type":"begin","data":{"path":{"text":"./a"}}}' '{"type":"match","data":{"path":{"text":"./a"},"lines":{"text":"x\n"},"line_number":7,"absolute_offset":0,"submatches":[{"match":{"text":"x"},"start":0,"end":1}]}}';;
esac`)
	if _, err := os.Stat(log); err == nil {
		t.Error("rg ran before it was needed")
	}
	s.finds(s.glob("*"), "a", "b")
	is(t, s.grep("x"), tools.OK, "", "7: x")
	text, err := os.ReadFile(log)
	must(t, err)
	has(t, string(text), "--files --null", "--json --regexp=x -- .")
	if n := strings.Count(string(text), "--version"); n != 1 {
		t.Errorf("the version was asked %d times", n)
	}
}

// spec: T200 T202
func TestMissingOrOldRg(t *testing.T) {
	for _, c := range []struct{ name, script, says string }{
		{"missing", "", "not found on PATH"},
		{"old", `echo "ripgrep 13.0.0"`, "ripgrep 13"},
		{"other program", `echo "rg, the random generator"`, "does not tell its version"},
		{"broken", `exit 3`, "does not tell its version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := bare(t)
			s.file("a.txt", "foo(\n")
			if c.script != "" {
				s.fakeRG(c.script)
			} else {
				t.Setenv("PATH", "relative:"+t.TempDir())
			}
			for tool, args := range map[string]object{"glob": {"pattern": "a{"}, "grep": {"pattern": "foo("}} {
				is(t, s.call(tool, args), tools.Failed, tools.ClassToolMissing, c.says, "install", "14 or newer")
			}
		})
	}
}

// spec: T207
func TestTooMuchOutput(t *testing.T) {
	s := newSession(t)
	line := strings.Repeat("x", 999) + "\n"
	for i := range 5 {
		s.file(fmt.Sprint("f", i), strings.Repeat(line, 14_000)) // with rg's own words more than 64 MiB in all
	}
	is(t, s.grep("^x"), tools.Failed, tools.ClassTooLarge, "64 MiB", "Narrow the pattern, the path or the include")
	s.finds(s.grep("y"))
}

// spec: T199
func TestCancelKillsRg(t *testing.T) {
	s := bare(t)
	running := filepath.Join(t.TempDir(), "running")
	must(t, unix.Mkfifo(running, 0o600))
	s.fakeRG(`case "$1" in --version) echo "ripgrep 15.0.0"; exit;; esac
echo '{"type":"begin","data":{"path":{"text":"./a"}}}'
echo $$ >` + running + `
sleep 1000 & wait`)
	for _, tool := range []string{"glob", "grep"} {
		ctx, cancel := context.WithCancel(context.Background())
		pid := make(chan int, 1)
		go func() {
			text, _ := os.ReadFile(running) // waits for the script to open it
			var n int
			_, _ = fmt.Sscan(string(text), &n)
			pid <- n
			cancel()
		}()
		is(t, s.callWith(ctx, tool, object{"pattern": "x"}), tools.Cancelled, tools.ClassCancelled)
		if n := <-pid; n == 0 || unix.Kill(n, 0) == nil {
			t.Errorf("%s: process %d is alive", tool, n)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	is(t, s.callWith(ctx, "grep", object{"pattern": "x"}), tools.Cancelled, tools.ClassCancelled)
}

// spec: T199 D232
func TestStableOrderAndCap(t *testing.T) {
	s := newSession(t)
	for i := range 101 {
		s.file(fmt.Sprintf("d%d/f%03d", i%7, i), "hit\n")
	}
	for _, tool := range []string{"glob", "grep"} {
		args := object{"pattern": map[string]string{"glob": "f*", "grep": "hit"}[tool]}
		first := s.call(tool, args)
		is(t, first, tools.OK, "", "(truncated: at most 100 results")
		if f := s.found(first); !f.Truncated || len(f.Files) != 100 || !slices.IsSortedFunc(f.Files, func(a, b foundFile) int { return strings.Compare(a.Path, b.Path) }) {
			t.Errorf("%s: %d files", tool, len(f.Files))
		}
		for range 9 {
			if r := s.call(tool, args); r.Text != first.Text {
				t.Errorf("%s: another order", tool)
			}
		}
	}
	must(t, os.Remove(s.path("d0/f000")))
	for range 2 {
		is(t, s.glob("f*"), tools.OK, "", "truncated") // exactly 100
		is(t, s.grep("hit"), tools.OK, "", "truncated")
	}
	must(t, os.Remove(s.path("d1/f001")))
	for _, r := range []tools.Result{s.glob("f*"), s.grep("hit")} {
		if f := s.found(r); f.Truncated || len(f.Files) != 99 || strings.Contains(r.Text, "truncated") {
			t.Errorf("99: %.200s", r.Text)
		}
	}
}

// The first 100 lines by path and number are kept, in whatever order rg has the files.
//
// spec: D232
func TestCapIsByPathAndNumber(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.file(name, strings.Repeat("hit\nmiss\n", 60))
	}
	for range 5 {
		r := s.grep("hit")
		f := s.found(r)
		if len(f.Files) != 2 || len(f.Files[0].Lines) != 60 || len(f.Files[1].Lines) != 40 || f.Files[1].Lines[39] != 79 || !f.Truncated {
			t.Fatalf("%s", r.Raw)
		}
	}
	s.finds(s.grep("hit", "d"), "d")
}

// spec: T209 T210 T211 T213 T216 T217
func TestNamesAreTheFiles(t *testing.T) {
	s := newSession(t)
	odd := []string{" lead", "-rf", "a:12:b", "back\\slash", "line\nbreak", "tab\t", "ünï", "\"quoted\"", "tra\u202Eil"}
	slices.Sort(odd)
	for _, name := range odd {
		s.file(name, "hit\n")
	}
	must(t, os.Symlink("-rf", s.path("link")))
	must(t, os.Symlink(".", s.path("loop")))
	for _, r := range []tools.Result{s.glob("*"), s.grep("hit")} {
		s.finds(r, odd...)
		if s.found(r).Truncated {
			t.Error(r.Text)
		}
		for _, f := range s.found(r).Files {
			if content, err := os.ReadFile(f.Path); err != nil || string(content) != "hit\n" {
				t.Errorf("%q does not open: %v", f.Path, err)
			}
			if strings.Count(r.Text, f.Path) != 1 {
				t.Errorf("%q stands %d times in %q", f.Path, strings.Count(r.Text, f.Path), r.Text)
			}
		}
	}
	for _, name := range []string{"-rf", "line\nbreak", "back\\slash"} {
		s.finds(s.grep("hit", name), name)
	}

	s.file("caf\xe9.txt", "hit\nother\n")
	for _, r := range []tools.Result{s.glob("*"), s.grep("hit")} {
		s.finds(r, odd...)
		has(t, r.Text, "(truncated: 1 file left out whose name is not valid UTF-8)")
		if strings.Contains(r.Text, "\uFFFD") || strings.Contains(r.Text, "caf") || !s.found(r).Truncated {
			t.Error(r.Text)
		}
	}
	for _, r := range []tools.Result{s.glob("caf*"), s.grep("other")} {
		s.finds(r)
		has(t, r.Text, "(truncated: 1 file left out")
		if strings.Contains(r.Text, nothing) {
			t.Error("says that there is nothing")
		}
	}
}

// spec: T212
func TestWindowsSeparators(t *testing.T) {
	if name, ok := named(`C:/w`, []byte(`.\src\a.go`), '\\'); name != "C:/w/src/a.go" || !ok {
		t.Error(name, ok)
	}
	if _, ok := named(`C:/w`, []byte(".\\\xed\xa0\x80.go"), '\\'); ok {
		t.Error("a lone surrogate has no name")
	}
	if name, _ := named("/", []byte("./a\\b"), '/'); name != "/a\\b" {
		t.Error(name)
	}
}

// spec: T210 D244
func TestOneLegacyFile(t *testing.T) {
	s := newSession(t)
	s.file("ok.c", "int total; // TODO\n")
	s.file("gbk.c", "int total; // \xd7\xa2\xca\xcd TODO\n")
	r := s.grep("TODO")
	s.finds(r, "gbk.c", "ok.c")
	has(t, r.Text, "1: int total; // \u05e2\uFFFD\uFFFD TODO", "1: int total; // TODO")
	if s.found(r).Truncated {
		t.Error("nothing was left out")
	}
}

// spec: T214 T215 T216 D233 D244
func TestHugeLines(t *testing.T) {
	s := newSession(t)
	s.file("app.min.js", strings.Repeat("a", 900_000)+"NEEDLE"+strings.Repeat("b", 100_000))
	s.file("b.js", strings.Repeat("x", 1<<20)+"NEEDLE"+strings.Repeat("x", 1<<20)+"\n")
	s.file("c.js", "NEEDLE\n")
	r := s.grep("NEEDLE")
	s.finds(r, "app.min.js", "c.js")
	has(t, r.Text, "aNEEDLEb", "(truncated: 1 match skipped in lines too long")
	if len(r.Text) > 2600 || !s.found(r).Truncated {
		t.Errorf("%d bytes", len(r.Text))
	}
	r = s.grep("NEEDLE", "b.js")
	s.finds(r)
	has(t, r.Text, "(truncated: 1 match")
	if strings.Contains(r.Text, nothing) {
		t.Error(r.Text)
	}
	s.file("emoji", strings.Repeat("😀", 3000)+"\n")
	s.file("column", strings.Repeat("é", 5000)+"HERE"+strings.Repeat("é", 5000)+"\n")
	for pattern, file := range map[string]string{"😀": "emoji", "HERE": "column"} {
		r := s.grep(pattern, file)
		_, shown, _ := strings.Cut(r.Text, "1: ")
		if n := len(utf16.Encode([]rune(shown))); n > maxUnits || n < maxUnits-2 || !strings.Contains(shown, pattern) || strings.Contains(shown, "\uFFFD") {
			t.Errorf("%s: %d units", file, n)
		}
	}
}

// spec: D233
func TestSpecialFilesAreRefused(t *testing.T) {
	s := newSession(t)
	must(t, unix.Mkfifo(s.path("p"), 0o600))
	listener, err := net.Listen("unix", s.path("s"))
	must(t, err)
	defer func() { _ = listener.Close() }()
	must(t, os.Symlink("/dev/zero", s.path("z")))
	must(t, os.Symlink("p", s.path("linked")))
	for name, kind := range map[string]string{"p": "fifo", "linked": "fifo", "s": "socket", "z": "character device"} {
		is(t, s.grep("x", name), tools.Failed, tools.ClassNotRegular, kind)
		has(t, s.blocked("glob", object{"pattern": "*", "path": name}), "no folder")
	}
	is(t, s.grep("x"), tools.OK, "", nothing) // the walk passes them over
	is(t, s.grep("x", "none"), tools.Failed, tools.ClassNotFound, s.path("none"))
	is(t, s.glob("x", "none/deeper"), tools.Failed, tools.ClassNotFound)
}

// A path that leads elsewhere than when the call was permitted is found out.
//
// spec: T199
func TestExchangedPathIsFoundOut(t *testing.T) {
	s := newSession(t)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "f"), []byte("theirs"), 0o600))
	s.file("sub/f", "ours")
	p, _ := s.resolve("grep", object{"pattern": "s", "path": "sub"})
	must(t, os.RemoveAll(s.path("sub")))
	must(t, os.Symlink(outside, s.path("sub")))
	is(t, p.Run(context.Background(), tools.Env{Environ: s.environ}), tools.Failed, tools.ClassPathChanged)
	s.finds(s.grep("theirs", "sub"), "sub/f") // and permitted as what it is, it is searched under its name
}

// A worktree may lie in a .git itself; its own is not searched.
//
// spec: D231
func TestWorktreeInsideGit(t *testing.T) {
	s := newSession(t)
	s.where.Cwd = filepath.Join(s.where.Cwd, ".git/worktrees/tree")
	s.file("sub/f", "hit\n")
	s.file("nested/.git/f", "hit\n")
	s.finds(s.glob("f"), "sub/f")
	s.finds(s.grep("hit"), "sub/f")
	s.finds(s.grep("hit", "sub"), "sub/f")
	for _, path := range []string{"nested/.git", "nested/.git/f", "../../.git"} {
		has(t, s.blocked("grep", object{"pattern": "hit", "path": path}), "never searched")
	}
}

// What rg could not say once it may say the next time.
//
// spec: T200
func TestVersionThatWasNotTold(t *testing.T) {
	s := newSession(t)
	told := filepath.Join(t.TempDir(), "told")
	s.file("f", "hit\n")
	s.fakeRG(`[ "$1" = --version ] || exec ` + filepath.Join(realRG(t), "rg") + ` "$@"
if [ -e ` + told + ` ]; then echo "ripgrep 14.0.0"; else : >` + told + `; kill -KILL $$; fi`)
	is(t, s.grep("hit"), tools.Failed, tools.ClassToolMissing, "does not tell its version")
	s.finds(s.grep("hit"), "f")
}

// spec: T208 T218 T219
func TestUnreadable(t *testing.T) {
	rg := realRG(t)
	if os.Geteuid() == 0 { // everything can be read by root: once more as somebody else
		rerunAsNobody(t, rg)
		return
	}
	s := newSession(t)
	s.file("closed/in", "hit\n")
	s.file("file", "hit\n")
	s.file("sub/other", "miss\n")
	must(t, os.Chmod(s.path("closed"), 0))
	must(t, os.Chmod(s.path("file"), 0))
	t.Cleanup(func() { _ = os.Chmod(s.path("closed"), 0o700) })
	is(t, s.grep("hit", "file"), tools.Failed, tools.ClassPermissionDenied, s.path("file"))
	is(t, s.grep("hit", "closed"), tools.Failed, tools.ClassPermissionDenied, s.path("closed"))
	is(t, s.glob("*", "closed"), tools.Failed, tools.ClassPermissionDenied)
	for _, r := range []tools.Result{s.grep("hit"), s.glob("in"), s.grep("hit", ".", "src/**/x"), s.glob("src/**/x")} {
		is(t, r, tools.OK, "")
		if r.Text != nothing {
			t.Errorf("%q", r.Text)
		}
	}
	s.finds(s.glob("*"), "file", "sub/other")
	must(t, os.Chmod(s.path("closed"), 0o400)) // can be listed, not entered
	is(t, s.grep("hit", "closed"), tools.Failed, tools.ClassPermissionDenied)
}

func rerunAsNobody(t *testing.T, rg string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "zuno-search-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "tmp"), 0o777))
	must(t, os.Chmod(filepath.Join(dir, "tmp"), 0o777))
	own, err := os.Executable()
	must(t, err)
	for name, from := range map[string]string{"test": own, "rg": filepath.Join(rg, "rg")} {
		in, err := os.Open(from)
		must(t, err)
		out, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY, 0o755)
		must(t, err)
		_, err = io.Copy(out, in)
		must(t, err)
		must(t, in.Close())
		must(t, out.Close())
	}
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "TMPDIR=" + filepath.Join(dir, "tmp"), "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}
