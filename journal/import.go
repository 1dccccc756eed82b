package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// BadExport says what is wrong with an export. Nothing was made of it.
type BadExport struct {
	Line   int    // from 1
	Field  string // as in the line's JSON ("command.type", "texts[2]"); "" for the line as a whole
	Reason string
}

func (e *BadExport) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("line %d of the export: it %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d of the export: %s %s", e.Line, e.Field, e.Reason)
}

// CheckExport reads what [Export] wrote and checks everything that opening the journal would check, and that what a line
// shows is what its raw side says. expected is as for [Verify]. The error is a [*BadExport], or the reader's.
func CheckExport(r io.Reader, expected Hash) (Report, error) {
	return readExport(r, expected, func(*Raw, []byte, *exportLine) error { return nil })
}

// Import makes a journal of an export: a file of its own at path, its artifacts in artifacts/ beside it. All is checked
// as by [CheckExport], and the records and the head are those that were exported. It is fs.ErrExist when path is taken.
// Unless expected is zero it must be the hash of one of the commits, or the error is [ErrNoMatch]. Nothing appears at
// path before all of the journal is on disk, and after an error nothing is left.
func Import(r io.Reader, path string, expected Hash) (Report, error) {
	return importTo(r, path, expected, false)
}

// ImportSession is Import into a session's folder, which it makes.
func ImportSession(r io.Reader, dir string, expected Hash) (Report, error) {
	return importTo(r, dir, expected, true)
}

func importTo(r io.Reader, path string, expected Hash, folder bool) (Report, error) {
	b, err := newBuilder(path, folder)
	if err != nil {
		return Report{}, fmt.Errorf("import: %w", err)
	}
	defer b.discard()
	report, err := readExport(r, expected, func(c *Raw, rec []byte, l *exportLine) error { return b.add(c, rec, l.text) })
	if err == nil && report.Match == 0 && expected != (Hash{}) {
		err = ErrNoMatch
	}
	var bad *BadExport
	if errors.As(err, &bad) {
		return report, err
	}
	if err == nil {
		err = b.finish(report.Head)
	}
	if err != nil {
		return report, fmt.Errorf("import: %w", err)
	}
	return report, nil
}

// Redact writes a journal with the commits of l and none of their texts, nor the salt, to path. It is a fresh file: no
// free page of it holds what was dropped. The head is the same, and so are the errors as those of [Import].
func Redact(l Log, path string) (Report, error) {
	b, err := newBuilder(path, false)
	if err != nil {
		return Report{}, fmt.Errorf("redact: %w", err)
	}
	defer b.discard()
	var report Report
	var rec []byte
	err = l.Scan(1, func(c *Raw) error {
		rec = appendArray(append(rec[:0], c.Record...), len(c.Texts))
		for range c.Texts {
			rec = append(rec, 0xc0)
		}
		report.count(c)
		report.Redacted += uint64(len(c.Texts))
		return b.add(c, rec, func(int) []byte { return nil })
	})
	if err == nil {
		err = b.finish(report.Head)
	}
	if err != nil {
		return report, fmt.Errorf("redact: %w", err)
	}
	return report, nil
}

func (r *Report) count(c *Raw) {
	r.Commits++
	r.Events += uint64(len(c.Events))
	r.Texts += uint64(len(c.Texts))
	r.Head = Head{c.Number, c.Hash}
	if c.Number == 1 {
		r.Parent = c.Prev
	}
}

// readExport calls fn with each commit of an export, checked, and its record.
func readExport(r io.Reader, expected Hash, fn func(c *Raw, rec []byte, l *exportLine) error) (report Report, err error) {
	x := importer{in: bufio.NewReaderSize(r, 256<<10)}
	x.s = newScanner(&x)
	for {
		line, err := x.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = x.check(line)
		}
		if err == nil {
			c := &x.s.raw
			report.count(c)
			if c.Hash == expected && expected != (Hash{}) {
				report.Match = c.Number
			}
			err = fn(c, x.rec, &x.line)
		}
		if err != nil {
			return report, err
		}
	}
	report.Redacted = x.s.redacted
	if x.n == 0 {
		return report, &BadExport{1, "", "is not there: the export is empty"}
	}
	return report, nil
}

