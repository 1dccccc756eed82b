package patch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"zuno/journal/event"
	"zuno/tools"
	"zuno/tools/files"
)

// session calls the tools as a session would, and keeps the receipts, operations and pre-images.
type session struct {
	t          testing.TB
	registry   *tools.Registry
	where      tools.Where
	receipts   map[string][32]byte
	operations map[tools.Operation]bool
	images     []tools.PreImage
	keeping    error // what keeping fails with
}

func newSession(t testing.TB) *session { return sessionOn(t, realDisk) }

// on is the same session with another disk.
func (s *session) on(d disk) *session {
	s.registry = tools.NewRegistry()
	register(s.registry, d)
	files.Register(s.registry)
	return s
}

func sessionOn(t testing.TB, d disk) *session {
	s := &session{t: t, registry: tools.NewRegistry(), where: tools.Where{Cwd: t.TempDir()}, receipts: map[string][32]byte{}, operations: map[tools.Operation]bool{}}
	register(s.registry, d)
	files.Register(s.registry)
	return s
}

func (s *session) path(name string) string { return filepath.Join(s.where.Cwd, name) }

func (s *session) file(name, content string) string {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	must(s.t, os.WriteFile(s.path(name), []byte(content), 0o644))
	return s.path(name)
}

// known is a file that the session has read.
func (s *session) known(name, content string) string {
	s.t.Helper()
	path := s.file(name, content)
	s.read(name)
	return path
}

func (s *session) read(name string) {
	s.t.Helper()
	is(s.t, s.run(s.prepare("read", map[string]any{"filePath": name})), tools.OK, "")
}

func (s *session) prepare(tool string, args map[string]any) tools.Prepared {
	s.t.Helper()
	encoded, err := json.Marshal(args)
	must(s.t, err)
	p, blocked := s.registry.Resolve(s.where, tool, string(encoded))
	if blocked != nil {
		s.t.Fatal(blocked.Message)
	}
	return p
}

func (s *session) env() tools.Env {
	return tools.Env{
		Cwd:      s.where.Cwd,
		LastRead: func(path string) ([32]byte, bool) { digest, ok := s.receipts[path]; return digest, ok },
		Replayed: func(o tools.Operation) bool { return s.operations[o] },
		KeepPreImages: func(_ context.Context, images []tools.PreImage) (string, error) {
			s.images = images
			return "kept.pack", s.keeping
		},
	}
}

func (s *session) run(p tools.Prepared) tools.Result {
	r := p.Run(context.Background(), s.env())
	for _, f := range r.Files {
		if s.receipts[f.Resolved] = f.Digest; f.Change == tools.Deleted {
			delete(s.receipts, f.Resolved)
		}
	}
	if r.Operation != nil {
		s.operations[*r.Operation] = true
	}
	return r
}

// patch applies the lines between the marks.
func (s *session) patch(lines ...string) tools.Result {
	s.t.Helper()
	return s.run(s.prepare("apply_patch", map[string]any{"patchText": wrap(lines...)}))
}

func wrap(lines ...string) string {
	return beginMark + "\n" + strings.Join(lines, "\n") + "\n" + endMark + "\n"
}

func (s *session) holds(name, content string) {
	s.t.Helper()
	got, err := os.ReadFile(s.path(name))
	if err != nil || string(got) != content {
		s.t.Errorf("%s holds %q (%v), want %q", name, got, err, content)
	}
}

