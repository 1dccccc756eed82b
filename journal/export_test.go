package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

type shown struct {
	Number  uint64
	Hash    string
	Prev    string
	Run     string
	At      string
	Cause   uint64
	Command struct {
		ID, Type, Actor string
		Version         uint64
		Payload         json.RawMessage
	}
	Events []struct {
		Stream  uint64
		Type    string
		Payload json.RawMessage
	}
	Texts []struct {
		Digest string
		Size   uint64
		Text   *string
		Base64 []byte
	}
	Raw []byte
}

func export(t *testing.T, l Log, o ExportOptions) (lines []shown, out string) {
	t.Helper()
	var b bytes.Buffer
	if err := Export(l, &b, o); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b.Bytes()) {
		var s shown
		d := json.NewDecoder(bytes.NewReader(line))
		if err := d.Decode(&s); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		lines = append(lines, s)
	}
	return lines, b.String()
}

func payload(t *testing.T, v any) []byte {
	t.Helper()
	b, err := msgpack.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// spec: D101 D102
func TestExport(t *testing.T) {
	f := create(t, Options{})
	odd := testCommit(3, 0, "short \"quoted\"\x01\n", strings.Repeat("ü", 3000), "\xff\xfe", strings.Repeat("z", MaxBucket+1))
	odd.Events = append(odd.Events,
		Event{1, "x.1", payload(t, []any{nil, true, -5, 1 << 40, uint64(math.MaxUint64), 1.5, float32(2), math.NaN(), "s", []byte{1, 2}, make([]byte, 100)})},
		Event{1, "x.1", []byte{0x82, 1, 2, 0xa1, 'k', 0xd6, 0xff, 0, 0, 0, 1}}, Event{1, "not msgpack.1", []byte{0x92, 1}},
		Event{1, "x.1", nil}, Event{1, "dangling.1", []byte{0xd5, 1, 9, 9}})
	mustAppend(t, f, testCommit(1, 1), testCommit(2, 2, "a text"), odd)
	lines, out := export(t, f, ExportOptions{})
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, s := range lines {
		var raw Raw
		_, err := raw.decode(s.Raw)
		sum := sha256.Sum256(s.Raw[33:])
		if err != nil || hex.EncodeToString(sum[:]) != s.Hash || raw.Hash.String() != s.Hash || raw.Prev.String() != s.Prev || s.Number != uint64(i+1) {
			t.Errorf("commit %d does not agree with its raw side: %v", i+1, err)
		}
		if i > 0 && s.Prev != lines[i-1].Hash {
			t.Errorf("commit %d does not follow", i+1)
		}
		for j, x := range s.Texts {
			b := x.Base64
			if x.Text != nil {
				b = []byte(*x.Text)
			}
			if TextDigest(testSalt, b).String() != x.Digest || uint64(len(b)) != x.Size {
				t.Errorf("commit %d, text %d is not complete", i+1, j)
			}
		}
	}
	if s := lines[1]; s.At != "2023-11-14T22:13:20.002Z" || s.Command.ID != "cli:2" || s.Command.Version != 1 || s.Cause != 1 || s.Run != odd.Run.String() ||
		string(s.Events[2].Payload) != `{"text":{"text":0,"value":"a text"}}` || string(s.Command.Payload) != `{"n":2}` {
		t.Errorf("%+v", s)
	}
	want := []string{
		`{"text":{"text":0,"value":"short \"quoted\"\u0001\n"}}`, `{"text":{"text":1}}`, `{"text":{"text":2}}`, `{"text":{"text":3}}`,
		`[null,true,-5,1099511627776,18446744073709551615,1.5,2,"NaN","s","0102",{"base64":"` + base64.StdEncoding.EncodeToString(make([]byte, 100)) + `"}]`,
		`{"01":2,"k":{"extension":"1v8AAAAB"}}`, `{"base64":"kgE="}`, `{"base64":""}`, `{"text":2313}`,
	}
	for i, e := range lines[2].Events {
		if string(e.Payload) != want[i] {
			t.Errorf("payload %d is shown as %s", i, e.Payload)
		}
	}

	mustAppend(t, f, testCommit(4, 1))
	if _, more := export(t, f, ExportOptions{}); !strings.HasPrefix(more, out) {
		t.Error("the lines of earlier commits changed")
	}
	f.Close()
	r, err := OpenRead(f.dir, ignore)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, again := export(t, r, ExportOptions{}); !strings.HasPrefix(again, out) {
		t.Error("two exports differ")
	}
	_, bare := export(t, r, ExportOptions{OmitTexts: true})
	if strings.Contains(bare, "a text") || strings.Contains(bare, string(testSalt)) || !strings.Contains(bare, lines[2].Hash) {
		t.Error("an export without texts has texts, or no hashes")
	}
}

// spec: D020
func TestMaskedExportsAreEqual(t *testing.T) {
	var outs []string
	for i, home := range []string{"/tmp/one", "/home/two/longer"} {
		var m Memory
		salt := bytes.Repeat([]byte{byte(i)}, 32)
		c := testCommit(1, 0)
		c.Run, c.Texts = RunID{byte(i)}, NewTexts(salt)
		c.Texts.Add(salt)
		c.Texts.Add([]byte("in " + home + "/x"))
		c.Events = []Event{{1, "session.opened.1", payload(t, map[string]any{"duration_ms": int64(i)})}, {1, "x.1", []byte{0x81, 0xa3, 'c', 'w', 'd', 0xd4, 1, 1}}}
		mustAppend(t, &m, c)
		_, out := export(t, &m, ExportOptions{Mask: func(path string, v any) any {
			switch s, ok := v.(string); {
			case path == "run":
				return "RUN"
			case path == "events.payload.duration_ms":
				return int64(0)
			case ok:
				return strings.ReplaceAll(s, home, "$WORK")
			}
			return v
		}})
		outs = append(outs, out)
	}
	want := `{"number":1,"run":"RUN","at":"2023-11-14T22:13:20.001Z","cause":0,"command":{"id":"cli:1","type":"session.test","version":1,"actor":"user","payload":{"n":1}},` +
		`"events":[{"stream":1,"type":"session.opened.1","payload":{"duration_ms":0}},{"stream":1,"type":"x.1","payload":{"cwd":{"text":1,"value":"in $WORK/x"}}}],"texts":[{},{"text":"in $WORK/x"}]}` + "\n"
	if outs[0] != want || outs[1] != want {
		t.Errorf("%s\n%s\n%s", outs[0], outs[1], want)
	}
}

// spec: D095
func TestInspectionWorksInAReadOnlyFolder(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1, strings.Repeat("x", 5000)), testCommit(2, 1, "y"))
	f.Close()
	os.Chmod(f.path, 0o400)
	os.Chmod(f.dir, 0o500)
	defer os.Chmod(f.dir, 0o700)
	before, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	folds := 0
	r, err := OpenRead(f.path, func(*Raw) error { folds++; return nil })
	if err != nil || folds != 2 {
		t.Fatal(folds, err)
	}
	defer r.Close()
	// Whoever owns the session meanwhile changes nothing for the reader, and does not wait for it.
	os.Chmod(f.dir, 0o700)
	os.Chmod(f.path, 0o600)
	if after, _ := os.ReadFile(f.path); !bytes.Equal(before, after) {
		t.Fatal("inspection changed the file")
	}
	g := reopen(t, f)
	for n := range uint64(50) {
		mustAppend(t, g, testCommit(3+n, 1, strings.Repeat("y", 5000)))
	}
	n := 0
	if err := r.Scan(1, func(c *Raw) error { n++; _, err := c.Body(len(c.Texts) - 1); return err }); n != 2 || err != nil {
		t.Fatal(err)
	}
	if r.Head().Number != 2 {
		t.Fatal("the reader's head moved")
	}
}

