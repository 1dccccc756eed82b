package acp

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"zuno/acp/schema"
)

// TestPlacesOfAReplay: of what history names, only what an editor can open in the worktree keeps its location.
//
// spec: A094
func TestPlacesOfAReplay(t *testing.T) {
	dir := t.TempDir()
	work, outside := filepath.Join(dir, "work"), filepath.Join(dir, "work-beside")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(work, "sub"), 0o755))
	must(os.Mkdir(outside, 0o755))
	must(os.WriteFile(filepath.Join(work, "kept"), nil, 0o644))
	must(os.WriteFile(filepath.Join(outside, "far"), nil, 0o644))
	must(os.Symlink("kept", filepath.Join(work, "alias")))
	must(os.Symlink(filepath.Join(outside, "far"), filepath.Join(work, "escape")))
	must(syscall.Mkfifo(filepath.Join(work, "fifo"), 0o644)) // to open it would wait for a writer
	must(os.Symlink(work, filepath.Join(dir, "link")))
	var all []schema.ToolCallLocation
	for _, name := range []string{"work/kept", "work/sub", "work/alias", "work", "work/gone", "work/kept/below", "work/fifo", "work/escape", "work-beside/far", "work-beside"} {
		all = append(all, schema.ToolCallLocation{Path: filepath.Join(dir, name), Line: 3})
	}
	if os.Getuid() != 0 {
		must(os.WriteFile(filepath.Join(work, "closed"), nil, 0))
		all = append(all, schema.ToolCallLocation{Path: filepath.Join(work, "closed")})
	}
	want := all[:4]
	for _, root := range []string{work, filepath.Join(dir, "link")} {
		p := newPlaces(root)
		for range 2 {
			u := p.filter(schema.UpdateTool(schema.ToolCallUpdate{ToolCallID: "call_1", Title: "Editing gone", Locations: slices.Clone(all)}))
			if got := u.ToolCallUpdate; !slices.EqualFunc(got.Locations, want, func(a, b schema.ToolCallLocation) bool { return a.Path == b.Path && a.Line == b.Line }) || got.Title != "Editing gone" {
				t.Errorf("%+v", got)
			}
		}
		if u := p.filter(schema.StartTool(schema.ToolCall{Locations: slices.Clone(all[4:])})); u.ToolCall.Locations == nil || len(u.ToolCall.Locations) != 0 {
			t.Errorf("a list that lost everything: %+v", u.ToolCall.Locations)
		}
		if u := p.filter(schema.UpdateTool(schema.ToolCallUpdate{})); u.ToolCallUpdate.Locations != nil {
			t.Errorf("no list became one: %+v", u.ToolCallUpdate.Locations)
		}
	}
}
