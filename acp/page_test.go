package acp

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"zuno/commands"
	"zuno/projections/lifecycle"
)

var updatePage = flag.Bool("update", false, "write what the script holds into docs/acp.md")

const (
	pageFile   = "../docs/acp.md"
	pageScript = "../testscripts/acp-page.txtar"
)

// again is what to do when a message was changed on purpose.
const again = "if that is meant: go test ./cmd/zuno -run TestScripts/acp-page -update && go test ./acp -run TestPageOnTheProtocol -update"

// page is docs/acp.md: its words, and its examples by name.
type page struct {
	text     string
	examples map[string]string
	order    []string
}

func readPage(t *testing.T, outputs map[string]string) (p page, rewritten string) {
	t.Helper()
	raw, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	p.examples = map[string]string{}
	var words, out strings.Builder
	name := ""
	for line := range strings.Lines(string(raw)) {
		n, opens := strings.CutPrefix(line, "```jsonc ")
		switch {
		case opens:
			name = strings.TrimSpace(n)
			p.order = append(p.order, name)
			out.WriteString(line)
		case name == "":
			words.WriteString(line)
			out.WriteString(line)
		case line == "```\n":
			out.WriteString(outputs[name] + line)
			name = ""
		default:
			p.examples[name] += line
		}
	}
	p.text = words.String()
	return p, out.String()
}

// The page's examples are those that the script took from the wire, all of them and no others.
//
// spec: D273
func TestPageOnTheProtocol(t *testing.T) {
	a, err := txtar.ParseFile(pageScript)
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string]string{}
	for _, f := range a.Files {
		name, ok := strings.CutPrefix(f.Name, "page/")
		if !ok {
			continue
		}
		outputs[name] = string(f.Data)
		compared := regexp.MustCompile(`(?m)^acp (@\S+ )?example .*\ncmp stdout \$WORK/page/` + regexp.QuoteMeta(name) + `$`)
		if !compared.Match(a.Comment) {
			t.Errorf("the script does not take the example %s from the wire", name)
		}
	}
	p, rewritten := readPage(t, outputs)
	if *updatePage {
		if err := os.WriteFile(pageFile, []byte(rewritten), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, want := range outputs {
		if got, ok := p.examples[name]; !ok {
			t.Errorf("the page lacks the example %s", name)
		} else if got != want {
			t.Errorf("the example %s is on the page\n%s\nand on the wire\n%s\n%s", name, got, want, again)
		}
	}
	for _, name := range p.order {
		if outputs[name] == "" {
			t.Errorf("the page has an example %s that the script does not take from the wire", name)
		}
	}
}

// What an editor is told to run is what the README says, which is what a test of that editor's requests runs.
//
// spec: A003 D273
func TestPageConfiguresEditorsAsTheReadmeDoes(t *testing.T) {
	p, _ := readPage(t, nil)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, settings, ok := strings.Cut(p.text, "```json\n")
	settings, _, _ = strings.Cut(settings, "```\n")
	if !ok || !strings.Contains(settings, "agent_servers") || !strings.Contains(string(readme), "```json\n"+settings+"```\n") {
		t.Errorf("the page has the settings\n%s\nand the README others", settings)
	}
	if n := strings.Count(p.text, `"/path/to/zuno"`); n != 3 {
		t.Errorf("the page configures %d editors", n)
	}
}

// names says that the page has the word in code.
func (p page) names(word string) bool { return strings.Contains(p.text, "`"+word+"`") }

// shows says that an example holds the text.
func (p page) shows(text string) bool {
	for _, e := range p.examples {
		if strings.Contains(e, text) {
			return true
		}
	}
	return false
}

// source is the code of a package without its tests.
func source(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no code in %s: %v", dir, err)
	}
	for _, name := range all {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func inspect(files []*ast.File, see func(ast.Node)) {
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			see(n)
			return true
		})
	}
}

// literal is a string that stands in the code.
func literal(x ast.Expr) string {
	l, ok := x.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(l.Value)
	return s
}

// constants are a package's constants by name, as they stand in the code.
func constants(files []*ast.File) map[string]ast.Expr {
	all := map[string]ast.Expr{}
	inspect(files, func(n ast.Node) {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
			for i, name := range v.Names {
				all[name.Name] = v.Values[i]
			}
		}
	})
	return all
}

// used are the names of a package that files use.
func used(files []*ast.File, pkg, prefix string) []string {
	seen := map[string]bool{}
	inspect(files, func(n ast.Node) {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg && strings.HasPrefix(s.Sel.Name, prefix) {
				seen[s.Sel.Name] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(seen))
}

// Every method that is served or called is named, and shown as it goes over the wire.
//
// spec: D273
func TestPageHasEveryMethod(t *testing.T) {
	p, _ := readPage(t, nil)
	code, protocol := source(t, "."), constants(source(t, "schema"))
	var methods []string
	for _, name := range used(code, "schema", "Method") {
		methods = append(methods, literal(protocol[name]))
	}
	for name, x := range constants(code) {
		if strings.HasPrefix(name, "methodSteer") {
			methods = append(methods, literal(x))
		}
	}
	methods = append(methods, literal(constants(source(t, "wire"))["methodCancel"]))
	if len(methods) < 15 {
		t.Fatalf("the code has the methods %v only", methods)
	}
	for _, m := range methods {
		if m == "" || !p.names(m) || !p.shows("// client: "+m) && !p.shows("// agent: "+m) {
			t.Errorf("the page does not name and show %q", m)
		}
	}
	// The switch is what serves: each of its cases is one of those.
	inspect(code, func(n ast.Node) {
		c, ok := n.(*ast.CaseClause)
		if !ok {
			return
		}
		for _, x := range c.List {
			if s, ok := x.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Method") && !slices.Contains(methods, literal(protocol[s.Sel.Name])) {
				t.Errorf("%s is served and was not looked for", s.Sel.Name)
			}
		}
	})
}

// Every kind of update that the code can make is named and shown.
//
// spec: D273
func TestPageHasEveryUpdate(t *testing.T) {
	p, _ := readPage(t, nil)
	files := source(t, "schema")
	values := constants(files)
	makes := map[string]string{} // kind by constructor
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Body == nil || !fn.Name.IsExported() {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && strings.HasPrefix(id.Name, "Update") && literal(values[id.Name]) != "" {
					makes[fn.Name.Name] = literal(values[id.Name])
				}
				return true
			})
		}
	}
	found := 0
	for _, name := range used(source(t, "."), "schema", "") {
		kind := makes[name]
		if kind == "" {
			continue
		}
		found++
		if !p.names(kind) || !p.shows(`"sessionUpdate": "`+kind+`"`) {
			t.Errorf("the page does not name and show the update %s", kind)
		}
	}
	if found < 10 {
		t.Fatalf("the code makes %d kinds of updates only", found)
	}
}

