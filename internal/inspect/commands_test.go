package inspect

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"zuno/internal/mp"
	"zuno/journal"
	"zuno/journal/event"
)

// spec: D013
func TestSessionArgument(t *testing.T) {
	p := newPlace(t, "one")
	here := p.run("the first", "1")
	outside := *p
	outside.cwd = t.TempDir()
	there := outside.run("the second", "2")
	extend(t, p.folder(there), func(texts *journal.Texts) []journal.Event {
		return encoded(t, texts, &event.InputAdmitted{ID: "inp_x", Trigger: event.TriggerUser, Delivery: event.DeliverSteer})
	}) // so that it is the last one overall
	shared := 0
	for here[shared] == there[shared] {
		shared++
	}
	for arg, want := range map[string]string{here: here, "last": here, here[:shared+1]: here, there[:shared+1]: there, there[4 : shared+1]: there, there[:29]: there} {
		out, errs, code := p.zuno("session", "show", arg, "--json")
		told := "session " + want + "\n"
		if arg == want {
			told = ""
		}
		if code != 0 || errs != told || !strings.Contains(out, `"id": "`+want+`"`) {
			t.Errorf("%s: exit %d, told %q", arg, code, errs)
		}
	}
	if _, errs, _ := outside.zuno("replay", "last"); errs != "session "+there+"\n" {
		t.Errorf("in its own folder it is %q", errs)
	}
	third := *p
	third.cwd = t.TempDir()
	if _, errs, _ := third.zuno("replay", "last"); errs != "session "+there+"\n" {
		t.Errorf("in a folder without sessions it is %q", errs)
	}
	for _, arg := range []string{"ses_", "ses", here[:shared], here[4:shared]} {
		errs := p.fails("journal", "verify", arg)
		if !strings.Contains(errs, here+"  the first") || !strings.Contains(errs, there+"  the second") {
			t.Errorf("%q does not list the matches: %s", arg, errs)
		}
	}
	empty := *p
	empty.data = filepath.Join(p.dir, "nothing")
	if errs := empty.fails("replay", "last"); !strings.Contains(errs, "no session in "+empty.data) {
		t.Error(errs)
	}
}

// spec: D154
func TestOddArguments(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	before := content(t, p.data)
	for _, arg := range []string{
		"", " ", "../x", "..", "/", strings.Repeat("a", 10<<10), "ses_" + strings.Repeat("a", 10<<10), "a\x1b[2J", "\n", "\xff", "SES_" + id[4:],
		"ses_../../x", "ses_" + strings.Repeat("z", 26), "zzz", "*", "ses_*", "nosuch.zuno", "./nosuch", "-", p.dir,
	} {
		for _, command := range [][]string{{"session", "show"}, {"journal", "show"}, {"journal", "verify"}, {"journal", "export"}, {"replay"}} {
			errs := p.fails(append(command, arg)...)
			if len(errs) > 400 || strings.ContainsAny(strings.TrimSuffix(errs, "\n"), "\x1b\n") {
				t.Errorf("%v %.20q: %q", command, arg, errs)
			}
		}
	}
	if !maps.Equal(before, content(t, p.data)) {
		t.Error("the data folder has changed")
	}
}

