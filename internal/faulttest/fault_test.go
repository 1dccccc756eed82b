package faulttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
)

// A sync that fails, at each of the first batches of a session: the editor is told that the outcome is unknown, the same
// process can load the session again, everything acknowledged is there, and the session goes on.
// spec: D201 D042
func TestFailedSyncOverACP(t *testing.T) {
	for nth := 1; nth <= 7; nth++ {
		data := t.TempDir()
		c, ctx := agent(t, data, journal.PointAfterSync, nth)
		cwd := t.TempDir()
		id, err := c.New(ctx, cwd)
		if err != nil {
			t.Fatal(err)
		}
		var last client.Head
		var refused *wire.Error
		said := 0
		for ; refused == nil && said < 5; said++ {
			r, err := c.Prompt(id, "hello").Wait(ctx)
			if err == nil {
				last = client.ReadMeta(r.Meta).Head
			} else if !errors.As(err, &refused) {
				t.Fatalf("sync %d: %v", nth, err)
			}
		}
		if refused == nil {
			t.Fatalf("sync %d: nothing failed", nth)
		}
		if b, _ := json.Marshal(refused.Data); !strings.Contains(string(b), "unknownOutcome") {
			t.Errorf("sync %d: the prompt is answered with %v %s", nth, refused, b)
		}
		if _, err := c.Prompt(id, "and now").Wait(ctx); err == nil {
			t.Errorf("sync %d: a prompt was taken before the session was opened again", nth)
		}
		if err := c.Load(ctx, id, cwd); err != nil {
			t.Fatalf("sync %d: load: %v", nth, err)
		}
		r, err := c.Prompt(id, "and on").Wait(ctx)
		if err != nil {
			t.Fatalf("sync %d: after the load: %v", nth, err)
		}
		head := client.ReadMeta(r.Meta).Head
		end(t, ctx, c)
		for _, h := range []client.Head{last, head} {
			if h.Number == 0 {
				continue
			}
			v, err := journal.Verify(sessionDir(data, id), hash(t, h.Hash))
			if err != nil || v.Match != h.Number {
				t.Errorf("sync %d: commit %d was acknowledged: %+v, %v", nth, h.Number, v, err)
			}
		}
	}
}

