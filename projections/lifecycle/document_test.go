package lifecycle

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/lifecycles.md anew")

const documentPath = "../../docs/lifecycles.md"

// about says what each machine is of. A machine without a line here is a failure.
var about = map[string]string{
	"input":     "What a user sent: saved, taken into the history, seen by a provider, done. It has exactly one terminal state, which is its receipt. An execution gate stands beside it and moves nothing.",
	"turn":      "One answer to one input, with all of its requests and calls. At most one turn of a session runs.",
	"call":      "A tool call. Only a started one can have done anything; blocked and abandoned ones have not. A started call that a dead run left behind is settled as uncertain, or as an error when its declaration says that it is safe to repeat.",
	"execution": "What a session is ready for. Its cycle ends with completed and begin starts the next one; only resume leads out of a wait or a pause. Each step raises the execution's own revision.",
}

// document draws the machines: for each its Mermaid diagram and its table of edges.
func document(machines []*Machine) (string, error) {
	var b strings.Builder
	b.WriteString("# Lifecycles\n\nGenerated from the tables in `projections/lifecycle` by `go generate ./projections/lifecycle`. Do not edit.\n\n" +
		"A decision fires a transition through the table; a fold uses an array compiled from the same table. A step that is not in the\n" +
		"table is refused by the decision, and marks the view as corrupt when a journal claims that it happened.\n")
	for _, m := range machines {
		if about[m.Name] == "" {
			return "", fmt.Errorf("machine %s is not described", m.Name)
		}
		drawing, err := m.Mermaid()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```mermaid\n%s\n```\n\n| from | trigger | to |\n| --- | --- | --- |\n", m.Name, about[m.Name], strings.TrimSpace(drawing))
		for _, s := range m.States() {
			for _, t := range m.Triggers() {
				if to, ok := m.Fold(s, t); ok {
					fmt.Fprintf(&b, "| %s | %s | %s |\n", s, t, to)
				}
			}
		}
		var ends []string
		for _, s := range m.States() {
			if s.Terminal() {
				ends = append(ends, s.String())
			}
		}
		if len(ends) == 0 {
			ends = []string{"none"}
		}
		fmt.Fprintf(&b, "\nBegins in %s. Terminal: %s.\n", m.Initial, strings.Join(ends, ", "))
	}
	return b.String(), nil
}

// spec: D066
func TestDocumentIsFresh(t *testing.T) {
	want, err := document(Machines())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(documentPath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/lifecycles.md is not what the tables say: run `go generate ./projections/lifecycle`")
	}
}

// The document names every edge and nothing else, and a table that changes gives another document.
//
// spec: D066
func TestDocumentFollowsTheTables(t *testing.T) {
	defer func(all []*Machine) { machines = all }(slices.Clone(machines))
	for _, m := range slices.Clone(machines) {
		before, err := document([]*Machine{m})
		if err != nil {
			t.Fatal(err)
		}
		edges := 0
		for _, e := range m.Table {
			for _, src := range e.Src {
				edges++
				if !strings.Contains(before, fmt.Sprintf("| %s | %s | %s |", src, e.Name, e.Dst)) {
					t.Errorf("%s: the table of edges lacks %s --%s--> %s", m.Name, src, e.Name, e.Dst)
				}
				if !strings.Contains(before, fmt.Sprintf("%s --> %s: %s", src, e.Dst, e.Name)) {
					t.Errorf("%s: the drawing lacks %s --%s--> %s", m.Name, src, e.Name, e.Dst)
				}
			}
		}
		if n := strings.Count(before, "\n| ") - 2; n != edges {
			t.Errorf("%s: the document has %d edges, the table %d", m.Name, n, edges)
		}
		for i := range m.Table {
			table := append(slices.Clone(m.Table[:i]), m.Table[i+1:]...)
			if len(table) == 0 {
				continue
			}
			after, err := document([]*Machine{define(m.Name, m.Initial.String(), table)})
			if err != nil {
				t.Fatal(err)
			}
			if after == before {
				t.Errorf("%s without %s is drawn as before", m.Name, m.Table[i].Name)
			}
		}
	}
}
