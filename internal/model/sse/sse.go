package sse

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"unsafe"

	"github.com/tmaxmax/go-sse"
)

// ErrTooLarge ends a stream with an event beyond its bound.
var ErrTooLarge = errors.New("an event of the stream is too large")

// Event is one event. Type is empty where the stream names none.
type Event struct{ Type, Data string }

// Bytes is Data without a copy, to be read only.
func (e *Event) Bytes() []byte { return unsafe.Slice(unsafe.StringData(e.Data), len(e.Data)) }

// Read yields the events of r that hold data, each at most about most bytes long with its field names. An error of r other than
// io.EOF is yielded last, as is [ErrTooLarge]; what had come of an event before an error is dropped. At io.EOF the event that
// was under way counts as complete: some servers leave out its empty line.
func Read(r io.Reader, most int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range sse.Read(&closing{r: r}, &sse.ReadConfig{MaxEventSize: most}) {
			switch {
			case errors.Is(err, bufio.ErrTooLong):
				err = ErrTooLarge
			case err == nil && e.Data == "":
				continue
			}
			if !yield(Event{e.Type, e.Data}, err) || err != nil {
				return
			}
		}
	}
}

// closing ends the last event at the end of its reader.
type closing struct {
	r    io.Reader
	rest string
	over bool
}

func (c *closing) Read(p []byte) (int, error) {
	if !c.over {
		n, err := c.r.Read(p)
		if err != io.EOF { //nolint:errorlint // a wrapped one is no proper end
			return n, err
		}
		c.over, c.rest = true, "\n\n"
		if n > 0 {
			return n, nil
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	if c.rest == "" {
		return n, io.EOF
	}
	return n, nil
}