// tree is everything below a folder: names, modes, link targets, contents.
func tree(t testing.TB, root string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		fmt.Fprintf(&b, "%s %v ", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			must(t, err)
			fmt.Fprintf(&b, "%q", content)
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			b.WriteString(to)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// unchanged runs a call that must leave everything as it was.
func (s *session) unchanged(call func() tools.Result) tools.Result {
	s.t.Helper()
	before := tree(s.t, s.where.Cwd)
	r := call()
	if after := tree(s.t, s.where.Cwd); after != before {
		s.t.Errorf("%s\nthe tree was\n%s\nand is\n%s", r.Text, before, after)
	}
	if len(r.Files) > 0 {
		s.t.Errorf("files %+v of a call that changed nothing", r.Files)
	}
	return r
}

func (s *session) conflicts(r tools.Result) (c []conflict) {
	s.t.Helper()
	var raw struct {
		Conflicts []conflict
		Operation string `json:"operation_digest"`
	}
	if err := json.Unmarshal(r.Raw, &raw); err != nil || len(raw.Operation) != 64 || len(raw.Conflicts) == 0 {
		s.t.Fatalf("raw %s: %v", r.Raw, err)
	}
	for _, c := range raw.Conflicts {
		if c.Required == "" || c.Resource == "" || c.Class == "" {
			s.t.Errorf("raw %s", r.Raw)
		}
		has(s.t, r.Text, "resource: "+c.Resource, "requiredAction: "+c.Required, "operation: SHA-256 "+raw.Operation)
		if c.Current != "" {
			has(s.t, r.Text, c.Current)
		}
	}
	return raw.Conflicts
}

func is(t testing.TB, r tools.Result, outcome tools.Outcome, class string, says ...string) {
	t.Helper()
	if r.Outcome != outcome || r.Class != class {
		t.Errorf("got %s %s, want %s %s: %s", r.Outcome, r.Class, outcome, class, r.Text)
	}
	has(t, r.Text, says...)
}

func has(t testing.TB, text string, says ...string) {
	t.Helper()
	for _, part := range says {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sumOf(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// spec: T008
func TestDeclaration(t *testing.T) {
	s := newSession(t)
	for _, entry := range s.registry.Catalogue() {
		if want := (event.Declaration{Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive}); entry.Name == "apply_patch" && entry.Declaration != want {
			t.Errorf("%v", entry.Declaration)
		}
	}
	must(t, os.Symlink("/etc", s.path("out")))
	p := s.prepare("apply_patch", map[string]any{"patchText": wrap("*** Add File: a.go", "+*** Delete File: not/a/path", "*** Update File: out/hosts", "*** Move to: /tmp/b", "@@", "+x", "*** Delete File: .env")})
	if want := []string{s.path("a.go"), s.path("out/hosts"), "/tmp/b", s.path(".env")}; !slices.Equal(p.Paths, want) || p.Kind != "edit" || p.Title != "a.go, out/hosts, /tmp/b, .env" {
		t.Errorf("%+v", p)
	}
	want := []tools.Access{
		{Kind: event.AccessWrite, Place: event.PlaceInside, Name: s.path("a.go")},
		{Kind: event.AccessWrite, Place: event.PlaceOutside, Name: "/etc/hosts"},
		{Kind: event.AccessWrite, Place: event.PlaceOutside, Name: "/tmp/b"},
		{Kind: event.AccessWrite, Place: event.PlaceSecret, Name: s.path(".env")},
	}
	if !slices.Equal(p.Accesses, want) {
		t.Errorf("%+v", p.Accesses)
	}
	for text, kind := range map[string]string{"*** Delete File: a": "delete", "*** Update File: a\n*** Move to: b": "move"} {
		if p := s.prepare("apply_patch", map[string]any{"patchText": wrap(text)}); p.Kind != kind {
			t.Errorf("%s is %s", text, p.Kind)
		}
	}
}

// spec: T185
func TestGrammarErrorsAreInvalidArguments(t *testing.T) {
	s := newSession(t)
	s.known("foo", "old\n")
	update := "*** Update File: foo"
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "begins with a line"},
		{"no begin", "*** Update File: foo\n@@\n-old\n+new\n*** End Patch", "begins with a line"},
		{"no end", "*** Begin Patch\n*** Update File: foo\n@@\n-old\n+new", "ends with a line"},
		{"only begin", "*** Begin Patch", "ends with a line"},
		{"no section", wrap(), "no section"},
		{"unknown section", wrap("*** Frobnicate File: foo"), "line 2"},
		{"text outside", wrap("hello", update, "@@", "-old", "+new"), "line 2"},
		{"no hunk", wrap(update), "no hunk"},
		{"no path", wrap("*** Update File:", "@@", "-old"), "path is missing"},
		{"no destination", wrap(update, "*** Move to: ", "@@", "-old"), "path is missing"},
		{"hunk without mark", wrap(update, "-old", "+new"), "a hunk begins with"},
		{"glued mark", wrap(update, "@@x", "-old"), "a hunk begins with"},
		{"empty hunk", wrap(update, "@@", "@@", "-old"), "holds no lines"},
		{"empty last hunk", wrap(update, "@@", "-old", "@@ x", ""), "holds no lines"},
		{"bad line", wrap(update, "@@", "-old", "new"), "line 5"},
		{"after the end of the file", wrap(update, "@@", "-old", "*** End of File", "+x"), "a hunk begins with"},
		{"added line without plus", wrap("*** Add File: bar", "+one", "two"), "begins with \"+\""},
		{"text after a deletion", wrap("*** Delete File: foo", "-old"), "line 3"},
		{"twice", wrap(update, "@@", "-old", "*** Delete File: ./foo"), "the same file"},
		{"to itself", wrap(update, "*** Move to: foo", "@@", "-old", "+new"), "the same file"},
		{"file and folder", wrap("*** Add File: new", "+x", "*** Add File: new/deep/b", "+x"), "cannot be a file and hold"},
		{"folder name", wrap("*** Add File: new/", "+x"), "names a folder"},
		{"nul", wrap("*** Add File: a\x00b", "+x"), "NUL"},
		{"long path", wrap("*** Add File: "+strings.Repeat("x", 5000), "+x"), "bytes long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			encoded, _ := json.Marshal(map[string]string{"patchText": c.text})
			_, blocked := s.registry.Resolve(s.where, "apply_patch", string(encoded))
			if blocked == nil {
				t.Fatal("not blocked")
			}
			if blocked.Kind != tools.InvalidArguments {
				t.Error(blocked.Kind)
			}
			has(t, blocked.Message, c.says, "nothing was done")
		})
	}
	s.holds("foo", "old\n")
}

// Every combination of mark, line end and final newline keeps what it has.
//
// spec: T184 D244
func TestBytesThatAreKept(t *testing.T) {
	for _, mark := range []string{"", bom} {
		for _, end := range []string{"\n", "\r\n"} {
			for _, final := range []string{"", end} {
				for _, sent := range []string{"\n", "\r\n"} {
					t.Run(fmt.Sprintf("%q %q %q sent with %q", mark, end, final, sent), func(t *testing.T) {
						s := newSession(t)
						text := func(lines ...string) string { return mark + strings.Join(lines, end) + final }
						apply := func(want string, lines ...string) {
							t.Helper()
							patch := strings.ReplaceAll(wrap(append([]string{"*** Update File: f"}, lines...)...), "\n", sent)
							is(t, s.run(s.prepare("apply_patch", map[string]any{"patchText": patch})), tools.OK, "")
							s.holds("f", want)
						}
						s.known("f", text("alpha", "beta", "gamma"))
						apply(text("alpha", "BETA", "delta", "gamma"), "@@", " alpha", "-beta", "+BETA", "+delta")
						apply(text("ALPHA", "BETA", "delta", "gamma"), "@@", "-alpha", "+ALPHA")
						apply(text("ALPHA", "BETA", "delta", "gamma // end"), "@@", "-gamma", "+gamma // end")
						apply(text("ALPHA", "BETA", "delta", "gamma // end", "NEW"), "@@", " gamma // end", "+NEW")
						apply(text("ALPHA", "BETA", "delta", "gamma // end", "NEW", "last"), "@@", "+last")
						apply(text("ALPHA", "BETA", "delta", "gamma // end", "NEW"), "@@", "-last", "*** End of File")
						apply(text("first", "ALPHA", "BETA", "delta", "gamma // end", "NEW"), "@@", "+first", " ALPHA")
						apply(mark, "@@", "-first", "-ALPHA", "-BETA", "-delta", "-gamma // end", "-NEW")
					})
				}
			}
		}
	}
	s := newSession(t)
	s.known("mixed", "a\r\nb\nc\r\nd")
	is(t, s.patch("*** Update File: mixed", "@@", " a", "+a2", " b", "+b2", " c", "+c2"), tools.OK, "")
	s.holds("mixed", "a\r\na2\r\nb\r\n"[:7]+"b\nb2\r\nc\r\nc2\r\nd")
	s.known("empty", "")
	is(t, s.patch("*** Update File: empty", "@@", "+x"), tools.OK, "")
	s.holds("empty", "x\n")
	s.known("marked", bom+"one\n")
	is(t, s.patch("*** Update File: marked", "@@", "-"+bom+"one", "+"+bom+"two"), tools.OK, "")
	s.holds("marked", bom+"two\n")
}

// spec: T177 D244
func TestAllOrNothing(t *testing.T) {
	s := newSession(t)
	s.known("keep.txt", "one\n")
	s.known("gone.txt", "bye\n")
	s.known("bad.txt", "real\n")
	r := s.unchanged(func() tools.Result {
		return s.patch("*** Add File: new/deep.txt", "+deep", "*** Delete File: gone.txt", "*** Update File: keep.txt", "@@", "-one", "+two", "*** Update File: bad.txt", "@@", "-imaginary", "+x")
	})
	is(t, r, tools.Failed, tools.ClassContextMismatch, "Nothing was changed")
	c := s.conflicts(r)
	if len(c) != 1 || c[0].Resource != s.path("bad.txt") || c[0].Hunk != 1 || c[0].Current != sumOf("real\n") {
		t.Errorf("%+v", c)
	}
	if s.images != nil {
		t.Error("pre-images were kept for nothing")
	}
	if strings.Contains(string(r.Raw), "imaginary") || strings.Contains(r.Text, "imaginary") {
		t.Error("the conflict holds text of the file")
	}
}

// spec: D244
func TestLookalikeBlocks(t *testing.T) {
	content := "def a():\n\tflush()\n\treturn None\n\ndef b():\n\tflush()\n\treturn None\n"
	s := newSession(t)
	s.known("f.py", content)
	r := s.unchanged(func() tools.Result {
		return s.patch("*** Update File: f.py", "@@", "-\tflush()", " \treturn None")
	})
	is(t, r, tools.Failed, tools.ClassContextMismatch, "more than one place", "at lines 2, 6")
	is(t, s.patch("*** Update File: f.py", "@@ def b():", "-\tflush()", " \treturn None"), tools.OK, "")
	s.holds("f.py", "def a():\n\tflush()\n\treturn None\n\ndef b():\n\treturn None\n")
	is(t, s.patch("*** Update File: f.py", "@@ def a():", "-\tflush()", " \treturn None"), tools.OK, "")
	s.holds("f.py", "def a():\n\treturn None\n\ndef b():\n\treturn None\n")
}

func TestPlaces(t *testing.T) {
	code := "func a() {\n\tx()\n\ty()\n}\n\nfunc b() {\n\tx()\n\tx()\n}\n"
	conf := "[a]\nx=1\ny=2\n[b]\nx=1\n[c]\nz=1\nx=1\n"
	for _, c := range []struct {
		name, content string
		hunks         []string
		want, says    string
	}{
		{"title opens a block", code, []string{"@@ func a() {", "-\tx()"}, strings.Replace(code, "\tx()\n", "", 1), ""},
		{"twice in the block", code, []string{"@@ func b() {", "-\tx()", "+\tz()"}, "", "at lines 7, 8"},
		{"title repeated as context", code, []string{"@@ func a() {", " func a() {", "-\tx()"}, strings.Replace(code, "\tx()\n", "", 1), ""},
		{"title with other blanks", code, []string{"@@   func a() {", "-\tx()"}, strings.Replace(code, "\tx()\n", "", 1), ""},
		{"no such title", code, []string{"@@ func c() {", "-\tx()"}, "", "shall stand below is not in the file"},
		{"not below the title", code, []string{"@@ func b() {", "-\ty()"}, "", "not below the line"},
		{"without indentation", conf, []string{"@@ [b]", "-x=1", "+x=2"}, strings.Replace(conf, "[b]\nx=1", "[b]\nx=2", 1), ""},
		{"without indentation, not right below", conf, []string{"@@ [c]", "-x=1", "+x=2"}, strings.TrimSuffix(conf, "x=1\n") + "x=2\n", ""},
		{"at the end", conf, []string{"@@", "-x=1", "+x=2", "*** End of File"}, strings.TrimSuffix(conf, "x=1\n") + "x=2\n", ""},
		{"not at the end", conf, []string{"@@", "-y=2", "*** End of File"}, "", "not the end of the file"},
		{"added below a title", conf, []string{"@@ [b]", "+new=1"}, strings.Replace(conf, "[b]\n", "[b]\nnew=1\n", 1), ""},
		{"added below a title that is there twice", code, []string{"@@ \tx()", "+\tz()"}, "", "at lines 2, 7, 8"},
		{"hunks in any order", conf, []string{"@@", "-z=1", "@@", "-y=2"}, strings.NewReplacer("z=1\n", "", "y=2\n", "").Replace(conf), ""},
		{"overlap", conf, []string{"@@", "-y=2", " [b]", "@@", "-[b]", "+[d]"}, "", "overlaps hunk 1"},
		{"partly there", code, []string{"@@", " \tx()", " \ty()", "-nothing"}, "", "from line 2 on the first 2 of its 3 are, and then line 4 differs"},
		{"empty line as context", code, []string{"@@", " }", "", "-func b() {", "+func c() {"}, strings.Replace(code, "func b", "func c", 1), ""},
		{"empty lines after a hunk", code, []string{"@@", "-\ty()", "", "", "@@", "-func b() {", "+func c() {", ""}, strings.NewReplacer("\ty()\n", "", "func b", "func c").Replace(code), ""},
		{"only context", code, []string{"@@", " \ty()"}, code, ""},
		{"blanks count", code, []string{"@@", "-    y()"}, "", "not in the file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSession(t)
			s.known("f", c.content)
			lines := append([]string{"*** Update File: f"}, c.hunks...)
			if c.says != "" {
				is(t, s.unchanged(func() tools.Result { return s.patch(lines...) }), tools.Failed, tools.ClassContextMismatch, c.says)
				return
			}
			is(t, s.patch(lines...), tools.OK, "")
			s.holds("f", c.want)
		})
	}
}

// spec: T177 D244
func TestReadsThatAreRequired(t *testing.T) {
	s := newSession(t)
	s.file("a", "one\n")
	s.known("b", "two\n")
	s.file("there", "precious\n")
	for name, lines := range map[string][]string{
		"update":           {"*** Update File: a", "@@", "-one", "+1"},
		"delete":           {"*** Delete File: a"},
		"move":             {"*** Update File: a", "*** Move to: c"},
		"move onto unread": {"*** Update File: b", "*** Move to: there", "@@", "-two", "+2"},
		"add over unread":  {"*** Add File: there", "+fresh"},
		"several":          {"*** Update File: b", "@@", "-two", "+2", "*** Delete File: there", "*** Delete File: a"},
	} {
		r := s.unchanged(func() tools.Result { return s.patch(lines...) })
		is(t, r, tools.Failed, tools.ClassReadRequired)
		if c := s.conflicts(r); c[0].Current == "" || (name == "several") != (len(c) == 2) {
			t.Errorf("%s: %+v", name, c)
		}
		if r.Operation != nil {
			t.Errorf("%s: the same patch after a read is no replay", name)
		}
	}
	s.read("there")
	r := s.unchanged(func() tools.Result { return s.patch("*** Add File: there", "+fresh") })
	is(t, r, tools.Failed, tools.ClassExists, "write")
	is(t, s.patch("*** Update File: b", "*** Move to: there", "@@", "-two", "+2"), tools.OK, "", "over the file that was there")
	s.holds("there", "2\n")
	if _, err := os.Stat(s.path("b")); err == nil {
		t.Error("the source is still there")
	}
}

// The session's own changes are reads; somebody else's are found by content.
//
// spec: D244
func TestStaleRead(t *testing.T) {
	s := newSession(t)
	path := s.known("n.txt", "a\nb\n")
	info, err := os.Stat(path)
	must(t, err)
	is(t, s.patch("*** Update File: n.txt", "@@", "-b", "+c"), tools.OK, "")
	is(t, s.patch("*** Update File: n.txt", "@@", "-c", "+b"), tools.OK, "")
	must(t, os.WriteFile(path, []byte("a\nB\n"), 0o644))
	must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	r := s.unchanged(func() tools.Result { return s.patch("*** Update File: n.txt", "@@", "-a", "+A") })
	is(t, r, tools.Failed, tools.ClassStaleRead, sumOf("a\nB\n"))
	if r.Operation != nil {
		t.Error("the same patch after a read is no replay")
	}
	s.read("n.txt")
	is(t, s.patch("*** Update File: n.txt", "@@", "-a", "+A"), tools.OK, "")
	s.holds("n.txt", "A\nB\n")
}

// spec: T177
func TestIdenticalReplay(t *testing.T) {
	s := newSession(t)
	s.known("f", "one\n")
	appends := []string{"*** Update File: f", "@@", "+two"}
	is(t, s.patch(appends...), tools.OK, "")
	r := s.unchanged(func() tools.Result { return s.patch(appends...) })
	is(t, r, tools.Failed, tools.ClassIdenticalReplay, "Do not send it again")
	s.conflicts(r)
	is(t, s.patch("*** Update File: f", "@@", "-two", "+2"), tools.OK, "")
	is(t, s.patch(appends...), tools.OK, "") // other content: another matter

	wrong := []string{"*** Update File: f", "@@", "-none", "+x"}
	is(t, s.patch(wrong...), tools.Failed, tools.ClassContextMismatch)
	padded := strings.ReplaceAll("\n "+wrap(wrong...), "\n", "\r\n")
	r = s.run(s.prepare("apply_patch", map[string]any{"patchText": padded}))
	is(t, r, tools.Failed, tools.ClassIdenticalReplay)
	s.file("f", "none\n")
	s.read("f")
	is(t, s.patch(wrong...), tools.OK, "")

	fresh := newSession(t) // that knows of no operation
	fresh.known("f", "new\nother\n")
	is(t, fresh.patch("*** Update File: f", "@@", "-old", "+new", " other"), tools.Failed, tools.ClassIdenticalReplay, "already holds")
	is(t, fresh.patch("*** Update File: f", "@@", "-old", "+new", "@@", "-nothing", "+of it"), tools.Failed, tools.ClassContextMismatch)
}

func TestOtherRefusals(t *testing.T) {
	s := newSession(t)
	s.file("dir/x", "")
	s.known("f", "x\n")
	must(t, unix.Mkfifo(s.path("p"), 0o600))
	must(t, os.Symlink("f", s.path("link")))
	must(t, os.Symlink("loop", s.path("loop")))
	for _, c := range []struct {
		name, class string
		lines       []string
	}{
		{"missing", tools.ClassNotFound, []string{"*** Update File: none", "@@", "-x"}},
		{"missing folder", tools.ClassNotFound, []string{"*** Delete File: no/where"}},
		{"after an addition", tools.ClassNotFound, []string{"*** Add File: made/a", "+x", "*** Update File: none", "@@", "-x"}},
		{"folder", tools.ClassIsDirectory, []string{"*** Delete File: dir"}},
		{"folder to update", tools.ClassIsDirectory, []string{"*** Update File: dir", "@@", "-x"}},
		{"add over a folder", tools.ClassIsDirectory, []string{"*** Add File: dir", "+x"}},
		{"move onto a folder", tools.ClassIsDirectory, []string{"*** Update File: f", "*** Move to: dir"}},
		{"fifo", tools.ClassNotRegular, []string{"*** Update File: p", "@@", "-x"}},
		{"below a file", tools.ClassNotDirectory, []string{"*** Add File: f/below", "+x"}},
		{"delete a link", tools.ClassSymbolicLink, []string{"*** Delete File: link"}},
		{"move a link", tools.ClassSymbolicLink, []string{"*** Update File: link", "*** Move to: g"}},
		{"circle", tools.ClassNotFound, []string{"*** Update File: loop", "@@", "-x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.unchanged(func() tools.Result { return s.patch(c.lines...) })
			is(t, r, tools.Failed, c.class)
			s.conflicts(r)
		})
	}
	r := s.unchanged(func() tools.Result { return s.patch("*** Add File: fresh/"+strings.Repeat("n", 300), "+x") })
	is(t, r, tools.Failed, tools.ClassIO)
}

func TestLinksAndModesAreKept(t *testing.T) {
	s := newSession(t)
	path := s.known("real/run.sh", "echo\n")
	must(t, os.Chmod(path, 0o751))
	must(t, os.Symlink("real/run.sh", s.path("link")))
	must(t, os.Symlink("real", s.path("folder")))
	is(t, s.patch("*** Update File: link", "@@", "-echo", "+echo 2"), tools.OK, "")
	s.holds("real/run.sh", "echo 2\n")
	if info, err := os.Lstat(s.path("link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	r := s.patch("*** Update File: folder/run.sh", "*** Move to: new/place/run.sh")
	is(t, r, tools.OK, "")
	if info, err := os.Stat(s.path("new/place/run.sh")); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("%v %v", info, err)
	}
	if r.Files[1].Path != s.path("folder/run.sh") || r.Files[1].Resolved != path {
		t.Errorf("%+v", r.Files)
	}
}

// Between permission and run a folder becomes a link to another place: nothing there is touched.
func TestExchangedAncestorIsFoundOut(t *testing.T) {
	s := newSession(t)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "f"), []byte("ours\n"), 0o600))
	s.known("sub/f", "ours\n")
	p := s.prepare("apply_patch", map[string]any{"patchText": wrap("*** Update File: sub/f", "@@", "-ours", "+changed")})
	must(t, os.Rename(s.path("sub"), s.path("moved")))
	must(t, os.Symlink(outside, s.path("sub")))
	is(t, s.unchanged(func() tools.Result { return s.run(p) }), tools.Failed, tools.ClassPathChanged)
	if content, _ := os.ReadFile(filepath.Join(outside, "f")); string(content) != "ours\n" {
		t.Error("a file of another place was changed")
	}
}