var backticks = regexp.MustCompile("`([^`]+)`")

// Every field of a JSON object that the code makes or reads is named. Those that no example shows are listed as such, so that none
// is forgotten when it can be shown.
//
// spec: D273
func TestPageHasEveryField(t *testing.T) {
	p, _ := readPage(t, nil)
	fields := map[string]bool{}
	inspect(source(t, "."), func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag == nil {
				return
			}
			tag, _ := strconv.Unquote(n.Tag.Value)
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			fields[name] = true
		case *ast.IndexExpr: // a member of an object that is read or set by its name
			fields[literal(n.Index)] = true
		case *ast.CallExpr: // the data of an error
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "With" {
				for _, arg := range n.Args {
					keys(arg, fields)
				}
			}
		case *ast.AssignStmt:
			for _, x := range n.Rhs {
				keys(x, fields)
			}
		}
	})
	delete(fields, "")
	if len(fields) < 50 {
		t.Fatalf("the code has the fields %v only", fields)
	}
	var unseen []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !p.names(name) {
			t.Errorf("the page does not name the field %s", name)
		}
		if !p.shows(`"` + name + `":`) {
			unseen = append(unseen, name)
		}
	}
	_, list, _ := strings.Cut(p.text, "\nNo example shows ")
	list, _, _ = strings.Cut(list, "\n\n")
	var listed []string
	for _, m := range backticks.FindAllStringSubmatch(list, -1) {
		listed = append(listed, m[1])
	}
	if slices.Sort(listed); !slices.Equal(listed, unseen) {
		t.Errorf("no example shows %v; the page says so of %v", unseen, listed)
	}
}

func keys(x ast.Expr, into map[string]bool) {
	c, ok := x.(*ast.CompositeLit)
	if !ok {
		return
	}
	m, ok := c.Type.(*ast.MapType)
	if !ok {
		return
	}
	if v, ok := m.Value.(*ast.Ident); !ok || v.Name != "any" {
		return
	}
	for _, e := range c.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			into[literal(kv.Key)] = true
		}
	}
}

// Every number of an error and every word of its data is named, and so is the whole vocabulary of receipts and gates.
//
// spec: D273
func TestPageHasEveryError(t *testing.T) {
	p, _ := readPage(t, nil)
	code := source(t, ".")
	numbers := constants(source(t, "wire"))
	for _, name := range append(used(code, "wire", "Code"), "CodeParseError", "CodeMethodNotFound", "CodeRequestCancelled") {
		u, ok := numbers[name].(*ast.UnaryExpr)
		if !ok {
			t.Fatalf("%s is no number", name)
		}
		if n := "-" + u.X.(*ast.BasicLit).Value; !p.names(n) {
			t.Errorf("the page does not name the error %s (%s)", n, name)
		}
	}
	words := map[string]bool{}
	member := func(key, value ast.Expr) {
		if k := literal(key); k == "reason" || k == "admission" {
			words[literal(value)] = true
		}
	}
	inspect(code, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			member(n.Key, n.Value)
			if id, ok := n.Key.(*ast.Ident); ok && id.Name == "Admission" {
				words[literal(n.Value)] = true
			}
		case *ast.AssignStmt:
			if i, ok := n.Lhs[0].(*ast.IndexExpr); ok {
				member(i.Index, n.Rhs[0])
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok {
				switch f.Name {
				case "reason":
					words[literal(n.Args[1])] = true
				case "steerRefused":
					words[literal(n.Args[0])] = true
				}
			}
		}
	})
	for _, word := range steerReasons {
		words[word] = true
	}
	refusals, err := parser.ParseFile(token.NewFileSet(), "../commands/decide.go", nil, 0) // those of a repair are not for clients
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range constants([]*ast.File{refusals}) {
		if strings.HasPrefix(name, "Code") {
			words[literal(x)] = true
		}
	}
	for _, g := range commands.Gates {
		words[g.Reason], words[string(g.Recovery)], words[string(g.Goal)] = true, true, true
	}
	for _, s := range lifecycle.Input.States() {
		words[s.String()] = true
	}
	for _, n := range commands.Natives {
		words["/"+n.Name] = true
	}
	delete(words, "")
	if len(words) < 60 {
		t.Fatalf("the code has the words %v only", words)
	}
	for _, w := range slices.Sorted(maps.Keys(words)) {
		if !p.names(w) {
			t.Errorf("the page does not name %s", w)
		}
	}
}
