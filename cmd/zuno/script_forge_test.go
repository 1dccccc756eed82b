package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"zuno/internal/forge"
	"zuno/internal/live"
	"zuno/journal"
	"zuno/projections"
)

// cmdForge appends the events of a file, one a line with ${VARIABLES} filled in, to the journal of $SESSION, which nobody has open.
func cmdForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: forge FILE")
	}
	events, err := forge.Parse(os.Expand(ts.ReadFile(args[0]), ts.Getenv))
	ts.Check(err)
	ts.Check(forge.Append(sessionFolder(ts), events...))
}

// cmdFacts sets variables to what the journal of $SESSION says: INPUT1, INPUT2 … are the inputs and INPUT the last that is no native
// command, CONTROL the last that is one, TURN and CYCLE the last turn's, REVISION the execution's, COMMITS how many there are.
func cmdFacts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: facts")
	}
	f := projections.NewFolder(projections.Options{Keep: true})
	file, _, err := live.Open(journal.Inspection{Path: sessionFolder(ts), Fold: f.Commit})
	ts.Check(err)
	ts.Check(file.Close())
	s := f.View.Root
	for i, in := range s.Inputs.All {
		ts.Setenv("INPUT"+strconv.Itoa(i+1), in.ID)
		if in.Control != nil {
			ts.Setenv("CONTROL", in.ID)
		} else {
			ts.Setenv("INPUT", in.ID)
		}
	}
	if n := len(s.Turns.All); n > 0 {
		ts.Setenv("TURN", s.Turns.All[n-1].ID)
		ts.Setenv("CYCLE", s.Turns.All[n-1].Cycle)
	}
	ts.Setenv("REVISION", fmt.Sprint(s.Execution.Revision))
	ts.Setenv("COMMITS", fmt.Sprint(f.View.Number))
}

func sessionFolder(ts *testscript.TestScript) string {
	return filepath.Join(ts.Getenv("ZUNO_DATA_DIR"), "sessions", ts.Getenv("SESSION"))
}
