package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is what the tests name and what they do not, in the order of the table.
type Report struct {
	Parts    []Part    `json:"parts"`
	Problems []Problem `json:"problems"`
}

// Part counts the rows of one part of the work.
type Part struct {
	Part     string    `json:"part"`
	Total    int       `json:"total"`
	Named    int       `json:"named"`
	Sections []Section `json:"sections"`
}

// Section counts the rows of one section within a part.
type Section struct {
	Section string    `json:"section"`
	Total   int       `json:"total"`
	Named   []Covered `json:"named"`
	Missing []Row     `json:"missing"`
}

// Covered is a row that tests name, with their places as file:line.
type Covered struct {
	ID string   `json:"id"`
	By []string `json:"by"`
}

// Compare builds the report over the parts given, all when there are none.
func Compare(table *Table, namings []Naming, parts []string) Report {
	by := map[string][]string{}
	for _, n := range namings {
		by[n.ID] = append(by[n.ID], fmt.Sprintf("%s:%d", n.File, n.Line))
	}
	report := Report{Parts: []Part{}, Problems: []Problem{}}
	for _, row := range table.Rows {
		if len(parts) > 0 && !slices.Contains(parts, row.Part) {
			continue
		}
		part := report.part(row.Part)
		section := part.section(row.Section)
		part.Total++
		section.Total++
		if places := by[row.ID]; len(places) > 0 {
			part.Named++
			section.Named = append(section.Named, Covered{row.ID, places})
		} else {
			section.Missing = append(section.Missing, row)
		}
	}
	slices.SortStableFunc(report.Parts, func(a, b Part) int { return strings.Compare(a.Part, b.Part) })
	return report
}

func (r *Report) part(name string) *Part {
	for i := range r.Parts {
		if r.Parts[i].Part == name {
			return &r.Parts[i]
		}
	}
	r.Parts = append(r.Parts, Part{Part: name, Sections: []Section{}})
	return &r.Parts[len(r.Parts)-1]
}

func (p *Part) section(name string) *Section {
	for i := range p.Sections {
		if p.Sections[i].Section == name {
			return &p.Sections[i]
		}
	}
	p.Sections = append(p.Sections, Section{Section: name, Named: []Covered{}, Missing: []Row{}})
	return &p.Sections[len(p.Sections)-1]
}

// Print writes the report for people: per part and section the counts and,
// unless countsOnly, each row that no test names.
func (r Report) Print(w io.Writer, countsOnly bool) error {
	for _, part := range r.Parts {
		if _, err := fmt.Fprintf(w, "part %s: %d of %d named by tests\n", part.Part, part.Named, part.Total); err != nil {
			return err
		}
		if countsOnly {
			continue
		}
		for _, section := range part.Sections {
			if len(section.Missing) == 0 {
				continue
			}
			_, err := fmt.Fprintf(w, "  %s: %d of %d\n", section.Section, len(section.Named), section.Total)
			if err != nil {
				return err
			}
			for _, row := range section.Missing {
				if _, err := fmt.Fprintf(w, "    %s  %s\n", row.ID, row.Requirement); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
