package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"zuno/internal/engine"
	"zuno/journal"
)

// ImportOptions say where an imported journal goes.
type ImportOptions struct {
	File    string // a journal's file; "" for a session of the data folder
	Session string // the fresh id of that session
	Head    string // a hash that one of the commits must have; "" for any
}

// Taken is a place where something lies already.
type Taken struct{ Path string }

func (e *Taken) Error() string {
	return fmt.Sprintf("%s exists already: name another file, nothing is written over", e.Path)
}

// Import makes a journal of an export. It is for inspection, wherever it came from: its session keeps the id that it was
// created with and lies under a fresh one. The error is a [*journal.BadExport], [*Taken], [*BadHead] or [*OtherHistory];
// nothing is left then.
func (s Store) Import(r io.Reader, o ImportOptions) (p Place, v Verification, err error) {
	var want journal.Hash
	if o.Head != "" {
		if want, err = ParseHead(o.Head); err != nil {
			return p, v, err
		}
		v.Expected = want.String()
	}
	var report journal.Report
	if o.File != "" {
		p = Place{Path: o.File}
		report, err = journal.Import(r, o.File, want)
	} else {
		p = Place{Path: s.folder(o.Session), Session: o.Session}
		var undo func()
		if undo, err = makeFolders(filepath.Dir(p.Path)); err != nil {
			return p, v, err
		}
		if report, err = journal.ImportSession(r, p.Path, want); err != nil {
			undo()
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return p, v, &Taken{p.Path}
	case errors.Is(err, journal.ErrNoMatch):
		return p, v, &OtherHistory{v.Expected, report.Commits}
	case err != nil:
		return p, v, err
	}
	if o.File == "" {
		_, _ = engine.Summarize(p.Path) // a cache: what cannot be written now is made by the first list
	}
	return p, verified(report, v), nil
}

// Redact writes the journal at path without its texts to a fresh file.
func Redact(path, out string) (v Verification, err error) {
	file, err := open(path, nothing)
	if err != nil {
		return v, unwrapped(err)
	}
	report, err := journal.Redact(file, out)
	err = errors.Join(err, file.Close())
	if errors.Is(err, fs.ErrExist) {
		err = &Taken{out}
	}
	return verified(report, v), err
}

// ExportRedacted is [Export] without texts and salt.
func ExportRedacted(path string, w io.Writer, normalize bool) error {
	if normalize {
		return errors.New("--normalize masks what --redact leaves out: take one of them")
	}
	file, err := open(path, nothing)
	if err != nil {
		return unwrapped(err)
	}
	return errors.Join(journal.Export(file, w, journal.ExportOptions{OmitTexts: true}), file.Close())
}

// verified is a report as a verification shows it.
func verified(r journal.Report, v Verification) Verification {
	v.Result = ResultConsistent
	if r.Match > 0 {
		v.Result = ResultMatches
	}
	v.Commit, v.Events, v.Texts, v.Dropped, v.Match = r.Commits, r.Events, r.Texts, r.Redacted, r.Match
	v.Head, v.Hash = r.Head, r.Head.Hash.String()
	if r.Parent != (journal.Hash{}) {
		v.Parent = r.Parent.String()
	}
	return v
}

// makeFolders makes dir and those above it; undo removes those again that it made.
func makeFolders(dir string) (undo func(), err error) {
	var made []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	undo = func() {
		for _, d := range made {
			_ = os.Remove(d) // what is not empty stays
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		undo()
		return nil, fmt.Errorf("data folder cannot be made: %w", err)
	}
	return undo, nil
}

// Redacted is the number of texts that were dropped from the journal. What a view says in their place is their size.
func (r *Replay) Redacted() uint64 { return r.file.Redacted() }

// Source opens a journal that a fork is made from.
func Source(path string) (*journal.File, error) {
	file, err := open(path, nothing)
	return file, unwrapped(err)
}
