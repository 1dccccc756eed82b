package search

import (
	"context"
	"slices"
	"strings"

	"zuno/tools"
)

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"The glob, matched against paths relative to the folder. * and ? stay within a name, ** crosses folders, {a,b} and [a-z] are alternatives. Without a slash it is matched against the name at any depth."`
	Path    string `json:"path,omitempty" jsonschema:"The folder to search. Default: the session's folder. A relative one starts there."`
}

func (a globArgs) asked() asked { return asked{glob: a.Pattern, field: "pattern"} }

const globDescription = `Finds files by name, with rg (ripgrep). The result is one absolute path per line.
` + rule

func registerGlob(r *tools.Registry, rg *ripgrep) {
	tools.Register(r, tools.Spec[globArgs]{
		Name: "glob", Description: globDescription, Declaration: declaration,
		Prepare: func(w tools.Where, args globArgs) (tools.Prepared, *tools.Blocked) { return prepareGlob(rg, w, args) },
	})
}

func prepareGlob(rg *ripgrep, w tools.Where, args globArgs) (tools.Prepared, *tools.Blocked) {
	if strings.TrimSpace(args.Pattern) == "" {
		return tools.Prepared{}, tools.Invalid("field \"pattern\" is empty. Send a glob such as **/*.go; nothing was done.")
	}
	t, at, blocked := place(w, args.Path)
	if blocked != nil {
		return tools.Prepared{}, blocked
	}
	if t.Exists && !t.Mode.IsDir() {
		return tools.Prepared{}, tools.Invalid("field \"path\" names %s, which is no folder. Name a folder; nothing was done.", quote(t.Named))
	}
	glob, blocked := relativeGlob("pattern", args.Pattern, t.Named)
	if blocked != nil {
		return tools.Prepared{}, blocked
	}
	s := selectFiles(glob)
	if blocked := rg.check(args.asked(), s); blocked != nil {
		return tools.Prepared{}, blocked
	}
	return prepared(w, t, at, args.Pattern, func(ctx context.Context, env tools.Env) tools.Result {
		return runGlob(ctx, env, rg, w, t, args, s)
	}), nil
}

func runGlob(ctx context.Context, env tools.Env, rg *ripgrep, w tools.Where, t tools.Target, args globArgs, s selection) tools.Result {
	folder, file, f := reached(w, t)
	if f != nil {
		return f.Result()
	}
	if file != nil {
		file.Close()
		return notFolder(t).Result()
	}
	defer func() { _ = folder.Close() }()
	path, f := rg.find(ctx, env.Environ)
	if f != nil {
		return f.Result()
	}
	found, f := s.list(ctx, site{rg: path, environ: env.Environ, folder: folder, real: t.Real}, args.asked())
	if f != nil {
		return f.Result()
	}
	var left omissions
	names := make([]string, 0, len(found))
	for _, relative := range found {
		name, ok := named(t.Named, relative, separator)
		if !ok {
			left.unnamed++
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) >= maxResults {
		names, left.capped = names[:maxResults], true
	}
	shown := make([]foundFile, len(names))
	for i, name := range names {
		shown[i].Path = name
	}
	return result(strings.Join(names, "\n"), shown, left)
}
