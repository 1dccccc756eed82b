package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"zuno/journal/event"
	"zuno/tools"
)

// session calls the tools as a session would, and keeps the receipts.
type session struct {
	t        testing.TB
	registry *tools.Registry
	where    tools.Where
	receipts map[string][32]byte
}

func newSession(t testing.TB) *session {
	s := &session{t: t, registry: tools.NewRegistry(), where: tools.Where{Cwd: t.TempDir()}, receipts: map[string][32]byte{}}
	Register(s.registry)
	return s
}

func (s *session) path(name string) string { return filepath.Join(s.where.Cwd, name) }

func (s *session) file(name, content string) string {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	must(s.t, os.WriteFile(s.path(name), []byte(content), 0o644))
	return s.path(name)
}

func (s *session) prepare(tool string, args any) tools.Prepared {
	s.t.Helper()
	encoded, err := json.Marshal(args)
	must(s.t, err)
	p, blocked := s.registry.Resolve(s.where, tool, string(encoded))
	if blocked != nil {
		s.t.Fatalf("%s %s: %s", tool, encoded, blocked.Message)
	}
	return p
}

func (s *session) run(p tools.Prepared) tools.Result {
	result := p.Run(context.Background(), tools.Env{
		Cwd: s.where.Cwd,
		LastRead: func(path string) ([32]byte, bool) {
			digest, ok := s.receipts[path]
			return digest, ok
		},
	})
	for _, f := range result.Files {
		s.receipts[f.Resolved] = f.Digest
	}
	return result
}

func (s *session) read(path string, window ...int) tools.Result {
	s.t.Helper()
	args := map[string]any{"filePath": path}
	if len(window) > 0 {
		args["offset"] = window[0]
	}
	if len(window) > 1 {
		args["limit"] = window[1]
	}
	return s.run(s.prepare("read", args))
}

func (s *session) write(path, content string) tools.Result {
	s.t.Helper()
	return s.run(s.prepare("write", map[string]any{"filePath": path, "content": content}))
}

func (s *session) holds(path, content string) {
	s.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != content {
		s.t.Errorf("%s holds %q (%v), want %q", path, got, err, content)
	}
}

