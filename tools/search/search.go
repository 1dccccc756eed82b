package search

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"zuno/journal/event"
	"zuno/tools"
	"zuno/tools/files"
)

const (
	maxResults = 100      // files of glob, lines of grep
	maxOutput  = 64 << 20 // bytes of one run of rg: a stable order cannot be decided from a part of a parallel walk
	maxRecord  = 1 << 20  // bytes of one record of rg
	maxPattern = 32 << 10 // bytes; the kernel bounds one argument at 128 KiB
	titleRunes = 160
	nothing    = "No files found"
)

// rule is the one rule for hidden and ignored files, as both descriptions tell it.
const rule = `Files and folders whose names begin with a dot are searched too; .git never is. What ignore files exclude (.gitignore in a git repository, .ignore, .rgignore) is left out, however the pattern is written. Symbolic links below the folder are not followed.
At most 100 results are shown, ordered by path; the result says when it was truncated, and does so from 100 results on.`

// Register enters glob and grep.
func Register(r *tools.Registry) {
	rg := &ripgrep{}
	registerGlob(r, rg)
	registerGrep(r, rg)
}

// declaration is that of both tools.
var declaration = event.Declaration{Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe}

// place resolves the path of a call; an empty one is the session's folder.
func place(w tools.Where, path string) (tools.Target, event.Place, *tools.Blocked) {
	switch {
	case path == "":
		path = w.Cwd
	case strings.ContainsRune(path, 0):
		return tools.Target{}, "", tools.Invalid("field \"path\" holds a NUL character. Name a folder; nothing was done.")
	case len(path) > 4096:
		return tools.Target{}, "", tools.Invalid("field \"path\" is %d bytes long, more than a path can be. Name a folder; nothing was done.", len(path))
	}
	t := w.Locate(path)
	if t.Git && slices.Contains(strings.Split(t.Real, string(filepath.Separator)), ".git") {
		return tools.Target{}, "", tools.Invalid("field \"path\" leads into .git, which is never searched. Name another folder; nothing was done.")
	}
	at := t.Place
	if at == event.PlaceOutside && w.Own(t) {
		at = event.PlaceInside
	}
	return t, at, nil
}

// usable blocks what cannot be handed to a program at all.
func usable(field, text string) *tools.Blocked {
	switch {
	case strings.ContainsRune(text, 0):
		return tools.Invalid("field %q holds a NUL character. Leave it out; nothing was done.", field)
	case len(text) > maxPattern:
		return tools.Invalid("field %q has %d bytes; at most %d can be searched for. Shorten it; nothing was done.", field, len(text), maxPattern)
	}
	return nil
}

func prepared(w tools.Where, t tools.Target, at event.Place, what string, run func(context.Context, tools.Env) tools.Result) tools.Prepared {
	title := what
	if t.Named != filepath.Clean(w.Cwd) {
		title += " in " + shortName(w, t.Named)
	}
	if utf8.RuneCountInString(title) > titleRunes {
		title = string([]rune(title)[:titleRunes])
	}
	return tools.Prepared{
		Title: title, Kind: "search", Paths: []string{t.Named},
		Accesses: []tools.Access{{Kind: event.AccessRead, Place: at, Name: t.Real}},
		Run:      run,
	}
}

// shortName is a path as seen from the session's folder.
func shortName(w tools.Where, path string) string {
	if rel, err := filepath.Rel(w.Cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// reached tells what the path leads to now, opened: exactly one of file and folder is not nil then. Nothing is waited
// for: a fifo is refused.
func reached(w tools.Where, t tools.Target) (folder *os.File, file *files.Source, f *files.Failure) {
	now, f := files.Verify(w, t)
	switch {
	case f != nil:
	case !now.Exists:
		f = files.Refuse(tools.ClassNotFound, "%s does not exist. Nothing was searched. Check the path.", t.Named)
	case now.Mode.IsDir():
		folder, f = files.OpenDir(t.Real, t.Named)
	default:
		file, f = files.Open(t.Real, t.Named)
	}
	return folder, file, f
}

// outcome is the typed result of both tools. It names paths where the text cannot tell one from two: a name may hold a
// line feed.
type outcome struct {
	Files     []foundFile `json:"files"`
	Truncated bool        `json:"truncated"`
}

type foundFile struct {
	Path  string `json:"path"`
	Lines []int  `json:"lines,omitempty"`
}

// omissions are the reasons for which something that was found is not shown.
type omissions struct {
	capped  bool // as many results as can be shown, or more
	unnamed int  // files whose names are not valid UTF-8
	long    int  // matches in records over maxRecord
}

func (o omissions) any() bool { return o != omissions{} }

func (o omissions) String() string {
	var why []string
	if o.capped {
		why = append(why, fmt.Sprintf("at most %d results are shown, the first by path; narrow the search to see others", maxResults))
	}
	if o.unnamed > 0 {
		why = append(why, plural(o.unnamed, "file")+" left out whose name is not valid UTF-8")
	}
	if o.long > 0 {
		why = append(why, plural(o.long, "match")+" skipped in lines too long to be shown (a record of rg over 1 MiB)")
	}
	return "(truncated: " + strings.Join(why, "; ") + ")"
}

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// result puts the parts together. Without any result and any omission there was nothing to be found.
func result(text string, found []foundFile, left omissions, notes ...string) tools.Result {
	if left.any() {
		notes = append(notes, left.String())
	}
	if text == "" && len(notes) == 0 {
		text = nothing
	}
	if text != "" && len(notes) > 0 {
		text += "\n"
	}
	if found == nil {
		found = []foundFile{}
	}
	raw, err := json.Marshal(outcome{Files: found, Truncated: left.any()})
	if err != nil {
		raw = nil // strings and numbers always encode
	}
	return tools.Result{Outcome: tools.OK, Text: text + strings.Join(notes, "\n"), Raw: raw}
}

// named gives the path of a file that rg found below a folder, or false where no text can name it. On Windows rg's
// separators are backslashes, and a slash is as good there; elsewhere a backslash is part of a name.
func named(folder string, relative []byte, separator rune) (string, bool) {
	path := strings.TrimPrefix(string(relative), "./")
	if separator == '\\' {
		path = strings.ReplaceAll(strings.TrimPrefix(string(relative), `.\`), `\`, "/")
	}
	switch {
	case strings.HasSuffix(folder, "/"):
		path = folder + path
	default:
		path = folder + "/" + path
	}
	return path, utf8.ValidString(path)
}
