package scripted_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"zuno/internal/model/scripted"
)

// spec: D111 D112 D150
func TestMistakesAreRefusedWithTheirLine(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		line         int
		reason       string
	}{
		{"empty", "", 0, "it is empty"},
		{"a comment alone", "# nothing\n", 0, "it is empty"},
		{"no mapping", "- text: hi\n", 1, "a script must be a mapping"},
		{"no responses", "repeat: true\n", 1, "list `responses`"},
		{"responses is no list", "responses: hi\n", 1, "responses must be a list"},
		{"top key", "responses: []\nrespones: []\n", 2, `unknown key "respones" in a script; known are responses, repeat`},
		{"top key twice", "responses: []\nresponses: []\n", 2, `"responses" is given twice`},
		{"entry key", "responses:\n  - text: hi\n    txt: hi\n", 3, `unknown key "txt" in an entry; known are text, reasoning, parts`},
		{"entry is text", "responses:\n  - hi\n", 2, "an entry must be a mapping"},
		{"entry is nothing", "responses:\n  -\n", 2, "an entry must be a mapping"},
		{"text is a number", "responses:\n  - text: 5\n", 2, "text must be a string; quote it"},
		{"text is nothing", "responses:\n  - text:\n", 2, "text must be a string; quote it"},
		{"text is a list", "responses:\n  - text: [a]\n", 2, "text must be a string; quote it"},
		{"reasoning is a boolean", "responses:\n  - reasoning: true\n", 2, "reasoning must be a string"},
		{"parts is text", "responses:\n  - parts: a\n", 2, "parts must be a list"},
		{"part key", "responses:\n  - parts:\n    - txt: a\n", 3, `unknown key "txt" in a part; known are text, reasoning, after`},
		{"part of both kinds", "responses:\n  - parts:\n    - { text: a, reasoning: b }\n", 3, "either text or reasoning"},
		{"part of no kind", "responses:\n  - parts:\n    - { after: 1s }\n", 3, "either text or reasoning"},
		{"part after a number", "responses:\n  - parts:\n    - { text: a, after: 5 }\n", 3, "after must be a time from 0s"},
		{"calls is a mapping", "responses:\n  - calls: { tool: a }\n", 2, "calls must be a list"},
		{"call key", "responses:\n  - calls:\n    - { tool: a, arg: {} }\n", 3, `unknown key "arg" in a call; known are tool, args, raw_arguments, id`},
		{"call without tool", "responses:\n  - calls:\n    - { args: {} }\n", 3, "a call names its tool"},
		{"call with an empty tool", "responses:\n  - calls:\n    - { tool: '' }\n", 3, "tool must not be empty"},
		{"call with both arguments", "responses:\n  - calls:\n    - { tool: a, args: {}, raw_arguments: x }\n", 3, "either args or raw_arguments"},
		{"args is text", "responses:\n  - calls:\n    - { tool: a, args: x }\n", 3, "args must be a mapping"},
		{"args is nothing", "responses:\n  - calls:\n    - { tool: a, args: }\n", 3, "args must be a mapping"},
		{"args with a key twice", "responses:\n  - calls:\n    - { tool: a, args: {x: 1, x: 2} }\n", 3, `"x" is given twice in args`},
		{"args beyond JSON", "responses:\n  - calls:\n    - { tool: a, args: {x: .inf} }\n", 3, "JSON has no such value"},
		{"args with bytes", "responses:\n  - calls:\n    - { tool: a, args: {x: !!binary aGk=} }\n", 3, "not supported"},
		{"args with a strange key", "responses:\n  - calls:\n    - { tool: a, args: {[a]: 1} }\n", 3, "a key in args must be a plain word"},
		{"args too deep", "responses:\n  - calls:\n    - { tool: a, args: {x: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "} }\n", 3, "nested deeper"},
		{"alias", "responses:\n  - text: &a hi\n  - text: *a\n", 3, "aliases are not supported"},
		{"alias in args", "responses:\n  - calls:\n    - { tool: a, args: {x: &b [1], y: [*b]} }\n", 3, "aliases are not supported"},
		{"merge key", "responses:\n  - &a {text: hi}\n  - {<<: *a}\n", 3, "plain word"},
		{"raw_arguments is a mapping", "responses:\n  - calls:\n    - { tool: a, raw_arguments: {} }\n", 3, "raw_arguments must be a string"},
		{"id is a number", "responses:\n  - calls:\n    - { tool: a, id: 1 }\n", 3, "id must be a string"},
		{"usage key", "responses:\n  - usage: { in: 1 }\n", 2, `unknown key "in" in usage; known are input, output, reasoning, cache_read, cache_write`},
		{"usage is negative", "responses:\n  - usage: { input: -1 }\n", 2, "input must be a whole number"},
		{"usage is broken", "responses:\n  - usage: { input: 1.5 }\n", 2, "input must be a whole number"},
		{"usage is text", "responses:\n  - usage: '1'\n", 2, "usage must be a mapping"},
		{"delay is a number", "responses:\n  - delay: 5\n", 2, "delay must be a time from 0s"},
		{"delay is negative", "responses:\n  - delay: -5s\n", 2, "delay must be a time from 0s"},
		{"delay is too long", "responses:\n  - delay: 25h\n", 2, "delay must be a time from 0s"},
		{"error key", "responses:\n  - error: { state: 1 }\n", 2, `unknown key "state" in error; known are status, retry_after, code, request_id, message`},
		{"error is text", "responses:\n  - error: busy\n", 2, "error must be a mapping"},
		{"error status", "responses:\n  - error: { status: many }\n", 2, "status must be a whole number from 0 to 999"},
		{"error retry_after", "responses:\n  - error: { retry_after: soon }\n", 2, "retry_after must be a time"},
		{"error code", "responses:\n  - error: { code: 7 }\n", 2, "code must be a string"},
		{"error and text", "responses:\n  - text: hi\n    error: { status: 500 }\n", 2, "an error is the whole answer"},
		{"error and cut", "responses:\n  - cut: true\n    error: { status: 500 }\n", 2, "an error is the whole answer"},
		{"cut is text", "responses:\n  - cut: 'yes'\n", 2, "cut must be true or false"},
		{"cut and usage", "responses:\n  - cut: true\n    usage: { input: 1 }\n", 2, "has no usage"},
		{"expect is text", "responses:\n  - expect: PASS\n", 2, "expect must be a mapping"},
		{"expect key", "responses:\n  - expect: { contain: PASS }\n", 2, `unknown key "contain" in expect`},
		{"expect nothing", "responses:\n  - expect: {}\n", 2, "expect has a text"},
		{"expect the empty text", "responses:\n  - expect: { contains: '' }\n", 2, "contains must not be empty"},
		{"expect an empty list", "responses:\n  - expect: { contains: [] }\n", 2, "expect has a text"},
		{"expect numbers", "responses:\n  - expect:\n      contains:\n        - a\n        - 5\n", 5, "contains must be a string"},
		{"when is empty", "responses:\n  - when: ''\n", 2, "when must not be empty"},
		{"when is a number", "responses:\n  - when: 5\n", 2, "when must be a string"},
		{"repeat is text", "responses: [{}]\nrepeat: often\n", 2, "repeat must be true or false"},
		{"repeat nothing", "repeat: true\nresponses: [{when: a}]\n", 1, "repeat needs an entry without `when`"},
		{"two documents", "responses: []\n---\nresponses: []\n", 2, "one document"},
		{"malformed", "responses:\n  - text: \"hi\n", 2, "malformed YAML: "},
		{"malformed after the document", "responses: []\n---\n\"", 3, "malformed YAML: "},
		{"tab", "responses:\n\t- text: hi\n", 2, "malformed YAML: "},
		{"not UTF-8", "responses:\n  - text: \xff\n", 0, "malformed YAML: "},
		{"unknown variable in text", "responses:\n  - text: a ${nope}\n", 2, "unknown variable ${nope}; known are ${cwd}, ${last.result}, ${last.receipt}, ${plan.revision} and ${goal.revision}"},
		{"unknown variable in reasoning", "responses:\n  - reasoning: a ${nope}\n", 2, "unknown variable ${nope}"},
		{"unknown variable in parts", "responses:\n  - parts:\n    - text: ${nope}\n", 3, "unknown variable ${nope}"},
		{"unknown variable in args", "responses:\n  - calls:\n    - tool: a\n      args:\n        x:\n          - '${nope}'\n", 6, "unknown variable ${nope}"},
		{"unknown variable in raw_arguments", "responses:\n  - calls:\n    - tool: a\n      raw_arguments: '${nope}'\n", 4, "unknown variable ${nope}"},
		{"empty variable", "responses:\n  - text: ${}\n", 2, "unknown variable ${}"},
		{"open variable", "responses:\n  - text: ${cwd\n", 2, "${ is never closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := scripted.Parse("dir/s.yaml", []byte(tt.script))
			var e *scripted.LoadError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, %v", s, err)
			}
			if e.Script != "dir/s.yaml" || e.Line != tt.line || !strings.Contains(e.Reason, tt.reason) {
				t.Errorf("got line %d: %v\nwant line %d: %s", e.Line, e, tt.line, tt.reason)
			}
			if text := e.Error(); strings.Contains(text, "\n") || !strings.HasPrefix(text, "script dir/s.yaml:") {
				t.Errorf("got %q", text)
			}
		})
	}
}

// spec: D150
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.yaml")
	if err := os.WriteFile(path, []byte("responses: [{text: hi}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Load(path)
	if err != nil || s.Name() != path {
		t.Fatalf("got %v, %v", s, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, scripted.MaxScript+1); err != nil {
		t.Fatal(err)
	}
	for bad, reason := range map[string]string{
		filepath.Join(dir, "missing.yaml"): "no such file or directory",
		dir:                                "no regular file",
		pipe:                               "no regular file",
		large:                              "larger than",
	} {
		if _, err := scripted.Load(bad); err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: got %v", bad, err)
		}
	}
	if _, err := scripted.Load(filepath.Join(dir, "missing.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}
