package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"zuno/journal/event"
	"zuno/tools"
)

const (
	maxLines     = 2000
	maxBytes     = 51200
	noteBytes    = 640  // of maxBytes, kept free for what is said below the content
	maxLineRunes = 2000 // of one line
	// maxFile bounds what is read through for the digest. It keeps a call on a file of the kernel without an end, or on
	// an image of a disk, from running for hours.
	maxFile   = 4 << 30
	probe     = 8000 // bytes at the start in which a NUL byte makes a file binary, as git has it
	chunkSize = 128 << 10
)

var errEnd = io.EOF

var chunks = sync.Pool{New: func() any { b := make([]byte, chunkSize); return &b }}

type readArgs struct {
	FilePath string `json:"filePath" jsonschema:"The file or folder, as an absolute path. A relative one starts at the session's folder."`
	Offset   int    `json:"offset,omitempty" jsonschema:"The first line to show, counted from 1. Default 1." minimum:"1"`
	Limit    int    `json:"limit,omitempty" jsonschema:"How many lines to show. Default and most: 2000." minimum:"1"`
}

const readDescription = `Reads a text file or lists a folder.
Lines come as "<number>: <content>"; the number is not part of the file. One call shows at most 2,000 lines and 51,200 bytes and says with which offset to read on. A line over 2,000 characters is cut, and says so.
A folder is listed one name per line, folders with a trailing "/"; offset and limit count names.
Reading a file is what permits replacing it with write.`

func registerRead(r *tools.Registry) {
	tools.Register(r, tools.Spec[readArgs]{
		Name:        "read",
		Description: readDescription,
		Declaration: event.Declaration{Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe},
		Prepare:     prepareRead,
	})
}

func prepareRead(w tools.Where, args readArgs) (tools.Prepared, *tools.Blocked) {
	t, blocked := target(w, args.FilePath)
	if blocked != nil {
		return tools.Prepared{}, blocked
	}
	if args.Offset == 0 {
		args.Offset = 1
	}
	if args.Limit == 0 || args.Limit > maxLines {
		args.Limit = maxLines
	}
	place := t.Place
	if place == event.PlaceOutside && w.Own(t) {
		place = event.PlaceInside
	}
	return tools.Prepared{
		Title:    title(w, t.Named),
		Kind:     "read",
		Paths:    []string{t.Named},
		Accesses: access(event.AccessRead, t, place),
		Run: func(ctx context.Context, _ tools.Env) tools.Result {
			return runRead(ctx, w, t, args)
		},
	}, nil
}

func runRead(ctx context.Context, w tools.Where, t tools.Target, args readArgs) tools.Result {
	now, f := Verify(w, t)
	if f != nil {
		return f.Result()
	}
	if !now.Exists {
		return missing(t).Result()
	}
	dir, base, _, err := OpenFolder(t.Real, false)
	if err != nil {
		return FailureOf("open", t.Named, err).Result()
	}
	defer func() { _ = unix.Close(dir) }()
	if now.Mode.IsDir() {
		return list(ctx, dir, base, t, args)
	}
	file, f := OpenRegular(dir, base, t.Named)
	if f != nil {
		return f.Result()
	}
	defer file.Close()
	return window(ctx, file, t, args)
}

// window reads a file through once: for the digest and the count of lines all of it, for the text what was asked for.
func window(ctx context.Context, file *Source, t tools.Target, args readArgs) tools.Result {
	v := view{first: args.Offset, last: args.Offset + args.Limit - 1, sum: sha256.New()}
	buffer := chunks.Get().(*[]byte)
	defer chunks.Put(buffer)
	for {
		n, err := file.Read(*buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return FailureOf("read", t.Named, err).Result()
		}
		v.add((*buffer)[:n])
		switch {
		case v.nul:
			kind := "binary: it holds NUL bytes"
			if v.utf16 {
				kind = "UTF-16 text, which is not shown"
			}
			return Refuse(tools.ClassBinary, "%s (%d bytes) is %s. Nothing was shown. Look at it with a command that suits its format.",
				t.Named, max(file.Stat.Size, int64(v.size)), kind).Result()
		case v.size > maxFile:
			return Refuse(tools.ClassTooLarge, "%s is over %d bytes, too large to be read. Nothing was shown. Take the part you need with a command (head, tail, sed -n).",
				t.Named, int64(maxFile)).Result()
		case ctx.Err() != nil:
			return tools.Result{Outcome: tools.Cancelled, Class: tools.ClassCancelled, Text: "Cancelled while reading; nothing was changed."}
		}
	}
	v.finish()
	if v.size > 0 && v.first > v.lines || v.size == 0 && v.first > 1 {
		size := fmt.Sprintf("has %s", count(v.lines, "line"))
		if v.size == 0 {
			size = "is empty (0 bytes, 0 lines)"
		}
		return Refuse(tools.ClassOutOfRange, "%s %s; offset %d lies past its end. Nothing was shown. Use an offset from 1 to %d.",
			t.Named, size, v.first, max(v.lines, 1)).Result()
	}
	result := tools.Result{Outcome: tools.OK, Text: string(v.text) + v.note()}
	read := tools.File{Path: t.Named, Resolved: t.Real, Change: tools.WasRead, Size: v.size}
	v.sum.Sum(read.Digest[:0])
	result.Files = []tools.File{read}
	return result
}

