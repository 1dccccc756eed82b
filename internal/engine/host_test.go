package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// create makes a session on disk with its first input.
func (b *bench) create(o Observer, command string, c commands.Command) (*Session, string, error) {
	b.t.Helper()
	id, set, err := b.h.Reserve("/w")
	if err != nil {
		b.t.Fatal(err)
	}
	s, _, err := b.h.Create(id, "/w", set, o, command, "user", c)
	return s, id, err
}

// The first batch of a session is opened, policy and input, in one transaction, on an installation that is made with it;
// before that nothing is on disk.
//
// spec: D079 D080 D039
func TestFirstBatch(t *testing.T) {
	b := newBench(t)
	var points []journal.Point
	b.options.Fault = func(p journal.Point) error { points = append(points, p); return nil }
	b.rebuild()
	if _, _, err := b.h.Reserve("/w"); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(b.options.Data); len(entries) != 0 {
		t.Errorf("a reserved session left %v", entries)
	}
	obs := &observer{t: t, news: make(chan struct{}, 1)}
	s, id, err := b.create(obs, "acp:1", admission("hello"))
	if err != nil {
		t.Fatal(err)
	}
	b.asked().finish()
	if err := s.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, c := range obs.seen[:3] {
		types = append(types, c.Type)
	}
	if want := []string{"session.open", "policy.resolve", "input.admit"}; !slices.Equal(types, want) {
		t.Errorf("the first commits are %v", types)
	}
	if first := points[:3]; !slices.Equal(first, []journal.Point{journal.PointBeforeAppend, journal.PointBeforeSync, journal.PointAfterSync}) || obs.seen[0].Number != 1 {
		t.Errorf("points %v", first)
	}
	installed, err := os.ReadFile(filepath.Join(b.options.Data, "installation"))
	created := obs.seen[0].Events[1].Payload.(*event.Created)
	if err != nil || strings.TrimSpace(string(installed)) != created.Installation || created.Session != id {
		t.Errorf("installation %q, created %+v (%v)", installed, created, err)
	}
	if err := b.h.Shutdown(t.Context(), "shutdown"); err != nil {
		t.Error(err)
	}
}

