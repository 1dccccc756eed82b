package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/journal/event"
)

// bare is what a client holds that knows nothing of our _meta.
func bare(t *testing.T, events ...event.Payload) *client.Editor {
	t.Helper()
	e := client.NewEditor()
	p := NewProjector(func(u schema.SessionUpdate) {
		b, err := json.Marshal(u.WithMeta(nil))
		if err != nil || strings.Contains(string(b), `"_meta"`) {
			t.Fatalf("%s, %v", b, err)
		}
		var back schema.SessionUpdate
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		e.Apply(back)
	})
	p.Committed(commit(events...))
	return e
}

func patchCall(paths ...string) *event.CallRequested {
	return &event.CallRequested{ID: "call_1", Tool: "apply_patch", Kind: "edit", Args: event.NewText("{}"), Paths: absolute(paths...)}
}

func changed(path, real string) event.File {
	f := event.File{Path: event.NewText("/w/" + path), Change: event.ChangeModify, Diff: true, Old: event.NewText("a\n"), New: event.NewText("b\n")}
	if real != "" {
		f.Real = event.NewText("/w/" + real)
	}
	return f
}

func shownAt(c *client.Card) (out []string) {
	for _, l := range c.Locations {
		out = append(out, l.Path)
	}
	return out
}

// TestTitleComesBeforeTheCallRuns: a pending card says what any edit says, the complete arguments name its files, and both
// come before the call is in progress. No standard field needs a _meta of ours.
//
// spec: A084 A085 A095
func TestTitleComesBeforeTheCallRuns(t *testing.T) {
	var seen []string
	p := NewProjector(func(u schema.SessionUpdate) {
		switch {
		case u.ToolCall != nil:
			seen = append(seen, u.ToolCall.Title+" "+string(u.ToolCall.Status))
		case u.ToolCallUpdate != nil:
			seen = append(seen, u.ToolCallUpdate.Title+" "+string(u.ToolCallUpdate.Status))
		}
	})
	p.early("call_1", "apply_patch") // its arguments have begun to come
	p.Committed(commit(patchCall("a.go", "b.go"), &event.CallStarted{ID: "call_1", Attempt: 1}))
	if got := strings.Join(seen, "; "); got != "Editing files pending; Editing a.go, b.go ; in_progress" && got != "Editing files pending; Editing a.go, b.go ;  in_progress" {
		t.Errorf("%q", got)
	}
	c := bare(t, patchCall("a.go", "b.go")).Card("call_1")
	if c.Title != "Editing a.go, b.go" || strings.Join(shownAt(c), " ") != "/w/a.go /w/b.go" || c.Kind != "edit" {
		t.Errorf("without _meta: %+v", c)
	}
}

// TestResolvedPathsReplaceAliases: what an edit was resolved to is what its final card names and shows; the rest stays as
// it was asked for.
//
// spec: A091
func TestResolvedPathsReplaceAliases(t *testing.T) {
	c := bare(t, patchCall("alias", "plain.go"), &event.CallSettled{
		ID: "call_1", Outcome: event.OutcomeOK, Text: event.NewText("done"),
		Files: []event.File{changed("alias", "deep/real.go"), changed("plain.go", "")},
	}).Card("call_1")
	if c.Title != "Editing real.go, plain.go" || strings.Join(shownAt(c), " ") != "/w/deep/real.go /w/plain.go" {
		t.Errorf("%q at %v", c.Title, shownAt(c))
	}
	if d := c.Diffs(); len(d) != 2 || d[0].Path != "/w/deep/real.go" {
		t.Errorf("diffs %+v", d)
	}
}

// TestFailedBeforeWriting: a change that failed before anything was written says what to do and shows no diff, whatever its
// result holds.
//
// spec: A098
func TestFailedBeforeWriting(t *testing.T) {
	says := "ContextMismatch: hunk 1 does not fit.\nrequiredAction: Read the file."
	c := bare(t, patchCall("a.go"), &event.CallSettled{
		ID: "call_1", Outcome: event.OutcomeError, Class: "ContextMismatch", Text: event.NewText(says), Files: []event.File{changed("a.go", "")},
	}).Card("call_1")
	if c.Status != "failed" || len(c.Diffs()) != 0 || c.Text() != says || c.Title != "Editing a.go" || strings.Join(shownAt(c), " ") != "/w/a.go" {
		t.Errorf("%+v", c)
	}
}

// TestUncertainKeepsWhatWasObserved: a change of which only a part is known to have happened failed, is called uncertain, and
// keeps the paths and diffs that were observed.
//
// spec: A099 A100 A101
func TestUncertainKeepsWhatWasObserved(t *testing.T) {
	requested := patchCall("a.go", "b.go")
	for name, x := range map[string]struct {
		settled event.CallSettled
		at      string
		diffs   int
	}{
		"receipts":        {event.CallSettled{Files: []event.File{changed("a.go", "")}}, "/w/a.go", 1},
		"a typed outcome": {event.CallSettled{Raw: event.NewText(`{"files":[{"path":"/w/a.go","change":"modify"}]}`)}, "/w/a.go", 0},
		"nothing is seen": {event.CallSettled{Raw: event.NewText(`{"files":[]}`)}, "/w/a.go /w/b.go", 0},
		"the agent died":  {event.CallSettled{}, "/w/a.go /w/b.go", 0},
	} {
		x.settled.ID, x.settled.Outcome, x.settled.Text = "call_1", event.OutcomeUncertain, event.NewText("Uncertain: read every file.")
		var outcome any
		for _, u := range drawn(t, requested, &x.settled) {
			outcome = u["_meta"].(map[string]any)["zuno"].(map[string]any)["outcome"]
		}
		c := bare(t, requested, &x.settled).Card("call_1")
		if outcome != "uncertain" || c.Status != "failed" || strings.Join(shownAt(c), " ") != x.at || len(c.Diffs()) != x.diffs || c.Text() != "Uncertain: read every file." || c.Title != "Editing a.go, b.go" {
			t.Errorf("%s: %v %+v", name, outcome, c)
		}
	}
}
