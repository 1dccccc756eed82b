package scripted_test

import (
	"encoding/json"
	"go/format"
	"strings"
	"testing"

	"zuno/internal/model"
	"zuno/internal/model/scripted"
)

// demo drives the embedded script the way a session does.
type demo struct {
	t        *testing.T
	messages []model.Message
	position uint64
	used     []uint64
}

func (d *demo) prompt(text string) (string, []model.Call) {
	d.messages = append(d.messages, says(model.RoleUser, model.PartText, text))
	return d.next()
}

func (d *demo) result(text string) (string, []model.Call) {
	d.messages = append(d.messages, says(model.RoleTool, model.PartResult, text))
	return d.next()
}

func (d *demo) next() (string, []model.Call) {
	d.t.Helper()
	var text strings.Builder
	r := &model.Request{Cwd: "/w", Messages: d.messages, Position: d.position, Used: d.used}
	got, err := scripted.New(scripted.Demo(), nil, nil).Stream(d.t.Context(), r, func(c model.Chunk) error {
		if c.Kind == model.ChunkText {
			text.WriteString(c.Text)
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	if got.Conditional {
		d.used = append(d.used, got.Entry)
	} else {
		d.position++
	}
	d.messages = append(d.messages, says(model.RoleAssistant, model.PartText, text.String()))
	return text.String(), got.Calls
}

func introduces(t *testing.T, text string) {
	t.Helper()
	if first, _, _ := strings.Cut(text, "\n"); !strings.Contains(first, "scripted demo model") {
		t.Errorf("the first line does not say what answers: %q", first)
	}
}

// spec: D107
func TestDemoSaysWhatItIs(t *testing.T) {
	d := &demo{t: t}
	for range 3 {
		text, calls := d.prompt("Write me a poem.")
		introduces(t, text)
		if !strings.Contains(text, "no provider is configured") || !strings.Contains(text, "zuno.json") || calls != nil {
			t.Errorf("got %q, %v", text, calls)
		}
	}
}

// spec: D107
func TestDemoWalkThrough(t *testing.T) {
	d := &demo{t: t}
	text, calls := d.prompt(scripted.DemoFix)
	introduces(t, text)
	expectCall(t, calls, "read", map[string]string{"filePath": "/w/calc.go"})

	_, calls = d.result("5: " + scripted.DemoCalc)
	expectCall(t, calls, "shell", map[string]string{"command": "go test ./..."})

	_, calls = d.result("--- FAIL: TestAdd (0.00s)\nFAIL\tcalc\t0.001s\n")
	expectCall(t, calls, "write", map[string]string{"filePath": "/w/calc.go", "content": scripted.DemoCalcFixed})

	_, calls = d.result("written")
	expectCall(t, calls, "shell", map[string]string{"command": "go test ./..."})

	text, calls = d.result("ok  \tcalc\t0.001s\n")
	if calls != nil || !strings.Contains(text, "passes") {
		t.Errorf("got %q, %v", text, calls)
	}

	text, calls = d.prompt(scripted.DemoCount)
	introduces(t, text)
	expectCall(t, calls, "shell", map[string]string{
		"command": "echo run >> " + scripted.DemoCounter + " && echo " + scripted.DemoCounted + " && sleep 60",
	})
	// The agent is killed here. Its next process finds the result that was recorded in place of the command's.
	d.messages = append(d.messages, says(model.RoleTool, model.PartResult, "outcome unknown"))
	text, calls = d.prompt(scripted.DemoAsk)
	introduces(t, text)
	if calls != nil || !strings.Contains(text, "outcome unknown") {
		t.Errorf("got %q, %v", text, calls)
	}
}

func expectCall(t *testing.T, calls []model.Call, tool string, args map[string]string) {
	t.Helper()
	if len(calls) != 1 || calls[0].Tool != tool {
		t.Fatalf("got %v, want a call of %s", calls, tool)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(calls[0].Args), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range args {
		if got[name] != want {
			t.Errorf("%s of %s is %q, want %q", name, tool, got[name], want)
		}
	}
	if len(got) != len(args) {
		t.Errorf("got %v", got)
	}
}

// spec: D107
func TestDemoFilesAreGo(t *testing.T) {
	for name, text := range map[string]string{
		"calc.go": scripted.DemoCalc, "fixed": scripted.DemoCalcFixed, "test": scripted.DemoCalcTest,
	} {
		if got, err := format.Source([]byte(text)); err != nil || string(got) != text {
			t.Errorf("%s: %v", name, err)
		}
	}
	if strings.Replace(scripted.DemoCalc, "a - b", "a + b", 1) != scripted.DemoCalcFixed {
		t.Error("the fix changes more than the mistake")
	}
}
