package journal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// aHistory has texts in every place, payloads of every kind and names that need escapes.
func aHistory(t testing.TB) *File {
	f := create(t, Options{})
	odd := testCommit(3, 2, "short \"quoted\"\x01\n\u2028é", strings.Repeat("ü", 3000), "\xff\xfe", strings.Repeat("z", MaxBucket+1), "")
	odd.Command.ID, odd.Command.Actor = "cli:\xff\"<&>", ""
	odd.Events = append(odd.Events, Event{1, "x.1", []byte{0x82, 1, 2, 0xa1, 'k', 0xd6, 0xff, 0, 0, 0, 1}}, Event{1, "not msgpack.1", []byte{0x92, 1}},
		Event{1, "float.1", []byte{0x93, 0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xcf, 255, 255, 255, 255, 255, 255, 255, 255, 0xc4, 1, 0}}, Event{1, "same.1", odd.Command.Payload})
	mustAppend(t, f, testCommit(1, 1), testCommit(2, 2, "a text"), odd, testCommit(4, 70, strings.Repeat("a bucket text ", 5000)), testCommit(5, 0, strings.Repeat("Z", MaxBucket+9)))
	return f
}

func exported(t testing.TB, l Log, o ExportOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Export(l, &b, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// recordsOf are the whole records of a journal's file, and its long texts.
func recordsOf(t *testing.T, path string) (out [][]byte) {
	t.Helper()
	r, err := OpenRead(path, ignore)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tx, err := r.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for _, name := range [][]byte{commitsBucket, textsBucket} {
		if err := tx.Bucket(name).ForEach(func(k, v []byte) error {
			out = append(out, append(bytes.Clone(k), v...))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			names = append(names, path[len(dir)+1:])
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// spec: D192
func TestImportBringsBackWhatWasExported(t *testing.T) {
	f := aHistory(t)
	out := exported(t, f, ExportOptions{})
	head := f.Head()
	f.Close()
	want := recordsOf(t, f.path)
	for _, folder := range []bool{true, false} {
		to := filepath.Join(t.TempDir(), "x.zuno")
		report, err := importTo(bytes.NewReader(out), to, head.Hash, folder)
		if err != nil || report.Head != head || report.Commits != 5 || report.Redacted != 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		got := recordsOf(t, to)
		if len(got) != len(want) {
			t.Fatalf("%d entries instead of %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("entry %d differs", i)
			}
		}
		r, err := OpenRead(to, ignore)
		if err != nil {
			t.Fatal(err)
		}
		if again := exported(t, r, ExportOptions{}); !bytes.Equal(again, out) {
			t.Error("export, import, export: the lines differ")
		}
		r.Close()
		if report, err := Verify(to, head.Hash); err != nil || report.Match != 5 || report.Redacted != 0 {
			t.Errorf("%+v, %v", report, err)
		}
		if _, err := importTo(bytes.NewReader(out), to, head.Hash, folder); !errors.Is(err, fs.ErrExist) {
			t.Errorf("importing over a journal gave %v", err)
		}
		if folder {
			g, err := Open(to, Options{}, ignore) // the file is one like all others
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, g, testCommit(6, 1, "more"))
			g.Close()
		}
	}
}

// What other software has written differently, but as the same JSON, is the same export.
// spec: D192
func TestImportTakesAnotherSpelling(t *testing.T) {
	out := string(exported(t, aHistory(t), ExportOptions{}))
	out = strings.ReplaceAll(strings.ReplaceAll(out, `{"number":`, `{ "number" : `), `"a text"`, `"\u0061 \u0074ext"`)
	out = strings.ReplaceAll(out, `é`, `\u00e9`)
	if _, err := CheckExport(strings.NewReader(strings.TrimSuffix(out, "\n")), Hash{}); err != nil {
		t.Fatal(err)
	}
}

// badExport is an export that somebody changed.
type badExport struct {
	name, export string
	line         int
	field        string
}

// spelled are those that JSON.parse cannot tell from good ones.
var spelled = []string{"command version", "a field twice", "raw twice"}

func badExports(t *testing.T, out string) []badExport {
	lines := strings.SplitAfter(strings.TrimSuffix(out, "\n"), "\n")
	second := lines[1]
	with := func(old, new string) string {
		t.Helper()
		if !strings.Contains(second, old) {
			t.Fatalf("there is no %s in %s", old, second)
		}
		return strings.Join([]string{lines[0], strings.Replace(second, old, new, 1), lines[2], lines[3], lines[4]}, "")
	}
	rawAt := strings.Index(second, `"raw":"`) + len(`"raw":"`)
	flip := func(at int) string { // one bit of the raw side
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(second[rawAt:], "\"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		raw[at] ^= 1
		return strings.Join([]string{lines[0], second[:rawAt] + base64.StdEncoding.EncodeToString(raw) + "\"}\n", lines[2]}, "")
	}
	return []badExport{
		{"number", with(`"number":2`, `"number":3`), 2, "number"},
		{"hash", with(`"hash":"`, `"hash":"00`), 2, "hash"},
		{"prev", with(`"prev":"`, `"prev":"0`), 2, "prev"},
		{"run", with(`"run":"0`, `"run":"1`), 2, "run"},
		{"time", with(`:20.002Z`, `:20.003Z`), 2, "at"},
		{"cause", with(`"cause":1`, `"cause":0`), 2, "cause"},
		{"command id", with(`"id":"cli:2"`, `"id":"cli:3"`), 2, "command.id"},
		{"command version", with(`"version":1`, `"version":1.0`), 2, "command.version"},
		{"payload", with(`"payload":{"n":2}`, `"payload":{"n":3}`), 2, "command.payload.n"},
		{"payload of an event", with(`"payload":{"i":1}`, `"payload":{"i":[1]}`), 2, "events[1].payload.i"},
		{"event type", with(`"session.test.said.1"`, `"session.test.said.2"`), 2, "events[2].type"},
		{"shown text", with(`"value":"a text"`, `"value":"another text"`), 2, "events[2].payload.text.value"},
		{"text", with(`"text":"a text"}]`, `"text":"b text"}]`), 2, "texts[0]"},
		{"longer text", with(`"text":"a text"}]`, `"text":"a text "}]`), 2, "texts[0]"},
		{"size of a text", with(`"size":6`, `"size":7`), 2, "texts[0].size"},
		{"text gone", with(`,"text":"a text"}]`, `}]`), 2, "texts[0]"},
		{"text lost", with(`"text":"a text"}]`, `"missing":true}]`), 2, "texts[0]"},
		{"text twice", with(`"text":"a text"}]`, `"text":"a text","base64":""}]`), 2, "texts[0]"},
		{"text redacted and there", with(`"text":"a text"}]`, `"text":"a text","redacted":true}]`), 2, "texts[0]"},
		{"one text more", with(`"a text"}]`, `"a text"},{"text":""}]`), 2, "texts"},
		{"a field more", with(`"cause":1`, `"cause":1,"why":"so"`), 2, "why"},
		{"a field twice", with(`"cause":1`, `"cause":1,"cause":1`), 2, ""},
		{"a field gone", with(`"cause":1,`, ``), 2, "cause"},
		{"raw twice", with(`"raw":"`, `"raw":"","raw":"`), 2, "raw"},
		{"raw gone", with(`"raw"`, `"row"`), 2, "raw"},
		{"no base64", with(`"raw":"`, `"raw":"*`), 2, "raw"},
		{"format", flip(0), 2, "raw"},
		{"hash in raw", flip(5), 2, "raw"},
		{"body", flip(60), 2, "raw"},
		{"raw of another line", strings.Join([]string{lines[0], second[:rawAt] + lines[0][strings.Index(lines[0], `"raw":"`)+7:]}, ""), 2, "texts[0]"},
		{"order", lines[0] + lines[2] + lines[1], 2, "raw"},
		{"a line gone", lines[0] + lines[1] + lines[3], 3, "raw"},
		{"a line twice", lines[0] + lines[0], 2, "raw"},
		{"the first gone", lines[1], 1, "raw"},
		{"cut", lines[0] + lines[1][:100], 2, ""},
		{"cut in a text", lines[0] + lines[1][:strings.Index(lines[1], `"a text"}]`)+3], 2, "texts[0]"},
		{"more on the line", lines[0][:len(lines[0])-1] + " {}\n", 1, ""},
		{"an empty line", lines[0] + "\n" + lines[1], 2, ""},
		{"no JSON", "hello\n", 1, ""},
		{"nothing", "", 1, ""},
		{"deep", strings.Repeat("[", 1<<20), 1, ""},
		{"deep member", `{"x":` + strings.Repeat("[", 1<<20), 1, ""},
	}
}

// spec: D193
func TestImportRefusesWhatDisagrees(t *testing.T) {
	out := string(exported(t, aHistory(t), ExportOptions{}))
	lines := strings.SplitAfter(out, "\n")
	for _, c := range badExports(t, out) {
		for _, folder := range []bool{false, true} {
			dir := t.TempDir()
			_, err := importTo(strings.NewReader(c.export), filepath.Join(dir, "x.zuno"), Hash{}, folder)
			var bad *BadExport
			if !errors.As(err, &bad) || bad.Line != c.line || bad.Field != c.field {
				t.Errorf("%s: %v", c.name, err)
			}
			if names := left(t, dir); len(names) > 0 {
				t.Errorf("%s: %q is left", c.name, names)
			}
		}
	}
	dir := t.TempDir()
	if _, err := Import(strings.NewReader(out), filepath.Join(dir, "x.zuno"), Hash{1}); !errors.Is(err, ErrNoMatch) || len(left(t, dir)) > 0 {
		t.Errorf("another head gave %v", err)
	}
	failing := io.MultiReader(strings.NewReader(lines[0]), iotestError{})
	if _, err := Import(failing, filepath.Join(dir, "x.zuno"), Hash{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a reader that fails gave %v", err)
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("%q is left", names)
	}
}

type iotestError struct{}

func (iotestError) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// Any single byte of an export changed: it is refused, or it is still the same export.
// spec: D193
func TestEveryByteOfAnExportCounts(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1), testCommit(2, 2, "a text", "x\n\u2028", "\xff"), testCommit(3, 1))
	out := exported(t, f, ExportOptions{})
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range out {
		b := bytes.Clone(out)
		b[i] ^= byte(1 + rnd.IntN(255))
		report, err := CheckExport(bytes.NewReader(b), f.Head().Hash)
		var bad *BadExport
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("byte %d: %v", i, err)
		}
		if err == nil && report.Match != 3 {
			t.Fatalf("byte %d (%q instead of %q): accepted, and the head is another", i, b[i], out[i])
		}
	}
}

// spec: D194
func TestRedactedJournalHoldsNoText(t *testing.T) {
	f := aHistory(t)
	head := f.Head()
	whole := exported(t, f, ExportOptions{})
	bare := exported(t, f, ExportOptions{OmitTexts: true})
	f.Close()
	r, err := OpenRead(f.path, ignore)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	byFile, byLines := filepath.Join(t.TempDir(), "x.zuno"), filepath.Join(t.TempDir(), "y.zuno")
	if report, err := Redact(r, byFile); err != nil || report.Head != head || report.Redacted != 9 {
		t.Fatalf("%+v, %v", report, err)
	}
	if report, err := Import(bytes.NewReader(bare), byLines, Hash{}); err != nil || report.Head != head || report.Redacted != 9 {
		t.Fatalf("%+v, %v", report, err)
	}
	secrets := []string{string(testSalt), "a text", "quoted", "üüü", "zzz", "ZZZ", "a bucket text"}
	for _, path := range []string{byFile, byLines} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) || bytes.Contains(bare, []byte(s)) {
				t.Errorf("%q is in %s or in its export", s, path)
			}
			if !bytes.Contains(whole, []byte(s)) {
				t.Errorf("%q is not even in the whole export", s)
			}
		}
		if names := left(t, filepath.Dir(path)); len(names) != 1 {
			t.Errorf("beside it lie %q", names)
		}
		report, err := Verify(path, head.Hash)
		if err != nil || report.Match != 5 || report.Redacted != report.Texts {
			t.Errorf("%+v, %v", report, err)
		}
		x, err := OpenRead(path, ignore)
		if err != nil {
			t.Fatal(err)
		}
		if again := exported(t, x, ExportOptions{}); !bytes.Equal(again, bare) {
			t.Error("the export of the redacted journal differs from the redacted export")
		}
		x.Close()
	}
	// Somebody who puts a text back into it is found out, with the right text too: nothing is left to check it with.
	back := bytes.Replace(bare, []byte(`"size":6,"redacted":true`), []byte(`"size":6,"text":"a text"`), 1)
	var bad *BadExport
	if _, err := CheckExport(bytes.NewReader(back), Hash{}); !errors.As(err, &bad) || bad.Line != 2 {
		t.Error(err)
	}
}

// spec: D196
func TestFirstCommitOfAForkNamesItsSource(t *testing.T) {
	source := create(t, Options{})
	mustAppend(t, source, testCommit(1, 1), testCommit(2, 1))
	parent := source.Head().Hash
	f, err := Create(filepath.Join(t.TempDir(), "fork"), Options{Parent: parent})
	if err != nil {
		t.Fatal(err)
	}
	c := testCommit(1, 1)
	mustAppend(t, f, c, testCommit(2, 1))
	if c.Prev != parent {
		t.Fatalf("the first commit names %v", c.Prev)
	}
	out := exported(t, f, ExportOptions{})
	f = reopen(t, f)
	mustAppend(t, f, testCommit(3, 1))
	if f.Parent() != parent || source.Parent() != (Hash{}) {
		t.Errorf("forked from %v", f.Parent())
	}
	f.Close()
	if r, err := Verify(f.path, Hash{}); err != nil || r.Parent != parent || r.Commits != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := CheckExport(bytes.NewReader(out), Hash{}); err != nil || r.Parent != parent {
		t.Errorf("%+v, %v", r, err)
	}
}

// FuzzImport: whatever is read, nothing is left behind and what is accepted is exported as it was accepted.
// spec: D090 D193 D207
func FuzzImport(f *testing.F) {
	var m Memory
	mustAppend(f, &m, testCommit(1, 1), testCommit(2, 2, "a text", "x\n\u2028", "\xff"))
	whole, bare := exported(f, &m, ExportOptions{}), exported(f, &m, ExportOptions{OmitTexts: true})
	f.Add(whole)
	f.Add(bare)
	f.Add(bytes.ReplaceAll(whole, []byte(`,"`), []byte(` , "`)))
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		var canonical []byte
		e := exporter{}
		report, err := readExport(bytes.NewReader(b), Hash{}, func(c *Raw, rec []byte, l *exportLine) error {
			e.line(c)
			canonical = append(canonical, e.b...)
			return nil
		})
		if err != nil {
			var bad *BadExport
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
			return
		}
		again, err := CheckExport(bytes.NewReader(canonical), report.Head.Hash)
		if err != nil || again.Head != report.Head || again.Match != report.Head.Number {
			t.Fatalf("%+v, %v", again, err)
		}
	})
}

// BenchmarkImport makes a journal of 100,000 events, until it is on disk and verified.
// spec: D212
func BenchmarkImport(b *testing.B) {
	out := exported(b, history(b, 100_000), ExportOptions{})
	path := filepath.Join(b.TempDir(), "x.zuno")
	for b.Loop() {
		if r, err := Import(bytes.NewReader(out), path, Hash{}); err != nil || r.Events < 100_000 {
			b.Fatal(r, err)
		}
		b.StopTimer()
		os.Remove(path)
		b.StartTimer()
	}
	b.ReportMetric(1e5*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
