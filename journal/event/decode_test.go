package event

import (
	"bytes"
	"testing"

	"zuno/internal/mp"
	"zuno/journal"
)

var fixedTexts = func() *journal.Texts {
	t := journal.NewTexts([]byte("salt of sixteen."))
	for _, s := range []string{"", "first", "second text"} {
		t.Add([]byte(s))
	}
	return t
}()

func bodyOf(t *journal.Texts) func(int) ([]byte, error) {
	return func(i int) ([]byte, error) { return t.Bodies[i], nil }
}

// FuzzDecode reads any bytes as any event: nothing panics, and what is taken means the same when it is written again.
//
// spec: D090 D178
func FuzzDecode(f *testing.F) {
	f.Add(uint16(0), []byte{0x80})
	f.Fuzz(func(t *testing.T, kind uint16, b []byte) {
		typ := Types()[int(kind)%len(Types())]
		p := typ.New()
		if err := Decode(p, b, fixedTexts.Entries, bodyOf(fixedTexts)); err != nil {
			return
		}
		// Without the texts at hand the same bytes are taken, and the facts beside the texts are equal.
		bare := typ.New()
		if err := Decode(bare, b, fixedTexts.Entries, nil); err != nil {
			t.Fatalf("%s is taken only with its texts: %v", typ.Name, err)
		}
		write := func(p Payload) ([]byte, error) {
			texts := journal.NewTexts([]byte("salt of sixteen."))
			for i := range fixedTexts.Entries {
				texts.AddDigest(fixedTexts.Entries[i].Digest, fixedTexts.Bodies[i])
			}
			return NewEncoder().Encode(p, texts)
		}
		once, err := write(p)
		if err != nil {
			// The zero text cannot stand in a list: nothing that this build writes holds one.
			t.Skip()
		}
		if lean, err := write(bare); err != nil || !bytes.Equal(once, lean) {
			t.Fatalf("%s: % x with texts, % x without (%v)", typ.Name, once, lean, err)
		}
		again := typ.New()
		if err := Decode(again, once, fixedTexts.Entries, bodyOf(fixedTexts)); err != nil {
			t.Fatalf("%s: what we wrote cannot be read: %v", typ.Name, err)
		}
		twice, err := write(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s: % x became % x (%v)", typ.Name, once, twice, err)
		}
	})
}

// older is a first version of TurnEnded as some earlier release could have had it.
type older struct {
	Name string
	Note Text
	Fail bool
}

func (o *older) EncodeMsg(e *Encoder) {
	e.Map(3)
	e.String("name")
	e.String(o.Name)
	e.String("note")
	e.Text(o.Note)
	e.String("fail")
	e.Bool(o.Fail)
}

func (o *older) DecodeMsg(r *Reader) {
	for n := r.Map(); n > 0 && r.Err() == nil; n-- {
		switch string(r.Bytes()) {
		case "name":
			o.Name = r.String()
		case "note":
			o.Note = r.Text()
		case "fail":
			o.Fail = r.Bool()
		default:
			r.Skip()
		}
	}
}

// unregister takes the newest type out of the catalogue again.
func unregister(t *testing.T, typ *Type) {
	t.Cleanup(func() {
		types = types[:len(types)-1]
		delete(byName, typ.Name)
	})
}

// An older version is found by its name and raised to the current struct, and its text is still the commit's.
//
// spec: D093
func TestOlderVersionIsRaised(t *testing.T) {
	current := TypeOf(&TurnEnded{})
	typ := Older("session.turn.ended.0", current, func(o *older) Payload {
		e := &TurnEnded{ID: o.Name, State: "completed", Fault: Failure{Reason: o.Note}}
		if o.Fail {
			e.State = "failed"
		}
		return e
	})
	unregister(t, typ)
	if ByName([]byte("session.turn.ended.0")) != typ || typ.Current() != current || current.Current() != current {
		t.Fatal("the older version is not found, or does not lead to the current one")
	}
	texts := journal.NewTexts([]byte("salt of sixteen."))
	b, err := NewEncoder().Encode(&older{"turn_1", NewText("why"), true}, texts)
	if err != nil {
		t.Fatal(err)
	}
	p := typ.New()
	if err := Decode(p, b, texts.Entries, bodyOf(texts)); err != nil {
		t.Fatal(err)
	}
	e, ok := typ.Upcast(p).(*TurnEnded)
	if !ok || e.ID != "turn_1" || e.State != "failed" || e.Fault.Reason.String() != "why" || TypeOf(e) != current {
		t.Errorf("raised to %+v", e)
	}
	same := &TurnEnded{ID: "x"}
	if current.Upcast(same) != Payload(same) {
		t.Error("a current payload is not left as it is")
	}
}

