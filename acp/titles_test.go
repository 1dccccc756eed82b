package acp

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"zuno/journal/event"
)

func absolute(names ...string) (out []event.Text) {
	for _, n := range names {
		out = append(out, event.NewText("/w/"+n))
	}
	return out
}

// TestTitles: the card of an edit names at most three files and says how many more there are.
//
// spec: A081 A082 A083 A086
func TestTitles(t *testing.T) {
	ten := []string{"a/1", "2", "b/3", "4", "5", "6", "7", "8", "9", "10"}
	for _, tool := range []string{"write", "apply_patch", "edit"} {
		for want, paths := range map[string][]event.Text{
			"Editing files":             nil,
			"Editing main.rs":           absolute("src/main.rs"),
			"Editing main.rs, lib.rs":   absolute("src/main.rs", "lib.rs"),
			"Editing 1, 2, 3":           absolute(ten[:3]...),
			"Editing 1, 2, 3 (+1 more)": absolute(ten[:4]...),
			"Editing 1, 2, 3 (+7 more)": absolute(ten...),
			"Editing two lines.txt":     absolute("two\nlines.txt"),
			"Editing \uFFFD[31m.txt":    absolute("\x1b[31m.txt"),
		} {
			if got := title(&event.CallRequested{Tool: tool, Kind: "edit", Paths: paths}); got != want {
				t.Errorf("%s: title %q, want %q", tool, got, want)
			}
		}
	}
}

// TestTitlesFit: a title has at most 160 code points, its count of others included, and ends no name inside of a character,
// however long that is. Each of three long names is still there.
//
// spec: A087
func TestTitlesFit(t *testing.T) {
	family, accents, flag := "👩‍👩‍👧‍👦", "e\u0301\u0323\u0308", "🇩🇪"
	for _, unit := range []string{"x", "ä", family, accents, flag, "\u1100\u1161\u11a8", "\u0915\u094d\u0937", "z" + strings.Repeat("\u0301", 200)} {
		whole := map[string]bool{}
		for g := graphemes.FromString(unit); g.Next(); {
			whole[g.Value()] = true
		}
		long := strings.Repeat(unit, 90)
		for others := range 4 {
			names := []string{"1" + long, "2" + long, "3" + long}
			for i := range others {
				names = append(names, fmt.Sprint("other", i))
			}
			got := title(&event.CallRequested{Tool: "apply_patch", Kind: "edit", Paths: absolute(names...)})
			if n := utf8.RuneCountInString(got); n > maxTitle || n < maxTitle/2 && utf8.RuneCountInString(unit) < 20 || !utf8.ValidString(got) {
				t.Errorf("%q: %d code points: %q", unit, n, got)
			}
			if want := fmt.Sprintf(" (+%d more)", others); others > 0 && !strings.HasSuffix(got, want) {
				t.Errorf("%q: %q does not end in %q", unit, got, want)
			}
			for _, name := range strings.Split(strings.TrimPrefix(got, "Editing "), ", ") {
				name, _, cut := strings.Cut(name, "…")
				if !cut {
					t.Errorf("%q: %q is not cut", unit, got)
				}
				for g := graphemes.FromString(strings.TrimLeft(name, "123")); g.Next(); {
					if !whole[g.Value()] {
						t.Errorf("%q: %q is cut inside of a character: %q", unit, got, g.Value())
					}
				}
			}
		}
	}
	if got := title(&event.CallRequested{Tool: "write", Kind: "edit", Paths: absolute(strings.Repeat("n", 300), "b", "c", "d")}); !strings.Contains(got, "…, b, c (+1 more)") {
		t.Errorf("short names beside a long one: %q", got)
	}
	command := title(&event.CallRequested{Tool: "shell", Kind: "execute", Title: event.NewText(strings.Repeat(family, 40))})
	if n := utf8.RuneCountInString(command); n > maxTitle || !strings.HasSuffix(command, family+"…") {
		t.Errorf("a command: %d code points: %q", n, command)
	}
}

// TestNamesBeforeResolution: a call that was refused before its paths were resolved is still named by its complete arguments,
// and no place is made up for a relative path. A patch is read by its grammar: what stands in a hunk is no name.
//
// spec: A085 A089 A090
func TestNamesBeforeResolution(t *testing.T) {
	hunk := `*** Begin Patch\n*** Update File: src/main.rs\n@@\n *** Update File: context.rs\n-*** Add File: removed.rs\n+*** Delete File: added.rs\n*** Update File: a.rs\n*** Move to: b/c.rs\n*** End Patch`
	for _, c := range []struct{ tool, args, want string }{
		{"write", `{"filePath":"src/main.rs","content":"x"}`, "Editing main.rs"},
		{"write", `{"filePath":"src/main.rs","cont`, "Editing files"},
		{"write", `{"content":"x"}`, "Editing files"},
		{"write", `{"filePath":7}`, "Editing files"},
		{"apply_patch", `{"patchText":"` + hunk + `"}`, "Editing main.rs, a.rs, c.rs"},
		{"apply_patch", `{"patchText":"` + hunk, "Editing files"},
		{"apply_patch", `{"patchText":"*** Update File: no-patch.rs"}`, "Editing files"},
		{"apply_patch", `{"filePath":"other.rs","patchText":""}`, "Editing files"},
	} {
		updates := drawn(t, &event.CallRequested{ID: "call_1", Tool: c.tool, Args: event.NewText(c.args)})
		if u := updates[0]; u["title"] != c.want || u["kind"] != "edit" || u["locations"] != nil {
			t.Errorf("%s %s: %v", c.tool, c.args, u)
		}
	}
}
