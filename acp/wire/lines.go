package wire

import (
	"bufio"
	"errors"
	"io"
)

const (
	readBuffer = 64 << 10 // one read of a pipe
	maxChunk   = 4 << 20  // largest piece in which a long line is collected
)

// errTooLong reports a line over the bound. The line has been read past.
var errTooLong = errors.New("line is too long")

// lineReader splits a stream into lines of at most max bytes.
//
// A line that is longer than the read buffer is collected in pieces of growing
// size and joined once, so reading it allocates about twice its length. Over the
// bound the pieces are dropped at once and the rest is read past.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readBuffer), max: max}
}

// next returns a line without its newline, in memory that belongs to the caller.
// A last line that lacks a newline counts. At the end of input it returns io.EOF.
func (l *lineReader) next() ([]byte, error) {
	frag, err := l.r.ReadSlice('\n')
	if err == nil || errors.Is(err, io.EOF) {
		if len(frag) == 0 {
			return nil, err
		}
		frag = trimNewline(frag)
		if len(frag) > l.max {
			return nil, errTooLong
		}
		return append(make([]byte, 0, len(frag)), frag...), nil
	}
	var (
		chunks [][]byte
		size   int
		over   bool
	)
	for {
		full := errors.Is(err, bufio.ErrBufferFull)
		if !full && err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if !full {
			frag = trimNewline(frag)
		}
		size += len(frag)
		if over = over || size > l.max; over {
			chunks = nil
			size = l.max + 1 // an endless line may not overflow the count
		} else {
			chunks = collect(chunks, frag)
		}
		if !full {
			break
		}
		frag, err = l.r.ReadSlice('\n')
	}
	if over {
		return nil, errTooLong
	}
	line := make([]byte, 0, size)
	for _, c := range chunks {
		line = append(line, c...)
	}
	return line, nil
}

// collect appends b to the last chunk, and to a new one of twice its size when that is full.
func collect(chunks [][]byte, b []byte) [][]byte {
	for len(b) > 0 {
		last := len(chunks) - 1
		if last < 0 || len(chunks[last]) == cap(chunks[last]) {
			size := 2 * readBuffer
			if last >= 0 {
				size = min(2*cap(chunks[last]), maxChunk)
			}
			chunks = append(chunks, make([]byte, 0, size))
			last++
		}
		c := chunks[last]
		n := min(len(b), cap(c)-len(c))
		chunks[last] = append(c, b[:n]...)
		b = b[n:]
	}
	return chunks
}

func trimNewline(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		return b[:n-1]
	}
	return b
}
