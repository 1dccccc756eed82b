package inspect

import (
	"fmt"
	"strings"
)

// BadArgument is an argument that can name neither a session nor a journal's file. No file was touched for it.
type BadArgument struct {
	Argument string
	Reason   string
}

func (e *BadArgument) Error() string {
	return fmt.Sprintf("%s is no session: %s", quoted(e.Argument), e.Reason)
}

// NoSession is an argument that no session answers to.
type NoSession struct {
	Argument string
	Data     string // the folder that was looked in
}

func (e *NoSession) Error() string {
	if e.Argument == Last {
		return fmt.Sprintf("there is no session in %s yet", e.Data)
	}
	hint := ""
	if !strings.HasPrefix(e.Argument, prefix) {
		hint = fmt.Sprintf("; a file or folder is named with its path (./%s)", short(e.Argument, 30))
	}
	return fmt.Sprintf("no session %s in %s: `zuno session list` shows those that are there%s", quoted(e.Argument), e.Data, hint)
}

// Ambiguous is a prefix that several sessions begin with.
type Ambiguous struct {
	Argument string
	Matches  []string // their ids, each with its title behind it where it has one
	More     int      // matches that are not listed
}

func (e *Ambiguous) Error() string {
	more := ""
	if e.More > 0 {
		more = fmt.Sprintf("\n  and %d more", e.More)
	}
	return fmt.Sprintf("%s begins several sessions, say more of it:\n  %s%s", quoted(e.Argument), strings.Join(e.Matches, "\n  "), more)
}

// Beyond is a commit that the journal does not have.
type Beyond struct{ Until, Head uint64 }

func (e *Beyond) Error() string {
	return fmt.Sprintf("there is no commit %d: the journal ends with commit %d", e.Until, e.Head)
}

// UnknownView is a name that no view has.
type UnknownView struct{ Name string }

func (e *UnknownView) Error() string {
	return fmt.Sprintf("there is no view %s; the views are %s", quoted(e.Name), strings.Join(ViewNames(), ", "))
}

// BadHead is a head that is none: it takes the 64 hex digits of a commit's hash.
type BadHead struct{ Head string }

func (e *BadHead) Error() string {
	return fmt.Sprintf("%s is no head: give the 64 hex digits of a commit's hash", quoted(e.Head))
}

// OtherHistory says that a journal, consistent in itself, is not the one whose head was noted.
type OtherHistory struct {
	Head   string
	Commit uint64 // the last one of the journal
}

func (e *OtherHistory) Error() string {
	return fmt.Sprintf("the head %s is not in this history, which is self-consistent up to commit %d: it is another history, or one that ended before it",
		e.Head, e.Commit)
}

// quoted shows an argument, cut to a readable length and without control characters.
func quoted(s string) string {
	const most = 60
	if len(s) > most {
		return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
	}
	return fmt.Sprintf("%q", s)
}
