package projections_test

import (
	"bytes"
	"testing"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// firstTurnEnded is an older version of event.TurnEnded, as some earlier release could have had it.
type firstTurnEnded struct {
	Turn string
	Note event.Text
}

func (x *firstTurnEnded) EncodeMsg(e *event.Encoder) {
	e.Map(2)
	e.String("turn")
	e.String(x.Turn)
	e.String("note")
	e.Text(x.Note)
}

func (x *firstTurnEnded) DecodeMsg(r *event.Reader) {
	for n := r.Map(); n > 0 && r.Err() == nil; n-- {
		switch string(r.Bytes()) {
		case "turn":
			x.Turn = r.String()
		case "note":
			x.Note = r.Text()
		default:
			r.Skip()
		}
	}
}

var older = event.Older("session.turn.ended.0", event.TypeOf(&event.TurnEnded{}), func(x *firstTurnEnded) event.Payload {
	return &event.TurnEnded{ID: x.Turn, State: "failed", Fault: event.Failure{Code: "old", Reason: x.Note}}
})

// current is the catalogue without older versions.
func current() (types []*event.Type) {
	for _, t := range event.Types() {
		if t.Current() == t {
			types = append(types, t)
		}
	}
	return types
}

// A record with an older version folds as its current one, live and from the log, with its text; the record stays as it
// was written.
//
// spec: D093
func TestOlderEventFoldsAsItsCurrentVersion(t *testing.T) {
	log := &journal.Memory{}
	salt := []byte("salt of sixteen.")
	texts := journal.NewTexts(salt)
	texts.Add(salt)
	encode := func(p event.Payload) []byte {
		b, err := event.NewEncoder().Encode(p, texts)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	old := encode(&firstTurnEnded{"t", event.NewText("why it failed")})
	c := &journal.Commit{Number: 1, At: 1, Texts: texts, Command: journal.Command{ID: "x", Type: "test", Version: 1, Payload: []byte{0x80}}, Events: []journal.Event{
		{Stream: 1, Type: "session.turn.started.1", Payload: encode(&event.TurnStarted{ID: "t"})},
		{Stream: 1, Type: older.Name, Payload: old},
	}}
	live := projections.NewFolder(projections.Options{Keep: true})
	if err := live.Apply(c); err != nil {
		t.Fatal(err)
	}
	if err := log.Append([]*journal.Commit{c}); err != nil {
		t.Fatal(err)
	}
	replayed := projections.NewFolder(projections.Options{Keep: true})
	err := log.Scan(1, func(r *journal.Raw) error {
		if !bytes.Equal(r.Events[1].Payload, old) || string(r.Events[1].Type) != older.Name {
			t.Error("the record is not what was written")
		}
		return replayed.Commit(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*projections.Folder{live, replayed} {
		turn := f.View.Root.Turns.All[0]
		want := texts.Digest([]byte("why it failed"))
		if f.View.Corrupt != nil || f.View.Root.Turns.Active != nil || !turn.State.Is("failed") || turn.Fault.Code != "old" || turn.Fault.Reason.Digest != want || turn.Fault.Reason.Size != 13 {
			t.Errorf("folded to %+v (corrupt %v)", turn, f.View.Corrupt)
		}
	}
}
