package patch

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// A text that is a patch means the same when it is written out and read again; a text that is none says why, shortly.
// Whatever it asks of a file, the file keeps its byte order mark and its final newline, or is empty.
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
			result, wrong := apply(content, s.hunks)
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
			if after := strings.TrimPrefix(result, bom); body != "" && after != "" && strings.HasSuffix(body, "\n") != strings.HasSuffix(after, "\n") {
				t.Errorf("%q became %q", content, result)
			}
			if utf8.ValidString(text) && utf8.ValidString(content) && !utf8.ValidString(result) {
				t.Errorf("%q is no text", result)
			}
		}
	})
}

func TestDocumentKeepsEveryByte(t *testing.T) {
	for _, content := range []string{"", "\n", "a", "a\n", "\r\n\r\n", "a\r\nb\n\rc\r", bom, bom + "x", "\x00\xff\n"} {
		if got := newDocument(content).String(); got != content {
			t.Errorf("%q became %q", content, got)
		}
	}
}
