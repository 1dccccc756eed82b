package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "zuno"

// source is one Go file of the product: no test, no fixture.
type source struct {
	name    string // from the root of the module
	dir     string
	file    *ast.File
	fset    *token.FileSet
	imports map[string]string // local name → path
}

// finding is one broken rule.
type finding struct{ rule, where, what string }

func (f finding) String() string { return f.where + ": " + f.what }

// load reads all sources below root.
func load(root fs.FS) ([]*source, error) {
	var all []*source
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			base := d.Name()
			if name != "." && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		s := &source{name: name, dir: path.Dir(name), fset: token.NewFileSet(), imports: map[string]string{}}
		if s.file, err = parser.ParseFile(s.fset, name, text, parser.ParseComments); err != nil {
			return err
		}
		for _, i := range s.file.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			local := path.Base(p)
			if local == "v2" {
				local = path.Base(path.Dir(p))
			}
			if i.Name != nil {
				local = i.Name.Name
			}
			s.imports[local] = p
		}
		all = append(all, s)
		return nil
	})
	return all, err
}

func (s *source) at(p token.Pos) string {
	at := s.fset.Position(p)
	return fmt.Sprintf("%s:%d", s.name, at.Line)
}

// importsOf gives the imports in a fixed order.
func (s *source) importsOf() []string {
	var out []string
	for _, p := range s.imports {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// uses calls fn for each pkg.Name in the file where pkg is an imported package.
func (s *source) uses(fn func(path, name string, at token.Pos)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil { // a local variable of the same name has an object
			if p, ok := s.imports[x.Name]; ok {
				fn(p, sel.Sel.Name, sel.Pos())
			}
		}
		return true
	})
}

// rank is a package's place in the direction of imports: a package imports only those of a lower rank, and those of
// its own family. What is not listed is an adapter beside acp: it may use the engine and nothing below may use it.
//
//	journal ← journal/event ← lifecycle ← projections ← commands ← tools ← engine ← acp ← cmd
func rank(dir string) (n int, family string) {
	for _, r := range []struct {
		dir  string
		rank int
	}{
		{"internal/mp", 0},
		{"journal", 10},
		{"journal/event", 20},
		{"projections/lifecycle", 30},
		{"projections", 40},
		{"commands", 50},
		{"tools", 60},
		{"internal/engine", 70},
		{"acp", 80},
		{"internal/demo", 85}, // speaks to the agent as an editor does
		{"cmd", 90},
		// Beside the chain, and above the catalogue of events only.
		{"internal/model", 22},
		{"internal/config", 22},
		{"internal/mcp", 22},
		{"internal/sandbox", 22},
		{"internal/guard", 22},
		{"internal/permission", 22},
		{"internal/live", 15},   // reads journals
		{"internal/prompt", 24}, // uses the neutral form of a request, of internal/model
		// Tools of the build, which nothing of the product imports.
		{"internal/codecgen", 100},
		{"internal/spec", 100},
		{"internal/archtest", 100},
		{"internal/bench", 100},
	} {
		// The longest match wins: journal/event is no part of journal.
		if (dir == r.dir || strings.HasPrefix(dir, r.dir+"/")) && len(r.dir) > len(family) {
			n, family = r.rank, r.dir
		}
	}
	if family == "" {
		return 80, dir
	}
	return n, family
}

func direction(all []*source) (out []finding) {
	for _, s := range all {
		own, family := rank(s.dir)
		for _, p := range s.importsOf() {
			dir, ours := strings.CutPrefix(p, module+"/")
			if !ours {
				continue
			}
			if n, f := rank(dir); f != family && n >= own {
				out = append(out, finding{"direction", s.name, fmt.Sprintf("%s may not import %s", s.dir, dir)})
			}
		}
	}
	return out
}

// pure are the packages that a decision, a fold or a request is made of.
var pure = []string{"projections", "projections/lifecycle", "commands", "internal/prompt", "internal/permission"}

// impureImports reach the machine. path/filepath and io/fs walk folders; log writes somewhere.
var impureImports = []string{"os", "net", "math/rand", "crypto/rand", "syscall", "io/ioutil", "io/fs", "path/filepath", "log", "embed", "golang.org/x/sys", "unsafe", "runtime"}

// clockNames are what package time offers beside values.
var clockNames = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep", "LoadLocation", "Local"}

func purity(all []*source) (out []finding) {
	for _, s := range all {
		if !slices.Contains(pure, s.dir) {
			continue
		}
		for _, p := range s.importsOf() {
			for _, bad := range impureImports {
				if p == bad || strings.HasPrefix(p, bad+"/") {
					out = append(out, finding{"purity", s.name, s.dir + " is pure and may not import " + p})
				}
			}
		}
		s.uses(func(p, name string, at token.Pos) {
			if p == "time" && slices.Contains(clockNames, name) {
				out = append(out, finding{"purity", s.at(at), s.dir + " is pure and may not use time." + name})
			}
		})
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				out = append(out, finding{"purity", s.at(g.Pos()), s.dir + " is pure and may not start a goroutine"})
			}
			return true
		})
	}
	return out
}