// spec: D014 D015
func TestSessionList(t *testing.T) {
	p := newPlace(t, "one")
	if out, errs, code := p.zuno("session", "list"); out != "" || code != 0 || !strings.Contains(errs, "no sessions") {
		t.Errorf("of none: %q %q", out, errs)
	}
	if out := p.ok("session", "list", "--json"); out != "[]\n" {
		t.Errorf("of none: %q", out)
	}
	a := p.run("tell me\x1b[31m about it", "1")
	second := *p
	second.cwd = t.TempDir()
	b := second.run("and this", "2")
	extend(t, p.folder(a), func(texts *journal.Texts) []journal.Event {
		return encoded(t, texts, &event.InputAdmitted{ID: "inp_x", Trigger: event.TriggerUser, Delivery: event.DeliverSteer})
	})
	extend(t, p.folder(b), func(texts *journal.Texts) []journal.Event { // an opening moves nothing
		for range 40 {
			texts.Add([]byte("unused"))
		}
		return encoded(t, texts, &event.Opened{Run: "r", Build: "b"})
	})
	type row struct{ ID, Title, Cwd, Worktree, Created, Updated string }
	list := func(args ...string) (rows []row) {
		if err := json.Unmarshal([]byte(p.ok(append([]string{"session", "list", "--json"}, args...)...)), &rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := list()
	if len(rows) != 2 || rows[0].ID != a || rows[1].ID != b || rows[1].Title != "and this" || rows[0].Cwd != p.cwd || rows[0].Worktree != filepath.Dir(p.cwd) ||
		rows[1].Cwd != second.cwd || rows[0].Created != "2030-01-01T00:00:00.000Z" || rows[0].Updated <= rows[1].Updated {
		t.Errorf("%+v", rows)
	}
	if rows := list("-n", "1"); len(rows) != 1 || rows[0].ID != a {
		t.Errorf("%+v", rows)
	}
	if rows := list("--cwd", second.cwd); len(rows) != 1 || rows[0].ID != b {
		t.Errorf("%+v", rows)
	}
	out := p.ok("session", "list")
	if lines := strings.Split(out, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], "SESSION ") || !strings.HasPrefix(lines[2], b+"  2030-01-01 00:00Z  "+second.cwd) ||
		!strings.HasSuffix(lines[2], "  and this") || strings.Contains(out, "\x1b") {
		t.Errorf("%s", out)
	}
	if p.ok("session", "show", b, "--json") != p.ok("replay", b, "--json") || p.ok("session", "show", b) != p.ok("replay", b) {
		t.Error("session show and replay differ")
	}
	if errs := p.fails("session", "list", "--most=-1"); !strings.Contains(errs, "-1") {
		t.Error(errs)
	}
}

// spec: D016 D102
func TestJournalBySessionAndByFile(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	elsewhere := filepath.Join(t.TempDir(), "copy.zuno")
	b, err := os.ReadFile(p.file(id))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(elsewhere, b, 0o400); err != nil {
		t.Fatal(err)
	}
	p2 := *p
	p2.cwd = filepath.Dir(elsewhere)
	for _, command := range [][]string{
		{"journal", "show"},
		{"journal", "show", "--json"},
		{"journal", "verify"},
		{"journal", "verify", "--json"},
		{"journal", "export"},
		{"journal", "export", "--normalize"},
		{"replay"},
		{"replay", "--json"},
		{"replay", "--json", "--normalize"},
	} {
		want := p.ok(append(command, id)...)
		for _, path := range []string{p.file(id), p.folder(id), elsewhere} {
			out, errs, code := p.zuno(append(command, path)...)
			if code != 0 || errs != "" || out != want {
				t.Errorf("%v %s differs from that of the session: exit %d %s", command, path, code, errs)
			}
		}
		if out, _, _ := p2.zuno(append(command, "copy.zuno")...); out != want {
			t.Errorf("%v copy.zuno differs", command)
		}
	}
	out := p.ok("journal", "export", id)
	for line := range strings.Lines(out) {
		var s struct{ Hash, Raw string }
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		raw, _ := base64.StdEncoding.DecodeString(s.Raw)
		if sum := sha256.Sum256(raw[33:]); hex.EncodeToString(sum[:]) != s.Hash {
			t.Errorf("raw does not hash to %s", s.Hash)
		}
	}
	if out != p.ok("journal", "export", id) {
		t.Error("two exports differ")
	}
}

// spec: D101 D191
func TestJournalVerify(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	var hashes []string
	for line := range strings.Lines(p.ok("journal", "show", id, "--json")) {
		var c struct{ Hash string }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, c.Hash)
	}
	n := len(hashes)
	out := p.ok("journal", "verify", id)
	if !strings.HasPrefix(out, fmt.Sprintf("commit %d\nhead %s\n", n, hashes[n-1])) || !strings.HasSuffix(out, fmt.Sprintf("\nself-consistent up to commit %d\n", n)) {
		t.Errorf("%s", out)
	}
	if out := p.ok("journal", "verify", id, "--head", strings.ToUpper(hashes[n-1])); !strings.HasSuffix(out, fmt.Sprintf("\nmatches the head at commit %d\n", n)) {
		t.Errorf("%s", out)
	}
	if out := p.ok("journal", "verify", id, "--head", hashes[n-3]); !strings.HasSuffix(out, fmt.Sprintf("\nmatches the head at commit %d; 2 commits followed\n", n-2)) {
		t.Errorf("%s", out)
	}
	for _, head := range []string{strings.Repeat("0", 64), hashes[0][:60] + "0000"} {
		out, errs, code := p.zuno("journal", "verify", id, "--head", head)
		if code != 1 || strings.Contains(out, "matches") || !strings.Contains(errs, "head "+head+" is not in this history") {
			t.Errorf("exit %d %s %s", code, out, errs)
		}
		out, _, code = p.zuno("journal", "verify", id, "--json", "--head", head)
		if code != 1 || !strings.Contains(out, `"result":"`+ResultOther+`"`) {
			t.Errorf("exit %d %s", code, out)
		}
	}
	if errs := p.fails("journal", "verify", id, "--head", "abc"); !strings.Contains(errs, "64 hex digits") {
		t.Error(errs)
	}
	var v Verification
	if err := json.Unmarshal([]byte(p.ok("journal", "verify", id, "--json")), &v); err != nil || v.Result != ResultConsistent || v.Commit != uint64(n) || v.Hash != hashes[n-1] {
		t.Errorf("%+v %v", v, err)
	}
}

