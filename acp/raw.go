package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"zuno/journal/event"
)

const maxRaw = 256 << 10 // bytes of a result in one line

// rawInput is the arguments as JSON, or as a string where they are none.
func rawInput(args string) json.RawMessage {
	if len(args) <= maxRaw && json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	return bounded(args)
}

func bounded(text string) json.RawMessage {
	cut, whole := fit(text, maxRaw-64)
	if !whole {
		cut += fmt.Sprintf("… (%d bytes in all)", len(text))
	}
	b, _ := json.Marshal(cut) // a string always encodes
	return b
}

// fit is text in valid UTF-8, cut to what takes at most budget bytes of a line: what JSON escapes counts in full.
func fit(text string, budget int) (cut string, whole bool) {
	size := 0
	for i, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			size += 2
		case r < 0x20 || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
			size += 6
		default:
			size += utf8.RuneLen(r) // of U+FFFD for a byte that is none
		}
		if size > budget {
			return strings.ToValidUTF8(text[:i], "\uFFFD"), false
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD"), true
}

// rawOutput is the typed outcome of a change, complete and without texts; of any other call it is the bounded result.
func rawOutput(e *event.CallSettled) json.RawMessage {
	if raw := e.Raw.String(); raw != "" && json.Valid([]byte(raw)) {
		return json.RawMessage(raw)
	}
	out := struct {
		Outcome event.Outcome `json:"outcome"`
		Class   string        `json:"class,omitempty"`
		Exit    *event.Exit   `json:"exit,omitempty"`
		Text    string        `json:"text"`
		Bytes   int           `json:"bytes,omitempty"`  // of the whole text, where it is cut here
		Output  string        `json:"output,omitempty"` // file that holds everything
		Size    uint64        `json:"outputSize,omitempty"`
	}{Outcome: e.Outcome, Class: e.Class, Exit: e.Exit, Output: e.Output.String(), Size: e.OutBytes}
	var whole bool
	if out.Text, whole = fit(e.Text.String(), maxRaw-8<<10); !whole { // beside it stand a path and a few words
		out.Bytes = int(e.Text.Size)
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return b
}
