package sse

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func collect(r io.Reader, most int) (events []Event, err error) {
	for e, failed := range Read(r, most) {
		if failed != nil {
			return events, failed
		}
		events = append(events, e)
	}
	return events, nil
}

// Whatever the line ends, the size of the reads and the end of the stream, the events are the same.
//
// spec: D228 D229
func TestRead(t *testing.T) {
	want := []Event{{"", "one"}, {"two", "a\nb"}, {"", "ü"}}
	const text = "\ufeff: note\ndata: one\n\n\nevent: two\nid: 7\ndata:a\ndata: b\nretry: 5\n\nevent: empty\n\ndata: ü"
	for _, ends := range []string{"\n", "\r\n", "\r"} {
		for _, last := range []string{"", ends, ends + ends} {
			stream := strings.ReplaceAll(text, "\n", ends) + last
			for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream)), iotest.DataErrReader(strings.NewReader(stream))} {
				if got, err := collect(r, 100); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("ends %q, last %q: got %q, %v", ends, last, got, err)
				}
			}
		}
	}
}

// spec: D228
func TestAnErrorDropsWhatIsUnderWay(t *testing.T) {
	broken := errors.New("broken")
	got, err := collect(io.MultiReader(strings.NewReader("data: one\n\ndata: tw"), iotest.ErrReader(broken)), 100)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %q, %v", got, err)
	}
}

// spec: D229
func TestEventsAreBounded(t *testing.T) {
	for _, stream := range []string{"data: " + strings.Repeat("x", 100) + "\n\n", strings.Repeat("data: x\n", 20) + "\n", strings.Repeat("\n", 200), ":" + strings.Repeat("x", 200)} {
		if _, err := collect(strings.NewReader(stream), 64); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%.20q: got %v", stream, err)
		}
	}
}
