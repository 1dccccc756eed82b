package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// spec: D018
func TestReplayUntil(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	var then []string
	for line := range strings.Lines(p.ok("journal", "export", id)) {
		var c struct {
			Number uint64
			Events []struct{ Type string }
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		for _, e := range c.Events {
			switch e.Type {
			case "session.created.1", "session.call.requested.1", "session.call.started.1", "session.call.settled.1", "session.turn.ended.1":
				v := p.ok("replay", id, "--until", fmt.Sprint(c.Number), "--view", "calls")
				e := p.ok("replay", id, "--until", fmt.Sprint(c.Number), "--view", "execution")
				then = append(then, fmt.Sprintf("commit %d\n%s%s", c.Number, v, e))
			}
		}
	}
	got := strings.Join(then, "\n")
	got = regexp.MustCompile(`(call|cycle)_[0-9a-z]+ `).ReplaceAllString(got+" ", "${1}_x ")
	for _, want := range []string{
		"commit 1\ncalls  none\nexecution\n  state     ready\n", "shell  requested  commit", "shell  started  ", "shell  settled_ok ", "write  started",
		"read   settled_error (NotFound)", "state     completed, phase completed",
	} {
		if !strings.Contains(regexp.MustCompile(` +`).ReplaceAllString(got, " "), regexp.MustCompile(` +`).ReplaceAllString(want, " ")) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	head := strings.Count(p.ok("journal", "export", id), "\n")
	if p.ok("replay", id) != p.ok("replay", id, "--until", fmt.Sprint(head)) {
		t.Error("until the head differs from the head")
	}
	if errs := p.fails("replay", id, "--until", "99999"); !strings.Contains(errs, "no commit 99999") || !strings.Contains(errs, fmt.Sprintf("ends with commit %d", head)) {
		t.Error(errs)
	}
	if out := p.ok("replay", id, "--until", "0"); !strings.HasPrefix(out, fmt.Sprintf("commit 0 of %d\n\nsession  none\n", head)) {
		t.Error(out)
	}
	if out := p.ok("replay", id, "--until", "0", "--json"); !strings.Contains(out, `"commit": 0,`) || !json.Valid([]byte(out)) {
		t.Error(out)
	}
	errs := p.fails("replay", id, "--view", "weather")
	for _, name := range ViewNames() {
		if !strings.Contains(errs, name) {
			t.Errorf("view %s is not among those that exist: %s", name, errs)
		}
	}
}

// spec: D018 D019
func TestReplayJSON(t *testing.T) {
	a, b := newPlace(t, "one"), newPlace(t, "one")
	b.cwd, b.dir, b.env = a.cwd, a.dir, a.env // the same folder, another data folder
	ida := a.run("hello <there> & \x01", "1")
	if err := os.Remove(a.cwd + "/notes.txt"); err != nil {
		t.Fatal(err)
	}
	idb := b.run("hello <there> & \x01", "1")
	out := a.ok("replay", ida, "--json")
	if out != a.ok("replay", ida, "--json") {
		t.Error("two replays of one journal differ")
	}
	if mask := strings.NewReplacer(a.data, "", b.data, "").Replace; ida != idb || mask(out) != mask(b.ok("replay", idb, "--json")) {
		t.Error("replays of equal journals differ")
	}
	var views map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &views); err != nil {
		t.Fatal(err)
	}
	for _, name := range ViewNames() {
		var whole, one bytes.Buffer
		if views[name] == nil {
			t.Errorf("view %s is missing", name)
			continue
		}
		_ = json.Compact(&whole, views[name])
		if err := json.Compact(&one, []byte(a.ok("replay", ida, "--json", "--view", name))); err != nil || whole.String() != one.String() {
			t.Errorf("view %s by itself differs: %v", name, err)
		}
		text := a.ok("replay", ida, "--view", name)
		if name != "transcript" && !strings.HasPrefix(text, name) || strings.ContainsAny(text, "\x01\t") {
			t.Errorf("view %s reads %q", name, text)
		}
	}
	var transcript []struct{ Kind, Text, Tool, Outcome string }
	if err := json.Unmarshal(views["transcript"], &transcript); err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(transcript)
	for _, want := range []string{"{user hello <there> & \x01", "{reasoning Look first.", "{call {\"command\":", "{result ", "error (NotFound)", "{text Done: notes.txt is there."} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in the transcript %s", want, said)
		}
	}
	if !strings.Contains(out, "hello <there> & ") || !strings.Contains(string(views["files"]), a.cwd+"/notes.txt") {
		t.Error("a text is not at its place or is escaped more than JSON asks for")
	}
}