// spec: T008 D235
func TestResult(t *testing.T) {
	s := newSession(t)
	s.known("mod", "a\nb\n")
	s.known("del", "x\ny")
	s.known("src", "one\n")
	s.known("same", "q\n")
	must(t, os.Chmod(s.path("mod"), 0o640))
	s.read("mod")
	r := s.patch("*** Add File: n/new", "+1", "+2", "*** Update File: mod", "@@", "-a", "+A", "+A2", "*** Delete File: del",
		"*** Update File: src", "*** Move to: dst", "@@", "-one", "+two", "*** Update File: same", "@@", "-q", "+q")
	is(t, r, tools.OK, "", "added "+s.path("n/new")+" (+2)", "updated "+s.path("mod")+" (+2 −1)", "deleted "+s.path("del")+" (−2)",
		"moved "+s.path("src")+" to "+s.path("dst")+" (+1 −1)", "same is so already", "kept.pack")
	want := fmt.Sprintf(`{"files":[{"path":%q,"change":"add","digest":%q,"size":4,"lines_added":2,"lines_removed":0},`+
		`{"path":%q,"change":"modify","digest":%q,"size":7,"lines_added":2,"lines_removed":1},`+
		`{"path":%q,"change":"delete","digest":%q,"size":3,"lines_added":0,"lines_removed":2},`+
		`{"path":%q,"change":"add","from":%q,"digest":%q,"size":4,"lines_added":1,"lines_removed":1},`+
		`{"path":%q,"change":"delete","digest":%q,"size":4,"lines_added":0,"lines_removed":0}],"operation_digest":"%x","pre_images":"kept.pack"}`,
		s.path("n/new"), sumOf("1\n2\n"), s.path("mod"), sumOf("A\nA2\nb\n"), s.path("del"), sumOf("x\ny"), s.path("dst"), s.path("src"), sumOf("two\n"), s.path("src"), sumOf("one\n"), r.Operation.Digest)
	if string(r.Raw) != want {
		t.Errorf("raw  %s\nwant %s", r.Raw, want)
	}
	var changes []string
	for _, f := range r.Files {
		changes = append(changes, fmt.Sprintf("%s %s %q>%q %v", filepath.Base(f.Path), f.Change, f.Old, f.New, f.HasDiff))
	}
	if want := []string{`new add "">"1\n2\n" true`, `mod modify "a\nb\n">"A\nA2\nb\n" true`, `del delete "x\ny">"" true`, `dst add "">"two\n" true`, `src delete "one\n">"" true`, `same read "">"" false`}; !slices.Equal(changes, want) {
		t.Errorf("%q", changes)
	}
	if r.PreImages != "kept.pack" || len(s.images) != 3 {
		t.Fatalf("%s %+v", r.PreImages, s.images)
	}
	for i, want := range []tools.PreImage{{Path: s.path("mod"), Mode: 0o640, Content: []byte("a\nb\n")}, {Path: s.path("del"), Mode: 0o644, Content: []byte("x\ny")}, {Path: s.path("src"), Mode: 0o644, Content: []byte("one\n")}} {
		if got := s.images[i]; got.Path != want.Path || got.Mode != want.Mode || string(got.Content) != string(want.Content) {
			t.Errorf("%+v", got)
		}
	}
	big := strings.Repeat("line\n", 300_000)
	s.known("big", big)
	r = s.patch("*** Update File: big", "@@", "+end")
	if f := r.Files[0]; f.HasDiff || f.Old != "" || f.Digest != sha256.Sum256([]byte(big+"end\n")) {
		t.Errorf("a large file has a diff")
	}
}