// view cuts the window out of a stream.
type view struct {
	first, last int
	sum         hash.Hash
	text        []byte

	size  uint64
	lines int // that were ended by a line feed; after finish: all

	line      []byte // the beginning of the current line, as far as it may be shown
	lineBytes int    // all of the current line
	shown     int    // lines in text
	full      bool   // no further line fits
	nul       bool
	utf16     bool
	replaced  bool // something was not UTF-8
	cut       int  // lines that were cut
}

// rawLine is how much of a line is kept: enough for maxLineRunes of any kind, and a carriage return.
const rawLine = maxLineRunes*utf8.UTFMax + utf8.UTFMax

func (v *view) add(p []byte) {
	v.sum.Write(p)
	if v.size == 0 && len(p) >= 2 {
		v.utf16 = p[0] == 0xff && p[1] == 0xfe || p[0] == 0xfe && p[1] == 0xff
	}
	if v.size < probe && hasNUL(p[:min(len(p), probe-int(v.size))]) {
		v.nul = true
		return
	}
	v.size += uint64(len(p))
	for len(p) > 0 {
		if n := v.lines + 1; n < v.first || n > v.last || v.full {
			p = v.skip(p)
			continue
		}
		end := indexLF(p)
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		if room := rawLine - len(v.line); room > 0 {
			v.line = append(v.line, piece[:min(room, len(piece))]...)
		}
		v.lineBytes += len(piece)
		if end < 0 {
			return
		}
		v.endLine()
		v.lines++
		p = p[end+1:]
	}
}

// skip counts lines that are not shown.
func (v *view) skip(p []byte) []byte {
	if v.lines+1 >= v.first { // past the window: only the number matters
		v.lines += countLF(p)
		if end := lastLF(p); end >= 0 {
			v.lineBytes, p = 0, p[end+1:]
		}
		v.lineBytes += len(p)
		return nil
	}
	end := indexLF(p)
	if end < 0 {
		v.lineBytes += len(p)
		return nil
	}
	v.lines++
	v.lineBytes = 0
	return p[end+1:]
}

func (v *view) finish() {
	if v.lineBytes == 0 {
		return
	}
	if n := v.lines + 1; n >= v.first && n <= v.last && !v.full {
		v.endLine()
	}
	v.lines++
}

// endLine puts the current line into the text, if it still fits.
func (v *view) endLine() {
	raw, whole := v.line, v.lineBytes
	v.line, v.lineBytes = v.line[:0], 0
	if len(raw) == whole && whole > 0 && raw[whole-1] == '\r' {
		raw = raw[:whole-1]
	}
	number := v.lines + 1
	if number == 1 && len(raw) >= 3 && raw[0] == 0xef && raw[1] == 0xbb && raw[2] == 0xbf {
		raw = raw[3:]
	}
	if hasNUL(raw) {
		v.nul = true
		return
	}
	line := raw
	cut := false
	if len(raw) > maxLineRunes || whole > rawLine {
		line, cut = firstRunes(raw, maxLineRunes)
		cut = cut || whole > rawLine
	}
	before := len(v.text)
	v.text = strconv.AppendInt(v.text, int64(number), 10)
	v.text = append(v.text, ": "...)
	valid := utf8.Valid(line)
	if !valid {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	v.text = append(v.text, line...)
	if cut {
		v.text = fmt.Appendf(v.text, " … [cut: the line has %d bytes]", whole)
	}
	v.text = append(v.text, '\n')
	if len(v.text) > maxBytes-noteBytes {
		v.text = v.text[:before]
		v.full = true
		return
	}
	v.shown++
	v.replaced = v.replaced || !valid
	if cut {
		v.cut++
	}
}

// note says what the model cannot see from the lines alone.
func (v *view) note() string {
	var says []string
	next := v.first + v.shown
	switch {
	case v.size == 0:
		says = append(says, "empty file: 0 bytes")
	case next <= v.lines:
		says = append(says, fmt.Sprintf("lines %d to %d of %d; read on with offset %d", v.first, next-1, v.lines, next))
	case v.first > 1:
		says = append(says, fmt.Sprintf("lines %d to %d of %d; end of file", v.first, next-1, v.lines))
	}
	if v.cut > 0 {
		says = append(says, fmt.Sprintf("%s cut after %d characters; a command such as cut -c shows the rest", count(v.cut, "line"), maxLineRunes))
	}
	if v.replaced {
		says = append(says, "bytes that are not UTF-8 are shown as \uFFFD")
	}
	if len(says) == 0 {
		return ""
	}
	return "(" + strings.Join(says, "; ") + ")"
}

// missing says that there is no such file and, where it is cheap, which name may have been meant.
func missing(t tools.Target) *Failure {
	f := Refuse(tools.ClassNotFound, "%s does not exist.", t.Named)
	if name := near(t.Real); name != "" {
		f.Text += fmt.Sprintf(" Did you mean %s?", filepath.Join(filepath.Dir(t.Named), name))
	}
	return f
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
