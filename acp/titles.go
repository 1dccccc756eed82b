package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"zuno/acp/schema"
	"zuno/journal/event"
	"zuno/tools/patch"
)

const (
	maxTitle  = 160 // code points
	maxNames  = 3   // file names in a title
	editTitle = "Editing files"
)

// edits says that a tool changes files by text: its cards are edit cards, which name the files.
func edits(tool string) bool { return kindOf(tool) == schema.KindEdit }

// title is that of a complete call.
func title(e *event.CallRequested) string {
	switch {
	case edits(e.Tool):
		return editingTitle(targets(e))
	case schema.ToolKind(e.Kind) == schema.KindRead:
		return clip("Read "+oneLine(e.Title.String()), maxTitle)
	}
	return clip(oneLine(e.Title.String()), maxTitle)
}

// targets are the paths that an edit is about: those that it was resolved to, or those that its arguments name where it was
// refused before that. The latter may be relative, and nobody guesses to what.
func targets(e *event.CallRequested) (paths []string) {
	for i := range e.Paths {
		paths = append(paths, e.Paths[i].String())
	}
	if len(paths) > 0 {
		return paths
	}
	var args struct{ FilePath, PatchText string }
	if json.Unmarshal([]byte(e.Args.String()), &args) != nil {
		return nil
	}
	if e.Tool == "apply_patch" {
		return patch.Targets(args.PatchText)
	}
	if args.FilePath != "" {
		paths = append(paths, args.FilePath)
	}
	return paths
}

// editingTitle names up to three files and counts the others. Where the names are too long for the title, the longest are
// cut, so that each can be told from the others by its beginning.
func editingTitle(paths []string) string {
	if len(paths) == 0 {
		return editTitle
	}
	names := make([]string, 0, maxNames)
	for _, p := range paths[:min(len(paths), maxNames)] {
		names = append(names, oneLine(filepath.Base(p)))
	}
	head, suffix := "Editing ", ""
	if more := len(paths) - len(names); more > 0 {
		suffix = fmt.Sprintf(" (+%d more)", more)
	}
	room := maxTitle - len(head) - len(suffix) - len(", ")*(len(names)-1)
	longest := room
	for total(names, longest) > room {
		longest--
	}
	for i := range names {
		names[i] = clip(names[i], longest)
	}
	return head + strings.Join(names, ", ") + suffix
}

// total is how many code points names have when each has at most so many.
func total(names []string, most int) (n int) {
	for _, name := range names {
		n += min(utf8.RuneCountInString(name), most)
	}
	return n
}

// oneLine makes text fit for a title: valid, on one line, without what could control a screen.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// clip cuts s to so many code points, the mark of the cut included, and never inside of what a reader takes for one character.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	size, runes := 0, 1
	for g := graphemes.FromString(s); g.Next(); {
		if runes += utf8.RuneCountInString(g.Value()); runes > most {
			break
		}
		size += len(g.Value())
	}
	return s[:size] + "…"
}
