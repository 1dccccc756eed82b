package search

import (
	"context"
	"os"
	"slices"

	"zuno/tools"
	"zuno/tools/files"
)

type grepArgs struct {
	Pattern string `json:"pattern" jsonschema:"The regular expression (Rust syntax, as rg takes it), matched line by line. Case matters; (?i) at its beginning turns that off."`
	Path    string `json:"path,omitempty" jsonschema:"The folder or file to search. Default: the session's folder. A relative one starts there."`
	Include string `json:"include,omitempty" jsonschema:"Only files that fit this glob, as that of the glob tool: *.go, src/**/*.{ts,tsx}. It does not count where path is a file."`
}

func (a grepArgs) asked() asked {
	return asked{regex: a.Pattern, glob: a.Include, field: "include"}
}

const grepDescription = `Searches the content of files with rg (ripgrep). The result names each file by its absolute path on a line of its own, and below it the lines that match, as "<number>: <line>".
A line over 2,000 UTF-16 units is cut around its first match. Binary files below a folder are passed over. Lines of environment files (.env and the like) are named without their text unless path is the file itself.
` + rule

func registerGrep(r *tools.Registry, rg *ripgrep) {
	tools.Register(r, tools.Spec[grepArgs]{
		Name: "grep", Description: grepDescription, Declaration: declaration,
		Prepare: func(w tools.Where, args grepArgs) (tools.Prepared, *tools.Blocked) { return prepareGrep(rg, w, args) },
	})
}

func prepareGrep(rg *ripgrep, w tools.Where, args grepArgs) (tools.Prepared, *tools.Blocked) {
	if args.Pattern == "" {
		return tools.Prepared{}, tools.Invalid("field \"pattern\" is empty. Send a regular expression; nothing was done.")
	}
	if blocked := usable("pattern", args.Pattern); blocked != nil {
		return tools.Prepared{}, blocked
	}
	t, at, blocked := place(w, args.Path)
	if blocked != nil {
		return tools.Prepared{}, blocked
	}
	include, blocked := relativeGlob("include", args.Include, t.Named)
	if blocked != nil {
		return tools.Prepared{}, blocked
	}
	g := &grep{rg: rg, where: w, target: t, args: args, selected: selectFiles(include)}
	if blocked := rg.check(args.asked(), g.selected); blocked != nil {
		return tools.Prepared{}, blocked
	}
	what := args.Pattern
	if args.Include != "" {
		what += " (" + args.Include + ")"
	}
	return prepared(w, t, at, what, g.run), nil
}

// grep is one call.
type grep struct {
	rg       *ripgrep
	where    tools.Where
	target   tools.Target
	args     grepArgs
	selected selection
}

func (g *grep) run(ctx context.Context, env tools.Env) tools.Result {
	folder, file, f := reached(g.where, g.target)
	if f != nil {
		return f.Result()
	}
	at := site{environ: env.Environ, folder: folder, real: g.target.Real}
	if folder != nil {
		defer func() { _ = folder.Close() }()
	} else {
		defer file.Close()
		if at.input, f = reopen(file, g.target); f != nil {
			return f.Result()
		}
		defer func() { _ = at.input.Close() }()
	}
	if at.rg, f = g.rg.find(ctx, env.Environ); f != nil {
		return f.Result()
	}
	m, f := g.search(ctx, at)
	if f != nil {
		return f.Result()
	}
	return m.result(at.input != nil)
}

func reopen(file *files.Source, t tools.Target) (*os.File, *files.Failure) {
	input, err := file.Reopen(t.Named)
	if err != nil {
		return nil, files.FailureOf("open", t.Named, err)
	}
	return input, nil
}

// search runs rg and keeps what is to be shown.
func (g *grep) search(ctx context.Context, at site) (*matches, *files.Failure) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	selected, what := g.selected, "."
	if at.input != nil {
		selected, what = selectFiles(""), "-"
	}
	unignored := selected.unignored(ctx, at, g.args.asked())
	args := slices.Concat(walk, selected.args, []string{"--json", "--regexp=" + g.args.Pattern, "--", what})
	r, f := at.start(ctx, args)
	if f != nil {
		cancel()
		_, _ = unignored()
		return nil, f
	}
	m := &matches{folder: g.target.Named}
	if at.input != nil {
		m.folder, m.only = "", g.target.Named
	}
	if m.wanted, f = unignored(); f != nil {
		r.end()
		return nil, f
	}
	records := splitter{take: m.record, long: m.tooLong}
	code, f := r.pour(ctx, records.add)
	if f != nil {
		return nil, f
	}
	if f := r.refused(code, g.args.asked()); f != nil {
		return nil, f
	}
	if code == 2 && at.input != nil {
		return nil, files.Refuse(tools.ClassIO, "%s could not be read to its end. Nothing is shown.", g.target.Named)
	}
	return m, nil
}
