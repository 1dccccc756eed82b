package search

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// However a line is made, what is shown of it fits, is text, and begins with the match where the match does not fit.
//
// spec: T214 D233
func TestCut(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "é", "漢", "😀", "\xff", "\\", "\""})
		part := func(name string) []byte {
			return []byte(strings.Repeat(piece.Draw(r, name), rapid.IntRange(0, 60).Draw(r, name+" length")))
		}
		before, match, after := part("before"), part("match"), part("after")
		l := line{text: joined(before, match, after), start: len(before), end: len(before) + len(match)}
		most := rapid.IntRange(4, 80).Draw(r, "most")
		shown := l.cut(most)
		n := len(utf16.Encode([]rune(shown)))
		if n > most || !utf8.ValidString(shown) {
			r.Fatalf("%d units of %d: %q", n, most, shown)
		}
		whole := valid(l.text)
		if len(utf16.Encode([]rune(whole))) <= most && shown != whole {
			r.Fatalf("%q was cut to %q", whole, shown)
		}
		if inner := valid(match); units(match) <= most-2 && !strings.Contains(shown, inner) {
			r.Fatalf("%q does not show %q", shown, inner)
		}
	})
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// The short way of decoding gives what the long one does.
//
// spec: T214
func TestReadLine(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab\\\"\n\r\t<é😀n}")), 0, 12, -1).Draw(r, "text") + rapid.SampledFrom([]string{"", "\n", "\r\n"}).Draw(r, "end")
		quoted, _ := json.Marshal(text)
		start := rapid.IntRange(0, len(text)).Draw(r, "start")
		record := []byte(`{"type":"match","data":{"path":{"text":"./\"lines\":{"},"lines":{"text":` + string(quoted) + `},"line_number":7,"absolute_offset":0,"submatches":[{"match":{"text":"x"},"start":` +
			itoa(start) + `,"end":` + itoa(len(text)) + `}]}}`)
		got := readLine(record)
		want := strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
		if string(got.text) != want || got.number != 7 || got.start != min(start, len(want)) || got.end != len(want) {
			r.Fatalf("got %+v of %q", got, text)
		}
	})
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// A stream gives the same records in whatever pieces it comes, and what is too long is passed over once.
//
// spec: T215
func TestSplitter(t *testing.T) {
	long := strings.Repeat("x", maxRecord+1)
	exact := strings.Repeat("y", maxRecord)
	stream := "one\n\n" + long + "\n" + exact + "\ntwo\n" + long + "\nno end"
	for _, size := range []int{1 << 12, 100_003, 1 << 20, len(stream)} {
		var got []string
		dropped := 0
		s := splitter{take: func(p []byte) { got = append(got, string(p)) }, long: func([]byte) { dropped++ }}
		for at := 0; at < len(stream); at += size {
			s.add([]byte(stream[at:min(at+size, len(stream))]))
		}
		if strings.Join(got, "|") != "one||"+exact+"|two" || dropped != 2 {
			t.Errorf("pieces of %d: %d records, %d dropped", size, len(got), dropped)
		}
	}
}

// Whatever rg is made to say, decoding it ends and shows no more than it may.
//
// spec: T199
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"type":"begin","data":{"path":{"text":"./a"}}}` + "\n" + `{"type":"match","data":{"path":{"text":"./a"},"lines":{"text":"hit\n"},"line_number":1,"absolute_offset":0,"submatches":[{"match":{"text":"hit"},"start":0,"end":3}]}}` + "\n"))
	f.Add([]byte(`{"type":"begin","data":{"path":{"bytes":"Li9jYWbpLnR4dA=="}}}` + "\n" + `{"type":"match","data":{"lines":{"bytes":"YeloaXQK"},"line_number":1,"submatches":[]}}` + "\n"))
	f.Add([]byte(`{"type":"match","data":{"lines":{"text":"\"},"line_number":-1,"submatches":[{"start":-9,"end":99}]}}` + "\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		m := &matches{folder: "/w"}
		s := splitter{take: m.record, long: m.tooLong}
		s.add(stream)
		r := m.result(false)
		if !utf8.ValidString(r.Text) || r.Text == "" {
			t.Errorf("%q", r.Text)
		}
	})
}
