package scripted

import (
	_ "embed"
	"sync"
)

// The prompts that the embedded script has something to show for, in this order. Any other prompt is answered with how
// to configure a provider.
const (
	DemoFix   = "Fix the failing test in calc."
	DemoCount = "Count one run, then wait."
	DemoAsk   = "What happened to my command?"
)

// What the command of [DemoCount] prints once it has counted, and the file that it counts in.
const (
	DemoCounted = "COUNTED"
	DemoCounter = "counter.txt"
)

// The Go module in which the walk-through of [DemoFix] plays; DemoCalcFixed is what it makes of calc.go.
const (
	DemoGoMod = "module calc\n\ngo 1.21\n"

	DemoCalc = `// Package calc adds numbers.
package calc

// Add returns the sum of a and b.
func Add(a, b int) int { return a - b }
`

	DemoCalcFixed = `// Package calc adds numbers.
package calc

// Add returns the sum of a and b.
func Add(a, b int) int { return a + b }
`

	DemoCalcTest = `package calc

import "testing"

func TestAdd(t *testing.T) {
	if got := Add(2, 3); got != 5 {
		t.Errorf("Add(2, 3) = %d, want 5", got)
	}
}
`
)

//go:embed demo.yaml
var demo []byte

// Demo is the embedded script, read at its first use.
var Demo = sync.OnceValue(func() *Script {
	s, err := Parse("scripted/demo (embedded)", demo)
	if err != nil {
		panic(err) // a test loads it
	}
	return s
})
