package editortest

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"rapid.nofailfile": "true", // a seeded defect is found on purpose
		"rapid.checks":     "200", "rapid.steps": "40", "rapid.shrinktime": "2s",
	} {
		_ = flag.Set(name, value)
	}
	flag.Parse() // what the command line says counts
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
func TestWholeSession(t *testing.T) { rapid.Check(t, property(defect{})) }