// spec: D020
func TestNormalize(t *testing.T) {
	a, b := newPlace(t, "a"), newPlace(t, "a-much-longer-name")
	b.binary = other
	ida, idb := a.run("I am in "+a.cwd+", below "+a.dir+"/a.", ""), b.run("I am in "+b.cwd+", below "+b.dir+"/a-much-longer-name.", "")
	for _, command := range [][]string{{"journal", "export"}, {"replay", "--json"}, {"replay"}, {"replay", "--view", "calls"}, {"replay", "--until", "9"}} {
		outA, outB := a.ok(append(command, ida, "--normalize")...), b.ok(append(command, idb, "--normalize")...)
		if outA != outB {
			t.Errorf("%v differs:\n%s", command, firstDifference(outA, outB))
		}
		for _, leak := range []string{a.dir, "/tmp", ida[4:], "ins_", "20" + "26-"} {
			if strings.Contains(outA, leak) {
				t.Errorf("%v holds %s", command, leak)
			}
		}
		if plain := a.ok(append(command, ida)...); plain == outA {
			t.Errorf("%v changes nothing", command)
		}
	}
	out := a.ok("journal", "export", ida, "--normalize")
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	for _, want := range []string{
		`I am in ${cwd}, below ${worktree}.`, `"id":"inp_1"`, `"id":"call_3"`, `"run":"run_1"`, `"session":"ses_1"`, `"build":"${build}"`, `"installation":"${installation}"`, `"at":"${time}"`,
		`"digest":"${digest}"`, `${data}/sessions/ses_1/out/call_1.out`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the export lacks %s", want)
		}
	}
	// What one journal calls turn_1 is turn_1 in everything that is shown of it.
	if out := a.ok("replay", ida, "--normalize", "--view", "calls", "--json"); !strings.Contains(out, `"id": "call_2"`) || !strings.Contains(out, `"turn": "turn_1"`) {
		t.Errorf("%s", out)
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			return fmt.Sprintf("- %s\n+ %s", x[i], strings.Join(y[min(i, len(y)):min(i+1, len(y))], ""))
		}
	}
	return "one is longer"
}

// spec: D018 D096
func TestCorruptJournal(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	extend(t, p.folder(id), func(texts *journal.Texts) []journal.Event {
		return encoded(t, texts, &event.TurnEnded{ID: "turn_none", State: "completed"})
	})
	out, errs, code := p.zuno("replay", id)
	if code != 1 || !strings.Contains(out, "corrupt from commit ") || !strings.Contains(errs, "turn turn_none is not active") || !strings.Contains(errs, p.file(id)) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if out, _, code := p.zuno("replay", id, "--json"); code != 1 || !strings.Contains(out, `"corrupt": {"commit":`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	head := strings.Count(p.ok("journal", "export", id), "\n")
	p.ok("replay", id, "--until", fmt.Sprint(head-1)) // what came before it is sound
}

// What a run with a scripted model does not bring forth: questions, refusals, failures, gates, notices, other streams.
//
// spec: D015 D018
func TestEveryViewForPeople(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	extend(t, p.folder(id), func(texts *journal.Texts) []journal.Event {
		return append(encoded(t, texts,
			&event.InputAdmitted{ID: "inp_b", Client: "c", Trigger: event.TriggerUser, Delivery: event.DeliverQueue, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("again\nplease")}, {Type: event.BlockLink, URI: event.NewText("file:///x")}}},
			&event.ExecutionChanged{Trigger: "begin", Phase: "running", Cycle: "cycle_b"},
			&event.TurnStarted{ID: "turn_b", Cycle: "cycle_b", Trigger: event.TriggerUser, Model: event.ModelChoice{Provider: "p", Name: "m"}},
			&event.InputDeliveryBatch{Turn: "turn_b", Cycle: "cycle_b", Inputs: []string{"inp_b"}},
			&event.RequestStarted{ID: "req_b", Turn: "turn_b", Number: 1, Attempt: 1},
			&event.InputApplied{Input: "inp_b", Turn: "turn_b", Request: "req_b"},
			&event.ResponseCompleted{Request: "req_b", Attempt: 1, Finish: "tool_calls", Calls: 3},
			&event.CallRequested{ID: "call_a", Turn: "turn_b", Request: "req_b", Attempt: 1, Position: 1, Tool: "shell", Args: event.NewText(`{"command":"x"}`), Permission: event.Ask, Declaration: event.Declaration{Effect: event.SideEffecting}},
			&event.CallRequested{ID: "call_b", Turn: "turn_b", Request: "req_b", Attempt: 1, Position: 2, Tool: "shell", Args: event.NewText(`{}`), Permission: event.Deny},
			&event.CallRequested{ID: "call_c", Turn: "turn_b", Request: "req_b", Attempt: 1, Position: 3, Tool: "shell", Args: event.NewText(`{}`), Permission: event.Ask},
			&event.CallBlocked{ID: "call_b", Kind: event.Denied, Text: event.NewText("the policy denies it")},
			&event.PermissionAsked{ID: "perm_a", Call: "call_a"},
			&event.PermissionAnswered{ID: "perm_a", Call: "call_a", Verdict: event.VerdictAllow},
			&event.CallStarted{ID: "call_a", Attempt: 1},
			&event.CallSettled{ID: "call_a", Attempt: 1, Outcome: event.OutcomeUncertain, Text: event.NewText("nobody knows"), Exit: &event.Exit{Signal: "SIGKILL"}},
			&event.PermissionAsked{ID: "perm_c", Call: "call_c"},
			&event.ControlRequested{ID: "ctl_a", Kind: "cancel", Turn: "turn_b", Source: "user"},
			&event.NoticeRaised{ID: "note_a", Severity: "warning", Code: "interrupted", Text: event.NewText("it was \x1b[31mcut\u202e short")},
			&event.ExecutionChanged{Trigger: "pause", Reason: "uncertain", Phase: "paused"},
		), journal.Event{Stream: 2, Type: "session.input.admitted.1", Payload: []byte{0x81, 0xa2, 'i', 'd', 0xa5, 'i', 'n', 'p', '_', 'z'}})
	})
	out := regexp.MustCompile(` +`).ReplaceAllString(p.ok("replay", id), " ")
	for _, want := range []string{
		"inp_b applied user, queue", "turn_b running, being stopped from commit", "call_a shell settled_uncertain commit", " ask, answered allow side_effecting",
		"call_b shell blocked (denied)", "call_c shell asking", "perm_a allow commit", "perm_c pending commit", "ctl_a cancel by user commit", `warning interrupted it was \x1b[31mcut\u202e short`,
		"state paused, phase paused", "gate uncertain, raised by commit", "user again please [resource_link file:///x]", "result blocked: denied: the policy denies it", "result uncertain, SIGKILL: nobody knows",
		"stream 2: inputs\n inp_z admitted",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if out := p.ok("replay", id, "--json"); !strings.Contains(out, `"children": {`) || !json.Valid([]byte(out)) {
		t.Error("the second stream is missing in JSON")
	}
}

