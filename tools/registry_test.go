package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"zuno/journal/event"
)

type sampleArgs struct {
	Path  string   `json:"path" jsonschema:"Where."`
	Count int      `json:"count,omitempty" minimum:"1"`
	Tags  []string `json:"tags,omitempty"`
	Mode  string   `json:"mode,omitempty" enum:"fast,slow"`
	Inner *struct {
		Deep bool `json:"deep"`
	} `json:"inner,omitempty"`
}

type noArgs struct {
	Note string `json:"note,omitempty"`
}

func sampleTool(got *sampleArgs) Spec[sampleArgs] {
	return Spec[sampleArgs]{Name: "sample", Prepare: func(_ Where, a sampleArgs) (Prepared, *Blocked) {
		*got = a
		return Prepared{Run: func(context.Context, Env) Result { return Result{Outcome: OK} }}, nil
	}}
}

func registryOfSample() (*Registry, *sampleArgs) {
	r, got := NewRegistry(), new(sampleArgs)
	Register(r, sampleTool(got))
	Register(r, Spec[noArgs]{Name: "empty", Prepare: func(Where, noArgs) (Prepared, *Blocked) { return Prepared{}, nil }})
	return r, got
}

// Every combination can be declared, and each of the three is what was declared.
//
// spec: T001 T338
func TestDeclarationsAreIndependent(t *testing.T) {
	effects := []event.Effect{event.ReadOnly, event.UserMediated, event.Delegating, event.SideEffecting}
	replays := []event.Replay{event.ReplayNever, event.ReplaySafe}
	overlaps := []event.Concurrency{event.Exclusive, event.ParallelSafe, event.IsolatedBackground}
	for _, effect := range effects {
		for _, replay := range replays {
			for _, overlap := range overlaps {
				want := event.Declaration{Effect: effect, Replay: replay, Concurrency: overlap}
				r := NewRegistry()
				spec := sampleTool(new(sampleArgs))
				spec.Declaration = want
				Register(r, spec)
				p, blocked := r.Resolve(Where{}, "sample", `{"path":"x"}`)
				if blocked != nil || p.Declaration != want || r.Catalogue()[0].Declaration != want {
					t.Errorf("declared %v: call has %v (%v)", want, p.Declaration, blocked)
				}
			}
		}
	}
}

// spec: T315 T320 T329
func TestUndeclaredIsStrict(t *testing.T) {
	r, _ := registryOfSample()
	p, _ := r.Resolve(Where{}, "sample", `{"path":"x"}`)
	want := event.Declaration{Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive}
	if p.Declaration != want {
		t.Errorf("got %v", p.Declaration)
	}
	// One statement leaves the other two at their default.
	r = NewRegistry()
	spec := sampleTool(new(sampleArgs))
	spec.Declaration.Replay = event.ReplaySafe
	Register(r, spec)
	p, _ = r.Resolve(Where{}, "sample", `{"path":"x"}`)
	if p.Declaration != (event.Declaration{Effect: event.SideEffecting, Replay: event.ReplaySafe, Concurrency: event.Exclusive}) {
		t.Errorf("only replay declared: got %v", p.Declaration)
	}
}

// spec: T315
func TestNarrowLooksAtTheArguments(t *testing.T) {
	r := NewRegistry()
	spec := sampleTool(new(sampleArgs))
	spec.Narrow = func(a sampleArgs) event.Declaration {
		if a.Mode == "fast" {
			return event.Declaration{Effect: event.ReadOnly}
		}
		return event.Declaration{}
	}
	Register(r, spec)
	for args, want := range map[string]event.Effect{`{"path":"x","mode":"fast"}`: event.ReadOnly, `{"path":"x"}`: event.SideEffecting} {
		if p, _ := r.Resolve(Where{}, "sample", args); p.Declaration.Effect != want || p.Declaration.Replay != event.ReplayNever {
			t.Errorf("%s: %v", args, p.Declaration)
		}
	}
}

