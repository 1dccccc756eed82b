package commands

import (
	"strings"
	"unicode"

	"zuno/journal/event"
)

// Native is a native command as a user types it.
type Native struct {
	Name        string // without the slash
	Description string
	Hint        string // at its arguments; empty where it takes none
}

// Natives are the native commands, in the order in which they are shown.
var Natives = []Native{
	{"resume", "Go on with work that was paused or interrupted.", ""},
	{"inspect-outcome", "List interrupted calls whose effect is unknown, or record what you found out about one.", "[CALL happened|did_not_happen|unknown WHAT YOU LOOKED AT]"},
}

const inspectUsage = "to record what you found, send /inspect-outcome CALL VERDICT SENTENCE, where VERDICT is happened, did_not_happen or unknown and SENTENCE says what you looked at; without arguments it lists the calls"

// maxNote bounds the sentence of a finding in bytes.
const maxNote = 4 << 10

// Slash reads a prompt that names a native command. known is false for any other text, also one that merely begins with a
// slash: that is ordinary content. bad says what is wrong with the arguments of a command that exists.
func Slash(text string) (c *event.Control, known bool, bad *Refusal) {
	text = strings.TrimSpace(text)
	word, rest := text, ""
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		word, rest = text[:i], strings.TrimSpace(text[i:])
	}
	switch word {
	case "/resume":
		if rest != "" {
			return nil, true, &Refusal{Code: CodeMalformed, Reason: "/resume takes no arguments", Next: "send it alone, and what you want to add as a message of its own"}
		}
		return &event.Control{Kind: event.ControlResume}, true, nil
	case "/inspect-outcome":
		if rest == "" {
			return &event.Control{Kind: event.ControlInspect}, true, nil
		}
		return finding(rest)
	}
	return nil, false, nil
}

func finding(args string) (*event.Control, bool, *Refusal) {
	malformed := func(reason string) (*event.Control, bool, *Refusal) {
		return nil, true, &Refusal{Code: CodeMalformed, Reason: reason, Next: inspectUsage}
	}
	f := strings.Fields(args)
	if len(f) < 3 {
		return malformed("a finding needs the call's id, a verdict and a sentence")
	}
	verdict := event.Finding(f[1])
	if !known(verdict) {
		return malformed("a verdict is happened, did_not_happen or unknown")
	}
	note := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(args, f[0])), f[1]))
	if len(note) > maxNote || len(f[0]) > maxNote {
		return malformed("the sentence of a finding has at most 4096 bytes")
	}
	return &event.Control{Kind: event.ControlFinding, Call: f[0], Finding: verdict, Note: event.NewText(note)}, true, nil
}

func known(f event.Finding) bool {
	return f == event.FindingHappened || f == event.FindingDidNotHappen || f == event.FindingUnknown
}
