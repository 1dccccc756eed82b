package patch

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"zuno/journal/event"
	"zuno/tools"
)

const (
	maxPatch    = 16 << 20 // bytes
	maxPathSize = 4096
	titleRunes  = 160
)

type args struct {
	PatchText string `json:"patchText" jsonschema:"The whole patch, from *** Begin Patch to *** End Patch."`
}

const description = `Edits, adds, deletes and moves files. All of them are checked before the first is changed: in any conflict nothing is.
A file must have been read in this session and be unchanged since before it is updated, deleted or moved, and so must one that stands where a file is moved to. To replace a whole file use write.

*** Begin Patch
*** Add File: path/new.txt
+each line of it
*** Update File: path/a.go
*** Move to: path/b.go          (only to move it; an update that only moves has no hunks)
@@ func name() {                (optional: an exact line that the hunk stands below)
 a context line
-a line to remove
+a line to add
*** End of File                 (optional: the hunk's last line is the file's last)
*** Delete File: path/old.txt
*** End Patch

Context and removed lines must be in the file exactly, in one place only: give about three lines of context, or a line after @@ where lines repeat. A hunk of added lines alone stands below the line after @@, or without one at the end of the file. All hunks of a file go into one section. Paths are relative to the session's folder, or absolute. The file's line ends, byte order mark, final newline and mode are kept.`

// Register enters apply_patch.
func Register(r *tools.Registry) { register(r, realDisk) }

func register(r *tools.Registry, d disk) {
	tools.Register(r, tools.Spec[args]{
		Name:        "apply_patch",
		Description: description,
		Declaration: event.Declaration{Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive},
		Prepare:     func(w tools.Where, a args) (tools.Prepared, *tools.Blocked) { return prepare(w, a, d) },
	})
}

// target is a section with what its paths lead to.
type target struct {
	section
	at tools.Target
	to tools.Target // of a move
}

func prepare(w tools.Where, a args, d disk) (tools.Prepared, *tools.Blocked) {
	if len(a.PatchText) > maxPatch {
		return tools.Prepared{}, tools.Invalid("field \"patchText\" has %d bytes; at most %d can be applied at once. Send several patches; nothing was done.", len(a.PatchText), maxPatch)
	}
	sections, wrong := parse(a.PatchText)
	if wrong != nil {
		return tools.Prepared{}, tools.Invalid("field \"patchText\" is no patch: %s. Correct it and call again; nothing was done.", wrong)
	}
	targets := make([]target, len(sections))
	p := tools.Prepared{Kind: kindOf(sections)}
	for i, s := range sections {
		t := target{section: s}
		var blocked *tools.Blocked
		if t.at, blocked = locate(w, s.path); blocked != nil {
			return tools.Prepared{}, blocked
		}
		p.Paths = append(p.Paths, t.at.Named)
		p.Accesses = append(p.Accesses, tools.Access{Kind: event.AccessWrite, Place: t.at.WritePlace(), Name: t.at.Real})
		if s.to != "" {
			if t.to, blocked = locate(w, s.to); blocked != nil {
				return tools.Prepared{}, blocked
			}
			p.Paths = append(p.Paths, t.to.Named)
			p.Accesses = append(p.Accesses, tools.Access{Kind: event.AccessWrite, Place: t.to.WritePlace(), Name: t.to.Real})
		}
		targets[i] = t
	}
	if blocked := distinct(targets); blocked != nil {
		return tools.Prepared{}, blocked
	}
	p.Title = title(w, p.Paths)
	p.Run = func(ctx context.Context, env tools.Env) tools.Result { return run(ctx, env, w, targets, d) }
	return p, nil
}

func locate(w tools.Where, path string) (tools.Target, *tools.Blocked) {
	switch {
	case strings.ContainsRune(path, 0):
		return tools.Target{}, tools.Invalid("the path %q holds a NUL character. Name a file; nothing was done.", clip(path))
	case len(path) > maxPathSize:
		return tools.Target{}, tools.Invalid("the path %q is %d bytes long, more than a path can be. Name a file; nothing was done.", clip(path), len(path))
	case strings.HasSuffix(path, "/"):
		return tools.Target{}, tools.Invalid("the path %q ends in \"/\" and so names a folder. Name a file; nothing was done.", clip(path))
	}
	return w.Locate(path), nil
}

// distinct blocks a patch that speaks of one file twice, under one name or two, or of a file as if it were a folder:
// what was checked of one section would not hold when the next is written.
func distinct(targets []target) *tools.Blocked {
	taken := map[string]string{} // resolved path to how the patch has it
	take := func(t tools.Target, written string) *tools.Blocked {
		if other, ok := taken[t.Real]; ok {
			return tools.Invalid("%q and %q are the same file. Put all that shall become of it into one section; nothing was done.", clip(other), clip(written))
		}
		taken[t.Real] = written
		return nil
	}
	for _, t := range targets {
		if blocked := take(t.at, t.path); blocked != nil {
			return blocked
		}
		if t.section.to != "" {
			if blocked := take(t.to, t.section.to); blocked != nil {
				return blocked
			}
		}
	}
	for real, written := range taken {
		for at := filepath.Dir(real); at != filepath.Dir(at); at = filepath.Dir(at) {
			if other, ok := taken[at]; ok {
				return tools.Invalid("%q cannot be a file and hold %q. Name other paths; nothing was done.", clip(other), clip(written))
			}
		}
	}
	return nil
}

func kindOf(sections []section) string {
	removes, moves := true, true
	for _, s := range sections {
		removes = removes && s.kind == remove
		moves = moves && s.to != "" && len(s.hunks) == 0
	}
	switch {
	case removes:
		return "delete"
	case moves:
		return "move"
	}
	return "edit"
}

// title names the first files.
func title(w tools.Where, paths []string) string {
	var names []string
	for i, path := range paths {
		if i == 3 && len(paths) > 4 {
			names = append(names, strconv.Itoa(len(paths)-3)+" more")
			break
		}
		if rel, err := filepath.Rel(w.Cwd, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		names = append(names, path)
	}
	text := strings.Join(names, ", ")
	if r := []rune(text); len(r) > titleRunes {
		text = string(r[:titleRunes])
	}
	return text
}