// Among all views a long one shows its end, by itself all of it.
//
// spec: D018
func TestLongViews(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	extend(t, p.folder(id), func(texts *journal.Texts) []journal.Event {
		var notices []event.Payload
		for i := range most + 10 {
			notices = append(notices, &event.NoticeRaised{ID: fmt.Sprintf("note_%d", i), Severity: "info", Code: fmt.Sprintf("code%03d", i), Text: event.NewText("so")})
		}
		return encoded(t, texts, notices...)
	})
	if out := p.ok("replay", id); !strings.Contains(out, "  … 10 earlier ones: --view notices shows all\n") || strings.Contains(out, "code009") || !strings.Contains(out, "code010") {
		t.Errorf("%s", out)
	}
	if out := p.ok("replay", id, "--view", "notices"); strings.Count(out, "code") != most+10 {
		t.Errorf("%s", out)
	}
}

// A journal whose texts were dropped still folds, and shows their places.
//
// spec: D018
func TestDroppedTexts(t *testing.T) {
	r := &Replay{texts: map[journal.Hash]textPlace{}, View: projections.NewView(projections.Options{})}
	text := event.Text{Digest: journal.Hash{1}, Size: 12}
	got, err := r.text(text)
	if err != nil || got.Known() || words(got, 10) != "[dropped: 12 bytes]" {
		t.Errorf("%+v %v", got, err)
	}
	line, err := parse([]byte(`{"number":1,"at":"2030-01-01T00:00:00.000Z","cause":0,"command":{"id":"c","type":"x","version":2,"actor":"a","payload":{}},"events":[{"stream":2,"type":"t.1","payload":{"a":{"text":0},"b":{"text":1},"n":[1,2,3,4,5,6,7]}}],"texts":[{"digest":"00","size":12},{"digest":"00","size":1,"base64":"/w=="}]}`))
	if err != nil {
		t.Fatal(err)
	}
	inline(line)
	want := "commit 1  2030-01-01 00:00:00.000Z  x v2  by a  (c)\n  stream 2: t.1  a=[dropped: 12 bytes] b=[binary] n=[7 of them]\n"
	if got := tellCommit(line); got != want {
		t.Errorf("%q", got)
	}
}

// spec: D020
func TestPathsAreReplacedAsPaths(t *testing.T) {
	for in, want := range map[string]string{
		"/a/b": "X", "/a/b/c": "X/c", "/a/bc": "/a/bc", "/a/b.c": "/a/b.c", "in /a/b.": "in X.", "/z/a/b": "/z/a/b", "file:///a/b": "file://X",
		`"/a/b","/a/b"`: `"X","X"`, "/a/b-c": "/a/b-c", "/a/bä": "/a/bä", "/a/b: no": "X: no", "": "",
	} {
		if got := replacePath(in, "/a/b", "X"); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}

// spec: D018
func TestShort(t *testing.T) {
	for in, want := range map[string]string{
		" a \n\n b\t": "a b", "abcdefgh": "abcde…", "abcde": "abcde", "\x1b[0m": `\x1b[0m`, "\xff": `\xff`, "a\u202eb": `a\u202eb`, "üüüüü ": "üüüüü", "": "", "\ufffd": "\ufffd",
	} {
		if got := short(in, 5); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}
