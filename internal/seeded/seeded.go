// Package seeded looks for a defect that a test has put somewhere on purpose: a property that does not find it shows little. Start
// with [Find].
package seeded

import (
	"flag"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Find checks a property with up to so many seeds, from 1, until it fails. It tells the story of the failure, as rapid has shrunk
// it. Tests that use it do not run in parallel: the seed is a flag of the process.
func Find(seeds int, property func(*rapid.T)) (found bool, story string) {
	defer flag.Set("rapid.seed", "0")
	for seed := 1; seed <= seeds; seed++ {
		if err := flag.Set("rapid.seed", fmt.Sprint(seed)); err != nil {
			return false, err.Error()
		}
		r := &recorder{}
		if r.run(property) {
			return true, r.log.String()
		}
	}
	return false, ""
}

// recorder is a test that may fail.
type recorder struct {
	rapid.TB
	failed bool
	log    strings.Builder
}

type failed struct{}

func (r *recorder) Helper()                   {}
func (r *recorder) Name() string              { return "seeded" }
func (r *recorder) Logf(f string, a ...any)   { fmt.Fprintf(&r.log, f+"\n", a...) }
func (r *recorder) Log(a ...any)              { fmt.Fprintln(&r.log, a...) }
func (r *recorder) Errorf(f string, a ...any) { r.failed = true; r.Logf(f, a...) }
func (r *recorder) Error(a ...any)            { r.failed = true; r.Log(a...) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(failed{}) }
func (r *recorder) Fatal(a ...any)            { r.Error(a...); panic(failed{}) }
func (r *recorder) Fail()                     { r.failed = true }
func (r *recorder) FailNow()                  { r.failed = true; panic(failed{}) }
func (r *recorder) Failed() bool              { return r.failed }

func (r *recorder) run(property func(*rapid.T)) (found bool) {
	defer func() {
		if x := recover(); x != nil {
			if _, ok := x.(failed); !ok {
				panic(x)
			}
		}
		found = r.failed
	}()
	rapid.Check(r, property)
	return
}