// A message is sent again under its messageId when the disk did not say whether it was saved: before the session is loaded again it
// is refused, never left without an answer, and after that it is one input with one end.
// spec: A044 D201
func TestMessageSentAgainAfterAFailedSync(t *testing.T) {
	for nth := 1; nth <= 7; nth++ {
		data, cwd := t.TempDir(), t.TempDir()
		c, ctx := agent(t, data, journal.PointAfterSync, nth)
		id, err := c.New(ctx, cwd)
		if err != nil {
			t.Fatal(err)
		}
		say := func(n int) error {
			_, err := c.PromptWith(id, schema.Meta("zuno", map[string]string{"messageId": fmt.Sprint("m", n)}), schema.Text("hello")).Wait(ctx)
			var refused *wire.Error
			if err != nil && !errors.As(err, &refused) {
				t.Fatalf("sync %d: message %d: %v", nth, n, err)
			}
			return err
		}
		n := 0
		for n++; say(n) == nil && n < 5; n++ {
		}
		for again := n; again > 0; again-- { // also those that are long over
			if err := say(again); again == n && err == nil {
				t.Errorf("sync %d: message %d was taken before the session was opened again", nth, again)
			}
		}
		if err := c.Load(ctx, id, cwd); err != nil {
			t.Fatalf("sync %d: load: %v", nth, err)
		}
		for again := 1; again <= n; again++ {
			if err := say(again); err != nil && !strings.Contains(err.Error(), "process ended") {
				t.Errorf("sync %d: message %d after the load: %v", nth, again, err)
			}
		}
		end(t, ctx, c)
		admitted, settled := 0, 0
		f, err := journal.OpenRead(sessionDir(data, id), func(r *journal.Raw) error {
			d, err := engine.Decode(r)
			if err != nil {
				return err
			}
			for i := range d.Events {
				switch d.Events[i].Payload.(type) {
				case *event.InputAdmitted:
					admitted++
				case *event.InputSettled:
					settled++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if admitted != n || settled != n {
			t.Errorf("sync %d: %d messages are %d inputs with %d ends", nth, n, admitted, settled)
		}
	}
}

func hash(t *testing.T, s string) (h journal.Hash) {
	t.Helper()
	if b, err := hex.DecodeString(s); err != nil || copy(h[:], b) != len(h) {
		t.Fatalf("%q is no hash: %v", s, err)
	}
	return h
}

// The same through the host: callers are told, the id may be tried again after a fresh opening, and is one commit.
// spec: D201
func TestRetryAfterAFailedSyncIsOneCommit(t *testing.T) {
	var fail failure
	data := t.TempDir()
	h, err := newHost(data, &clock{}, func(p journal.Point) error {
		if p == journal.PointAfterSync {
			return fail.get()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := begin(h, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	head := s.Head()
	fail.set(errors.New("input/output error"))
	ctx := context.Background()
	if _, err := s.Do(ctx, "test:lost", "user", admission("lost")); !errors.Is(err, journal.ErrUnknownOutcome) {
		t.Fatalf("answered with %v", err)
	}
	fail.set(nil)
	if _, err := s.Do(ctx, "test:more", "user", admission("more")); !errors.Is(err, journal.ErrUnknownOutcome) || s.Head() != head {
		t.Fatalf("it takes more: %v", err)
	}
	again, err := h.Open(ctx, s.ID)
	if err != nil || again == s {
		t.Fatalf("opening again gave the same session, or %v", err)
	}
	o, err := again.Do(ctx, "test:lost", "user", admission("lost"))
	if err != nil || !o.Repeated {
		t.Fatalf("the retry: %+v, %v", o, err)
	}
	if err := errors.Join(idle(again), closed(h), holds(again.Dir(), head)); err != nil {
		t.Fatal(err)
	}
	n := 0
	f, err := journal.OpenRead(again.Dir(), func(c *journal.Raw) error {
		if string(c.Command.ID) == "test:lost" {
			n++
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	f.Close()
}

// spec: D202
func TestFolderRemovedUnderARunningSession(t *testing.T) {
	data, cwd := t.TempDir(), t.TempDir()
	h, err := newHost(data, &clock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := begin(h, cwd)
	if err != nil {
		t.Fatal(err)
	}
	other, err := begin(h, cwd)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.Dir()); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var gone *journal.Removed
	if _, err := s.Do(ctx, "test:1", "user", admission("more")); !errors.As(err, &gone) {
		t.Fatalf("answered with %v", err)
	}
	if _, err := h.Open(ctx, s.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("opening it again gave %v", err)
	}
	if _, err := os.Lstat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the removed folder is back: %v", err)
	}
	if _, err := other.Do(ctx, "test:1", "user", admission("more")); err != nil {
		t.Errorf("another session of the process: %v", err)
	}
	if err := idle(other); err != nil {
		t.Error(err)
	}
	head := other.Head()
	if err := errors.Join(closed(h), holds(other.Dir(), head)); err != nil {
		t.Error(err)
	}
}

// spec: D202 D023
func TestClockJumpsBack(t *testing.T) {
	c := &clock{}
	h, err := newHost(t.TempDir(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := begin(h, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for i, ahead := range []int64{3_600_000, -86_400_000, 60_000, -(1 << 41)} {
		c.ahead.Store(ahead)
		if _, err := s.Do(ctx, "test:"+string(rune('a'+i)), "user", admission("again")); err != nil {
			t.Fatal(err)
		}
		if err := idle(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Close(ctx, s.ID, "close"); err != nil {
		t.Fatal(err)
	}
	if s, err = h.Open(ctx, s.ID); err != nil { // the clock is still behind
		t.Fatal(err)
	}
	if _, err := s.Do(ctx, "test:last", "user", admission("again")); err != nil {
		t.Fatal(err)
	}
	if err := idle(s); err != nil {
		t.Fatal(err)
	}
	head := s.Head()
	if err := errors.Join(closed(h), holds(s.Dir(), head)); err != nil { // which holds times against each other
		t.Fatal(err)
	}
}

// A disk that is full for good does not keep a session from being closed, and what was acknowledged is there.
// spec: D200
func TestDiskStaysFull(t *testing.T) {
	var fail failure
	h, err := newHost(t.TempDir(), &clock{}, func(p journal.Point) error {
		if p == journal.PointBeforeSync {
			return fail.get()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := begin(h, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	head := s.Head()
	fail.set(errors.New("no space left on device"))
	var full *journal.NotAppended
	if _, err := s.Do(context.Background(), "test:1", "user", admission("more")); !errors.As(err, &full) {
		t.Fatalf("answered with %v", err)
	}
	_ = closed(h) // it may say that the stop was not recorded
	if err := holds(s.Dir(), head); err != nil {
		t.Fatal(err)
	}
}

// Eight agents at once, each with a session of its own in one data folder.
// spec: D206
func TestEightAgentsInOneDataFolder(t *testing.T) {
	data := t.TempDir()
	type one struct {
		c    *client.Client
		ctx  context.Context
		id   string
		turn *client.Turn
	}
	var all []one
	for range 8 {
		c, ctx := agent(t, data, "", 0)
		id, err := c.New(ctx, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one{c: c, ctx: ctx, id: id})
	}
	for range 3 {
		for i := range all {
			all[i].turn = all[i].c.Prompt(all[i].id, "hello")
		}
		for _, a := range all {
			if _, err := a.turn.Wait(a.ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A second agent does not get a session that another one has.
	var refused *wire.Error
	if err := all[0].c.Load(all[0].ctx, all[1].id, t.TempDir()); !errors.As(err, &refused) || refused.Code != wire.CodeInUse {
		t.Errorf("loading another agent's session gave %v", err)
	}
	for _, a := range all {
		end(t, a.ctx, a.c)
		if r, err := journal.Verify(sessionDir(data, a.id), journal.Hash{}); err != nil || r.Commits < 8 {
			t.Error(r, err)
		}
	}
	if err := all[0].c.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Log(err)
	}
	c, ctx := agent(t, data, "", 0)
	if err := c.Load(ctx, all[1].id, t.TempDir()); err != nil { // and gets it when that is gone
		t.Error(err)
	}
	end(t, ctx, c)
}

// A batch that cannot be written, at each of the first ones of a session: the editor hears of it once, and the same panel
// goes on as soon as there is room.
// spec: D200
func TestFullDiskOverACP(t *testing.T) {
	for nth := 1; nth <= 5; nth++ {
		data := t.TempDir()
		c, ctx := agent(t, data, journal.PointBeforeSync, nth)
		id, err := c.New(ctx, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		var last client.Head
		for range 4 {
			r, err := c.Prompt(id, "hello").Wait(ctx)
			if err != nil {
				failed++
				continue
			}
			last = client.ReadMeta(r.Meta).Head
		}
		if failed > 1 || last.Number == 0 {
			t.Errorf("batch %d: %d of 4 prompts failed, head %d", nth, failed, last.Number)
		}
		end(t, ctx, c)
		if v, err := journal.Verify(sessionDir(data, id), hash(t, last.Hash)); err != nil || v.Match != last.Number {
			t.Errorf("batch %d: %+v, %v", nth, v, err)
		}
	}
}

// Something is in the way of an artifact's renaming: the prompt is refused, nothing is left, and the same id is taken
// when the way is free.
// spec: D200
func TestRenamingOfAnArtifactFails(t *testing.T) {
	h, err := newHost(t.TempDir(), &clock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := begin(h, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a", 2<<20)
	sum := sha256.Sum256([]byte(text))
	artifacts := filepath.Join(s.Dir(), "artifacts")
	inTheWay := filepath.Join(artifacts, hex.EncodeToString(sum[:]))
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	head, ctx := s.Head(), context.Background()
	var not *journal.NotAppended
	if _, err := s.Do(ctx, "test:big", "user", admission(text)); !errors.As(err, &not) || s.Head() != head {
		t.Fatalf("answered with %v", err)
	}
	if left, _ := os.ReadDir(artifacts); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if o, err := s.Do(ctx, "test:big", "user", admission(text)); err != nil || o.Repeated {
		t.Fatalf("the retry: %+v, %v", o, err)
	}
	if err := idle(s); err != nil {
		t.Fatal(err)
	}
	head = s.Head()
	if err := errors.Join(closed(h), holds(s.Dir(), head)); err != nil {
		t.Fatal(err)
	}
}