// spec: D073 D093
func TestNamesCarryTheirVersion(t *testing.T) {
	for _, typ := range Types() {
		base, version := SplitVersion(typ.Name)
		least := 1
		if typ.Current() != typ { // version 0 stands for what was recorded before versions were counted
			least = 0
		}
		if version < least || base == typ.Name || base[:8] != "session." {
			t.Errorf("%s: base %q, version %d", typ.Name, base, version)
		}
		if ByName([]byte(typ.Name)) != typ || typ.Current() == typ && TypeOf(typ.New()) != typ {
			t.Errorf("%s is not found again", typ.Name)
		}
	}
	for name, want := range map[string]int{"": 0, "a": 0, "a.": 0, "a.x": 0, "a.1x": 0, "a.12": 12, "a.b.3": 3} {
		if _, v := SplitVersion(name); v != want {
			t.Errorf("%q has version %d, want %d", name, v, want)
		}
	}
	if ByName([]byte("session.turn.started.99")) != nil {
		t.Error("a type of a newer release is known")
	}
}

// A reference beyond the table is an error, and one to a dropped text keeps its digest and size.
//
// spec: D090 D074
func TestTextReferences(t *testing.T) {
	for _, b := range [][]byte{
		{0x81, 0xa5, 't', 'i', 't', 'l', 'e', 0xd4, mp.ExtText, 3},
		{0x81, 0xa5, 't', 'i', 't', 'l', 'e', 0xd5, mp.ExtText, 0xff, 0xff},
		{0x81, 0xa5, 't', 'i', 't', 'l', 'e', 0xd4, mp.ExtText + 1, 0},
		{0x81, 0xa5, 't', 'i', 't', 'l', 'e', 0xa1, 'x'},
	} {
		if err := Decode(&Titled{}, b, fixedTexts.Entries, nil); err == nil {
			t.Errorf("% x was taken", b)
		}
	}
	e := &Titled{}
	err := Decode(e, []byte{0x81, 0xa5, 't', 'i', 't', 'l', 'e', 0xd4, mp.ExtText, 2}, fixedTexts.Entries, func(int) ([]byte, error) { return nil, journal.ErrRedacted })
	if err != nil {
		t.Fatal(err)
	}
	if e.Title.Known() || e.Title.Size != 11 || e.Title.Digest != fixedTexts.Entries[2].Digest || e.Title.String() != "[redacted: 11 bytes]" {
		t.Errorf("a dropped text reads as %+v %q", e.Title, e.Title)
	}
}

// The empty text is a text: it differs from none, also after it was written.
//
// spec: D074
func TestEmptyTextIsNotNone(t *testing.T) {
	texts := journal.NewTexts([]byte("salt of sixteen."))
	b, err := NewEncoder().Encode(&Titled{Title: NewText("")}, texts)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []func(int) ([]byte, error){nil, bodyOf(texts)} {
		e := &Titled{}
		if err := Decode(e, b, texts.Entries, body); err != nil || e.Title.IsZero() {
			t.Errorf("the empty text came back as none (%v)", err)
		}
	}
	if !OptionalText("").IsZero() || OptionalText("x").IsZero() {
		t.Error("OptionalText")
	}
}

// One commit's event and command share a text, and equal texts are kept once.
//
// spec: D074
func TestEqualTextsShareOnePlace(t *testing.T) {
	texts := journal.NewTexts([]byte("salt of sixteen."))
	e := NewEncoder()
	one, err := e.Encode(&Titled{Title: NewText("the same")}, texts)
	if err != nil {
		t.Fatal(err)
	}
	two, err := e.Encode(&Titled{Title: Text{Digest: texts.Entries[0].Digest, Size: 8}}, texts)
	if err != nil || len(texts.Entries) != 1 || !bytes.Equal(one, two) {
		t.Errorf("%d texts, % x and % x (%v)", len(texts.Entries), one, two, err)
	}
	if _, err := e.Encode(&Titled{Title: Text{Digest: journal.Hash{1}, Size: 8}}, texts); err == nil {
		t.Error("a text that the commit does not hold was taken")
	}
	if _, err := e.Encode(&Titled{Title: NewText("x")}, nil); err == nil {
		t.Error("a text without a table was taken")
	}
}
