package tools

import (
	"context"

	"zuno/journal/event"
)

// Access is a resource that a call wants to touch, as the permission rules see it. Name is an absolute, resolved path,
// or the command text of an AccessExecute.
type Access struct {
	Kind  event.AccessKind
	Place event.Place
	Name  string
}

// Env is what a call knows of its session. The functions are safe for concurrent use.
type Env struct {
	Cwd      string // absolute
	Worktree string // root of the worktree that Cwd lies in; Cwd itself outside of one
	OutDir   string // the session's folder for live output
	CallID   string
	Shell    event.ShellPolicy
	Environ  []string // the process environment that commands inherit from, before ZUNO_* is withheld
	// LastRead tells the SHA-256 under which this session last read or wrote the file; ok is false when it never did.
	LastRead func(path string) (digest [32]byte, ok bool)
	// KeepPreImages makes the contents that a call is about to replace or delete durable, all of them in one artifact, and
	// names it. A call that changes files calls it once, after everything was validated and before the first write; where
	// it fails nothing is written. nil keeps none.
	KeepPreImages func(ctx context.Context, images []PreImage) (name string, err error)
	// Replayed tells whether a call of this session settled with just this [Result].Operation. nil knows of none.
	Replayed func(Operation) bool
	// Progress shows output of a call that is still running. It may drop what comes too fast.
	Progress func(chunk []byte)
}

// Where tells what a session's folders are; it is all that resolving a call needs to know of its session.
func (e Env) Where() Where { return Where{Cwd: e.Cwd, Worktree: e.Worktree, OutDir: e.OutDir} }

// Outcome is how a call that was started ended.
type Outcome string

// The outcomes. Uncertain: the effect may have happened.
const (
	OK        Outcome = "ok"
	Failed    Outcome = "error"
	Cancelled Outcome = "cancelled"
	Uncertain Outcome = "uncertain"
)

// The classes.
const (
	ClassReadRequired     = "ReadRequired"     // the file exists and was not read in this session
	ClassStaleRead        = "StaleRead"        // the file is not what it was when it was read
	ClassNotFound         = "NotFound"         // no such file or folder
	ClassIsDirectory      = "IsDirectory"      // a folder where a file was expected
	ClassNotDirectory     = "NotDirectory"     // a file where a folder was expected
	ClassNotRegular       = "NotRegular"       // a fifo, socket or device
	ClassBinary           = "Binary"           // not text
	ClassTooLarge         = "TooLarge"         // over a stated limit
	ClassOutOfRange       = "OutOfRange"       // past the end
	ClassContextMismatch  = "ContextMismatch"  // a hunk fits nowhere, or in more than one place
	ClassIdenticalReplay  = "IdenticalReplay"  // the same operation against the same content
	ClassExists           = "Exists"           // a file stands where a new one was to be made
	ClassSymbolicLink     = "SymbolicLink"     // a link where the file itself was expected
	ClassToolMissing      = "ToolMissing"      // a program that the tool drives is missing or too old
	ClassInvalidArguments = "InvalidArguments" // found out only after the call had started; nothing was done
	ClassPathChanged      = "PathChanged"      // the path leads elsewhere than where it was permitted
	ClassPermissionDenied = "PermissionDenied" // the operating system refused
	ClassIO               = "IO"               // any other failure of the operating system
	ClassCancelled        = "cancelled"        // stopped before it ended by itself
	ClassCeiling          = "hard_ceiling"     // killed at the hard ceiling
	ClassNotStarted       = "NotStarted"       // the command could not be started; nothing ran
)

// Result is what became of a call.
type Result struct {
	Outcome Outcome
	// Class is the typed reason of a refusal or conflict that a model can act upon: ReadRequired, NotFound,
	// IsDirectory, NotRegular, TooLarge, OutOfRange … (the Class constants). Empty for an ordinary result.
	Class string
	// Text is what the model sees.
	Text string
	// Raw is the typed outcome as JSON (rawOutput in an editor): complete for a mutation – paths, digests, counts, no
	// file text –, nil where Text says it all.
	Raw []byte
	// Files are the files that were read or changed, with the digest of their whole content afterwards.
	Files []File
	// PreImages names the artifact that holds what the changed files were before ([Env].KeepPreImages); empty where none
	// was kept.
	PreImages string
	// Operation identifies what was asked for, where the tool recognizes that it is asked for again.
	Operation *Operation
	// Exit is set when a command was run.
	Exit *Exit
	// Output is the file in OutDir that holds everything a command wrote, with its size in bytes.
	Output     string
	OutputSize uint64
}

// PreImage is what a file was before a call changed it. The content is not to be changed or kept by the receiver.
type PreImage struct {
	Path    string // absolute, with every symbolic link followed
	Mode    uint32 // permission bits, set-user-ID, set-group-ID and sticky
	Content []byte
}

// Operation is a mutation and the contents that it left, whether it was applied or refused: the same one against the same
// contents has nothing new to bring. Both say the same in every session that has the files at the same paths.
type Operation struct {
	Digest [32]byte // SHA-256 of what was asked for
	State  [32]byte // SHA-256 over the affected paths and their contents when the call ended
}

// File is a file that a call read or changed.
type File struct {
	Path string // absolute, as it is known to the user
	// Resolved is the same file with every symbolic link followed: the name under which a receipt should be kept, so
	// that two names of one file share it. [Env].LastRead is asked with it first, then with Path.
	Resolved string
	Change   Change
	Digest   [32]byte // SHA-256 of the content afterwards; of a deleted file: before
	Size     uint64
	// Old and New are the texts of a change, for its diff; both empty where HasDiff is false (binary, or too large).
	HasDiff  bool
	Old, New string
}

// Change is what a call did to a file.
type Change string

// The changes.
const (
	WasRead  Change = "read"
	Added    Change = "add"
	Modified Change = "modify"
	Deleted  Change = "delete"
)

// Exit is how a command ended. Code is meaningful only when Exited; otherwise Signal names what killed it.
type Exit struct {
	Exited  bool
	Code    int
	Signal  string
	Ceiling bool // it was killed at the hard ceiling
}

// Prepared is a call whose arguments are valid, ready to be permitted and run.
type Prepared struct {
	Declaration event.Declaration
	Title       string // for people; a file's name, a command
	Intent      string // the model's own label of the call, for people only; never part of what the call means
	Kind        string // ACP tool kind: read, edit, delete, move, search, execute, think, fetch, switch_mode, other
	Paths       []string
	Accesses    []Access
	// Inexact says that the accesses do not name all that the call depends on, such as the folder inside the worktree that
	// a command runs in: an answer about it stands for no other call.
	Inexact bool
	// Run does the effect. It returns when everything it started has ended, and soon after ctx is done. It may be called
	// once. Whatever it was told by the session's files when it was prepared it checks again.
	Run func(ctx context.Context, env Env) Result
}
