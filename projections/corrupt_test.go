package projections_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

var ids = []string{"", "a", "b", "c"}

// words that states, triggers and outcomes are made of, and one that is none.
var someWords = []string{"completed", "failed", "cancelled", "running", "ok", "error", "uncertain", "begin", "complete", "pause", "wait_human", "resume", "cancel", "interrupted", "text", "allow", "nonsense"}

// draw fills v with values out of so small a set that events meet each other.
func draw(t *rapid.T, v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[event.Text]():
		v.Set(reflect.ValueOf(event.NewText(rapid.SampledFrom(ids).Draw(t, "text"))))
		return
	case reflect.TypeFor[journal.Hash]():
		return
	}
	switch v.Kind() {
	case reflect.String:
		set := ids
		if v.Type() != reflect.TypeFor[string]() || rapid.IntRange(0, 2).Draw(t, "word") == 0 {
			set = someWords
		}
		v.SetString(rapid.SampledFrom(set).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64Range(0, 2).Draw(t, "number"))
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			draw(t, v.Index(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	}
}

func commit(t interface{ Fatal(...any) }, number uint64, events ...event.Payload) *journal.Commit {
	c := &journal.Commit{Number: number, At: int64(number), Texts: journal.NewTexts([]byte("salt of sixteen."))}
	for _, e := range events {
		b, err := event.NewEncoder().Encode(e, c.Texts)
		if err != nil {
			t.Fatal(err)
		}
		c.Events = append(c.Events, journal.Event{Stream: 1, Type: event.TypeOf(e).Name, Payload: b})
	}
	return c
}

// Any events in any order fold without a panic. From the first that could not have happened on, the view is corrupt at
// that place, and stays so.
//
// spec: D065
func TestRandomEventsNeverPanic(t *testing.T) {
	corrupted := 0
	rapid.Check(t, func(t *rapid.T) {
		lean, keep := projections.NewFolder(projections.Options{}), projections.NewFolder(projections.Options{Keep: true})
		var first *projections.Corruption
		for n := range rapid.IntRange(1, 40).Draw(t, "commits") {
			typ := rapid.SampledFrom(current()).Draw(t, "type")
			p := typ.New()
			draw(t, reflect.ValueOf(p).Elem())
			c := commit(t, uint64(n+1), p)
			c.Events[0].Stream = rapid.SampledFrom([]uint64{1, 1, 1, 1, 2, 3, 0, 9}).Draw(t, "stream")
			for _, f := range []*projections.Folder{lean, keep} {
				if err := f.Apply(c); err != nil {
					t.Fatalf("%s: %v", typ.Name, err)
				}
			}
			if a, b := lean.View.Corrupt, keep.View.Corrupt; !reflect.DeepEqual(a, b) {
				t.Fatalf("lean is %v, keep is %v", a, b)
			}
			got := lean.View.Corrupt
			if first == nil && got != nil {
				if first = got; first.Commit != uint64(n+1) || first.Why == "" {
					t.Fatalf("corrupt at %+v after commit %d", first, n+1)
				}
				corrupted++
			}
			if first != nil && got != first {
				t.Fatalf("the corruption %v was replaced by %v", first, got)
			}
		}
		for _, f := range []*projections.Folder{lean, keep} {
			if _, err := json.Marshal(f.View); err != nil {
				t.Fatal(err)
			}
		}
	})
	if corrupted == 0 {
		t.Error("no history was impossible: this test shows nothing")
	}
}

// One forged journal per machine: a history that is possible, then a step that is not.
//
// spec: D065
func TestImpossibleStepMarksTheViewCorrupt(t *testing.T) {
	admitted := &event.InputAdmitted{ID: "in"}
	recorded := &event.InputDeliveryBatch{Inputs: []string{"in"}}
	begun := &event.ExecutionChanged{Trigger: "begin", Cycle: "c"}
	turn := &event.TurnStarted{ID: "t"}
	request := &event.RequestStarted{ID: "r", Turn: "t", Number: 1, Attempt: 1}
	applied := &event.InputApplied{Input: "in", Turn: "t", Request: "r"}
	response := &event.ResponseCompleted{Request: "r", Attempt: 1, Calls: 1, Parts: projections.PartsDigest(nil)}
	call := &event.CallRequested{ID: "k", Turn: "t", Request: "r", Attempt: 1, Position: 1, Permission: event.Ask}
	asked := &event.PermissionAsked{ID: "p", Call: "k"}
	allowed := &event.PermissionAnswered{ID: "p", Call: "k", Verdict: event.VerdictAllow}
	start := &event.CallStarted{ID: "k", Attempt: 1}
	settled := &event.CallSettled{ID: "k", Attempt: 1, Outcome: event.OutcomeOK}
	ended := &event.TurnEnded{ID: "t", State: "completed"}
	inTurn := []event.Payload{admitted, begun, turn, recorded, request, applied}
	calling := append(inTurn[:len(inTurn):len(inTurn)], response, call)
	for name, c := range map[string]struct {
		possible []event.Payload
		then     event.Payload
	}{
		"input: applied before it is recorded":    {[]event.Payload{admitted, begun, turn}, applied},
		"input: admitted twice":                   {[]event.Payload{admitted}, admitted},
		"input: recorded twice":                   {[]event.Payload{admitted, recorded}, recorded},
		"input: applied twice":                    {inTurn, applied},
		"input: applied to a turn that is none":   {[]event.Payload{admitted, recorded}, applied},
		"input: settled as something else":        {inTurn, &event.InputSettled{Input: "in", State: "apply"}},
		"input: completed before it is applied":   {[]event.Payload{admitted}, &event.InputSettled{Input: "in", State: "completed"}},
		"input: a second receipt":                 {append(inTurn[:len(inTurn):len(inTurn)], &event.InputSettled{Input: "in", State: "failed"}), &event.InputSettled{Input: "in", State: "failed"}},
		"turn: begun beside another":              {inTurn, &event.TurnStarted{ID: "u"}},
		"turn: ended with an open request":        {inTurn, ended},
		"turn: ended with an open call":           {calling, ended},
		"turn: ended as something else":           {calling[:len(calling)-1], &event.TurnEnded{ID: "t", State: "running"}},
		"turn: another one ended":                 {calling[:len(calling)-1], &event.TurnEnded{ID: "u", State: "completed"}},
		"turn: cancelled, and none runs":          {nil, &event.ControlRequested{ID: "x", Kind: "cancel", Turn: "t"}},
		"request: begun beside another":           {inTurn, &event.RequestStarted{ID: "s", Turn: "t", Number: 2, Attempt: 1}},
		"request: a part of another attempt":      {inTurn, &event.ResponsePart{Request: "r", Attempt: 2}},
		"request: completed with a wrong digest":  {inTurn, &event.ResponseCompleted{Request: "r", Attempt: 1, Parts: journal.Hash{1}}},
		"request: cut after it was completed":     {calling, &event.ResponseCut{Request: "r", Attempt: 1}},
		"call: in a turn that is none":            {nil, call},
		"call: before its response is complete":   {inTurn, call},
		"call: of another request":                {calling[:len(calling)-1], &event.CallRequested{ID: "k", Turn: "t", Request: "other", Attempt: 1}},
		"call: requested twice":                   {calling, call},
		"call: settled before it is started":      {calling, settled},
		"call: abandoned and never asked":         {calling, &event.CallAbandoned{ID: "k"}},
		"call: asked twice":                       {append(calling[:len(calling):len(calling)], asked), &event.PermissionAsked{ID: "q", Call: "k"}},
		"call: started twice":                     {append(calling[:len(calling):len(calling)], asked, allowed, start), start},
		"call: blocked after it is started":       {append(calling[:len(calling):len(calling)], asked, allowed, start), &event.CallBlocked{ID: "k"}},
		"call: settled for another attempt":       {append(calling[:len(calling):len(calling)], asked, allowed, start), &event.CallSettled{ID: "k", Attempt: 2, Outcome: "ok"}},
		"call: settled as something else":         {append(calling[:len(calling):len(calling)], asked, allowed, start), &event.CallSettled{ID: "k", Attempt: 1, Outcome: "block"}},
		"call: settled twice":                     {append(calling[:len(calling):len(calling)], asked, allowed, start, settled), settled},
		"permission: answered, and nothing asked": {calling, allowed},
		"permission: answered for another call":   {append(calling[:len(calling):len(calling)], asked), &event.PermissionAnswered{ID: "p", Call: "other", Verdict: event.VerdictAllow}},
		"permission: its call blocked without it": {append(calling[:len(calling):len(calling)], asked), &event.CallBlocked{ID: "k"}},
		"permission: stopped while it is asked":   {append(calling[:len(calling):len(calling)], asked), &event.CallAbandoned{ID: "k", Reason: event.BlockCancelled}},
		"permission: granted and not on offer":    {append(calling[:len(calling):len(calling)], asked), &event.PermissionAnswered{ID: "p", Call: "k", Verdict: event.VerdictAllow, Session: true}},
		"execution: resumed and never paused":     {nil, &event.ExecutionChanged{Trigger: "resume"}},
		"execution: completed twice":              {[]event.Payload{&event.ExecutionChanged{Trigger: "complete"}}, &event.ExecutionChanged{Trigger: "complete"}},
		"session: created twice":                  {[]event.Payload{&event.Created{Session: "s"}}, &event.Created{Session: "s"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := projections.NewFolder(projections.Options{})
			for i, e := range c.possible {
				if err := f.Apply(commit(t, uint64(i+1), e)); err != nil {
					t.Fatal(err)
				}
				if f.View.Corrupt != nil {
					t.Fatalf("the possible part is corrupt at %T: %v", e, f.View.Corrupt)
				}
			}
			n := uint64(len(c.possible) + 1)
			// Beside an event that is possible at any time, so that its place within the commit counts.
			if err := f.Apply(commit(t, n, &event.NoticeRaised{ID: "n"}, c.then)); err != nil {
				t.Fatal(err)
			}
			if bad := f.View.Corrupt; bad == nil || bad.Commit != n || bad.Event != 1 {
				t.Errorf("corrupt at %+v, want commit %d event 1", bad, n)
			}
			if err := f.Apply(commit(t, n+1, &event.NoticeRaised{ID: "n"})); err != nil || f.View.Corrupt == nil || f.View.Corrupt.Commit != n {
				t.Errorf("one commit later it is corrupt at %+v (%v)", f.View.Corrupt, err)
			}
		})
	}
}

// A payload that cannot be read, and a type of a newer release, are errors and no corruption.
//
// spec: D065 D094
func TestUnreadableEventsAreErrors(t *testing.T) {
	f := projections.NewFolder(projections.Options{})
	for _, typ := range current() {
		c := commit(t, 1)
		c.Events = []journal.Event{{Stream: 1, Type: typ.Name, Payload: []byte{0x81, 0xc1}}}
		if err := f.Apply(c); err == nil || f.View.Corrupt != nil {
			t.Errorf("%s: %v, corrupt %v", typ.Name, err, f.View.Corrupt)
		}
	}
	c := commit(t, 1)
	c.Events = []journal.Event{{Stream: 1, Type: "session.turn.started.7", Payload: []byte{0x80}}}
	err := f.Apply(c)
	if !errors.Is(err, projections.ErrUnknownEvent) || f.View.Corrupt != nil {
		t.Errorf("a newer type: %v, corrupt %v", err, f.View.Corrupt)
	}
	if want := `"session.turn.started.7"`; err != nil && !contains(err.Error(), want) {
		t.Errorf("%v does not name the version", err)
	}
}

func contains(s, sub string) bool {
	for i := range s {
		if len(s) >= i+len(sub) && s[i:i+len(sub)] == sub {
			return true
		}
	}
	return false
}

// The transcript holds places, not texts: a view of long texts is as big as one of short ones.
//
// spec: D069
func TestViewIsIndependentOfTextSize(t *testing.T) {
	size := func(n int) int {
		f := projections.NewFolder(projections.Options{Keep: true})
		long := event.NewText(string(make([]byte, n)))
		c := commit(t, 1, &event.InputAdmitted{ID: "in", Blocks: []event.Block{{Type: event.BlockText, Text: long}}}, &event.ExecutionChanged{Trigger: "begin"},
			&event.TurnStarted{ID: "t"}, &event.InputDeliveryBatch{Inputs: []string{"in"}}, &event.RequestStarted{ID: "r", Turn: "t", Number: 1, Attempt: 1},
			&event.ResponsePart{Request: "r", Attempt: 1, Kind: event.PartText, Text: long})
		if err := f.Apply(c); err != nil || f.View.Corrupt != nil {
			t.Fatal(err, f.View.Corrupt)
		}
		if f.View.Root.Transcript.Len() != 2 {
			t.Fatalf("%d entries", f.View.Root.Transcript.Len())
		}
		b, err := json.Marshal(f.View)
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}
	if small, big := size(1<<10), size(1<<20); big-small > 16 {
		t.Errorf("%d bytes with short texts, %d with long ones", small, big)
	}
}

// A cut or failed attempt leaves nothing in the transcript, and what came before it stays, over the borders of blocks.
//
// spec: D057 D069
func TestTranscriptTakesBackWhatWasCut(t *testing.T) {
	f := projections.NewFolder(projections.Options{})
	n := uint64(0)
	apply := func(events ...event.Payload) {
		t.Helper()
		n++
		if err := f.Apply(commit(t, n, events...)); err != nil || f.View.Corrupt != nil {
			t.Fatal(err, f.View.Corrupt)
		}
	}
	part := func(r string) event.Payload {
		return &event.ResponsePart{Request: r, Attempt: 1, Kind: event.PartText, Text: event.NewText("x")}
	}
	apply(&event.TurnStarted{ID: "t"})
	want := 0
	for i := range 6 {
		r := fmt.Sprintf("r%d", i)
		apply(&event.RequestStarted{ID: r, Turn: "t", Number: uint64(i + 1), Attempt: 1})
		for range 700 {
			apply(part(r))
		}
		var before []projections.Entry
		for j := range want {
			before = append(before, f.View.Root.Transcript.At(j))
		}
		switch i % 3 {
		case 0:
			sum := projections.PartsDigest(f.View.Root.Turns.Active.Request.Digests)
			apply(&event.ResponseCompleted{Request: r, Attempt: 1, Parts: sum})
			want += 700
		case 1:
			apply(&event.ResponseCut{Request: r, Attempt: 1, Reason: event.CutStream})
		case 2:
			apply(&event.RequestFailed{Request: r, Attempt: 1})
		}
		tr := &f.View.Root.Transcript
		if tr.Len() != want {
			t.Fatalf("after %s: %d entries, want %d", r, tr.Len(), want)
		}
		for j, e := range before {
			if tr.At(j) != e {
				t.Fatalf("after %s: entry %d changed", r, j)
			}
		}
	}
}