// spec: D235
func TestPreImagesThatCannotBeKept(t *testing.T) {
	s := newSession(t)
	s.known("f", "one\n")
	s.keeping = unix.ENOSPC
	r := s.unchanged(func() tools.Result {
		return s.patch("*** Add File: new/a", "+x", "*** Update File: f", "@@", "-one", "+two")
	})
	is(t, r, tools.Failed, tools.ClassIO, "could not be kept", "Nothing was changed")
}

// What breaks before the first file is in place has changed nothing; what breaks later is uncertain, and names what was
// seen to be changed.
//
// spec: T177
func TestBreaks(t *testing.T) {
	broken := errors.New("the disk is gone")
	at := func(n int, err error) func() error { // the n-th call fails, from 1
		return func() error {
			if n--; n == 0 {
				return err
			}
			return nil
		}
	}
	for _, c := range []struct {
		name    string
		disk    func() disk
		outcome tools.Outcome
		class   string
		changed []string
	}{
		{"second staging", func() disk {
			fails, d := at(2, unix.ENOSPC), realDisk
			d.stage = func(dir int, content []byte, like *unix.Stat_t) (*files.Staged, error) {
				if err := fails(); err != nil {
					return nil, err
				}
				return files.Stage(dir, content, like)
			}
			return d
		}, tools.Failed, tools.ClassIO, nil},
		{"first placing", func() disk {
			fails, d := at(1, broken), realDisk
			d.place = placing(fails)
			return d
		}, tools.Failed, tools.ClassIO, nil},
		{"first placing over another's change", func() disk {
			fails, d := at(1, files.ErrOverwritten), realDisk
			d.place = placing(fails)
			return d
		}, tools.Failed, tools.ClassStaleRead, nil},
		{"second placing", func() disk {
			fails, d := at(2, broken), realDisk
			d.place = placing(fails)
			return d
		}, tools.Uncertain, tools.ClassIO, []string{"new/a"}},
		{"removing", func() disk {
			d := realDisk
			d.remove = func(int, string, *unix.Stat_t) error { return broken }
			return d
		}, tools.Uncertain, tools.ClassIO, []string{"new/a", "f"}},
		{"syncing", func() disk {
			d := realDisk
			d.sync = func(int) error { return broken }
			return d
		}, tools.Uncertain, tools.ClassIO, []string{"new/a", "f", "gone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sessionOn(t, c.disk())
			s.known("f", "one\n")
			s.known("gone", "x\n")
			patch := func() tools.Result {
				return s.patch("*** Add File: new/a", "+x", "*** Update File: f", "@@", "-one", "+two", "*** Delete File: gone")
			}
			if c.changed == nil {
				is(t, s.unchanged(patch), c.outcome, c.class, "Nothing was")
				return
			}
			r := patch()
			is(t, r, c.outcome, c.class, "Seen to be changed", "must not be sent again", "kept.pack")
			var raw struct{ Files []entry }
			must(t, json.Unmarshal(r.Raw, &raw))
			var named []string
			for _, f := range raw.Files {
				name, _ := filepath.Rel(s.where.Cwd, f.Path)
				named = append(named, name)
				has(t, r.Text, "\n"+f.Path+"\n")
			}
			if !slices.Equal(named, c.changed) || len(r.Files) != 0 || r.Operation != nil {
				t.Errorf("%q %+v", named, r)
			}
			if left, _ := filepath.Glob(s.path("*/.zuno-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if left, _ := filepath.Glob(s.path(".zuno-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func placing(fails func() error) func(int, string, string, *unix.Stat_t) error {
	return func(dir int, name, base string, old *unix.Stat_t) error {
		if err := fails(); err != nil {
			return err
		}
		return files.Place(dir, name, base, old)
	}
}

// A path is what stands there but for blanks: a sign that merely looks like one is part of a name.
func TestPathsAreNotTrimmedFurther(t *testing.T) {
	for _, odd := range []string{"\u00a0x", "x\u00a0", "x\u2003", "\u0085x", "x\u2028"} {
		s := newSession(t)
		s.known("x", "one\n")
		s.known(odd, "one\n")
		is(t, s.patch("*** Update File: "+odd, "@@", "-one", "+two", "*** Add File:  "+odd+"new \t", "+three"), tools.OK, "")
		s.holds("x", "one\n")
		s.holds(odd, "two\n")
		s.holds(odd+"new", "three\n")
		is(t, s.patch("*** Update File: "+odd, "*** Move to: y"+odd), tools.OK, "")
		s.holds("y"+odd, "two\n")
	}
}

func TestCancelled(t *testing.T) {
	s := newSession(t)
	s.known("f", "one\n")
	p := s.prepare("apply_patch", map[string]any{"patchText": wrap("*** Update File: f", "@@", "-one", "+two")})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	is(t, s.unchanged(func() tools.Result { return p.Run(ctx, s.env()) }), tools.Cancelled, tools.ClassCancelled)
}

func TestTooLarge(t *testing.T) {
	s := newSession(t)
	must(t, os.WriteFile(s.path("large"), nil, 0o600))
	must(t, os.Truncate(s.path("large"), files.MaxPreImage+1))
	is(t, s.patch("*** Delete File: large"), tools.Failed, tools.ClassTooLarge)
}
