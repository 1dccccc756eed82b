package search

import (
	"path/filepath"
	"strings"

	"zuno/tools"
)

// walk are the arguments of every run: no configuration file, one rule for hidden files, silence about what cannot be
// entered or read.
var walk = []string{"--no-config", "--hidden", "--no-messages", "--no-ignore-messages", "--color=never", "--no-follow"}

// noGit comes last, as the last glob that fits decides.
const noGit = "--glob=!.git"

// selection is which files of a folder are wanted, put into arguments of rg.
//
// A glob of rg overrides ignore files: `*.log` brings ignored logs back and `*` whole ignored folders. A file type does
// not, but knows base names only. So a pattern that looks at the base name alone becomes a type, and any other is run
// beside a walk without it: a file is wanted if both name it.
type selection struct {
	glob  string   // as rg is given it, and as it quotes it; empty selects all
	args  []string // of the run
	check []string // of the walk that the run is held against; nil where none is needed
}

// typeName is that of the type that stands for the pattern.
const typeName = "selected"

func selectFiles(glob string) selection {
	base := glob
	for strings.HasPrefix(base, "**/") {
		base = strings.TrimLeft(base[2:], "/")
	}
	switch {
	case base == "" && glob != "":
		return overriding(glob)
	case base == "" || base == "*" || base == "**":
		return selection{args: []string{noGit}}
	case isBase(base):
		return selection{glob: base, args: []string{typeAdd(base), "--type=" + typeName, noGit}}
	case strings.HasPrefix(base, "!"): // an exclusion brings nothing back
		return selection{glob: glob, args: []string{"--glob=" + glob, noGit}}
	}
	return overriding(glob)
}

func overriding(glob string) selection {
	if strings.HasPrefix(glob, "#") { // a comment otherwise
		glob = `\` + glob
	}
	s := selection{glob: glob, args: []string{"--glob=" + glob, noGit}, check: []string{noGit}}
	if base := lastPart(glob); isBase(base) && strings.Trim(base, "*") != "" {
		s.check = []string{typeAdd(base), "--type=" + typeName, noGit}
	}
	return s
}

func typeAdd(base string) string { return "--type-add=" + typeName + ":" + base }

// isBase knows the patterns that mean the same as a type and as a glob.
func isBase(pattern string) bool {
	return pattern != "" && !strings.ContainsAny(pattern, "/:") && !strings.HasPrefix(pattern, "!") &&
		!strings.HasPrefix(pattern, "#") && strings.TrimSpace(pattern) == pattern && !strings.HasSuffix(pattern, `\`)
}

// lastPart is what a path must have as its base name to fit, or nothing where braces or brackets go across a slash.
func lastPart(glob string) string {
	at := strings.LastIndexByte(glob, '/')
	head, last := glob[:max(at, 0)], glob[at+1:]
	if strings.ContainsAny(head, `{}[]\`) || strings.ContainsAny(last, `{}[]\`) {
		return ""
	}
	return last
}

// relativeGlob puts a pattern into the form that is matched below the folder.
func relativeGlob(field, glob, folder string) (string, *tools.Blocked) {
	if blocked := usable(field, glob); blocked != nil {
		return "", blocked
	}
	if rest, ok := strings.CutPrefix(glob, strings.TrimSuffix(folder, "/")+"/"); ok && filepath.IsAbs(glob) {
		glob = "/" + rest
	}
	for strings.HasPrefix(glob, "./") {
		glob = "/" + strings.TrimLeft(glob[2:], "/")
	}
	if glob == ".." || strings.HasPrefix(glob, "../") || strings.Contains(glob, "/../") || strings.HasSuffix(glob, "/..") {
		return "", tools.Invalid("field %q leads out of the folder with \"..\". Give the folder to search as path; nothing was done.", field)
	}
	return glob, nil
}
