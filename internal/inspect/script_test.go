package inspect

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"zuno/journal"
	"zuno/journal/event"
)

// Every text reads the same from a script, whatever is in it.
//
// spec: D190
func TestScriptTextsReadTheSame(t *testing.T) {
	texts := []string{
		"", " ", "\n", "a", "a\nb", "a\nb\n", "a\n\n\nb\n\n", " a\nb", "\ta\nb", "\na\nb", "a\n \nb", "a\nb ", "a: b\n- c\n# d\n", "\"\\\x00\x1b\u0085\u2028\ufeff🙂", "a\r\nb\r\n",
		"--- \n...\n", "a\n\tb\n", "%a\n!b\n", "a\u00a0\nb", strings.Repeat("x\n", 100),
	}
	same := func(t interface{ Fatalf(string, ...any) }, s string) {
		for _, indent := range []int{0, 6, 10} {
			var w scriptWriter
			w.line("key:")
			at := strings.Repeat(" ", max(indent, 6)-4) // a block stands deeper than its key
			w.line(at + "- k: " + yamlText(s, indent))
			w.line(at + "  last: 1")
			doc := w.b.String()
			var got struct {
				Key []struct {
					K    string
					Last int
				}
			}
			if err := yaml.Unmarshal([]byte(doc), &got); err != nil || len(got.Key) != 1 || got.Key[0].K != s || got.Key[0].Last != 1 {
				t.Fatalf("%q reads as %+v: %v\n%s", s, got, err, doc)
			}
		}
	}
	for _, s := range texts {
		same(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		same(t, rapid.StringOfN(rapid.RuneFrom([]rune("ab :-#'\"\\|>\n\n\t\r$\u0000\u0085\u00a0\u2028é🙂{}[]%&*!?,@`")), 0, 30, -1).Draw(t, "text"))
	})
}

// The words of a failure come apart again into what they were put together from.
//
// spec: D190
func TestScriptErrorParts(t *testing.T) {
	for _, c := range []struct {
		status                uint64
		code, reason          string
		wantCode, wantMessage string
	}{
		{429, "rate_limited", "provider answered 429 (rate_limited): Slow down.", "rate_limited", "Slow down."},
		{500, "provider", "provider answered 500: Broken.", "", "Broken."},
		{500, "provider", "provider answered 500 (provider): Broken.", "provider", "Broken."},
		{0, "timeout", "timeout: Too late.", "timeout", "Too late."},
		{0, "provider", "No words.", "", "No words."},
		{0, "internal", "It cannot be.", "internal", "It cannot be."},
	} {
		code, message := errorParts(&event.Failure{Code: c.code, Status: c.status}, c.reason)
		if code != c.wantCode || message != c.wantMessage {
			t.Errorf("%+v: %q %q", c, code, message)
		}
	}
}

// A response that nothing ended is a cut one, if something of it was seen; a journal that lost its texts has no script.
//
// spec: D190
func TestScriptOfWhatIsLeft(t *testing.T) {
	p := newPlace(t, "left")
	id := p.run("Do it.", "7")
	whole := p.ok("journal", "script", id)
	extend(t, p.folder(id), func(texts *journal.Texts) []journal.Event {
		return encoded(t, texts,
			&event.ExecutionChanged{Trigger: "begin", Phase: "running"},
			&event.TurnStarted{ID: "turn_x", Cycle: "cycle_x", Trigger: event.TriggerUser},
			&event.RequestStarted{ID: "req_x", Turn: "turn_x", Number: 1, Attempt: 1},
			&event.ResponsePart{Request: "req_x", Attempt: 1, Kind: event.PartText, Text: event.NewText("Half of ")},
			&event.ResponsePart{Request: "req_x", Attempt: 1, Kind: event.PartText, Text: event.NewText("it")})
	})
	if got := p.ok("journal", "script", id); got != whole+"  - text: \"Half of it\"\n    cut: true\n" {
		t.Errorf("%q", got)
	}
	p.ok("journal", "redact", id, "lost.zuno")
	if said := p.fails("journal", "script", "./lost.zuno"); !strings.Contains(said, "was dropped from this journal") {
		t.Error(said)
	}
}
