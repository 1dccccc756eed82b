package inspect

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zuno/acp/client"
	"zuno/journal"
	"zuno/journal/event"
)

// doctor writes a journal again, chain and all, with one of its commits changed.
func doctor(t *testing.T, from, to string, number uint64, change func(c *journal.Commit)) {
	t.Helper()
	f, err := journal.OpenRead(from, nothing)
	if err != nil {
		t.Fatal(err)
	}
	var all []*journal.Commit
	err = f.Scan(1, func(r *journal.Raw) error {
		c := &journal.Commit{
			Number: r.Number, Run: r.Run, At: r.At, Cause: r.Cause, Texts: journal.NewTexts(f.Salt()),
			Command: journal.Command{ID: string(r.Command.ID), Type: string(r.Command.Type), Version: r.Command.Version, Actor: string(r.Command.Actor), Payload: bytes.Clone(r.Command.Payload)},
		}
		for _, e := range r.Events {
			c.Events = append(c.Events, journal.Event{Stream: e.Stream, Type: string(e.Type), Payload: bytes.Clone(e.Payload)})
		}
		for i, x := range r.Texts {
			b, err := r.Body(i)
			if err != nil {
				return err
			}
			c.Texts.AddDigest(x.Digest, bytes.Clone(b))
		}
		if c.Number == number {
			change(c)
		}
		all = append(all, c)
		return nil
	})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	g, err := journal.Create(to, journal.Options{})
	if err == nil {
		err = errors.Join(g.Append(all), g.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// failing turns the outcome of the call that the commit settles.
func failing(t *testing.T) func(c *journal.Commit) {
	return func(c *journal.Commit) {
		t.Helper()
		var e event.CallSettled
		if c.Command.Type != "call.settle" {
			t.Fatalf("commit %d is %s", c.Number, c.Command.Type)
		}
		if err := event.Decode(&e, c.Events[0].Payload, c.Texts.Entries, func(i int) ([]byte, error) { return c.Texts.Bodies[i], nil }); err != nil {
			t.Fatal(err)
		}
		e.Outcome = event.OutcomeError
		var err error
		if c.Events[0].Payload, err = event.NewEncoder().Encode(&e, c.Texts); err != nil {
			t.Fatal(err)
		}
	}
}

// commitOf is the number of the first commit of a command.
func (p *place) commitOf(id, command string) (number uint64) {
	p.t.Helper()
	f, err := journal.OpenRead(p.folder(id), nothing)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	if err := f.Scan(1, func(c *journal.Raw) error {
		if number == 0 && string(c.Command.Type) == command {
			number = c.Number
		}
		return nil
	}); err != nil || number == 0 {
		p.t.Fatal(number, err)
	}
	return number
}

// spec: D183 D184
func TestCheckNamesTheCommitThatTheRulesWouldNotDecide(t *testing.T) {
	p := newPlace(t, "doctored")
	id := p.run("Do it.", "")
	if out := p.ok("replay", id, "--check"); !strings.HasSuffix(out, "commits decided again: each decision is the recorded one\n") {
		t.Errorf("%q", out)
	}
	at := p.commitOf(id, "call.settle")
	bad := filepath.Join(p.dir, "bad")
	doctor(t, p.folder(id), bad, at, failing(t))
	p.ok("journal", "verify", bad)

	// The build that wrote it: a defect.
	out, errs, code := p.zuno("replay", bad, "--check")
	if code != 1 || !strings.Contains(errs, commit(at)+" is decided otherwise by the build that wrote it") {
		t.Errorf("exit %d, %q", code, errs)
	}
	for _, want := range []string{
		"(this build: a defect): 1 commit is decided otherwise\n" + commit(at) + "  call.settle  by engine",
		"event 1, session.call.settled.1, has another payload", "events[0].payload.outcome: error → ok",
		"recorded:\n", "decided now:\n", `"outcome": "error"`, `"outcome": "ok"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	out, _, _ = p.zuno("replay", bad, "--check", "--json")
	if n, err := parseAll(out); err != nil || n.get("differ").items[0].get("first").get("commit").uint() != at || n.get("differ").items[0].get("same_build").text() != "true" {
		t.Errorf("%v\n%s", err, out)
	}

	// Another build, with and without --strict.
	p.binary = other
	out, errs, code = p.zuno("replay", bad, "--check")
	if code != 0 || errs != "" || !strings.Contains(out, "(another build): 1 commit is decided otherwise\n"+commit(at)) {
		t.Errorf("exit %d, %q\n%s", code, errs, out)
	}
	_, errs, code = p.zuno("replay", bad, "--check", "--strict")
	if code != 1 || !strings.Contains(errs, commit(at)+" is decided otherwise than by the build that wrote it") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

// spec: D183
func TestCheckFindsEveryKindOfDifference(t *testing.T) {
	p := newPlace(t, "kinds")
	id := p.run("Do it.", "7")
	at := p.commitOf(id, "call.settle")
	extra := event.NoticeRaised{ID: "note_x", Severity: "warning", Code: "x", Text: event.NewText("Not decided.")}
	for name, c := range map[string]struct {
		change func(c *journal.Commit)
		why    string
	}{
		"an event more":       {func(c *journal.Commit) { c.Events = append(c.Events, encoded(t, c.Texts, &extra)...) }, "2 events recorded, 1 decided"},
		"another event":       {func(c *journal.Commit) { c.Events = encoded(t, c.Texts, &extra) }, "event 1 is session.notice.raised.1, decided is session.call.settled.1"},
		"another stream":      {func(c *journal.Commit) { c.Events[0].Stream = 2 }, "event 1 is of stream 2, decided of stream 1"},
		"a refused command":   {func(c *journal.Commit) { c.Command.Type = "turn.cancel" }, ""},
		"an unknown command":  {func(c *journal.Commit) { c.Command.Type = "call.polish" }, `it is refused: no command "call.polish" in this build`},
		"a malformed command": {func(c *journal.Commit) { c.Command.Payload = []byte{0xc1} }, "it is refused: command call.settle cannot be read"},
		"a later command":     {func(c *journal.Commit) { c.Command.Version = 9 }, "it is version 9 of the command, of which this build decides version 1"},
	} {
		bad := filepath.Join(t.TempDir(), "bad")
		doctor(t, p.folder(id), bad, at, c.change)
		r, err := Check(bad, CheckOptions{Build: "test"})
		var differs *CheckDiffers
		if !errors.As(err, &differs) || differs.Commit != at || !differs.Same || len(r.Differ) != 1 || !strings.Contains(r.Differ[0].First.Why, c.why) {
			t.Errorf("%s: %v %+v", name, err, r)
			continue
		}
		if text, err := r.Tell(); err != nil || !strings.Contains(text, commit(at)) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// A journal that the check finds fault with opens, loads and goes on: nothing of a session depends on deciding twice.
//
// spec: D185
func TestSessionThatFailsTheCheckRuns(t *testing.T) {
	p := newPlace(t, "runs")
	id := p.run("Do it.", "")
	bad := filepath.Join(p.dir, "bad")
	doctor(t, p.folder(id), bad, p.commitOf(id, "call.settle"), failing(t))
	if err := os.Rename(filepath.Join(bad, journalName), p.file(id)); err != nil {
		t.Fatal(err)
	}
	if _, _, code := p.zuno("replay", id, "--check"); code != 1 {
		t.Fatal("the check passes")
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	c, err := client.Start(client.Config{Binary: zuno, Args: []string{"acp"}, Env: p.environ(), Dir: p.cwd, Permission: client.Allow})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Load(ctx, id, p.cwd); err != nil {
		t.Fatal(err)
	}
	r, err := c.Prompt(id, "Go on.").Wait(ctx)
	if err != nil || r.StopReason != "end_turn" {
		t.Error(r.StopReason, err)
	}
	c.CloseInput()
	if status, err := c.Wait(ctx); status != 0 || err != nil {
		t.Error(status, err)
	}
	p.ok("journal", "verify", id)
}

func (p *place) environ() []string {
	return append(os.Environ(), "PWD="+p.cwd, "ZUNO_DATA_DIR="+p.data, "ZUNO_CONFIG_CONTENT="+p.env, "HOME="+p.dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
}
