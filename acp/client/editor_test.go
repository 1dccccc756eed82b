package client

import (
	"testing"

	"zuno/acp/schema"
)

// An editor holds chunks by message, cards by call, and replaces what an update names.
func TestEditorFolds(t *testing.T) {
	e := NewEditor()
	e.Say(schema.Text("Do it."))
	old := "a\nb\n"
	for _, u := range []schema.SessionUpdate{
		schema.MessageChunk("m1", "I "),
		schema.StartTool(schema.ToolCall{ToolCallID: "c1", Title: "Editing files", Kind: schema.KindEdit, Status: schema.StatusPending}),
		schema.MessageChunk("m1", "do.\n"),
		schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: "c1", Title: "Editing x"}),
		schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: "c1", Status: schema.StatusInProgress, Content: []schema.ToolCallContent{schema.TextItem("live")}}),
		schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: "c1", Status: schema.StatusFailed, Content: []schema.ToolCallContent{schema.DiffItem("/x", &old, "a\nc\n")}}).
			WithMeta(schema.Meta("zuno", map[string]string{"outcome": "uncertain"})),
		schema.ThoughtChunk("n1", "Careful.").WithMeta(schema.Meta("zuno", map[string]any{"notice": map[string]string{"severity": "warning", "code": "x.y"}})),
		schema.Usage(3, 10, nil),
	} {
		e.Apply(u)
	}
	want := `user:
    | Do it.
agent m1:
    | I do.
tool c1: edit, failed, uncertain
    title: Editing x
    diff:
    | --- /x
    | +++ /x
    | @@ -1,2 +1,2 @@
    |  a
    | -b
    | +c
notice n1 warning x.y:
    | Careful.
usage: 3 of 10
`
	if got := e.String(); got != want {
		t.Errorf("the editor holds\n%s\nwant\n%s", got, want)
	}
}

func TestUnified(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		before *string
		after  string
		want   string
	}{
		"new file":   {nil, "a\n", "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"},
		"emptied":    {text("a\n"), "", "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n"},
		"no newline": {text("a"), "a\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"in the middle": {
			text("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), "1\n2\n3\n4\n6\n7\n8\n9\n",
			"--- f\n+++ f\n@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n",
		},
	} {
		if got := Unified(&schema.Diff{Path: "f", OldText: c.before, NewText: c.after}); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
