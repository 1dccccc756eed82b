package engine

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"zuno/internal/model"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// texts are the recorded parts of a kind, joined by "|".
func partTexts(x *session) string {
	var out []string
	for _, p := range all[*event.ResponsePart](x.history()) {
		out = append(out, p.Text.String())
	}
	return strings.Join(out, "|")
}

// Parts are committed after a second or 4 KiB, cut at the last line end where there is one; the completion holds a digest
// over them and no text.
//
// spec: D054 D055 D069
func TestPartsAndTheirDigest(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	say := func(text string) {
		t.Helper()
		if err := st.text(text); err != nil {
			t.Fatal(err)
		}
	}
	say("one\ntwo\nthr")
	x.clock.advance(999 * time.Millisecond)
	if got := partTexts(x); got != "" {
		t.Fatalf("after 999 ms: %q", got)
	}
	x.clock.advance(time.Millisecond)
	if got := partTexts(x); got != "one\ntwo\n" {
		t.Fatalf("after a second: %q", got)
	}
	x.clock.advance(900 * time.Millisecond)
	// 900 ms later the rest fills up to 4 KiB; what is left then begins its own second.
	say("ee\n" + strings.Repeat("x", commitSize-7) + "\nrest")
	want := "one\ntwo\n|three\n" + strings.Repeat("x", commitSize-7) + "\n"
	if got := partTexts(x); got != want {
		t.Fatalf("after 4 KiB: %.60q", got)
	}
	x.clock.advance(999 * time.Millisecond)
	if got := partTexts(x); got != want {
		t.Fatalf("a timer of text that is gone took the rest: %q", got[len(want):])
	}
	x.clock.advance(time.Millisecond)
	if got := partTexts(x); got != want+"|rest" {
		t.Fatalf("after its second the rest is %q", got[len(want):])
	}
	say(strings.Repeat("ä", commitSize/2+1)) // no line end: cut between characters
	say(" end")
	st.finish()
	x.idle()
	h := x.history()
	var digests []byte
	var joined strings.Builder
	for _, p := range all[*event.ResponsePart](h) {
		digest := x.textDigest(p.Text.String())
		digests = append(digests, digest[:]...)
		joined.WriteString(p.Text.String())
		if !utf8.ValidString(p.Text.String()) || p.Text.Size > commitSize {
			t.Errorf("a part of %d bytes, valid %v", p.Text.Size, utf8.ValidString(p.Text.String()))
		}
	}
	done := all[*event.ResponseCompleted](h)
	if sum := journal.Hash(sha256.Sum256(digests)); len(done) != 1 || done[0].Parts != sum {
		t.Errorf("digest %s, recomputed %s", done[0].Parts, sum)
	}
	if want := "one\ntwo\nthree\n" + strings.Repeat("x", commitSize-7) + "\nrest" + strings.Repeat("ä", commitSize/2+1) + " end"; joined.String() != want {
		t.Errorf("the parts join to %d bytes, want %d", joined.Len(), len(want))
	}
}

// Two thousand words over two seconds are shown in at most 130 pieces that join to the whole, each character whole.
//
// spec: D053 D045
func TestLiveTextIsCoalesced(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	var want strings.Builder
	for i := range 2000 {
		word := fmt.Sprintf("wörd%d ", i)
		half := len(word) / 2
		if i%3 == 0 {
			half = 2 // in the middle of ö
		}
		for _, piece := range []string{word[:half], word[half:]} {
			if err := st.text(piece); err != nil {
				t.Fatal(err)
			}
		}
		want.WriteString(word)
		x.clock.advance(time.Millisecond)
	}
	st.finish()
	x.idle()
	x.obs.mu.Lock()
	defer x.obs.mu.Unlock()
	var shown strings.Builder
	n := 0
	for _, l := range x.obs.live {
		if l.Kind != LiveText {
			t.Fatalf("live %+v", l)
		}
		if l.Offset != shown.Len() || !utf8.ValidString(l.Text) {
			t.Fatalf("piece %d at %d after %d bytes, valid %v", n, l.Offset, shown.Len(), utf8.ValidString(l.Text))
		}
		shown.WriteString(l.Text)
		n++
	}
	if shown.String() != want.String() {
		t.Errorf("shown are %d bytes of %d", shown.Len(), want.Len())
	}
	if n > 130 || n < 60 {
		t.Errorf("%d pieces", n)
	}
}