// importer is the [source] of the texts of the line that it is at.
type importer struct {
	in   *bufio.Reader
	n    int // lines so far
	long []byte
	line exportLine
	rec  []byte
	s    *scanner
	e    exporter
}

func (x *importer) bucketText(_ uint64, index int) []byte { return x.line.text(index) }

func (x *importer) artifact(name string, size uint64) ([]byte, error) {
	for i, t := range x.s.raw.Texts {
		if p := &x.s.places[i]; p.kind == placeArtifact && t.Size == size && string(p.bytes) == name {
			return x.line.text(i), nil
		}
	}
	return nil, fmt.Errorf("artifact %s is missing", name)
}

// next is the next line without its end.
func (x *importer) next() ([]byte, error) {
	x.long = x.long[:0]
	for {
		part, err := x.in.ReadSlice('\n')
		if len(x.long)+len(part) > maxLine {
			return nil, &BadExport{x.n + 1, "", fmt.Sprintf("is longer than %d bytes", maxLine)}
		}
		switch {
		case err == bufio.ErrBufferFull:
			x.long = append(x.long, part...)
			continue
		case err == io.EOF && len(x.long)+len(part) == 0:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, err
		}
		x.n++
		if len(x.long) > 0 {
			x.long = append(x.long, part...)
			part = x.long
		}
		return bytes.TrimSuffix(part, []byte{'\n'}), nil
	}
}

// check checks one line. Its record stands in rec, and its commit in the scanner.
func (x *importer) check(line []byte) error {
	bad := func(field string, err error) error { return &BadExport{x.n, field, err.Error()} }
	l := &x.line
	if field, err := l.parse(line); err != nil {
		return bad(field, err)
	}
	if len(l.raw) < minRecord {
		return bad("raw", errors.New("is too short for a record"))
	}
	if err := checkHash(l.raw); err != nil {
		return bad("raw", fmt.Errorf("is no record of a commit: %w", err))
	}
	rest, err := x.s.raw.decode(l.raw)
	switch {
	case err != nil:
		return bad("raw", fmt.Errorf("is no record of a commit: %w", err))
	case len(rest) > 0:
		return bad("raw", errors.New("holds more than format, hash and body"))
	case len(l.texts) != len(x.s.raw.Texts):
		return bad("texts", fmt.Errorf("has %d texts, and raw names %d", len(l.texts), len(x.s.raw.Texts)))
	}
	x.rec = appendArray(append(x.rec[:0], l.raw...), len(l.texts))
	for i, t := range x.s.raw.Texts {
		body := l.text(i)
		switch p := &l.texts[i]; {
		case p.redacted:
			x.rec = append(x.rec, 0xc0)
			continue
		case p.missing:
			return bad(fmt.Sprintf("texts[%d]", i), errors.New("is missing, and is not said to be redacted"))
		case uint64(len(body)) != t.Size:
			return bad(fmt.Sprintf("texts[%d]", i), fmt.Errorf("has %d bytes, and raw says %d", len(body), t.Size))
		}
		switch placeOf(t.Size) {
		case placeInline:
			x.rec = appendBin(x.rec, body)
		case placeBucket:
			x.rec = append(x.rec, textInBolt)
		default:
			sum := sha256.Sum256(body)
			x.rec = appendStr(x.rec, hex.EncodeToString(sum[:]))
		}
	}
	x.s.section, x.s.located = x.rec[len(l.raw):], false
	if err := x.s.follow(true); err != nil {
		var text *textError
		if errors.As(err, &text) {
			return bad(fmt.Sprintf("texts[%d]", text.index), errors.New(text.why))
		}
		return bad("raw", fmt.Errorf("does not go on from the line before: %w", err))
	}
	x.e.line(&x.s.raw)
	if want := x.e.b[:len(x.e.b)-1]; !bytes.Equal(line, want) {
		if field, why := disagreement(line, want); why != "" {
			return bad(field, errors.New(why))
		}
	}
	return nil
}
