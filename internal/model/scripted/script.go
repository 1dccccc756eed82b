package scripted

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"zuno/internal/model"
)

// MaxScript is the largest script, in bytes.
const MaxScript = 8 << 20

// Script is a checked list of responses. It is immutable and safe for concurrent use.
type Script struct {
	name    string
	entries []entry
	plain   []int // indices of the entries without `when`, in order
	when    []int // indices of those with one
	repeat  bool  // the last plain entry answers for ever
}

// Name is what the script calls itself in errors: its path.
func (s *Script) Name() string { return s.name }

// entry is one response.
type entry struct {
	number    uint64 // from 1, in the file
	when      string // empty: taken by position
	expect    []string
	delay     time.Duration
	reasoning template
	text      template
	parts     []part
	calls     []call
	usage     model.Usage
	failure   *model.Error
	cut       bool
}

type part struct {
	kind  model.ChunkKind
	text  template
	after time.Duration // slept before the part
}

type call struct {
	tool string
	id   string // the script's own; empty: made from the position
	args template
}

// LoadError is a script that cannot be used.
type LoadError struct {
	Script string
	Line   int // from 1; 0 where it is not known
	Reason string
	cause  error
}

func (e *LoadError) Error() string {
	at := e.Script
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	return "script " + at + ": " + e.Reason
}

// Unwrap returns the failure of the file system behind the error, if there was one.
func (e *LoadError) Unwrap() error { return e.cause }

// Load reads a script. Its error is a [*LoadError]. It never waits: what is no regular file is refused.
func Load(path string) (*Script, error) {
	unreadable := func(err error) error {
		reason := err.Error()
		var inner *fs.PathError
		if errors.As(err, &inner) {
			reason = inner.Err.Error()
		}
		return &LoadError{Script: path, Reason: reason, cause: err}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.Mode().IsRegular() {
		return nil, &LoadError{Script: path, Reason: "it is no regular file"}
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxScript+1))
	if err != nil {
		return nil, unreadable(err)
	}
	return Parse(path, data)
}

// Parse checks a script. The name is for errors. Its error is a [*LoadError].
func Parse(name string, data []byte) (*Script, error) {
	if len(data) > MaxScript {
		return nil, &LoadError{Script: name, Reason: fmt.Sprintf("larger than %d bytes", MaxScript)}
	}
	s, err := parse(data)
	if err != nil {
		err.Script = name
		return nil, err
	}
	s.name = name
	return s, nil
}