// spec: D095
func TestBackupIsAJournal(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1, strings.Repeat("x", 5000)), testCommit(2, 1))
	path := filepath.Join(t.TempDir(), "copy")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := f.Backup(out); err != nil {
		t.Fatal(err)
	}
	r, err := Verify(path, f.Head().Hash)
	if err != nil || r.Head != f.Head() || r.Match != 2 {
		t.Fatal(r, err)
	}
	if _, err := OpenRead(filepath.Join(path, "no"), ignore); err == nil {
		t.Fatal("found what is not there")
	}
	if _, err := OpenRead(path+"no", ignore); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// spec: D084 D088
func TestMemoryHooks(t *testing.T) {
	var m Memory
	mustAppend(t, &m, testCommit(1, 1))
	full := &NotAppended{errors.New("full")}
	m.Before = func([]*Commit) error { return full }
	if err := m.Append([]*Commit{testCommit(2, 1)}); err != full || m.Head().Number != 1 {
		t.Fatal(err)
	}
	m.Before = nil
	blocked, release, done := make(chan bool), make(chan bool), make(chan error)
	m.After = func([]*Commit) error {
		close(blocked)
		<-release
		return ErrUnknownOutcome
	}
	go func() { done <- m.Append([]*Commit{testCommit(2, 1)}) }()
	<-blocked
	if m.Head().Number != 1 || m.Read(2, ignore) != ErrNoCommit {
		t.Fatal("a commit is visible before it is durable")
	}
	close(release)
	if err := <-done; err != ErrUnknownOutcome || m.Head().Number != 1 {
		t.Fatal(err)
	}
	if err := m.Append([]*Commit{testCommit(2, 1)}); err != ErrUnknownOutcome {
		t.Fatal(err)
	}
	m.After = nil
	if err := m.Reopen(); err != nil || m.Head().Number != 2 || !bytes.Equal(m.Salt(), testSalt) {
		t.Fatal(err)
	}
	mustAppend(t, &m, testCommit(3, 1))
}