// spec: D123 T351
func TestInvalidArgumentsNameTheField(t *testing.T) {
	r, _ := registryOfSample()
	big := `{"path":"` + strings.Repeat("x", 300<<10)
	for _, c := range []struct{ args, names string }{
		{`{}`, `"path" is missing`},
		{``, `"path" is missing`},
		{"  \n", `"path" is missing`},
		{`{"path":7}`, `"path" must be a string, not a number`},
		{`{"path":null}`, `"path" must be a string, not null`},
		{`{"path":"x","count":null}`, `"count" must be a whole number, not null. Leave`},
		{`{"path":"x","count":1.5}`, `"count" must be a whole number, not a fraction`},
		{`{"path":"x","count":0}`, `"count" is 0, but must be at least 1`},
		{`{"path":"x","count":1e300}`, `"count" must be`},
		{`{"path":"x","extra":1}`, `"extra" is unknown. The fields are: path, count, tags, mode, inner, intent`},
		{`{"Path":"x","path":"y"}`, `"Path" is unknown`},
		{`{"path":"x","path":"y"}`, `"path" is given twice`},
		{`{"path":"x","inner":{"deep":true,"deep":false}}`, `"inner.deep" is given twice`},
		{`{"path":"x","inner":{}}`, `"inner.deep" is missing`},
		{`{"path":"x","inner":{"deep":1}}`, `"inner.deep" must be a boolean`},
		{`{"path":"x","tags":["a",2]}`, `"tags[1]" must be a string`},
		{`{"path":"x","tags":"a"}`, `"tags" must be a list, not a string`},
		{`{"path":"x","mode":"medium"}`, `"mode" is "medium", but must be one of [fast slow]`},
		{`{"path":"x","intent":3}`, `"intent" must be a string`},
		{`{"path": "a.txt"`, `cut off after 16 bytes; required: path`},
		{`{"path": "a.t`, `cut off`},
		{`[]`, `a list instead of a JSON object; required: path`},
		{`null`, `null instead of a JSON object`},
		{`"x"`, `a string instead of a JSON object`},
		{`7`, `a number instead of a JSON object`},
		{`{"path":"x"} {}`, `not valid JSON (more text`},
		{`{path:"x"}`, `not valid JSON`},
		{"{\"path\":\"\xff\"}", `not UTF-8`},
		{strings.Repeat("[", 5000), `nested more than`},
		{big, `cut off`},
		{big + `","` + strings.Repeat("y", 300<<10) + `":1}`, `is unknown`},
		{strings.Repeat("x", 300<<10), `not valid JSON`},
	} {
		_, blocked := r.Resolve(Where{}, "sample", c.args)
		shown := clip(c.args, 60)
		switch {
		case blocked == nil:
			t.Errorf("%s: accepted", shown)
		case blocked.Kind != InvalidArguments:
			t.Errorf("%s: %s", shown, blocked.Kind)
		case !strings.Contains(blocked.Message, c.names):
			t.Errorf("%s: %q does not say %q", shown, blocked.Message, c.names)
		case len(blocked.Message) > messageBytes+20:
			t.Errorf("%s: message of %d bytes", shown, len(blocked.Message))
		case !strings.Contains(blocked.Message, "nothing was done"):
			t.Errorf("%s: %q does not say that nothing was done", shown, blocked.Message)
		}
	}
}

// spec: D123
func TestValidArguments(t *testing.T) {
	r, got := registryOfSample()
	for args, want := range map[string]string{
		`{"path":"x"}`:                             `{"path":"x"}`,
		`{"path":"\u00e9\n","count":2.0}`:          `{"path":"é\n","count":2}`,
		`{"count":2e3,"path":"","tags":["a","b"]}`: `{"path":"","count":2000,"tags":["a","b"]}`,
		`{"path":"x","inner":{"deep":true}}`:       `{"path":"x","inner":{"deep":true}}`,
	} {
		*got = sampleArgs{}
		if _, blocked := r.Resolve(Where{}, "sample", args); blocked != nil {
			t.Errorf("%s: %s", args, blocked.Message)
			continue
		}
		if encoded, _ := json.Marshal(got); string(encoded) != want {
			t.Errorf("%s: decoded as %s", args, encoded)
		}
	}
	for _, args := range []string{``, `{}`, ` {} `} {
		if _, blocked := r.Resolve(Where{}, "empty", args); blocked != nil {
			t.Errorf("%q for a tool without required fields: %s", args, blocked.Message)
		}
	}
	if p, _ := r.Resolve(Where{}, "sample", `{"path":"x","intent":"look"}`); p.Intent != "look" {
		t.Errorf("intent is %q", p.Intent)
	}
}