// exception is a file that uses real time or randomness outside of cmd. None of it is ever recorded or decided upon.
type exception struct{ file, uses, reason string }

var exceptions = []exception{
	{"journal/lock.go", "time", "how long an opener waits for another process's lock; the clock of a session begins only with its lock"},
	{"internal/live/socket_linux.go", "time", "how long an inspector and an owner wait for each other's messages"},
	{"internal/live/open.go", "time", "how long an inspector waits for an owner that is coming or going"},
	{"internal/live/server.go", "time", "how often one who waits for a snapshot hears that it is being made"},
	{"internal/live/follow.go", "time", "how often a session's files are looked at while no owner tells of its heads"},
	{"internal/engine/sessionindex.go", "time", "whether a folder's time of change proves anything yet; the index is a cache"},
	{"internal/engine/choice.go", "time", "how long the phases of a reconfiguration take; it is logged and never recorded"},
	{"acp/wire/queue.go", "time", "the deadline of a peer that does not read; a test clock must not close a real pipe"},
	{"acp/wire/stream.go", "time", "the same deadline while the last messages drain"},
	{"tools/shell/run.go", "time", "the hard ceiling and the cooperative stop of real processes"},
	{"tools/shell/output.go", "time", "how often a running command's output is looked at; live output is shown and never recorded"},
	{"internal/demo/processes.go", "time", "how often the demonstration looks for the end of a real process"},
	{"tools/shell/process_linux.go", "time", "how long left processes are looked for"},
	{"tools/shell/process_linux.go", "random", "a mark by which a command's processes are found again; it is given to them and never recorded"},
	{"tools/files/write.go", "random", "the name of the half file that becomes the real one by renaming"},
}

func sources(all []*source, exceptions []exception) (out []finding) {
	used := map[int]bool{}
	report := func(s *source, at token.Pos, kind, what string) {
		for i, e := range exceptions {
			if e.file == s.name && e.uses == kind {
				used[i] = true
				return
			}
		}
		out = append(out, finding{"sources", s.at(at), what + " belongs to cmd, which hands a Clock and IDs down"})
	}
	for _, s := range all {
		if s.dir == "cmd" || strings.HasPrefix(s.dir, "cmd/") {
			continue
		}
		for _, p := range s.importsOf() {
			if p == "crypto/rand" || p == "math/rand" || p == "math/rand/v2" {
				report(s, s.file.Name.Pos(), "random", p)
			}
		}
		s.uses(func(p, name string, at token.Pos) {
			if p == "time" && slices.Contains(clockNames, name) {
				report(s, at, "time", "time."+name)
			}
		})
	}
	for i, e := range exceptions {
		if !used[i] {
			out = append(out, finding{"sources", e.file, "an exception for " + e.uses + " that nothing needs: strike it"})
		}
	}
	return out
}

func comments(all []*source) (out []finding) {
	documented := map[string]bool{}
	for _, s := range all {
		documented[s.dir] = documented[s.dir] || s.file.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			out = append(out, finding{"comments", dir, "the package has no comment"})
		}
	}
	return out
}

// unfinished are words of work that was left. Some stand for a whole comment, some are bad anywhere.
var unfinished = []string{"TODO", "FIXME", "XXX", "HACK", "STUB", "Stub", "stub", "stubbed", "unimplemented", "not implemented", "Not implemented"}

func leftovers(all []*source) (out []finding) {
	look := func(s *source, at token.Pos, text string) {
		for _, w := range unfinished {
			for i := 0; ; {
				j := strings.Index(text[i:], w)
				if j < 0 {
					break
				}
				from, to := i+j, i+j+len(w)
				i = to
				if from > 0 && isLetter(text[from-1]) || to < len(text) && isLetter(text[to]) {
					continue
				}
				out = append(out, finding{"leftovers", s.at(at), fmt.Sprintf("says %q", w)})
			}
		}
	}
	for _, s := range all {
		if ast.IsGenerated(s.file) {
			continue
		}
		for _, g := range s.file.Comments {
			look(s, g.Pos(), g.Text())
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					look(s, n.Pos(), n.Value)
				}
			case *ast.Ident:
				look(s, n.Pos(), n.Name)
			}
			return true
		})
	}
	return out
}

func isLetter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// named finds the packages that text does not name.
func named(all []*source, text string) (out []finding) {
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s.dir] {
			continue
		}
		seen[s.dir] = true
		if !namesPackage(text, s.dir) {
			out = append(out, finding{"named", s.dir, "docs/architecture.md does not name it"})
		}
	}
	return out
}

// namesPackage says that dir stands in text as a path of its own, not as the beginning or end of a longer one.
func namesPackage(text, dir string) bool {
	for i := 0; ; {
		j := strings.Index(text[i:], dir)
		if j < 0 {
			return false
		}
		from, to := i+j, i+j+len(dir)
		i = to
		before := from == 0 || !isLetter(text[from-1]) && text[from-1] != '/'
		after := to == len(text) || !isLetter(text[to]) && (text[to] != '/' || to+1 == len(text) || !isLetter(text[to+1]))
		if before && after {
			return true
		}
	}
}

func mustLoad(t *testing.T, root fs.FS) []*source {
	t.Helper()
	all, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