func is(t testing.TB, r tools.Result, outcome tools.Outcome, class string, says ...string) {
	t.Helper()
	if r.Outcome != outcome || r.Class != class {
		t.Errorf("got %s %s, want %s %s: %s", r.Outcome, r.Class, outcome, class, r.Text)
	}
	for _, text := range says {
		if !strings.Contains(r.Text, text) {
			t.Errorf("%q does not say %q", r.Text, text)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// spec: T003 T006 T001
func TestDeclarations(t *testing.T) {
	s := newSession(t)
	for _, entry := range s.registry.Catalogue() {
		want := event.Declaration{Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive}
		if entry.Name == "read" {
			want = event.Declaration{Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe}
		}
		if entry.Declaration != want {
			t.Errorf("%s is %v", entry.Name, entry.Declaration)
		}
	}
	p := s.prepare("read", map[string]any{"filePath": "sub/../a.txt", "intent": "look"})
	if p.Kind != "read" || p.Title != "a.txt" || p.Intent != "look" || p.Paths[0] != s.path("a.txt") ||
		p.Accesses[0].Kind != event.AccessRead || p.Accesses[0].Place != event.PlaceInside {
		t.Errorf("%+v", p)
	}
	p = s.prepare("write", map[string]any{"filePath": "/etc/x", "content": ""})
	if p.Kind != "edit" || p.Title != "/etc/x" || p.Accesses[0] != (tools.Access{Kind: event.AccessWrite, Place: event.PlaceOutside, Name: "/etc/x"}) {
		t.Errorf("%+v", p)
	}
}

// spec: T003 D124
func TestReadText(t *testing.T) {
	s := newSession(t)
	for _, c := range []struct{ name, content, want string }{
		{"plain", "one\ntwo\n", "1: one\n2: two\n"},
		{"no final newline", "one\ntwo", "1: one\n2: two\n"},
		{"empty lines", "\n\nx\n\n", "1: \n2: \n3: x\n4: \n"},
		{"crlf", "one\r\ntwo\r\n", "1: one\n2: two\n"},
		{"lone cr", "one\rtwo\n", "1: one\rtwo\n"},
		{"bom", "\ufeffone\n", "1: one\n"},
		{"bom later", "one\n\ufefftwo\n", "1: one\n2: \ufefftwo\n"},
		{"only bom", "\ufeff", "1: \n"},
		{"not utf-8", "ok\nint \xd7\xa2\xca;\n", "1: ok\n2: int \u05e2\uFFFD;\n(bytes that are not UTF-8 are shown as \uFFFD)"},
		{"empty", "", "(empty file: 0 bytes)"},
		{"long", strings.Repeat("é", 2001) + "\nx\n", "1: " + strings.Repeat("é", 2000) + " … [cut: the line has 4002 bytes]\n2: x\n(1 line cut after 2000 characters; a command such as cut -c shows the rest)"},
		{"not long", strings.Repeat("é", 2000) + "\r\n", "1: " + strings.Repeat("é", 2000) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := s.file("f", c.content)
			r := s.read(path)
			is(t, r, tools.OK, "")
			if r.Text != c.want {
				t.Errorf("got  %q\nwant %q", r.Text, c.want)
			}
			if len(r.Files) != 1 || r.Files[0].Digest != sha256.Sum256([]byte(c.content)) || r.Files[0].Size != uint64(len(c.content)) || r.Files[0].Change != tools.WasRead {
				t.Errorf("files %+v", r.Files)
			}
		})
	}
}

// An offset past the end is said to be one, and no line is invented.
//
// spec: D124
func TestReadPastTheEnd(t *testing.T) {
	s := newSession(t)
	five := s.file("five.txt", "1\n2\n3\n4\n5\n")
	is(t, s.read(five, 100), tools.Failed, tools.ClassOutOfRange, "has 5 lines", "offset 100 lies past its end")
	is(t, s.read(five, 6), tools.Failed, tools.ClassOutOfRange, "has 5 lines")
	is(t, s.read(five, 5), tools.OK, "", "5: 5\n(lines 5 to 5 of 5; end of file)")
	is(t, s.read(five, 2, 2), tools.OK, "", "2: 2\n3: 3\n(lines 2 to 3 of 5; read on with offset 4)")
	empty := s.file("empty.txt", "")
	is(t, s.read(empty), tools.OK, "", "0 bytes")
	is(t, s.read(empty, 2), tools.Failed, tools.ClassOutOfRange, "0 bytes")
	if _, ok := s.receipts[empty]; !ok {
		t.Error("the receipt of the empty file is gone")
	}
}

var lineOf = regexp.MustCompile(`(?m)^(\d+): (.*)$`)

// Following the advice yields every line once, each call within its bounds.
//
// spec: D124
func TestReadOnYieldsTheRest(t *testing.T) {
	s := newSession(t)
	rapid.Check(t, func(r *rapid.T) {
		wide := rapid.SampledFrom([]int{3, 60, 1900}).Draw(r, "width")
		lines := make([]string, rapid.IntRange(1, 5000*60/(wide+60)).Draw(r, "lines"))
		for i := range lines {
			lines[i] = strings.Repeat(string(rune('a'+i%26)), (i*7919)%wide)
		}
		content := strings.Join(lines, "\n")
		if rapid.Bool().Draw(r, "newline at the end") || lines[len(lines)-1] == "" {
			content += "\n"
		}
		path := s.file("big", content)
		var got []string
		for offset := 1; offset > 0; {
			result := s.read(path, offset)
			is(t, result, tools.OK, "")
			if len(result.Text) > maxBytes {
				r.Fatalf("%d bytes", len(result.Text))
			}
			found := lineOf.FindAllStringSubmatch(result.Text, -1)
			if len(found) == 0 || len(found) > maxLines {
				r.Fatalf("%d lines", len(found))
			}
			for _, match := range found {
				if match[1] != strconv.Itoa(len(got)+1) {
					r.Fatalf("line %s after %d", match[1], len(got))
				}
				got = append(got, match[2])
			}
			_, advice, more := strings.Cut(result.Text, "read on with offset ")
			offset = 0
			if more {
				fmt.Sscanf(advice, "%d", &offset)
			}
			if result.Files[0].Digest != sha256.Sum256([]byte(content)) {
				r.Fatal("the digest is not that of the whole file")
			}
		}
		if strings.Join(got, "\n") != strings.Join(lines, "\n") {
			r.Fatalf("%d lines came back of %d", len(got), len(lines))
		}
	})
}

// spec: D124
func TestReadLargeFile(t *testing.T) {
	s := newSession(t)
	path := s.path("large")
	f, err := os.Create(path)
	must(t, err)
	block := []byte(strings.Repeat(strings.Repeat("x", 63)+"\n", 1<<14))
	for range 70 { // 70 MiB
		_, err = f.Write(block)
		must(t, err)
	}
	must(t, f.Close())
	r := s.read(path, 1_000_000)
	is(t, r, tools.OK, "", "1000000: xxx", "of 1146880; read on with offset ")
	if r.Files[0].Size != 70<<20 {
		t.Errorf("size %d", r.Files[0].Size)
	}
	one := s.file("one.js", strings.Repeat("a", 3<<20))
	is(t, s.read(one), tools.OK, "", "[cut: the line has 3145728 bytes]")
}

// What is no text file is named and never opened.
func TestReadSpecialFiles(t *testing.T) {
	s := newSession(t)
	must(t, unix.Mkfifo(s.path("p"), 0o600))
	listener, err := net.Listen("unix", s.path("s"))
	must(t, err)
	defer func() { _ = listener.Close() }()
	must(t, os.Symlink("/dev/zero", s.path("z")))
	must(t, os.Symlink("p", s.path("linked")))
	must(t, os.Symlink("nowhere", s.path("dead")))
	must(t, os.Symlink("loop", s.path("loop")))
	is(t, s.read("p"), tools.Failed, tools.ClassNotRegular, "fifo")
	is(t, s.read("linked"), tools.Failed, tools.ClassNotRegular, "fifo")
	is(t, s.read("s"), tools.Failed, tools.ClassNotRegular, "socket")
	is(t, s.read("z"), tools.Failed, tools.ClassNotRegular, "character device")
	is(t, s.read("dead"), tools.Failed, tools.ClassNotFound, "does not exist")
	is(t, s.read("loop"), tools.Failed, tools.ClassNotFound, "circle")
	for _, name := range []string{"p", "linked", "z"} {
		is(t, s.write(name, "x"), tools.Failed, tools.ClassNotRegular)
	}
	is(t, s.read(s.file("bin", "ELF\x00\x01")), tools.Failed, tools.ClassBinary, "5 bytes", "NUL")
	is(t, s.read(s.file("wide", "\xff\xfeh\x00i\x00")), tools.Failed, tools.ClassBinary, "UTF-16")
	is(t, s.read(s.file("late", strings.Repeat("x\n", 10_000)+"\x00\n"), 9_999), tools.Failed, tools.ClassBinary)
	is(t, s.read(s.path("bin/below")), tools.Failed, tools.ClassNotFound)
}

func TestReadMissingNamesWhatIsNear(t *testing.T) {
	s := newSession(t)
	s.file("README.md", "")
	s.file("handler.go", "")
	is(t, s.read("readme.md"), tools.Failed, tools.ClassNotFound, "Did you mean "+s.path("README.md")+"?")
	is(t, s.read("handlr.go"), tools.Failed, tools.ClassNotFound, "Did you mean "+s.path("handler.go")+"?")
	if r := s.read("other"); strings.Contains(r.Text, "mean") {
		t.Error(r.Text)
	}
	is(t, s.read("no/such/folder"), tools.Failed, tools.ClassNotFound)
}

// spec: T003
func TestReadFolder(t *testing.T) {
	s := newSession(t)
	s.file("d/b.txt", "")
	s.file("d/a/x", "")
	s.file("d/new\nline", "")
	must(t, os.Symlink("a", s.path("d/link")))
	must(t, os.Symlink("none", s.path("d/dead")))
	must(t, unix.Mkfifo(s.path("d/fifo"), 0o600))
	r := s.read("d")
	is(t, r, tools.OK, "")
	if want := "a/\nb.txt\ndead\nfifo\nlink/\n\"new\\nline\"\n"; r.Text != want {
		t.Errorf("got %q want %q", r.Text, want)
	}
	if len(r.Files) != 0 {
		t.Error("a folder has no receipt")
	}
	must(t, os.Mkdir(s.path("none"), 0o755))
	is(t, s.read("none"), tools.OK, "", "(empty folder)")
	must(t, os.Mkdir(s.path("many"), 0o755))
	for i := range 2500 {
		must(t, os.WriteFile(s.path(fmt.Sprintf("many/%04d", i)), nil, 0o600))
	}
	r = s.read("many")
	is(t, r, tools.OK, "", "1999\n(names 1 to 2000 of 2500; read on with offset 2001)")
	is(t, s.read("many", 2001), tools.OK, "", "2000\n", "2499\n(names 2001 to 2500 of 2500)")
	is(t, s.read("many", 2501), tools.Failed, tools.ClassOutOfRange, "2500 names")
}

// spec: T006
func TestWriteCreatesAndReplacesWhatWasRead(t *testing.T) {
	s := newSession(t)
	r := s.write("new/deep/a.txt", "one\ntwo\n")
	is(t, r, tools.OK, "", "Created", "2 lines, 8 bytes")
	s.holds(s.path("new/deep/a.txt"), "one\ntwo\n")
	if f := r.Files[0]; f.Change != tools.Added || !f.HasDiff || f.New != "one\ntwo\n" || f.Old != "" {
		t.Errorf("%+v", f)
	}
	digest := sha256.Sum256([]byte("one\nTWO\nthree"))
	r = s.write("new/deep/a.txt", "one\nTWO\nthree") // our own write is a receipt
	is(t, r, tools.OK, "", "Replaced")
	want := fmt.Sprintf(`{"files":[{"path":%q,"change":"modify","digest":"%x","size":13,"lines_added":2,"lines_removed":1}]}`, s.path("new/deep/a.txt"), digest)
	if string(r.Raw) != want {
		t.Errorf("raw %s\nwant %s", r.Raw, want)
	}
	if f := r.Files[0]; f.Digest != digest || f.Old != "one\ntwo\n" || f.New != "one\nTWO\nthree" {
		t.Errorf("%+v", f)
	}
	r = s.write("new/deep/a.txt", "one\nTWO\nthree")
	is(t, r, tools.OK, "", "nothing was written")
	if string(r.Raw) != `{"files":[]}` {
		t.Errorf("raw %s", r.Raw)
	}

	other := s.file("other", "precious\n")
	r = s.write(other, "fresh")
	is(t, r, tools.Failed, tools.ClassReadRequired, "Nothing was written", "Read it first")
	s.holds(other, "precious\n")
	is(t, s.write(other, "precious\n"), tools.Failed, tools.ClassReadRequired)
	s.read(other)
	is(t, s.write(other, ""), tools.OK, "", "now 0 lines, 0 bytes")
	s.holds(other, "")
}

// A receipt is about content: a size and a time that stayed the same do not save it.
//
// spec: T006
func TestWriteOverChangedFile(t *testing.T) {
	s := newSession(t)
	path := s.file("n.txt", "a\nb\n")
	info, err := os.Stat(path)
	must(t, err)
	s.read(path)
	must(t, os.WriteFile(path, []byte("a\nB\n"), 0o644))
	must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	r := s.write(path, "A\n")
	is(t, r, tools.Failed, tools.ClassStaleRead,
		fmt.Sprintf("%x", sha256.Sum256([]byte("a\nb\n"))), fmt.Sprintf("%x", sha256.Sum256([]byte("a\nB\n"))), "Nothing was written")
	s.holds(path, "a\nB\n")
	s.read(path)
	is(t, s.write(path, "A\n"), tools.OK, "")
}

func TestWriteKeepsModeLinkAndMark(t *testing.T) {
	s := newSession(t)
	path := s.file("run.sh", "\ufeffecho\r\n")
	must(t, os.Chmod(path, 0o751))
	must(t, os.Symlink("run.sh", s.path("link")))
	s.read("link")
	r := s.write("link", "echo 2\r\n")
	is(t, r, tools.OK, "", "byte order mark")
	s.holds(path, "\ufeffecho 2\r\n")
	if f := r.Files[0]; f.Path != s.path("link") || f.Resolved != path || f.Digest != sha256.Sum256([]byte("\ufeffecho 2\r\n")) {
		t.Errorf("%+v", f)
	}
	if info, err := os.Lstat(s.path("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v", info.Mode())
	}
	must(t, os.Symlink("later", s.path("dangling")))
	is(t, s.write("dangling", "x"), tools.OK, "")
	s.holds(s.path("later"), "x")
	if left, _ := filepath.Glob(s.path(".zuno-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteRefusals(t *testing.T) {
	s := newSession(t)
	must(t, os.Mkdir(s.path("dir"), 0o755))
	is(t, s.write("dir", "x"), tools.Failed, tools.ClassIsDirectory)
	file := s.file("file", "x")
	is(t, s.write("file/below", "x"), tools.Failed, tools.ClassNotDirectory, "not a folder")
	s.holds(file, "x")
	is(t, s.write("fresh/"+strings.Repeat("n", 300), "x"), tools.Failed, tools.ClassIO)
	if _, err := os.Stat(s.path("fresh")); err == nil {
		t.Error("a failed write left its folder")
	}
	for _, args := range []string{`{"filePath":"","content":""}`, `{"filePath":"a\u0000","content":""}`, `{"filePath":"dir/","content":""}`, `{"filePath":"x"}`} {
		if _, blocked := s.registry.Resolve(s.where, "write", args); blocked == nil {
			t.Errorf("%s: accepted", args)
		}
	}
}

// Between permission and run a folder becomes a link to another place: nothing there is touched.
//
// spec: D121
func TestExchangedAncestorIsFoundOut(t *testing.T) {
	for _, tool := range []string{"read", "write"} {
		for _, swap := range []string{"folder", "file"} {
			t.Run(tool+" "+swap, func(t *testing.T) {
				s := newSession(t)
				outside := t.TempDir()
				must(t, os.WriteFile(filepath.Join(outside, "f"), []byte("theirs"), 0o600))
				s.file("sub/f", "ours")
				s.read("sub/f")
				args := map[string]any{"filePath": "sub/f"}
				if tool == "write" {
					args["content"] = "changed"
				}
				p := s.prepare(tool, args)
				if swap == "folder" {
					must(t, os.Rename(s.path("sub"), s.path("moved")))
					must(t, os.Symlink(outside, s.path("sub")))
				} else {
					must(t, os.Remove(s.path("sub/f")))
					must(t, os.Symlink(filepath.Join(outside, "f"), s.path("sub/f")))
				}
				r := s.run(p)
				is(t, r, tools.Failed, tools.ClassPathChanged)
				if strings.Contains(r.Text, "theirs") {
					t.Error("content of another place was shown")
				}
				s.holds(filepath.Join(outside, "f"), "theirs")
			})
		}
	}
}

// The walk itself refuses a link, whatever was looked at before.
func TestOpenFolderFollowsNoLink(t *testing.T) {
	s := newSession(t)
	s.file("real/f", "x")
	must(t, os.Symlink("real", s.path("link")))
	if _, _, _, err := OpenFolder(s.path("link/f"), true); !errors.Is(err, unix.ELOOP) {
		t.Errorf("got %v", err)
	}
}

// spec: T335
func TestWriteThatBreaks(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, c := range []struct {
		name    string
		commit  committer
		outcome tools.Outcome
		class   string
		says    string
		content string
	}{
		{"after the rename", func(dir int, base string, content []byte, old *unix.Stat_t) error {
			return commitWith(dir, base, content, old, func(int) error { return broken })
		}, tools.Uncertain, tools.ClassIO, "Read it before changing anything else", "new"},
		{"before", func(int, string, []byte, *unix.Stat_t) error { return unix.ENOSPC }, tools.Failed, tools.ClassIO, "no space left", "old"},
		{"somebody else", func(dir int, base string, content []byte, old *unix.Stat_t) error {
			changed := *old
			changed.Ino++
			return commit(dir, base, content, &changed)
		}, tools.Failed, tools.ClassStaleRead, "Nothing was written", "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSession(t)
			s.registry = tools.NewRegistry()
			registerRead(s.registry)
			registerWrite(s.registry, c.commit)
			path := s.file("f", "old")
			s.read(path)
			r := s.write(path, "new")
			is(t, r, c.outcome, c.class, path, c.says)
			s.holds(path, c.content)
			if len(r.Files) != 0 {
				t.Error("a broken write is no receipt")
			}
			if left, _ := filepath.Glob(s.path(".zuno-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// What a file was is kept before it is replaced, and where it cannot be kept nothing is written.
//
// spec: D235
func TestWriteKeepsPreImage(t *testing.T) {
	s := newSession(t)
	path := s.file("f", "old")
	must(t, os.Chmod(path, 0o640))
	s.read(path)
	var kept []tools.PreImage
	var failure error
	write := func(name, content string) tools.Result {
		p := s.prepare("write", map[string]any{"filePath": name, "content": content})
		return p.Run(context.Background(), tools.Env{
			Cwd:      s.where.Cwd,
			LastRead: func(path string) ([32]byte, bool) { digest, ok := s.receipts[path]; return digest, ok },
			KeepPreImages: func(_ context.Context, images []tools.PreImage) (string, error) {
				kept = images
				s.holds(path, "old")
				return "kept.pack", failure
			},
		})
	}
	failure = unix.ENOSPC
	is(t, write("f", "new"), tools.Failed, tools.ClassIO, "could not be kept", "Nothing was written")
	s.holds(path, "old")
	failure = nil
	r := write("f", "new")
	is(t, r, tools.OK, "")
	if r.PreImages != "kept.pack" || len(kept) != 1 || kept[0].Path != path || kept[0].Mode != 0o640 || string(kept[0].Content) != "old" ||
		!strings.HasSuffix(string(r.Raw), `,"pre_images":"kept.pack"}`) {
		t.Errorf("%q %+v %s", r.PreImages, kept, r.Raw)
	}
	kept = nil
	is(t, write("fresh", "x"), tools.OK, "")
	s.receipts[path] = sha256.Sum256([]byte("new"))
	is(t, write("f", "new"), tools.OK, "", "nothing was written")
	if kept != nil {
		t.Errorf("kept %+v of files that were not replaced", kept)
	}
	large := s.path("large")
	must(t, os.WriteFile(large, nil, 0o600))
	must(t, os.Truncate(large, MaxPreImage+1))
	s.receipts[large] = sha256.Sum256(make([]byte, MaxPreImage+1))
	is(t, write("large", "x"), tools.Failed, tools.ClassTooLarge, "could not be kept")
}

// What a file keeps to its owner is not for others to see while it is written anew.
func TestStagedContentIsAsPrivateAsTheFile(t *testing.T) {
	folder := t.TempDir()
	dir, err := unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	defer func() { _ = unix.Close(dir) }()
	content := make([]byte, 64<<20)
	like := &unix.Stat_t{Mode: 0o600, Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
	staged := make(chan error)
	go func() {
		s, err := Stage(dir, content, like)
		if err == nil {
			s.Discard()
		}
		staged <- err
	}()
	for looked := 0; ; looked++ {
		select {
		case err := <-staged:
			must(t, err)
			return
		default:
		}
		names, _ := filepath.Glob(filepath.Join(folder, "*"))
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Fatalf("%s has mode %v with %d bytes in it", name, info.Mode(), info.Size())
			}
		}
	}
}

// A file of somebody else keeps its group where we are in it; where we are not, ours is given no more than everybody.
func TestGroupIsKept(t *testing.T) {
	const shared, theirs = 54321, 54322
	if os.Geteuid() == 0 {
		root := t.TempDir()
		must(t, os.Chmod(root, 0o777))
		for name, gid := range map[string]int{"shared": shared, "theirs": theirs} {
			path := filepath.Join(root, name)
			must(t, os.WriteFile(path, []byte("old\n"), 0o600))
			must(t, os.Chown(path, 0, gid))
			must(t, os.Chmod(path, 0o664))
		}
		own, err := os.ReadFile(os.Args[0])
		must(t, err)
		must(t, os.WriteFile(filepath.Join(root, "test"), own, 0o755))
		for at := root; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
			must(t, os.Chmod(at, 0o777))
		}
		cmd := exec.Command(filepath.Join(root, "test"), "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Dir, cmd.Env = root, []string{"TMPDIR=" + root}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, Groups: []uint32{shared}}}
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("as another user: %v\n%s", err, out)
		}
		return
	}
	s := newSession(t)
	if _, err := os.Stat("theirs"); err != nil {
		t.Skip("takes another user's files")
	}
	for _, c := range []struct {
		name string
		gid  uint32
		mode os.FileMode
	}{{"shared", shared, 0o664}, {"theirs", uint32(os.Getegid()), 0o644}} {
		path, err := filepath.Abs(c.name)
		must(t, err)
		is(t, s.read(path), tools.OK, "")
		is(t, s.write(path, "new\n"), tools.OK, "")
		var st unix.Stat_t
		must(t, unix.Stat(path, &st))
		if st.Gid != c.gid || os.FileMode(st.Mode).Perm() != c.mode {
			t.Errorf("%s has group %d and mode %o, want %d and %o", c.name, st.Gid, st.Mode, c.gid, c.mode)
		}
	}
}

// spec: D235
func TestCancelledWhileKeeping(t *testing.T) {
	s := newSession(t)
	path := s.file("f", "old\n")
	p := s.prepare("write", map[string]any{"filePath": path, "content": "new\n"})
	ctx, cancel := context.WithCancel(context.Background())
	env := tools.Env{Cwd: s.where.Cwd, LastRead: func(string) ([32]byte, bool) { return sha256.Sum256([]byte("old\n")), true }}
	env.KeepPreImages = func(ctx context.Context, _ []tools.PreImage) (string, error) {
		cancel()
		return "", ctx.Err()
	}
	is(t, p.Run(ctx, env), tools.Cancelled, tools.ClassCancelled, "before anything was written")
	s.holds(path, "old\n")
}

func TestFileThatAppearsIsNotOverwritten(t *testing.T) {
	s := newSession(t)
	dir, base, _, err := OpenFolder(s.path("f"), false)
	must(t, err)
	defer func() { _ = unix.Close(dir) }()
	s.file("f", "theirs")
	if err := commit(dir, base, []byte("ours"), nil); !errors.Is(err, ErrOverwritten) {
		t.Errorf("got %v", err)
	}
	s.holds(s.path("f"), "theirs")
}

func TestLargeAndBinaryHaveNoDiff(t *testing.T) {
	s := newSession(t)
	for name, content := range map[string]string{"large": strings.Repeat("x\n", 600_000), "binary": "a\x00b"} {
		r := s.write(name, content)
		is(t, r, tools.OK, "")
		if f := r.Files[0]; f.HasDiff || f.New != "" || f.Digest != sha256.Sum256([]byte(content)) {
			t.Errorf("%s has a diff", name)
		}
	}
}

// The counts are those of a longest common subsequence, whatever the trimming does.
func TestDiffCounts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n"})
		a := rapid.SliceOfN(line, 0, 12).Draw(r, "a")
		b := rapid.SliceOfN(line, 0, 12).Draw(r, "b")
		old, now := strings.Join(a, ""), strings.Join(b, "")
		added, removed := diffCounts([]byte(old), []byte(now))
		common := longestCommon(splitLines([]byte(old)), splitLines([]byte(now)))
		if added != len(b)-common || removed != len(a)-common {
			r.Fatalf("+%d -%d, want +%d -%d", added, removed, len(b)-common, len(a)-common)
		}
	})
	if added, removed := diffCounts([]byte("a\nb"), []byte("a\nb\n")); added != 1 || removed != 1 {
		t.Errorf("final newline: +%d -%d", added, removed)
	}
}

func BenchmarkRead(b *testing.B) {
	s := newSession(b)
	path := s.file("f", strings.Repeat("a line of some length\n", 200))
	b.Run("tool", func(b *testing.B) {
		b.ReportAllocs()
		args := fmt.Sprintf(`{"filePath":%q}`, path)
		for b.Loop() {
			p, _ := s.registry.Resolve(s.where, "read", args)
			if r := p.Run(context.Background(), tools.Env{}); r.Outcome != tools.OK {
				b.Fatal(r.Text)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			content, err := os.ReadFile(path)
			must(b, err)
			_ = sha256.Sum256(content)
		}
	})
}
