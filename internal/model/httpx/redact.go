package httpx

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const hidden = "[secret]"

// shortest is the length from which a text counts as a secret: "k" for a local server is none, and hiding it would make every
// message unreadable.
const shortest = 4

// variants are the forms in which texts may come back, the longest first, so that no rest of one is left behind.
func variants(texts []string) []string {
	var all []string
	add := func(s string) {
		if len(s) >= shortest && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	for _, text := range texts {
		for _, s := range append(strings.Fields(text), text) { // "Bearer x" hides x alone, too
			if strings.EqualFold(s, "bearer") || strings.EqualFold(s, "basic") {
				continue
			}
			add(s)
			add(url.QueryEscape(s))
			add(url.PathEscape(s))
			if quoted, err := json.Marshal(s); err == nil {
				add(string(quoted[1 : len(quoted)-1]))
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// patterns are secrets that nobody told us: what follows Bearer, and keys of the usual form.
var patterns = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}|\bsk-[A-Za-z0-9_-]{12,}`)
})

// withoutBeginning hides the beginning of a secret at the end of a text: what came of a body may end in the middle of one.
func (x *exchange) withoutBeginning(s string) string {
	for _, secret := range x.secrets {
		for n := len(secret) - 1; n >= shortest; n-- {
			if rest, ok := strings.CutSuffix(s, secret[:n]); ok {
				return rest + hidden
			}
		}
	}
	return s
}

// clean makes a text from outside fit for an error: one line, no secret, bounded.
func (x *exchange) clean(s string, most int) string {
	if len(s) > 4*MaxErrorBody {
		s = s[:4*MaxErrorBody]
	}
	// First what could stand inside a secret and hide it.
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	for _, secret := range x.secrets {
		s = strings.ReplaceAll(s, secret, hidden)
	}
	s = x.withoutBeginning(strings.TrimSpace(patterns().ReplaceAllString(s, hidden)))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most-len("…")], "") + "…"
	}
	return s
}
