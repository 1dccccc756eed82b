package main

import (
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Naming is one place that names a requirement.
type Naming struct {
	ID   string
	File string
	Line int
}

// Problem is something wrong at a place in a file. Line is 0 when unknown.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// ownFixtures holds made-up tables and tests of this package, which name made-up ids.
const ownFixtures = "internal/spec/testdata"

// Scan reads the tests below root – Go tests, txtar scripts, Node tests – and
// returns what they name in path order, with the comments it could not read.
func Scan(root fs.FS) ([]Naming, []Problem, error) {
	var namings []Naming
	var problems []Problem
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			// Other processes write below the root too: what has gone since
			// its folder was listed is no test.
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if entry.IsDir() {
			hidden := name != "." && strings.HasPrefix(entry.Name(), ".")
			if hidden || entry.Name() == "node_modules" || name == ownFixtures {
				return fs.SkipDir
			}
			return nil
		}
		read := commentsOf(name)
		if read == nil || !entry.Type().IsRegular() {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, comment := range read(text) {
			ids, bad := idsOf(comment.text)
			if bad != "" {
				problems = append(problems, Problem{name, comment.line, bad})
			}
			for _, id := range ids {
				namings = append(namings, Naming{id, name, comment.line})
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("scan the tests: %w", err)
	}
	return namings, problems, nil
}

// comment is one comment line without its marker.
type comment struct {
	line int
	text string
}

// commentsOf returns how the comments of a file are found, nil for a file that is no test.
func commentsOf(name string) func([]byte) []comment {
	switch {
	case strings.HasSuffix(name, "_test.go"):
		return goComments
	case strings.HasSuffix(name, ".txtar"):
		return lineComments("#")
	case strings.HasSuffix(name, ".mjs") && strings.HasPrefix(name, "test/"):
		return lineComments("//")
	}
	return nil
}

// goComments uses Go's own scanner: a string that looks like a comment names nothing.
func goComments(text []byte) []comment {
	var found []comment
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	// A file that does not parse is the compiler's to report.
	s.Init(file, text, func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return found
		}
		if tok == token.COMMENT && strings.HasPrefix(literal, "//") {
			found = append(found, comment{file.Line(pos), literal[2:]})
		}
	}
}

// lineComments takes lines that begin with marker, after blanks.
func lineComments(marker string) func([]byte) []comment {
	return func(text []byte) []comment {
		var found []comment
		for i, line := range strings.Split(string(text), "\n") {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), marker); ok {
				found = append(found, comment{i + 1, rest})
			}
		}
		return found
	}
}

var rangePattern = regexp.MustCompile(`^([A-Z])([0-9]{3})-([A-Z])?([0-9]{3})$`)

// idsOf reads "spec: A001 D060-D063". A comment that does not begin with
// "spec:" names nothing. A word that is no id is returned as bad: prose behind
// the ids would hide a mistyped one.
func idsOf(text string) (ids []string, bad string) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "spec:")
	if !ok {
		return nil, ""
	}
	words := strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
	if len(words) == 0 {
		return nil, `"spec:" without an id`
	}
	for _, word := range words {
		if idPattern.MatchString(word) {
			ids = append(ids, word)
			continue
		}
		part := rangePattern.FindStringSubmatch(word)
		if part == nil || part[3] != "" && part[3] != part[1] || part[4] < part[2] {
			bad = fmt.Sprintf("%q is not an id; write `spec: A001 D060-D063` and nothing else on the line", word)
			continue
		}
		// The pattern leaves three digits each: Atoi cannot fail.
		from, _ := strconv.Atoi(part[2])
		to, _ := strconv.Atoi(part[4])
		for n := from; n <= to; n++ {
			ids = append(ids, fmt.Sprintf("%s%03d", part[1], n))
		}
	}
	return ids, bad
}

// Unknown returns a problem for each naming of an id that the table does not have.
func Unknown(table *Table, namings []Naming) []Problem {
	var problems []Problem
	for _, n := range namings {
		if !table.Has(n.ID) {
			problems = append(problems, Problem{n.File, n.Line, fmt.Sprintf("%s is not in %s", n.ID, path.Base(tablePath))})
		}
	}
	return problems
}
