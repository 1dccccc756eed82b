package config

import (
	"strconv"
	"strings"
	"unicode"
)

// Code is the kind of an [Error], for callers that decide on it.
type Code string

// The codes.
const (
	Malformed           Code = "malformed"            // not JSON with comments
	Unreadable          Code = "unreadable"           // the file exists but is no readable regular file
	TooLarge            Code = "too_large"            // beyond [MaxFile]
	UnknownKey          Code = "unknown_key"          // keys that are not built
	InvalidValue        Code = "invalid_value"        // a value of the wrong type or out of range
	ProjectWidens       Code = "project_widens"       // a project file that gives permissions
	ProviderUnavailable Code = "provider_unavailable" // a provider type that this build does not have
	ProviderMissing     Code = "provider_missing"     // the model names a provider that is not configured
	ScriptMissing       Code = "script_missing"       // a scripted model other than demo without a script
	NoFolder            Code = "no_folder"            // neither a home nor a variable says where data belongs
)

// Place is where something stands. Line and Key are empty where they are not known.
type Place struct {
	File string // a path, or what stands for one: ZUNO_CONFIG_CONTENT, a flag
	Line int    // from 1
	Key  string // dotted
}

// String renders file:line: key.
func (p Place) String() string {
	s := p.File
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
	}
	if p.Key != "" {
		s += ": " + p.Key
	}
	return s
}

// Error is a configuration that cannot be used. It holds no value that could be a secret.
type Error struct {
	Code   Code
	What   string
	Places []Place
	Fix    string
	cause  error
}

// Error renders at most three lines: what, where, what to do.
func (e *Error) Error() string {
	places := make([]string, len(e.Places))
	for i, p := range e.Places {
		places[i] = p.String()
	}
	lines := []string{oneLine(e.What)}
	if len(places) > 0 {
		lines = append(lines, "  at "+oneLine(strings.Join(places, ", ")))
	}
	if e.Fix != "" {
		lines = append(lines, "  "+oneLine(e.Fix))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the failure of the file system behind the error, if there was one.
func (e *Error) Unwrap() error { return e.cause }

// oneLine keeps a name with control characters from breaking out of its line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// quoted shows a value of an enumeration, clipped. Never give it a value that could be a secret.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}
