package commands

import (
	"strings"
	"unicode"
)

// maxTitle is the length of a session's title in code points.
const maxTitle = 80

// Title makes a session's title of the text of its first input: the first line that says something, cut at a word.
func Title(text string) string {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
		if line == "" {
			continue
		}
		runes := []rune(line)
		if len(runes) <= maxTitle {
			return line
		}
		cut := maxTitle - 1
		for i := cut; i > maxTitle/2; i-- {
			if runes[i] == ' ' {
				cut = i
				break
			}
		}
		return strings.TrimSpace(string(runes[:cut])) + "…"
	}
	return ""
}
