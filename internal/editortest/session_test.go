package editortest

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("rapid.nofailfile", "true") // a seeded defect is found on purpose
	_ = flag.Set("rapid.steps", "40")
	_ = flag.Set("rapid.shrinktime", "2s")
	os.Exit(m.Run())
}

// property plays a session at random, and looks at what is left when everything has come to rest.
func property(d defect) func(*rapid.T) {
	return func(t *rapid.T) {
		m := newMachine(t, d)
		t.Repeat(m.actions())
		m.rest()
	}
}

// A whole session as an editor has it, with everything that users, models, tools and the machine do to it.
//
// spec: D245 D271
func TestWholeSession(t *testing.T) {
	checks := "200"
	if testing.Short() {
		checks = "25"
	}
	defer flag.Set("rapid.checks", "100")
	_ = flag.Set("rapid.checks", checks)
	rapid.Check(t, property(defect{}))
}
