package patch

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A text that is a patch means the same when it is written out and read again; a text that is none says why, shortly.
// Whatever it asks of a file, the file keeps its byte order mark and its final newline, or is empty. (A last line of no
// characters makes a text end with a newline, whether it has one of its own or not.)
//
// spec: D237 T184
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		wrap("*** Add File: a", "+x"), wrap("*** Update File: a", "*** Move to: b", "@@ def", " x", "-y", "+z", "*** End of File", "*** Delete File: c"),
		" *** Begin Patch \r\n  *** Update File: a\r\n@@\r\n-one\r\n+two\r\n\r\n\r\n@@ x\r\n+y\r\n*** End Patch \r\n\r\n",
		wrap("*** Update File: a", "@@", "", " b", "", "+", "@@", "- "), wrap("*** Update File: a"), wrap("*** Update File: a", "@@"), "*** Begin Patch", "",
	} {
		f.Add(seed, "one\ntwo\r\n\n x\n")
	}
	f.Fuzz(func(t *testing.T, text, content string) {
		sections, wrong := parse(text)
		if wrong != nil {
			if s := wrong.Error(); s == "" || len(s) > 400 {
				t.Errorf("%q", s)
			}
			return
		}
		again, wrong := parse(render(sections))
		if wrong != nil || !reflect.DeepEqual(sections, again) {
			t.Fatalf("%q\nis rendered as %q: %v", text, render(sections), wrong)
		}
		for _, s := range sections {
			if s.kind != update {
				continue
			}
			result, wrong := apply(t.Context(), content, s.hunks)
			if wrong != nil {
				if wrong.reason == "" {
					t.Error("no reason")
				}
				continue
			}
			if len(s.hunks) == 0 && result != content {
				t.Errorf("%q became %q", content, result)
			}
			if had := strings.HasPrefix(content, bom); had && !strings.HasPrefix(result, bom) {
				t.Errorf("%q lost its mark: %q", content, result)
			}
			body := strings.TrimPrefix(content, bom)
			if after := strings.TrimPrefix(result, bom); body != "" && after != "" && strings.HasSuffix(body, "\n") != strings.HasSuffix(after, "\n") && !(strings.HasSuffix(after, "\n") && addsEmpty(s.hunks)) {
				t.Errorf("%q became %q", content, result)
			}
			if utf8.ValidString(text) && utf8.ValidString(content) && !utf8.ValidString(result) {
				t.Errorf("%q is no text", result)
			}
		}
	})
}

func addsEmpty(hunks []hunk) bool {
	return slices.ContainsFunc(hunks, func(h hunk) bool {
		return slices.ContainsFunc(h.lines, func(l hunkLine) bool { return l.op == '+' && strings.TrimPrefix(l.text, bom) == "" })
	})
}

// What repeats itself is not looked at again and again: neither in the file nor in the hunk, nor in both.
func TestMatchesLooksAtEachLineOnce(t *testing.T) {
	const lines, texts = 20_000, 500
	for name, text := range map[string]func(i int) string{
		"all alike":     func(int) string { return "x" },
		"a short cycle": func(i int) string { return string(rune('a' + i%3)) },
		"one differs":   func(i int) string { return strings.Repeat("y", min(1, i/(texts-1))) },
	} {
		looked := 0
		again := make([]int, texts)
		matches(1, texts, again, func(i, k int) bool { looked++; return text(i) == text(k) }, func(i, n int) bool { again[i] = n; return true })
		matches(0, lines, again, func(i, k int) bool { looked++; return text(i%texts) == text(k) }, func(int, int) bool { return true })
		if looked > 2*(lines+texts) {
			t.Errorf("%s: %d lines were looked at %d times", name, lines+texts, looked)
		}
	}
}

// A file that is nothing but line ends costs a few times its size, not a hundred times.
func TestMemoryOfManyLines(t *testing.T) {
	const size = 8 << 20
	content := strings.Repeat("\n", size) + "x\n"
	hunks := []hunk{{lines: []hunkLine{{'-', "x"}, {'+', "y"}}}, {lines: []hunkLine{{' ', ""}, {'-', "z"}}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got, wrong := apply(t.Context(), content, hunks[:1]); wrong != nil || got != strings.Repeat("\n", size)+"y\n" {
		t.Fatal(wrong)
	}
	if _, wrong := apply(t.Context(), content, hunks); wrong == nil || wrong.hunk != 2 {
		t.Fatal(wrong)
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) / size; took > 16 {
		t.Errorf("%d times the size of the file", took)
	}
}

func TestNoHunkIsLookedForWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, wrong := apply(ctx, "a\n", []hunk{{lines: []hunkLine{{'-', "a"}}}}); wrong == nil || wrong.reason != "it was not looked for" {
		t.Errorf("%+v", wrong)
	}
}

func TestDocumentKeepsEveryByte(t *testing.T) {
	for _, content := range []string{"", "\n", "a", "a\n", "\r\n\r\n", "a\r\nb\n\rc\r", bom, bom + "x", "\x00\xff\n"} {
		d := newDocument(content)
		if got := d.String(); got != content {
			t.Errorf("%q became %q", content, got)
		}
	}
}
