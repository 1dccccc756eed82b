package inspect

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// spec: D181
func TestDiff(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{}`, `{}`, ""},
		{`{"a":1,"b":"x"}`, `{"a":2,"b":"x"}`, "  a: 1 → 2\n"},
		{`{"a":1}`, `{"b":null}`, "- a: 1\n+ b: null\n"},
		{`{"a":{"b":[{"id":"x","n":1},{"id":"y"}]}}`, `{"a":{"b":[{"id":"y"},{"id":"x","n":2}]}}`, "  a.b[x].n: 1 → 2\n"},
		{`{"l":[1,2]}`, `{"l":[1,3,4]}`, "  l[1]: 2 → 3\n+ l[2]: 4\n"},
		{`{"l":["a","b"]}`, `{"l":["b"]}`, "- l[a]: a\n"},
		{`{"l":["a","a"]}`, `{"l":["a","b"]}`, "  l[1]: a → b\n"},
		{`{}`, `{"l":[]}`, ""},
		{`{}`, `{"l":[{"commit":3,"event":1,"k":true}]}`, "+ l[commit 3 event 1]: {\"commit\":3,\"event\":1,\"k\":true}\n"},
		{`{"a":""}`, `{"a":"b"}`, "  a: \"\" → b\n"},
		{`{"a":"x"}`, `{"a":{"b":1}}`, "  a: x → {\"b\":1}\n"},
	} {
		a, err := parseAll(c.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parseAll(c.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Compared{Changes: diff(a, b)}).Tell(); got != c.want {
			t.Errorf("%s, %s:\n%s", c.a, c.b, got)
		}
	}
}

// The changes of all neighbours together are those from the first commit to the last: nothing is left out between them.
//
// spec: D181
func TestDiffOfNeighboursAddsUp(t *testing.T) {
	p := newPlace(t, "diffs")
	id := p.run("Do it.", "7")
	touched := map[string]bool{}
	r, err := Fold(p.folder(id), ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	head := r.Head.Number
	r.Close()
	for n := range head {
		to := n + 1
		d, err := Compare(p.folder(id), Range{&n, &to}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range d.Changes {
			touched[top(c.Path)] = true
		}
		same, err := Compare(p.folder(id), Range{&n, &n}, "", false)
		if err != nil || len(same.Changes) > 0 {
			t.Errorf("commit %d differs from itself: %v %v", n, same, err)
		}
	}
	zero := uint64(0)
	d, err := Compare(p.folder(id), Range{&zero, nil}, "", false)
	if err != nil || d.To != head {
		t.Fatal(d, err)
	}
	for _, c := range d.Changes {
		if !touched[top(c.Path)] {
			t.Errorf("%s changed and no neighbours showed it", c.Path)
		}
	}
}

func top(path string) string {
	if at := strings.IndexAny(path, ".["); at >= 0 {
		return path[:at]
	}
	return path
}

// Every field of every view can be asked for, whether it has a value or not, by its whole path.
//
// spec: D182
func TestEveryFieldIsAsked(t *testing.T) {
	p := newPlace(t, "fields")
	id := p.run("Do it.", "7")
	all := viewFields()
	if len(all) < 100 {
		t.Errorf("only %d fields", len(all))
	}
	for _, f := range all {
		c, err := ParseCondition(f.String())
		if err != nil || c.Path != f.String() {
			t.Errorf("%s: %v", f.String(), err)
			continue
		}
		if found, err := Where(p.folder(id), c); err == nil && (found.Commit == 0 || found.Event == 0 || found.Tell() == "") {
			t.Errorf("%s: %+v", f.String(), found)
		}
	}
}

// spec: D182
func TestBadConditions(t *testing.T) {
	for in, want := range map[string]string{
		"": "names no field", "=1": "names no field", "gate!x": "comparisons are", "nothing.at.all=1": "the views are session, run",
		"execution.gate=x": "has fields", "execution.gate.reason>1": "is no number", "turns.count=x": "is a number", "turns.cuont=1": "near are turns.count",
	} {
		if _, err := ParseCondition(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
	for in, want := range map[string]string{"gate": "execution.gate", "turns.count >= 2": "turns.count>=2", "execution.state==ready": "execution.state=ready", "calls.open=0": "calls.open=0"} {
		if c, err := ParseCondition(in); err != nil || c.String() != want {
			t.Errorf("%q: %v %v", in, c, err)
		}
	}
}

// A chain that is longer than a line is wide goes on at the last level and says how deep it is; of many lines the last are
// kept.
//
// spec: D180
func TestTailOfALongChain(t *testing.T) {
	f := chained(60)
	var b bytes.Buffer
	most := 3
	for _, o := range []TailOptions{{}, {Most: &most}} {
		b.Reset()
		tl := newTailer(&b, o)
		if err := tl.look(f); err != nil {
			t.Fatal(err)
		}
		lines := slices.Collect(strings.Lines(b.String()))
		want := 60
		if o.Most != nil {
			want = most
		}
		if last := lines[len(lines)-1]; len(lines) != want || !strings.Contains(last, strings.Repeat("  ", deepest)+"(59) session.x.1") || !strings.HasSuffix(last, " ← commit 59\n") {
			t.Errorf("%d lines, the last is %q", len(lines), last)
		}
	}
}

// chained is a feed of so many commits, each caused by the one before.
type chained int

func (n chained) Lines(from uint64, fn func(*node) error) error {
	for i := from; i <= uint64(n); i++ {
		line, err := parseAll(fmt.Sprintf(`{"number":%d,"at":"2030-01-01T00:00:00.000Z","cause":%d,"command":{},"events":[{"stream":1,"type":"session.x.1","payload":{}}],"texts":[]}`, i, i-1))
		if err != nil {
			return err
		}
		if err := fn(line); err != nil {
			return err
		}
	}
	return nil
}

func (n chained) Follow(context.Context, func() error) error { return nil }
