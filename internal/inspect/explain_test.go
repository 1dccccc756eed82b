package inspect

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

// gated is a session that a gate holds.
func gated(t *testing.T, trigger lifecycle.Trigger, reason, waiting string) (p *place, id string) {
	t.Helper()
	p = newPlace(t, "gated")
	id = p.run("Do it.", "7")
	extend(t, p.folder(id), func(texts *journal.Texts) []journal.Event {
		return encoded(t, texts,
			&event.ExecutionChanged{Trigger: string(lifecycle.ExecutionBegin), Phase: "running"},
			&event.ExecutionChanged{Trigger: string(trigger), Phase: "held", Reason: reason, Waiting: waiting})
	})
	return p, id
}

// spec: D179
func TestExplainGate(t *testing.T) {
	for _, c := range []struct {
		trigger         lifecycle.Trigger
		reason, waiting string
		want            []string
	}{
		{lifecycle.ExecutionPause, "no_progress", "", []string{"the session is paused: no_progress\n", "raised   pause: no_progress", "command  test by test (test:1)", "What clears it: /resume."}},
		{lifecycle.ExecutionWaitHuman, "question", "ask_1", []string{"is waiting_human: question, waiting for ask_1", "What clears it: The answer to that very question: ask_1."}},
		{lifecycle.ExecutionWaitExternal, "job", "job_1", []string{"is waiting_external: job, waiting for job_1", "What clears it: The completion of that very source: job_1."}},
	} {
		p, id := gated(t, c.trigger, c.reason, c.waiting)
		out := p.ok("explain", "gate", id)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
	}
}

// The first event at which a gate holds is the one that raised it, and not so one commit before.
//
// spec: D182
func TestWhereFindsTheGate(t *testing.T) {
	p, id := gated(t, lifecycle.ExecutionPause, "no_progress", "")
	c, err := ParseCondition("gate.reason=no_progress")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Where(p.folder(id), c)
	if err != nil {
		t.Fatal(err)
	}
	before := f.Commit - 1
	r, err := Fold(p.folder(id), ReplayOptions{Until: &before})
	if err != nil || r.View.Root.Execution.Gate != nil || f.Event != 2 || f.Commit != r.Head.Number {
		t.Errorf("%+v %v", f, err)
	}
	r.Close()
	text := f.Tell()
	for _, want := range []string{commit(f.Commit) + ", event 2 of 2\n", `execution.gate.reason: nothing → "no_progress"`, "decided for test by test", "paused"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	n, err := parse(f.JSON())
	if err != nil || n.get("event").uint() != 2 || n.get("execution") == nil {
		t.Errorf("%v\n%s", err, f.JSON())
	}
	p.fails("replay", id, "--where", "gate.reason=other")
	if out := p.ok("replay", id, "--where", "gate", "--json"); !strings.Contains(out, `"path": "execution.gate"`) {
		t.Error(out)
	}
}

// spec: D179
func TestExplainNamesWhatThereIs(t *testing.T) {
	p := newPlace(t, "names")
	id := p.run("Do it.", "7")
	_, err := Explain(p.folder(id), "call", "nothing")
	var no *NoSuch
	if !errors.As(err, &no) || len(no.Some) != 3 || no.All != 3 {
		t.Errorf("%v", err)
	}
	if _, err := Explain(filepath.Join(p.dir, "nothing"), "turn", Last); !errors.Is(err, error(&journal.NotFound{})) && err == nil {
		t.Error(err)
	}
	said := p.fails("explain", "input", id, "call_")
	if !strings.Contains(said, "the last of 1: inp_") {
		t.Error(said)
	}
}

// What a corrupt journal still says is explained, with the corruption as the error.
//
// spec: D179
func TestExplainCorrupt(t *testing.T) {
	p := newPlace(t, "corrupt")
	id := p.run("Do it.", "7")
	extend(t, p.folder(id), func(texts *journal.Texts) []journal.Event {
		return encoded(t, texts, &event.CallStarted{ID: "call_none", Attempt: 1})
	})
	out, errs, code := p.zuno("explain", "turn", id)
	if code != 1 || !strings.HasPrefix(out, "turn turn_") || !strings.Contains(errs, "could not have happened") {
		t.Errorf("exit %d %q\n%s", code, errs, out)
	}
}
