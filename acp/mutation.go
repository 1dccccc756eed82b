package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"zuno/acp/schema"
	"zuno/journal/event"
)

// place is where a file really is, and under that name it is shown: an alias that was asked for has been followed.
func place(f *event.File) string {
	if !f.Real.IsZero() {
		return f.Real.String()
	}
	return f.Path.String()
}

// resolved is the title of an edit once it is known what its targets are: a path that turned out to be another file's alias
// is replaced by that file's. Empty for other calls.
func (c *card) resolved(e *event.CallSettled) string {
	if len(c.targets) == 0 {
		return ""
	}
	real := map[string]string{}
	for i := range e.Files {
		real[e.Files[i].Path.String()] = place(&e.Files[i])
	}
	for i, t := range c.targets {
		if to := real[t]; to != "" {
			c.targets[i] = to
		}
	}
	return editingTitle(c.targets)
}

// content is what the card of a settled call shows: of a change that succeeded the diffs alone, of one whose effect is
// uncertain its text and the diffs that were observed, of any other call its text. A change that failed before anything
// was written has no diff, whatever it meant to do.
func content(c *card, e *event.CallSettled) (items []schema.ToolCallContent, places []schema.ToolCallLocation) {
	changed, shown := 0, 0
	for i := range e.Files {
		f := &e.Files[i]
		if f.Change == event.ChangeRead || e.Outcome == event.OutcomeError {
			continue
		}
		changed++
		places = append(places, schema.ToolCallLocation{Path: place(f)})
		if f.Diff {
			items = append(items, diff(f))
			shown++
		}
	}
	if changed > 0 && e.Outcome == event.OutcomeOK && shown == changed {
		return items, places
	}
	if e.Outcome == event.OutcomeUncertain && changed == 0 {
		places = observed(e.Raw.String())
	}
	text, whole := fit(e.Text.String(), maxRaw-1024)
	if !whole {
		text += fmt.Sprintf("\n… (%d bytes in all)", e.Text.Size)
	}
	if schema.ToolKind(c.kind) == schema.KindExecute || c.tool == "shell" {
		text = fence(text)
	}
	return append([]schema.ToolCallContent{schema.TextItem(text)}, items...), places
}

// observed are the files that a typed outcome names as changed: what is uncertain has no receipts of files.
func observed(raw string) (places []schema.ToolCallLocation) {
	var outcome struct{ Files []struct{ Path string } }
	if json.Unmarshal([]byte(raw), &outcome) != nil {
		return nil
	}
	for _, f := range outcome.Files {
		if filepath.IsAbs(f.Path) {
			places = append(places, schema.ToolCallLocation{Path: f.Path})
		}
	}
	return places
}

func diff(f *event.File) schema.ToolCallContent {
	var old *string
	if f.Change != event.ChangeAdd {
		s := f.Old.String()
		old = &s
	}
	return schema.DiffItem(place(f), old, f.New.String())
}
