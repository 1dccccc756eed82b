package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxLines  = 2000
	maxBytes  = 51200
	noteBytes = 1024 // kept free for the note in the middle
	// headShare is the part of the room that the beginning gets; how a command ended is at its end.
	headShare = 0.4
	tick      = 30 * time.Millisecond
	chunk     = 32 << 10
	// backlog is how far live output may fall behind before it skips to what is new.
	backlog = 1 << 20
)

// shown is output as the model sees it.
type shown struct {
	text     string
	bytes    int64 // of the whole output
	lines    int64
	first    int64 // bytes of the beginning that are in text, where not all are
	withheld int64 // bytes after them that are not
}

// show reads a command's output through once and keeps its beginning and its end.
func show(f *os.File, room, lines int) shown {
	room -= 16 // for "(no output)" and the line feed at the end
	head := make([]byte, 0, 4096)
	var s shown
	buffer := make([]byte, 64<<10)
	var last byte
	for {
		n, err := f.ReadAt(buffer, s.bytes)
		if n > 0 {
			if spare := room + 1 - len(head); spare > 0 {
				head = append(head, buffer[:min(spare, n)]...)
			}
			s.bytes += int64(n)
			s.lines += int64(bytes.Count(buffer[:n], []byte{'\n'}))
			last = buffer[n-1]
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return shown{text: fmt.Sprintf("(the output cannot be read: %v)\n", err), bytes: s.bytes, lines: s.lines}
		}
	}
	ends := s.lines
	if s.bytes > 0 && last != '\n' {
		s.lines++
	}
	if s.bytes == 0 {
		s.text = "(no output)\n"
		return s
	}
	if s.bytes <= int64(room) && s.lines <= int64(lines) {
		if text := clean(head); len(text) <= room {
			s.text = ended(text)
			return s
		}
	}
	room -= noteBytes
	headRoom, headLines := int(float64(room)*headShare), int(float64(lines)*headShare)
	first := fitHead(head, headRoom, headLines)
	start := max(int64(first), s.bytes-int64(room-headRoom))
	tail := make([]byte, s.bytes-start)
	n, _ := f.ReadAt(tail, start)
	tail = fitTail(tail[:n], room-headRoom, lines-headLines-3)
	s.first, s.withheld = int64(first), s.bytes-int64(first)-int64(len(tail))
	above := int64(bytes.Count(head[:first], []byte{'\n'}))
	what, how := "part of one line", "cut a piece out of that file with head -c and tail -c"
	if between := ends - above - int64(bytes.Count(tail, []byte{'\n'})); between > 0 {
		what, how = count(between, "line"), fmt.Sprintf("read that file with offset %d, or search it", above+1)
	}
	note := fmt.Sprintf("[… left out here: %s, %s. Nothing is lost: all %s, %s, are in %s. To see what was left out, %s. …]\n",
		what, count(s.withheld, "byte"), count(s.lines, "line"), count(s.bytes, "byte"), f.Name(), how)
	s.text = ended(clean(head[:first])) + note + ended(clean(tail))
	return s
}

// fitHead tells how many bytes of the beginning fit once they are cleaned: whole lines, or of a first line that is too
// long by itself a piece.
func fitHead(p []byte, room, lines int) int {
	at, used := 0, 0
	for lines > 0 && at < len(p) {
		end := bytes.IndexByte(p[at:], '\n')
		if end < 0 {
			break
		}
		size := len(clean(p[at : at+end+1]))
		if used+size > room {
			break
		}
		used += size
		at += end + 1
		lines--
	}
	if at > 0 || lines <= 0 {
		return at
	}
	for at < len(p) && used+utf8.UTFMax <= room {
		_, size := utf8.DecodeRune(p[at:])
		used += max(size, len("\uFFFD"))
		at += size
	}
	return at
}

// fitTail is the same from the end.
func fitTail(p []byte, room, lines int) []byte {
	at, used := len(p), 0
	for lines > 0 && at > 0 {
		begin := bytes.LastIndexByte(p[:at-1], '\n') + 1
		if begin == 0 { // it may have begun before p
			break
		}
		size := len(clean(p[begin:at]))
		if used+size > room {
			break
		}
		used += size
		at = begin
		lines--
	}
	if at < len(p) || lines <= 0 {
		return p[at:]
	}
	for at > 0 && used+utf8.UTFMax <= room {
		_, size := utf8.DecodeLastRune(p[:at])
		used += max(size, len("\uFFFD"))
		at -= size
	}
	return p[at:]
}

// clean makes output a text: what is not UTF-8, and the NUL that many readers of JSON refuse, is shown as U+FFFD.
func clean(p []byte) string {
	text := string(p)
	if !utf8.Valid(p) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ReplaceAll(text, "\x00", "\uFFFD")
}

func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// follow shows what is appended to the file until it is stopped, in pieces that end between characters. Stopping shows
// the rest. It looks at the file's size a few times a second and reads nothing where nobody watches.
func follow(f *os.File, show func([]byte)) (stop func()) {
	if show == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		l := live{file: f, show: show, buffer: make([]byte, chunk)}
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				l.advance(false)
			case <-quit:
				l.advance(true)
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

type live struct {
	file   *os.File
	show   func([]byte)
	buffer []byte
	at     int64
}

func (l *live) advance(last bool) {
	info, err := l.file.Stat()
	if err != nil {
		return
	}
	if behind := info.Size() - l.at; behind > backlog {
		l.at = info.Size() - backlog
	}
	for {
		n, _ := l.file.ReadAt(l.buffer, l.at)
		piece := l.buffer[:n]
		if !last || n == len(l.buffer) {
			piece = piece[:len(piece)-unfinished(piece)]
		}
		if len(piece) == 0 {
			return
		}
		l.at += int64(len(piece))
		l.show(bytes.Clone(piece))
	}
}

// unfinished is how many bytes at the end are the beginning of a character.
func unfinished(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		b := p[len(p)-back]
		if utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-back:]) {
				return back
			}
			return 0
		}
	}
	return 0
}
