package engine

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"zuno/journal/event"
)

// screen is what an editor shows of a response: the messages of its text, those that were left behind marked.
type screen struct {
	messages []string
	cut      []bool
}

func (s *screen) show(pieces []Shown) {
	for _, p := range pieces {
		for len(s.messages) <= p.Message {
			s.messages, s.cut = append(s.messages, ""), append(s.cut, false)
		}
		if p.Cut {
			s.cut[p.Message-1] = true
		}
		s.messages[p.Message] += p.Text
	}
}

func (s *screen) String() string {
	var b strings.Builder
	for i, m := range s.messages {
		mark := ""
		if s.cut[i] {
			mark = " (cut)"
		}
		fmt.Fprintf(&b, "[%s]%s", m, mark)
	}
	return b.String()
}

// TestFlowOverAttempts: what the next attempt repeats is swallowed; where it differs, or ends before, what was shown is left
// behind and the attempt stands whole. Live, committed, or in any mixture, the screen is the same.
//
// spec: D226 D227
func TestFlowOverAttempts(t *testing.T) {
	for _, c := range []struct {
		attempts []string
		want     string
	}{
		{[]string{"one two three"}, "[one two three]"},
		{[]string{"one tw", "one two three"}, "[one two three]"},
		{[]string{"one tw", "one", "one two three"}, "[one two three]"},
		{[]string{"one two", "one 2 three"}, "[one two] (cut)[one 2 three]"},
		{[]string{"one two three", "one two"}, "[one two three] (cut)[one two]"},
		{[]string{"abc", "xyz", "xyz!"}, "[abc] (cut)[xyz!]"},
		{[]string{"abc", "xyz", "abc"}, "[abc] (cut)[xyz] (cut)[abc]"},
		{[]string{"", "text"}, "[text]"},
	} {
		for step := 1; step <= 4; step++ {
			for mode := range 3 { // live before its commit, committed only, every second piece live
				var f Flow
				var s screen
				for i, text := range c.attempts {
					attempt := uint64(i + 1)
					for at := 0; at < len(text); at += step {
						piece := text[at:min(at+step, len(text))]
						if mode == 0 || mode == 2 && at/step%2 == 0 {
							s.show(f.Live(&Live{Kind: LiveText, Request: "req", Attempt: attempt, Offset: at, Text: piece}))
						}
						s.show(f.Part(&event.ResponsePart{Request: "req", Attempt: attempt, Kind: event.PartText, Text: event.NewText(piece)}))
					}
				}
				s.show(f.Complete())
				if got := s.String(); got != c.want {
					t.Errorf("%q by %d, mode %d: %s, want %s", c.attempts, step, mode, got, c.want)
				}
			}
		}
	}
}

// TestFlowShowsTheLastAttempt: whatever the attempts were, the last message is the text of the one that completed.
//
// spec: D226
func TestFlowShowsTheLastAttempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attempts := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,6}`), 1, 4).Draw(t, "attempts")
		var f Flow
		var s screen
		for i, text := range attempts {
			for at, r := range text {
				s.show(f.Live(&Live{Kind: LiveText, Request: "req", Attempt: uint64(i + 1), Offset: at, Text: string(r)}))
			}
		}
		s.show(f.Complete())
		if got := s.messages[len(s.messages)-1]; got != attempts[len(attempts)-1] {
			t.Fatalf("%q ends with %q: %s", attempts, got, s.String())
		}
	})
}