// Text is shown before it is durable and never after; the first piece at once, and what is held back within a sixtieth
// of a second.
//
// spec: D045 D053
func TestTextIsShownBeforeItIsDurable(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	pieces := func() (out []string) {
		x.obs.mu.Lock()
		defer x.obs.mu.Unlock()
		for _, l := range x.obs.live {
			out = append(out, l.Text)
		}
		return out
	}
	_ = st.text("now")
	if got := pieces(); !slices.Equal(got, []string{"now"}) {
		t.Fatalf("shown %q", got)
	}
	_ = st.text(" and")
	_ = st.text(" then")
	if got := pieces(); !slices.Equal(got, []string{"now"}) {
		t.Fatalf("shown %q", got)
	}
	x.clock.advance(17 * time.Millisecond)
	if got := pieces(); !slices.Equal(got, []string{"now", " and then"}) {
		t.Fatalf("shown %q", got)
	}
	x.clock.advance(time.Second)
	_ = st.text("last")
	st.finish()
	x.idle()
	x.obs.mu.Lock()
	defer x.obs.mu.Unlock()
	recorded := 0
	for i, l := range x.obs.live {
		shown := l.Offset + len(l.Text)
		recorded = 0
		for _, c := range x.obs.seen[:x.obs.mark[i]] {
			for j := range c.Events {
				if p, ok := c.Events[j].Payload.(*event.ResponsePart); ok {
					recorded += int(p.Text.Size)
				}
			}
		}
		if recorded > l.Offset {
			t.Errorf("%d bytes were durable when %d to %d were shown", recorded, l.Offset, shown)
		}
	}
}

// Reasoning and text are parts of their own kind, each with its own place, and the order stays.
//
// spec: D054
func TestKindsAreKeptApart(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	for i := range 3 {
		_ = st.emit(model.Chunk{Kind: model.ChunkReasoning, Text: fmt.Sprintf("r%d", i)})
		_ = st.text(fmt.Sprintf("t%d", i))
	}
	st.finish()
	x.idle()
	if got := partTexts(x); got != "r0|t0|r1|t1|r2|t2" {
		t.Errorf("parts %q", got)
	}
	at := map[LiveKind]int{}
	for _, l := range x.obs.live {
		if l.Offset != at[l.Kind] {
			t.Errorf("%+v, want offset %d", l, at[l.Kind])
		}
		at[l.Kind] += len(l.Text)
	}
	if at[LiveText] != 6 || at[LiveReasoning] != 6 {
		t.Errorf("shown %v", at)
	}
}

// A card's id is known as soon as its name is: it is that of the call, differs between requests whatever id the provider
// gives, and a cut closes it.
//
// spec: D058 D059 D057
func TestCardsAndCuts(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	_ = st.emit(model.Chunk{Kind: model.ChunkCall, Index: 0, CallID: "1", Tool: "never"})
	st.finish(tool("never", "1"))
	x.ran().finish("one")
	st = x.asked()
	_ = st.emit(model.Chunk{Kind: model.ChunkCall, Index: 0, CallID: "1", Tool: "never"})
	st.finish(tool("never", "1"))
	x.ran().finish("two")
	st = x.asked()
	_ = st.text("words that are cut")
	x.clock.advance(time.Second)
	_ = st.emit(model.Chunk{Kind: model.ChunkCall, Index: 0, CallID: "1", Tool: "never"})
	st.fail(&model.Cut{Reason: "broken"})
	x.idle()
	var cards []string
	for _, l := range x.obs.live {
		if l.Kind == LiveCall {
			cards = append(cards, l.Call)
		}
	}
	h := x.history()
	var calls []string
	for _, c := range all[*event.CallRequested](h) {
		calls = append(calls, c.ID)
		if c.Provider != "1" {
			t.Errorf("the provider's id is kept as %q", c.Provider)
		}
	}
	cut := all[*event.ResponseCut](h)
	if len(cut) != 1 || len(cut[0].Calls) != 1 {
		t.Fatalf("cut %+v", cut)
	}
	if want := append(calls, cut[0].Calls[0].ID); !slices.Equal(cards, want) || len(calls) != 2 || cards[0] == cards[1] || cards[1] == cards[2] {
		t.Errorf("cards %v, calls %v", cards, want)
	}
	if cut[0].Reason != event.CutStream || !slices.Equal(x.receipts(), []string{"failed"}) {
		t.Errorf("cut %+v, receipts %v", cut[0], x.receipts())
	}
	// What was cut is no part of the model's history.
	x.prompt("again")
	st = x.asked()
	for _, m := range st.request.Messages {
		for _, p := range m.Parts {
			if strings.Contains(p.Text, "cut") {
				t.Errorf("the model is told %q", p.Text)
			}
		}
	}
	st.finish()
	x.idle()
}

