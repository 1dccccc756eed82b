package acp

import (
	"os"
	"path/filepath"
	"strings"

	"zuno/acp/schema"
)

// places is the filter behind the projector for what is replayed: it drops locations that an editor could not open, or that
// lie outside of the worktree. History names what was there once, and a click on it must lead somewhere. Titles keep
// the names, and live updates keep every location. The projector stays pure; this looks at the disk, once for each path.
type places struct {
	root string // of the worktree, with links followed
	keep map[string]bool
}

// newPlaces is a filter for a session's worktree.
func newPlaces(worktree string) *places {
	root, err := filepath.EvalSymlinks(worktree)
	if err != nil {
		root = worktree
	}
	return &places{root: root, keep: map[string]bool{}}
}

// filter gives the update with the locations that are left. A list that loses all of them stays a list: it replaces one
// that was sent before.
func (p *places) filter(u schema.SessionUpdate) schema.SessionUpdate {
	switch {
	case u.ToolCall != nil:
		u.ToolCall.Locations = p.left(u.ToolCall.Locations)
	case u.ToolCallUpdate != nil:
		u.ToolCallUpdate.Locations = p.left(u.ToolCallUpdate.Locations)
	}
	return u
}

func (p *places) left(all []schema.ToolCallLocation) []schema.ToolCallLocation {
	if all == nil {
		return nil
	}
	left := make([]schema.ToolCallLocation, 0, len(all)) // the projector keeps the list that it made
	for _, l := range all {
		if p.actionable(l.Path) {
			left = append(left, l)
		}
	}
	return left
}

func (p *places) actionable(path string) bool {
	keep, known := p.keep[path]
	if !known {
		keep = p.look(path)
		p.keep[path] = keep
	}
	return keep
}

// look opens nothing but what cannot hold it up or do something when it is opened.
func (p *places) look(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real != p.root && !strings.HasPrefix(real, strings.TrimSuffix(p.root, "/")+"/") {
		return false
	}
	info, err := os.Lstat(real)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return false
	}
	f, err := os.Open(real)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