// spec: T352
func TestUnknownToolIsUnavailable(t *testing.T) {
	r, _ := registryOfSample()
	_, blocked := r.Resolve(Where{}, strings.Repeat("no", 9000), `{`)
	if blocked == nil || blocked.Kind != Unavailable || !strings.Contains(blocked.Message, "empty, sample") || len(blocked.Message) > 200 {
		t.Errorf("got %+v", blocked)
	}
}

// spec: D123
func TestCatalogueIsStable(t *testing.T) {
	first, _ := registryOfSample()
	second, _ := registryOfSample()
	a, b := first.Catalogue(), second.Catalogue()
	if !slices.IsSortedFunc(a, func(x, y Entry) int { return strings.Compare(x.Name, y.Name) }) {
		t.Error("not in order")
	}
	for i := range a {
		if !bytes.Equal(a[i].Schema, b[i].Schema) || a[i].SchemaDigest != b[i].SchemaDigest {
			t.Errorf("%s differs between two registries", a[i].Name)
		}
		if bytes.Contains(a[i].Schema, []byte("null")) || !json.Valid(a[i].Schema) {
			t.Errorf("schema %s", a[i].Schema)
		}
	}
	want := `{"type":"object","properties":{"path":{"type":"string","description":"Where."},"count":{"type":"integer","minimum":1},"tags":{"type":"array","items":{"type":"string"}},"mode":{"type":"string","enum":["fast","slow"]},"inner":{"type":"object","properties":{"deep":{"type":"boolean"}},"required":["deep"],"additionalProperties":false},"intent":{"type":"string","description":"` + intentDescription + `"}},"required":["path"],"additionalProperties":false}`
	if got := string(a[1].Schema); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRegisterRefusesMistakes(t *testing.T) {
	for name, spec := range map[string]Spec[noArgs]{
		"name":           {Name: "Bad Name", Prepare: func(Where, noArgs) (Prepared, *Blocked) { return Prepared{}, nil }},
		"twice":          {Name: "empty", Prepare: func(Where, noArgs) (Prepared, *Blocked) { return Prepared{}, nil }},
		"no preparation": {Name: "other"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: registered", name)
				}
			}()
			r, _ := registryOfSample()
			Register(r, spec)
		}()
	}
}

// Whatever comes from a model is refused shortly or is an object that fits.
//
// spec: D123
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"path":"x","count":3}`, `{"path":"x","inner":{"deep":true}}`, `[`, `{"path":"x","path":1}`, `{"a":{"b":[1,{"c":null}]}}`} {
		f.Add(seed)
	}
	r, got := registryOfSample()
	f.Fuzz(func(t *testing.T, args string) {
		_, blocked := r.Resolve(Where{}, "sample", args)
		if blocked != nil {
			if blocked.Kind != InvalidArguments || len(blocked.Message) > messageBytes+20 || blocked.Message == "" {
				t.Errorf("%+v", blocked)
			}
			return
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(args), &object); err != nil || object["path"] != got.Path {
			t.Errorf("accepted %q as %+v (%v)", args, got, err)
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	for _, size := range []int{10, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r, _ := registryOfSample()
			args := `{"path":"` + strings.Repeat("x", size) + `","count":3}`
			b.ReportAllocs()
			for b.Loop() {
				if _, blocked := r.Resolve(Where{}, "sample", args); blocked != nil {
					b.Fatal(blocked.Message)
				}
			}
		})
	}
}