// Policy, sections and catalogue are recorded once, and again when they have changed: only what did.
//
// spec: D031 D032
func TestPolicyAndContextAreRecordedOncePerChange(t *testing.T) {
	b := newBench(t)
	x := b.session()
	turn := func(x *session) {
		x.prompt("go")
		b.asked().finish()
		x.idle()
	}
	count := func(x *session) (policies, sections, catalogues int) {
		h := x.history()
		return len(all[*event.PolicyResolved](h)), len(all[*event.SectionResolved](h)), len(all[*event.CatalogueResolved](h))
	}
	want := func(x *session, p, s, c int) {
		t.Helper()
		if gp, gs, gc := count(x); gp != p || gs != s || gc != c {
			t.Errorf("%d policies, %d sections, %d catalogues; want %d, %d, %d", gp, gs, gc, p, s, c)
		}
	}
	want(x, 1, 0, 0)
	for range 3 {
		turn(x)
	}
	want(x, 1, 1, 1)
	x = x.reopen()
	turn(x)
	want(x, 1, 1, 1)
	set := *b.set
	set.Policy.Mode = event.ModeStrict
	set.Sections = append([]event.SectionResolved{{ID: "new", Text: event.NewText("New.")}}, set.Sections...)
	b.set = &set
	x = x.reopen()
	want(x, 2, 1, 1)
	turn(x)
	want(x, 2, 2, 1)
	b.registry = b.tools(" Changed.")
	b.rebuild()
	x = x.reopen()
	turn(x)
	want(x, 2, 2, 2)
	x.view(func(v *projections.View) {
		if v.Policy.Mode != event.ModeStrict || len(v.Sections) != 2 || len(v.Catalogue) != 4 {
			t.Errorf("the view has mode %s, %d sections, %d tools", v.Policy.Mode, len(v.Sections), len(v.Catalogue))
		}
	})
}

// What an answer has shown stands before a message that is sent then, although it was not due yet: a load draws both in the order
// in which the editor had them. Both are one transaction.
//
// spec: D271 D274
func TestWhatWasShownComesBeforeTheNextMessage(t *testing.T) {
	x := newBench(t).session()
	x.prompt("go")
	st := x.asked()
	if err := st.text("shown "); err != nil {
		t.Fatal(err)
	}
	x.prompt("and more")
	if err := st.text("later"); err != nil {
		t.Fatal(err)
	}
	st.finish()
	x.asked().finish()
	x.idle()
	var order []string
	for _, p := range x.history() {
		switch e := p.(type) {
		case *event.InputAdmitted:
			order = append(order, "message")
		case *event.ResponsePart:
			order = append(order, e.Text.String())
		case *event.ResponseCut:
			t.Errorf("cut: %+v", e)
		}
	}
	if want := []string{"message", "shown ", "message", "later"}; !slices.Equal(order, want) {
		t.Errorf("recorded as %q, want %q", order, want)
	}
}
