package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zuno/commands"
)

// TestNoticesAreDocumented: docs/notices.md holds the table of codes, row by row.
//
// spec: D146
func TestNoticesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "notices.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	for i, n := range commands.Notices {
		want := fmt.Sprintf("| `%s` | %s | %s |", n.Code, n.Severity, n.Meaning)
		if i >= len(rows) || rows[i] != want {
			t.Errorf("docs/notices.md, row %d, should be\n%s", i+1, want)
		}
	}
	if len(rows) != len(commands.Notices) {
		t.Errorf("docs/notices.md has %d rows, the table %d", len(rows), len(commands.Notices))
	}
}

// TestNoticeCodesComeFromTheTable: whoever makes a notice names a constant of the table, not a word of his own.
//
// spec: D146
func TestNoticeCodesComeFromTheTable(t *testing.T) {
	made := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		codes, err := noticeCodes(path, string(src))
		made += len(codes)
		for _, c := range codes {
			if c == "e.Code" { // drawn from an event that the rules made
				continue
			}
			if !strings.HasPrefix(c, "Notice") && !strings.HasPrefix(c, "commands.Notice") {
				t.Errorf("%s makes a notice with the code %s, which is no constant of the table", path, c)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if made < 2 {
		t.Errorf("only %d places make a notice: the search misses them", made)
	}
	if codes, _ := noticeCodes("x.go", "package x\nvar _ = &event.NoticeRaised{Code: \"made.up\"}"); len(codes) != 1 || strings.HasPrefix(codes[0], "Notice") {
		t.Errorf("a made-up code is not found: %q", codes)
	}
}

// noticeCodes gives the expressions that stand for the code wherever a notice is made.
func noticeCodes(name, src string) (codes []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
	if err != nil {
		return nil, err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch typeName(lit.Type) {
		case "event.NoticeRaised", "NoticeRaised":
			for _, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok && typeName(kv.Key) == "Code" {
					codes = append(codes, expression(kv.Value))
				}
			}
		case "noticeMeta":
			if len(lit.Elts) == 2 {
				codes = append(codes, expression(lit.Elts[1]))
			}
		}
		return true
	})
	return codes, nil
}

func typeName(e ast.Expr) string { return expression(e) }

func expression(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return expression(e.X) + "." + e.Sel.Name
	case *ast.BasicLit:
		return e.Value
	}
	return fmt.Sprintf("%T", e)
}
