package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"zuno/journal"
)

// Export writes the commits of the journal at path as JSON lines; see [journal.Export]. Normalized, they lack all that
// differs between two runs of one script, and cannot be imported.
func Export(path string, w io.Writer, normalize bool) error {
	file, err := open(path, nothing)
	if err != nil {
		return unwrapped(err)
	}
	if !normalize {
		return errors.Join(journal.Export(file, w, journal.ExportOptions{}), file.Close())
	}
	err = exportNormalized(file, w)
	return errors.Join(err, file.Close())
}

func nothing(*journal.Raw) error { return nil }

func exportNormalized(file *journal.File, w io.Writer) error {
	m, err := learn(file)
	if err != nil {
		return err
	}
	var b []byte
	return lines(file, journal.ExportOptions{Mask: unmasked}, func(line *node) error {
		m.line(line)
		b = append(line.compact(b[:0]), '\n')
		_, err := w.Write(b)
		return err
	})
}

// lines gives the commits of a journal as export shows them.
func lines(file *journal.File, o journal.ExportOptions, fn func(line *node) error) error {
	w := &lineWriter{fn: func(b []byte) error {
		n, err := parse(b)
		if err != nil {
			return fmt.Errorf("read an exported commit: %w", err)
		}
		return fn(n)
	}}
	return journal.Export(file, w, o)
}

// lineWriter calls fn with each whole line.
type lineWriter struct {
	fn   func([]byte) error
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			w.rest = append(w.rest, p...)
			return n, nil
		}
		w.rest = append(w.rest, p[:end]...)
		if err := w.fn(w.rest); err != nil {
			return 0, err
		}
		w.rest, p = w.rest[:0], p[end+1:]
	}
}