// spec: D096 D101
func TestDamagedJournals(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	good, err := os.ReadFile(p.file(id))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.ReplaceAll(good, []byte("Let me look."), []byte("Let me lock.")) // older pages hold it as well
	zeroed := slices.Clone(good)
	clear(zeroed[:16<<10])
	for name, b := range map[string][]byte{"truncated": good[:20000], "flipped": flipped, "zeroed": zeroed, "garbage": []byte(strings.Repeat("no journal ", 9000)), "empty": {}} {
		if err := os.WriteFile(p.file(id), b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"session", "show"}, {"journal", "show"}, {"journal", "verify"}, {"journal", "export"}, {"replay"}, {"replay", "--json", "--normalize"}} {
			errs := p.fails(append(command, id)...)
			if !strings.Contains(errs, p.file(id)+" is damaged") || strings.Count(errs, "damaged") > 1 {
				t.Errorf("%s, %v: %s", name, command, errs)
			}
			if name == "flipped" && !strings.Contains(errs, "at commit ") {
				t.Errorf("%s, %v names no commit: %s", name, command, errs)
			}
		}
		if out, _, code := p.zuno("journal", "verify", id, "--json"); code != 1 || !strings.Contains(out, `"result":"damaged"`) {
			t.Errorf("%s: exit %d %s", name, code, out)
		}
		if after, err := os.ReadFile(p.file(id)); err != nil || string(after) != string(b) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

// spec: D094
func TestNewerEventType(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	head := strings.Count(p.ok("journal", "export", id), "\n")
	extend(t, p.folder(id), func(texts *journal.Texts) []journal.Event {
		texts.Add([]byte("from the future"))
		return []journal.Event{
			{Stream: 1, Type: "session.turn.started.7", Payload: []byte{0x81, 0xa4, 'm', 'o', 'o', 'd', 0xd4, mp.ExtText, 0}},
			{Stream: 1, Type: "session.dream.1", Payload: []byte{0x80}},
		}
	})
	for _, command := range [][]string{{"replay"}, {"session", "show"}} {
		errs := p.fails(append(command, id)...)
		if !strings.Contains(errs, "session.turn.started.7") || !strings.Contains(errs, "version 7; this release knows versions up to 1") || !strings.Contains(errs, p.file(id)) {
			t.Errorf("%v: %s", command, errs)
		}
	}
	p.ok("replay", id, "--until", fmt.Sprint(head))
	p.ok("journal", "verify", id)
	p.ok("journal", "export", id, "--normalize")
	if out := p.ok("journal", "show", id); !strings.Contains(out, "session.turn.started.7") || !strings.Contains(out, "from the future") {
		t.Errorf("%s", out)
	}
	if out := p.ok("journal", "export", id); !strings.Contains(out, "session.dream.1") {
		t.Errorf("%s", out)
	}
}

// A session in use has one owner, and every command reads it all the same, past an owner that has no socket.
//
// spec: D017 D187
func TestSessionInUse(t *testing.T) {
	p := newPlace(t, "one")
	id := p.run("hello", "1")
	f, err := journal.Open(p.folder(id), journal.Options{Started: time.UnixMilli(0)}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("the owner (pid %d) does not answer; read from a verified copy at commit %d\n", os.Getpid(), f.Head().Number)
	for _, command := range [][]string{{"session", "show"}, {"journal", "show"}, {"journal", "verify"}, {"journal", "export"}, {"replay"}} {
		if out, errs, code := p.zuno(append(command, id)...); out == "" || code != 0 || !strings.HasSuffix(errs, want) {
			t.Errorf("%v: exit %d, said %s", command, code, errs)
		}
	}
	_, err = journal.Open(p.folder(id), journal.Options{LockWait: time.Millisecond}, nothing)
	var inUse *journal.InUse
	if !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Error(err)
	}
	if out := p.ok("session", "list"); !strings.Contains(out, id) {
		t.Errorf("it is not listed: %s", out)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	p.ok("replay", id)
}

// A tail whose output nobody takes, as that of a pager, ends when it is told to.
//
// spec: D180
func TestTailEndsWhileItsOutputWaits(t *testing.T) {
	p := newPlace(t, "tail")
	id := p.run("hello", "1")
	extend(t, p.folder(id), func(texts *journal.Texts) []journal.Event {
		opened := make([]event.Payload, 2000) // more than a pipe holds
		for i := range opened {
			opened[i] = &event.Opened{Run: "a run with a name that is somewhat long", Build: "b"}
		}
		return encoded(t, texts, opened...)
	})
	for _, args := range [][]string{{"journal", "tail", id}, {"journal", "tail", "-f", id}} {
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			cmd := p.command(args...)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err == nil {
				_, err = out.Read(make([]byte, 1)) // it has begun to write
			}
			if err != nil {
				t.Fatal(err)
			}
			hangs := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			state, err := cmd.Process.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if !hangs.Stop() {
				t.Errorf("%v after %v: %v", args, s, state)
			}
			out.Close()
		}
	}
}

// Without a folder for temporary files the user is told which one to name.
func TestNoTemporaryFolder(t *testing.T) {
	p := newPlace(t, "none")
	id := p.run("hello", "1")
	t.Setenv("TMPDIR", filepath.Join(p.dir, "missing"))
	if errs := p.fails("session", "show", id); !strings.Contains(errs, "set TMPDIR to a folder") {
		t.Error(errs)
	}
}
