package journal

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// example is the history that docs/format.md takes apart.
func example(t *testing.T) *Memory {
	m := &Memory{}
	t.Helper()
	salt := []byte("sixteen bytes :)")
	first := &Commit{
		Run: RunID{0x01, 0x9a, 0xcd, 15: 0x07}, At: 1_700_000_000_000, Texts: NewTexts(salt),
		Command: Command{ID: "cli:1", Type: "note.add", Version: 1, Actor: "user", Payload: []byte{0x81, 0xa1, 'n', 0x05}},
	}
	first.Texts.Add(salt)
	first.Texts.Add([]byte("Hi"))
	first.Events = []Event{
		{1, "note.added.1", first.Command.Payload},
		{1, "note.said.1", []byte{0x81, 0xa4, 't', 'e', 'x', 't', 0xd4, 0x01, 0x01}},
	}
	second := &Commit{
		Run: first.Run, At: 1_700_000_000_001, Cause: 1, Texts: nil,
		Command: Command{ID: "engine:2", Type: "note.end", Version: 1, Actor: "engine", Payload: []byte{0x80}},
		Events:  []Event{{1, "note.ended.1", []byte{0x80}}},
	}
	mustAppend(t, m, first, second)
	return m
}

// row is a line of a table in the document: offset, bytes, meaning.
var row = regexp.MustCompile("(?m)^\\| (\\d+) \\| `([0-9a-f ]+)` \\| (.+) \\|$")

// The record that the document takes apart byte by byte is the one that the code writes, at the offsets it gives; and what
// it says of names and limits is what the code has.
// spec: D197
func TestFormatDocument(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "docs", "format.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	m := example(t)
	var got []byte
	for _, r := range row.FindAllStringSubmatch(doc, -1) {
		at, err := strconv.Atoi(r[1])
		if err != nil || at != len(got) {
			t.Fatalf("the row at offset %s comes after %d bytes", r[1], len(got))
		}
		part, err := hex.DecodeString(strings.ReplaceAll(r[2], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, part...)
	}
	if !bytes.Equal(got, m.records[0]) {
		var want strings.Builder
		for i, c := range m.records[0] {
			fmt.Fprintf(&want, "%02x ", c)
			if i%16 == 15 {
				want.WriteByte('\n')
			}
		}
		t.Errorf("the document's record is not the one that is written:\n%s", want.String())
	}
	var second Hash
	_ = m.Read(2, func(r *Raw) error { second = r.Hash; return nil })
	for _, s := range []string{
		second.String(), strconv.Itoa(len(m.records[0])) + " bytes", "`" + journalFile + "`", "`" + artifactsDir + "/`", "`" + string(commitsBucket) + "`", "`" + string(textsBucket) + "`",
		strconv.Itoa(MaxInline), strconv.Itoa(MaxBucket), strconv.Itoa(MaxTexts), strconv.Itoa(MaxEvents), strconv.Itoa(MaxName), strconv.Itoa(MaxPayload), strconv.Itoa(MaxText),
		fmt.Sprintf("%d to %d bytes", MinSalt, MaxSalt), strconv.Itoa(pageSize),
	} {
		if !strings.Contains(doc, s) {
			t.Errorf("the document does not say %q", s)
		}
	}
	// The lines of the example are those of an export.
	for _, line := range strings.Split(strings.TrimSpace(string(exported(t, m, ExportOptions{}))), "\n") {
		if !strings.Contains(doc, line) {
			t.Errorf("the document does not show the line\n%s", line)
		}
	}
}

// runScript runs the independent verifier.
func runScript(t *testing.T, export []byte, args ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.Command("node", append([]string{filepath.Join("..", "scripts", "verify")}, args...)...)
	cmd.Stdin = bytes.NewReader(export)
	b, err := cmd.CombinedOutput()
	return string(b), err == nil
}

// Two verifiers that share nothing but the document say the same of good, damaged and redacted exports.
// spec: D198
func TestBothVerifiersAgree(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("the independent verifier needs node")
	}
	b, err := os.ReadFile(filepath.Join("..", "scripts", "verify"))
	if err != nil || bytes.Count(b, []byte("\n")) > 200 || bytes.Contains(b, []byte("require('.")) {
		t.Errorf("the script has %d lines, or uses other code (%v)", bytes.Count(b, []byte("\n")), err)
	}
	f := aHistory(t)
	whole, bare := exported(t, f, ExportOptions{}), exported(t, f, ExportOptions{OmitTexts: true})
	fork, err := Create(filepath.Join(t.TempDir(), "fork"), Options{Parent: f.Head().Hash})
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	mustAppend(t, fork, testCommit(1, 1), testCommit(2, 1))
	var older Hash
	if err := f.Read(2, func(c *Raw) error { older = c.Hash; return nil }); err != nil {
		t.Fatal(err)
	}
	m := example(t)
	check := func(name string, export []byte, head Hash, wantOK bool) {
		t.Helper()
		report, err := CheckExport(bytes.NewReader(export), head)
		var args []string
		if head != (Hash{}) {
			args = []string{"--head", head.String()}
		}
		ours := err == nil && (head == (Hash{}) || report.Match > 0)
		out, theirs := runScript(t, export, args...)
		if ours != wantOK || theirs != wantOK {
			t.Errorf("%s: ours %v (%v), the script %v: %s", name, ours, err, theirs, out)
		}
		if !wantOK {
			return
		}
		for _, s := range []string{
			fmt.Sprintf("commit %d\nhead %s\n", report.Head.Number, report.Head.Hash),
			fmt.Sprintf("%d commits, %d events, %d texts", report.Commits, report.Events, report.Texts),
		} {
			if !strings.Contains(out, s) {
				t.Errorf("%s: the script says %s, not %s", name, out, s)
			}
		}
		if report.Redacted > 0 != strings.Contains(out, "dropped") || (report.Parent != Hash{}) != strings.Contains(out, "forked from "+report.Parent.String()) ||
			report.Match > 0 && !strings.Contains(out, fmt.Sprintf("matches the head at commit %d\n", report.Match)) {
			t.Errorf("%s: the script says %s of %+v", name, out, report)
		}
	}
	check("good", whole, Hash{}, true)
	check("good, with its head", whole, f.Head().Hash, true)
	check("good, with an older head", whole, older, true)
	check("good, with another head", whole, Hash{1}, false)
	check("redacted", bare, Hash{}, true)
	check("redacted, with its head", bare, f.Head().Hash, true)
	check("redacted, with a text put back", bytes.Replace(bare, []byte(`"size":6,"redacted":true`), []byte(`"size":6,"text":"a text"`), 1), Hash{}, false)
	check("a fork", exported(t, fork, ExportOptions{}), fork.Head().Hash, true)
	check("the document's example", exported(t, m, ExportOptions{}), m.Head().Hash, true)
	for _, c := range badExports(t, string(whole)) {
		if !slices.Contains(spelled, c.name) {
			check(c.name, []byte(c.export), Hash{}, false)
		}
	}
}
