package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// tablePath is where the requirements are, relative to the module's root.
const tablePath = "docs/requirements.tsv"

// columns are the heads of the table, in order.
var columns = []string{"id", "section", "part", "requirement", "check"}

var idPattern = regexp.MustCompile(`^[A-Z][0-9]{3}$`)

// Row is one requirement.
type Row struct {
	ID          string `json:"id"`
	Section     string `json:"section"`
	Part        string `json:"part"`
	Requirement string `json:"requirement"`
	Check       string `json:"check"`
}

// Table holds the requirements in the order of the file.
type Table struct {
	Rows []Row
	byID map[string]int
}

// Has reports whether id is a row of the table.
func (t *Table) Has(id string) bool {
	_, ok := t.byID[id]
	return ok
}

// maxRow bounds a line of the table, in bytes.
const maxRow = 1 << 20

// ReadTable reads a table. Everything that is wrong with it is returned as
// problems, so that one run shows all of them; the rows that can be read stay
// usable. The error is for reading itself.
func ReadTable(name string, r io.Reader) (*Table, []Problem, error) {
	table := &Table{byID: map[string]int{}}
	var problems []Problem
	report := func(line int, format string, args ...any) {
		problems = append(problems, Problem{File: name, Line: line, Text: fmt.Sprintf(format, args...)})
	}

	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRow)
	number := 0
	for lines.Scan() {
		number++
		fields := strings.Split(lines.Text(), "\t")
		if number == 1 {
			if strings.Join(fields, "\t") != strings.Join(columns, "\t") {
				report(number, "the head of the table must be: %s", strings.Join(columns, " "))
			}
			continue
		}
		if len(fields) != len(columns) {
			report(number, "%d columns instead of %d", len(fields), len(columns))
			continue
		}
		row := Row{fields[0], fields[1], fields[2], fields[3], fields[4]}
		if !idPattern.MatchString(row.ID) {
			report(number, "%q is not an id (a capital letter and three digits)", row.ID)
			continue
		}
		if first, ok := table.byID[row.ID]; ok {
			report(number, "%s stands twice, first on line %d", row.ID, first)
			continue
		}
		if row.Section == "" || row.Part == "" || row.Requirement == "" {
			report(number, "%s lacks its section, part or requirement", row.ID)
		}
		table.byID[row.ID] = number
		table.Rows = append(table.Rows, row)
	}
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	if number == 0 {
		report(1, "the table is empty")
	}
	return table, problems, nil
}
