package journal

import (
	"errors"
	"fmt"
	"io/fs"
)

// The conditions that callers tell apart by errors.Is.
var (
	// ErrUnknownOutcome: a sync failed, or an earlier one did. The commits may or may not be on disk; only a fresh
	// [Open] can tell, and only a fresh open may append.
	ErrUnknownOutcome = errors.New("it is unknown whether the last commits are on disk: open the session again to find out")
	// ErrNoCommit: the log holds no commit of that number.
	ErrNoCommit = errors.New("no such commit")
	// ErrRedacted: the text was dropped from this journal; only its digest and size are left.
	ErrRedacted = errors.New("the text was dropped from this journal")
	// ErrNoMatch: no commit has the hash that was expected.
	ErrNoMatch = errors.New("no commit of it has the expected hash")
	// ErrReadOnly: the log was opened for inspection.
	ErrReadOnly = errors.New("the journal is open for inspection only: open the session to write to it")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("the journal is closed")
)

// Damaged says that a journal is not what was written: truncated, zeroed, changed, or no journal at all. The file is
// left as it was found.
type Damaged struct {
	File   string
	Commit uint64 // the first bad commit; 0 when the file itself is bad
	Reason string
}

func (e *Damaged) Error() string {
	where := ""
	if e.Commit > 0 {
		where = fmt.Sprintf(" at commit %d", e.Commit)
	}
	return fmt.Sprintf("journal %s is damaged%s: %s (the file was left as it is: restore it from a backup, or inspect a copy)",
		e.File, where, e.Reason)
}

// InUse says that another process, or another [File] of this one, holds the journal.
type InUse struct {
	File string
	PID  int // 0 when unknown
}

func (e *InUse) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("pid %d", e.PID)
	}
	return fmt.Sprintf("journal %s is in use by %s: close the session there and try again", e.File, who)
}

// NewerError says that a newer release wrote something that this one cannot read. A fold returns it to keep such
// a journal from being opened for writing.
type NewerError struct {
	File string
	What string // for example "event type session.turn.started.7"
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("journal %s holds %s, which a newer release wrote: update zuno to continue this session", e.File, e.What)
}

// NotFound says that there is no journal. It is fs.ErrNotExist as well.
type NotFound struct{ File string }

func (e *NotFound) Error() string {
	return fmt.Sprintf("there is no journal %s: check the session's id and the data folder", e.File)
}

// Is makes NotFound a kind of fs.ErrNotExist.
func (e *NotFound) Is(target error) bool { return target == fs.ErrNotExist }

// NotAppended says that an append was rolled back: none of its commits is in the log, and the next append may succeed.
type NotAppended struct{ Cause error }

func (e *NotAppended) Error() string {
	return fmt.Sprintf("nothing was written to the journal (%v): free disk space if it is full, and try again", e.Cause)
}

func (e *NotAppended) Unwrap() error { return e.Cause }

// Removed says that the journal's file was removed while it was open. Nothing was written, and nothing more can be: it is
// [ErrUnknownOutcome] too, since what was acknowledged before may be gone.
type Removed struct{ File string }

func (e *Removed) Error() string {
	return fmt.Sprintf("journal %s was removed while the session was open: nothing more can be saved in it; go on in a new session", e.File)
}

// Is makes Removed a kind of ErrUnknownOutcome.
func (e *Removed) Is(target error) bool { return target == ErrUnknownOutcome }

// Invalid says that a commit may not be appended as it is. It is a defect of the caller; nothing was written.
type Invalid struct {
	Commit uint64 // the number that it would have had
	Reason string
}

func (e *Invalid) Error() string {
	return fmt.Sprintf("commit %d cannot be written: %s", e.Commit, e.Reason)
}