// A first input that could not be saved, or that is refused, leaves nothing: the same panel can try again.
//
// spec: D079 D087
func TestFailedFirstBatchLeavesNothing(t *testing.T) {
	b := newBench(t)
	fail := true
	b.options.Fault = func(p journal.Point) error {
		if fail && p == journal.PointBeforeSync {
			return errors.New("no space")
		}
		return nil
	}
	b.rebuild()
	id, set, err := b.h.Reserve("/w")
	if err != nil {
		t.Fatal(err)
	}
	try := func(c commands.Command) error {
		_, _, err := b.h.Create(id, "/w", set, nil, "acp:1", "user", c)
		return err
	}
	var full *journal.NotAppended
	if err := try(admission("hello")); !errors.As(err, &full) {
		t.Fatalf("on a full disk: %v", err)
	}
	fail = false
	if err := try(&commands.AdmitInput{}); code(err) != commands.CodeEmpty {
		t.Fatalf("an empty input: %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.h.SessionsDir(), id)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if err := try(admission("hello")); err != nil {
		t.Fatalf("the retry: %v", err)
	}
	b.asked().finish()
	if err := b.h.Close(t.Context(), id, "close"); err != nil {
		t.Error(err)
	}
}

// Three openings are three runs, each commit carries its own, and each run begins with session.opened.
//
// spec: D039 D041 D076
func TestEachOpeningIsARun(t *testing.T) {
	b := newBench(t)
	s, id, err := b.create(nil, "acp:1", admission("hello"))
	if err != nil {
		t.Fatal(err)
	}
	b.asked().finish(tool("never", "1"))
	b.ran().finish("done")
	b.asked().finish()
	for range 2 {
		if err := s.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.h.Close(t.Context(), id, "close"); err != nil {
			t.Fatal(err)
		}
		b.rebuild()
		if s, err = b.h.Open(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	var runs []string
	err = s.log.Scan(1, func(r *journal.Raw) error {
		c, err := Decode(r)
		if err != nil {
			return err
		}
		if opened, ok := c.Events[0].Payload.(*event.Opened); ok {
			runs = append(runs, opened.Run)
		} else if len(runs) == 0 || r.Run.String() != runs[len(runs)-1] {
			t.Errorf("commit %d is of run %s, the opened one is %v", c.Number, r.Run, runs)
		}
		if c.Cause >= c.Number {
			t.Errorf("commit %d is caused by %d", c.Number, c.Cause)
		}
		if outside := !strings.HasPrefix(c.Command, "engine:"); outside && c.Cause != 0 {
			t.Errorf("commit %d came from outside and is caused by %d", c.Number, c.Cause)
		}
		if strings.HasPrefix(c.Command, "engine:call:") && c.Cause == 0 {
			t.Errorf("commit %d (%s) has no cause", c.Number, c.Command)
		}
		return nil
	})
	if err != nil || len(runs) != 3 || runs[0] == runs[1] || runs[1] == runs[2] || runs[0] == runs[2] {
		t.Errorf("runs %v (%v)", runs, err)
	}
	b.quiet()
	if err := b.h.Close(t.Context(), id, "close"); err != nil {
		t.Error(err)
	}
}

// A decision is made of the encoded command: what it gives back knows texts by digest and size only, live as on replay.
//
// spec: D022 D075
func TestDecisionsSeeNoText(t *testing.T) {
	x := newBench(t).session()
	o := x.must(admission("words"))
	text := find[*event.InputAdmitted](o.Events).Blocks[0].Text
	if text.Known() || text.Size != 5 || text.Digest != x.textDigest("words") {
		t.Errorf("the decision saw %+v", text)
	}
	x.asked().finish()
	x.idle()
}

// What may not be continued is told apart: no such session, another installation's, a history that is not possible, and one
// of a newer release, which is named.
//
// spec: D065 D094
func TestWhatMayNotBeContinued(t *testing.T) {
	b := newBench(t)
	_, id, err := b.create(nil, "acp:1", admission("hello"))
	if err != nil {
		t.Fatal(err)
	}
	b.asked().finish()
	if err := b.h.Close(t.Context(), id, "close"); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(b.h.SessionsDir(), id)
	open := func() (uint64, error) {
		b.rebuild()
		s, err := b.h.Open(context.Background(), id)
		if err != nil {
			return 0, err
		}
		n := s.Head().Number
		if err := b.h.Close(t.Context(), id, "close"); err != nil {
			t.Fatal(err)
		}
		return n, nil
	}
	for _, id := range []string{"ses_00000000000000000000000009", "", "../" + id, "ses_0000000000000000000000000A"} {
		if _, err := b.h.Open(context.Background(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	path := filepath.Join(b.options.Data, "installation")
	own, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("ins_other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var foreign *Foreign
	if _, err := open(); !errors.As(err, &foreign) {
		t.Errorf("another installation's: %v", err)
	}
	if err := os.WriteFile(path, own, 0o600); err != nil {
		t.Fatal(err)
	}
	forge := func(typ string, p event.Payload) {
		t.Helper()
		f, err := journal.Open(dir, journal.Options{}, func(*journal.Raw) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		texts := journal.NewTexts(f.Salt())
		body, err := event.NewEncoder().Encode(p, texts)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Append([]*journal.Commit{{
			At: b.clock.Now(), Texts: texts, Command: journal.Command{ID: "forged", Type: "test.forged", Version: 1, Actor: "test", Payload: []byte{0x80}},
			Events: []journal.Event{{Stream: 1, Type: typ, Payload: body}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	at, err := open()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "journal.zuno")
	bytes, err := os.ReadFile(filepath.Join(dir, "journal.zuno"))
	if err == nil {
		err = os.WriteFile(copied, bytes, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	forge("session.call.settled.1", &event.CallSettled{ID: "call_none", Outcome: event.OutcomeOK})
	var damaged *journal.Damaged
	if _, err := open(); !errors.As(err, &damaged) || damaged.Commit != at+1 {
		t.Errorf("an impossible history: %v, want commit %d", err, at+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal.zuno"), bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	forge("session.turn.started.9", &event.TurnStarted{ID: "t"})
	before, err := os.ReadFile(filepath.Join(dir, "journal.zuno"))
	if err != nil {
		t.Fatal(err)
	}
	var newer *journal.NewerError
	if _, err := open(); !errors.As(err, &newer) || !strings.Contains(err.Error(), "session.turn.started.9") {
		t.Errorf("a newer release's: %v", err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "journal.zuno"))
	if err != nil || string(before) != string(after) {
		t.Errorf("the file of a newer release was changed (%v)", err)
	}
	// It can still be looked at.
	seen := 0
	f, err := journal.OpenRead(dir, func(*journal.Raw) error { seen++; return nil })
	if err != nil || uint64(seen) != at+1 {
		t.Errorf("inspection sees %d commits (%v)", seen, err)
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
	b.quiet()
}

// The view of the host's session on disk and that of a fresh fold agree after a whole turn.
//
// spec: D067 D084
func TestFileAndMemoryFoldAlike(t *testing.T) {
	b := newBench(t)
	play := func(ask func() *fakeStream) {
		ask().finish(tool("safe", "1"), tool("never", "2"))
		b.ran().finish("one")
		b.ran().finish("two")
		ask().finish()
	}
	s, id, err := b.create(nil, "acp:1", admission("hello"))
	if err != nil {
		t.Fatal(err)
	}
	play(b.asked)
	if err := s.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	types := func(log journal.Log) (out []string) {
		if err := log.Scan(1, func(r *journal.Raw) error {
			for i := range r.Events {
				out = append(out, string(r.Events[i].Type))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	onDisk := types(s.log)
	f := projections.NewFolder(projections.Options{})
	if err := s.log.Scan(1, func(r *journal.Raw) error { return f.Commit(r) }); err != nil || f.View.Corrupt != nil {
		t.Fatal(err, f.View.Corrupt)
	}
	if err := b.h.Close(t.Context(), id, "close"); err != nil {
		t.Fatal(err)
	}
	x := b.session()
	x.prompt("hello")
	play(b.asked)
	x.idle()
	if inMemory := types(x.mem); !slices.Equal(onDisk, inMemory) {
		t.Errorf("on disk %v\nin memory %v", onDisk, inMemory)
	}
}
