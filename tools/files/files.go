package files

import (
	"path/filepath"
	"strings"

	"zuno/journal/event"
	"zuno/tools"
)

// Register enters read and write.
func Register(r *tools.Registry) {
	registerRead(r)
	registerWrite(r, commit)
}

// target resolves the path of a call, or blocks it where the text cannot be a path at all.
func target(w tools.Where, path string) (tools.Target, *tools.Blocked) {
	switch {
	case path == "":
		return tools.Target{}, tools.Invalid("field \"filePath\" is empty. Name a file; nothing was done.")
	case strings.ContainsRune(path, 0):
		return tools.Target{}, tools.Invalid("field \"filePath\" holds a NUL character. Name a file; nothing was done.")
	case len(path) > 4096:
		return tools.Target{}, tools.Invalid("field \"filePath\" is %d bytes long, more than a path can be. Name a file; nothing was done.", len(path))
	}
	return w.Locate(path), nil
}

func access(kind event.AccessKind, t tools.Target, place event.Place) []tools.Access {
	return []tools.Access{{Kind: kind, Place: place, Name: t.Real}}
}

// title shortens a path to what a person needs to see.
func title(w tools.Where, path string) string {
	if rel, err := filepath.Rel(w.Cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
