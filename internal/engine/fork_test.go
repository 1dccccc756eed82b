package engine

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"zuno/internal/model"
	"zuno/internal/prompt"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// folded is what a log says up to a commit: its view, the model's conversation, and the events.
func folded(t *testing.T, log journal.Log, until uint64) (*projections.View, []model.Message, []event.Payload) {
	t.Helper()
	f, h := projections.NewFolder(projections.Options{Keep: true}), prompt.NewHistory()
	var events []event.Payload
	err := log.Scan(1, func(c *journal.Raw) error {
		if c.Number > until {
			return nil
		}
		d, err := Decode(c)
		if err != nil {
			return err
		}
		for i := range d.Events {
			h.Apply(d.Events[i].Payload)
			events = append(events, d.Events[i].Payload)
		}
		return f.Commit(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	return f.View, h.Messages, events
}

func opened(t *testing.T, dir string) *journal.File {
	t.Helper()
	f, err := journal.OpenRead(dir, func(*journal.Raw) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A fork at every commit of a history with questions, denials, cuts, failures and a stop in it: nothing is in flight, no
// policy and no grant is taken over, the model's conversation is that of the source, and so is the work.
//
// spec: D196
func TestForkAtEveryCommit(t *testing.T) {
	b := newBench(t)
	x := b.session()
	asker := newAsker()
	x.SetAsker(asker)
	x.prompt("one")
	x.asked().finish(tool("safe", "1"), tool("never", "2"))
	x.ran().finish("first")
	x.ran().finish("second")
	x.asked().finish()
	x.idle()
	x.prompt("two")
	x.asked().finish(tool("asks", "3"))
	asker.asked(t)
	asker.answers <- event.VerdictReject
	x.asked().finish(tool("never", "4"))
	x.ran().finish("fourth")
	half := x.asked()
	if err := half.text("half an answer"); err != nil {
		t.Fatal(err)
	}
	half.fail(&model.Cut{Reason: "broke off"})
	x.idle()
	x.prompt("three")
	x.asked().finish(tool("never", "5"))
	x.ran().finish("fifth")
	x.asked().finish()
	x.idle()
	head := x.Head()
	source := x.mem
	_, before, _ := folded(t, source, head.Number)
	for at := uint64(1); at <= head.Number; at++ {
		f, err := b.h.Fork(source, at, t.TempDir())
		if err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		log := opened(t, sessionFolder(b, f.Session))
		v, messages, events := folded(t, log, log.Head().Number)
		from, want, _ := folded(t, source, at)
		var hash journal.Hash
		_ = source.Read(at, func(c *journal.Raw) error { hash = c.Hash; return nil })
		if log.Parent() != hash || f.Source.Hash != hash || f.Source.Commit != at || f.Head != log.Head() || v.ID != f.Session || f.Session == x.ID {
			t.Errorf("at %d: forked from %v: %+v", at, log.Parent(), f)
		}
		if v.Corrupt != nil || v.Root.Turns.Active != nil || len(v.Root.Calls.Open)+len(v.Root.Inputs.Open)+len(v.Root.Permissions.Pending) > 0 || len(Next(v)) > 0 {
			t.Errorf("at %d: something is in flight: %v", at, v.Corrupt)
		}
		if v.PolicySet || len(v.Sections)+len(v.Catalogue)+len(v.Root.Permissions.All) > 0 || v.Root.Controls.Count > 0 {
			t.Errorf("at %d: policy, context or questions were taken over", at)
		}
		for _, e := range events {
			if c, ok := e.(*event.CallRequested); ok && (c.Permission != "" || !c.Rule.IsZero()) {
				t.Errorf("at %d: call %s is %q by %q", at, c.ID, c.Permission, c.Rule)
			}
		}
		if from.Root.Turns.Active == nil && !reflect.DeepEqual(messages, want) {
			t.Errorf("at %d: the model's conversation is\n%+v\ninstead of\n%+v", at, messages, want)
		}
		if n := len(want); n > 0 && !reflect.DeepEqual(messages[:n-1], want[:n-1]) || len(messages) < n {
			t.Errorf("at %d: the conversation begins otherwise", at)
		}
		if len(v.Root.Files.Seen) != len(from.Root.Files.Seen) || v.Root.Script.Position != from.Root.Script.Position && from.Root.Turns.Active == nil {
			t.Errorf("at %d: files or script differ", at)
		}
	}
	if _, after, _ := folded(t, source, x.Head().Number); x.Head() != head || !reflect.DeepEqual(before, after) {
		t.Error("the source was changed")
	}
}

// A fork of a long session takes several commits, and all of it or nothing is there.
//
// spec: D196
func TestForkOfALongSession(t *testing.T) {
	b := newBench(t)
	x := b.session()
	for range 3 * forkPiece / 6 {
		x.prompt(strings.Repeat("long ", 20))
		x.asked().finish()
		x.idle()
	}
	f, err := b.h.Fork(x.mem, 0, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log := opened(t, sessionFolder(b, f.Session))
	_, want, _ := folded(t, x.mem, x.Head().Number)
	_, got, _ := folded(t, log, log.Head().Number)
	if log.Head().Number < 4 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d commits, %d messages instead of %d", log.Head().Number, len(got), len(want))
	}
	// It goes on, and what it derives is new.
	s, err := b.h.Open(t.Context(), f.Session)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.h.Close(t.Context(), f.Session, "close"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.h.Fork(x.mem, x.Head().Number+1, t.TempDir()); !errors.Is(err, journal.ErrNoCommit) {
		t.Errorf("beyond the head: %v", err)
	}
	var no *NoFolder
	if _, err := b.h.Fork(x.mem, 0, "/no/such/folder"); !errors.As(err, &no) {
		t.Errorf("without a folder: %v", err)
	}
}

func sessionFolder(b *bench, id string) string { return b.h.SessionsDir() + "/" + id }
