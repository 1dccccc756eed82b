package search

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"zuno/tools"
	"zuno/tools/files"
)

// Why a pattern is checked before the call starts: a pattern that rg refuses is invalid arguments, and those are blocked
// – the call never began – while a result says that something ran. Only rg knows its own grammar and limits. So it is
// asked with the pattern and the include alone, in an empty place: no folder is searched, no file of the user is opened,
// and the time is bounded. Where rg is missing, or does not answer, the call goes on and says so itself.

// asked is what the model sent, for words about it.
type asked struct {
	regex string // empty for glob
	glob  string
	field string // the argument that holds the glob
}

// check blocks a pattern or an include that rg refuses.
func (r *ripgrep) check(a asked, s selection) *tools.Blocked {
	if isPlain(a.regex) && isPlainGlob(s.glob) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	path, f := r.find(ctx, nil)
	if f != nil {
		return nil
	}
	refused := func(pattern string, args []string) []byte {
		// "-" is the standard input, which is empty.
		cmd := command(ctx, path, nil, slices.Concat(walk, args, []string{"--json", "--regexp=" + pattern, "--", "-"})...)
		cmd.Dir = "/"
		var words head
		cmd.Stderr = &words
		_ = cmd.Run()
		if ctx.Err() != nil || cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 {
			return nil
		}
		return words.text
	}
	words := refused(a.regex, s.args)
	if words == nil {
		return nil
	}
	f = a.refusal(words)
	if f == nil && refused("", nil) == nil && ctx.Err() == nil { // in words of its own, but not of everything
		f = a.blame(words, refused(a.regex, nil) == nil)
	}
	if f == nil {
		return nil
	}
	return &tools.Blocked{Kind: tools.InvalidArguments, Message: f.Text}
}

// refusal tells what rg said against the regular expression or the glob, and blames nothing else; nil where it said
// nothing of the kind that is known.
func (a asked) refusal(words []byte) *files.Failure {
	switch text, _ := bytes.CutPrefix(words, []byte("rg: ")); {
	case begins(text, "error parsing glob", "invalid definition"):
		return a.blame(words, true)
	case begins(text, "regex parse error", "compiled regex exceeds", "the literal ", "pattern contains "):
		return a.blame(words, false)
	}
	return nil
}

func begins(text []byte, with ...string) bool {
	return slices.ContainsFunc(with, func(w string) bool { return bytes.HasPrefix(text, []byte(w)) })
}

// blame puts rg's words against the glob or the regular expression. What flags it recommends cannot be given here.
func (a asked) blame(words []byte, glob bool) *files.Failure {
	text, _, _ := strings.Cut(strings.ToValidUTF8(string(words), "\uFFFD"), "\nConsider enabling ")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Trim(line, "^ ") != "" {
			lines = append(lines, line)
		}
	}
	text = strings.TrimPrefix(strings.Join(lines, " "), "rg: ")
	field, value, what := "pattern", a.regex, "regular expression"
	if glob {
		field, value, what = a.field, a.glob, "glob"
	}
	if strings.HasPrefix(text, "compiled regex exceeds size limit") {
		text += "; smaller repetitions make it smaller"
	}
	return files.Refuse(tools.ClassInvalidArguments, "%s %s is a %s that rg refuses: %s. Correct it and call again; nothing was searched.",
		field, quote(value), what, shorten(strings.TrimSuffix(text, "."), 260))
}

func quote(text string) string { return `"` + shorten(text, 80) + `"` }

const meta = `\.+*?()|[]{}^$`

// isPlain knows patterns that cannot be refused: letters, and signs with a backslash before them.
func isPlain(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\n':
			return false
		case c == '\\':
			if i++; i == len(pattern) || !strings.Contains(meta, pattern[i:i+1]) {
				return false
			}
		case c != '.' && strings.IndexByte(meta, c) >= 0:
			return false
		}
	}
	return len(pattern) <= 1000
}

func isPlainGlob(glob string) bool {
	return !strings.ContainsAny(glob, `{}[]\!`) && !strings.Contains(glob, "**") && len(glob) <= 1000
}
