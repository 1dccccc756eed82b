package search

import (
	"context"
	"strings"

	"zuno/tools"
	"zuno/tools/files"
)

// Why a pattern is checked before the call starts: a pattern that rg refuses is invalid arguments, and those are blocked
// – the call never began – while a result says that something ran. Only rg knows its own grammar and limits. So it is
// asked with the pattern and the include alone, in an empty place: no folder is searched, no file of the user is opened,
// and the time is bounded. Where rg is missing, or does not answer, the call goes on and says so itself.

// check blocks a pattern or an include that rg refuses. An empty pattern stands for a call without one.
func (r *ripgrep) check(pattern, include string, s selection) *tools.Blocked {
	if isPlain(pattern) && isPlainGlob(s.glob) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	path, f := r.find(ctx, nil)
	if f != nil {
		return nil
	}
	for _, args := range s.trials(pattern) {
		cmd := command(ctx, path, nil, args...)
		cmd.Dir = "/"
		var words head
		cmd.Stderr = &words
		_ = cmd.Run()
		if ctx.Err() != nil || cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 {
			continue
		}
		if f := refusal(words.text, pattern, include); f != nil {
			return &tools.Blocked{Kind: tools.InvalidArguments, Message: f.Text}
		}
	}
	return nil
}

// trials are runs that meet the arguments and no file.
func (s selection) trials(pattern string) [][]string {
	args := append(append([]string{}, walk...), s.args...)
	return [][]string{append(args, "--json", "--regexp="+pattern, "--", "-")}
}

// refusal tells what rg said against the pattern or the include; nil where it said nothing of the kind.
func refusal(words []byte, pattern, include string) *files.Failure {
	text := strings.ToValidUTF8(string(words), "\uFFFD")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Trim(line, "^ ") != "" {
			lines = append(lines, line)
		}
	}
	text, ok := strings.CutPrefix(strings.Join(lines, " "), "rg: ")
	if !ok {
		return nil
	}
	reason := shorten(text, 260)
	if strings.HasPrefix(text, "error parsing glob") || strings.HasPrefix(text, "invalid definition") {
		return files.Refuse(tools.ClassInvalidArguments, "the glob %s is refused by rg: %s. Correct the glob and call again; nothing was searched.",
			quote(include), reason)
	}
	if strings.HasPrefix(text, "compiled regex exceeds size limit") {
		reason += ". Use smaller repetitions"
	}
	return files.Refuse(tools.ClassInvalidArguments, "the pattern %s is refused by rg: %s. Correct the regular expression and call again; nothing was searched.",
		quote(pattern), reason)
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
