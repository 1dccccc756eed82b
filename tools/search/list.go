package search

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"

	"zuno/tools"
	"zuno/tools/files"
)

const separator = filepath.Separator

func notFolder(t tools.Target) *files.Failure {
	return files.Refuse(tools.ClassNotDirectory, "%s is a file, not a folder. Nothing was searched. Name a folder.", t.Named)
}

// list gives the files that a selection names, as rg writes them, in no order.
func (s selection) list(ctx context.Context, at site, a asked) ([][]byte, *files.Failure) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unignored := s.unignored(ctx, at, a)
	names, f := at.names(ctx, s.args, a)
	if f != nil {
		cancel()
		_, _ = unignored()
		return nil, f
	}
	kept, f := unignored()
	if f != nil {
		return nil, f
	}
	if s.check != nil {
		names = slices.DeleteFunc(names, func(name []byte) bool { return !kept[string(name)] })
	}
	return names, nil
}

// unignored starts the walk that a selection is held against, and gives what it found when it is asked for it.
func (s selection) unignored(ctx context.Context, at site, a asked) func() (map[string]bool, *files.Failure) {
	if s.check == nil {
		return func() (map[string]bool, *files.Failure) { return nil, nil }
	}
	var kept map[string]bool
	var f *files.Failure
	done := make(chan struct{})
	go func() {
		defer close(done)
		var names [][]byte
		names, f = at.names(ctx, s.check, a)
		kept = make(map[string]bool, len(names))
		for _, name := range names {
			kept[string(name)] = true
		}
	}()
	return func() (map[string]bool, *files.Failure) { <-done; return kept, f }
}

// names lists files: rg ends each name with NUL, so that a line feed is part of one.
func (s site) names(ctx context.Context, selected []string, a asked) ([][]byte, *files.Failure) {
	args := slices.Concat(walk, []string{"--files", "--null"}, selected, []string{"--", "."})
	r, f := s.start(ctx, args)
	if f != nil {
		return nil, f
	}
	var all []byte
	code, f := r.pour(ctx, func(piece []byte) { all = append(all, piece...) })
	if f != nil {
		return nil, f
	}
	if f := r.refused(code, a); f != nil {
		return nil, f
	}
	names := bytes.Split(all, []byte{0})
	return names[:len(names)-1], nil // what follows the last NUL is no name
}

// refused is what rg says against its arguments when it ends with an error. Its words about files are suppressed: that
// a part of the tree could not be read is no failure.
func (r *run) refused(code int, a asked) *files.Failure {
	if code != 2 || len(bytes.TrimSpace(r.errors.text)) == 0 {
		return nil
	}
	if f := a.refusal(r.errors.text); f != nil {
		return f
	}
	return files.Refuse(tools.ClassIO, "rg failed%s. Nothing is shown.", said(r.errors.text))
}
