package scripted

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

type variable uint8

const (
	none variable = iota
	cwd
	lastResult
	lastReceipt
	planRevision
	goalRevision
)

// variables are the names that a script may use in ${…}.
var variables = map[string]variable{
	"cwd":           cwd,
	"last.result":   lastResult,
	"last.receipt":  lastReceipt,
	"plan.revision": planRevision,
	"goal.revision": goalRevision,
}

// template is a text with variables, cut into its pieces.
type template []piece

// piece is a literal text followed by a variable or nothing. Where escape is set the variable stands inside a string of
// JSON.
type piece struct {
	literal  string
	variable variable
	escape   bool
}

// compile cuts a text: ${name} is a variable, $$ a dollar, any other dollar stands for itself.
func compile(text string) (template, error) {
	var t template
	var literal strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		literal.WriteString(before)
		switch {
		case !found:
			if literal.Len() > 0 {
				t = append(t, piece{literal: literal.String()})
			}
			return t, nil
		case strings.HasPrefix(rest, "$"):
			literal.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "{"):
			name, after, closed := strings.Cut(rest[1:], "}")
			if !closed {
				return nil, fmt.Errorf("${ is never closed; a dollar is written $$")
			}
			v, known := variables[name]
			if !known {
				return nil, fmt.Errorf("unknown variable ${%s}; known are ${cwd}, ${last.result}, ${last.receipt}, "+
					"${plan.revision} and ${goal.revision}, and a dollar is written $$", clip(name))
			}
			t = append(t, piece{literal: literal.String(), variable: v})
			literal.Reset()
			text = after
		default:
			literal.WriteByte('$')
			text = rest
		}
	}
}

func clip(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// expand puts the values in.
func (t template) expand(value func(variable) string) string {
	if len(t) == 1 && t[0].variable == none {
		return t[0].literal
	}
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.literal)
		switch {
		case p.variable == none:
		case p.escape:
			escape(&b, value(p.variable))
		default:
			b.WriteString(value(p.variable))
		}
	}
	return b.String()
}

// escape writes a text as the inside of a JSON string.
func escape(b *strings.Builder, s string) {
	const digits = "0123456789abcdef"
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ':
			b.WriteString(`\u00`)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			b.WriteRune(r) // an invalid byte becomes U+FFFD, which keeps the JSON valid
			i += size
			continue
		default:
			b.WriteByte(c)
		}
		i++
	}
}
