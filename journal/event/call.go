package event

import "zuno/journal"

// Calls is the way of a tool call.
var Calls = Group{
	Of[CallRequested]("session.call.requested.1"),
	Of[CallBlocked]("session.call.blocked.1"),
	Of[PermissionAsked]("session.permission.asked.1"),
	Of[PermissionAnswered]("session.permission.answered.1"),
	Of[CallAbandoned]("session.call.abandoned.1"),
	Of[CallStarted]("session.call.started.1"),
	Of[CallSettled]("session.call.settled.1"),
}

// CallRequested: a complete response asked for the call. It carries all that later decisions about it need, so that
// nobody has to ask today's registry or configuration about it.
type CallRequested struct {
	ID           string       `msgpack:"id" json:"id"`
	Turn         string       `msgpack:"turn" json:"turn"`
	Request      string       `msgpack:"request" json:"request"`
	Attempt      uint64       `msgpack:"attempt" json:"attempt"`
	Position     uint64       `msgpack:"position" json:"position"` // in its response, from 1
	Tool         string       `msgpack:"tool" json:"tool"`
	Provider     string       `msgpack:"provider" json:"provider,omitempty"` // the provider's own id
	Args         Text         `msgpack:"args" json:"args"`
	ArgsDigest   journal.Hash `msgpack:"args_digest" json:"args_digest"` // salted, as of the text
	SchemaDigest journal.Hash `msgpack:"schema_digest" json:"schema_digest"`
	Declaration  Declaration  `msgpack:"declaration" json:"declaration"`
	Title        Text         `msgpack:"title" json:"title"`
	Kind         string       `msgpack:"kind" json:"kind"` // ACP tool kind
	Paths        []Text       `msgpack:"paths" json:"paths,omitempty"`
	Accesses     []Access     `msgpack:"accesses" json:"accesses,omitempty"`
	// Permission is what the policy says to the call, and Rule the line that says it.
	Permission Action `msgpack:"permission" json:"permission,omitempty"`
	Rule       Text   `msgpack:"rule" json:"rule"`
	// Reusable says that one answer may stand for all equal calls of the session: those of the same tool that touch
	// exactly the same resources.
	Reusable bool `msgpack:"reusable" json:"reusable,omitempty"`
}

// Access is a resource that a call wants to touch.
type Access struct {
	Kind  AccessKind `msgpack:"kind" json:"kind"`
	Place Place      `msgpack:"place" json:"place"`
	Name  Text       `msgpack:"name" json:"name"`
}

// BlockKind says why a call was not run.
type BlockKind string

// The kinds of blocks. The first three are the specification's; a blocked call has done nothing.
const (
	InvalidArguments BlockKind = "invalid_arguments"
	Unavailable      BlockKind = "unavailable"
	Denied           BlockKind = "denied"
	BlockCancelled   BlockKind = "cancelled" // the turn was stopped before the call began
	BlockInterrupted BlockKind = "interrupted"
)

// CallBlocked: the call did not and will not run. Text is what the model is told.
type CallBlocked struct {
	ID   string    `msgpack:"id" json:"id"`
	Kind BlockKind `msgpack:"kind" json:"kind"`
	Text Text      `msgpack:"text" json:"text"`
}

// PermissionAsked: the user is about to be asked.
type PermissionAsked struct {
	ID   string `msgpack:"id" json:"id"`
	Call string `msgpack:"call" json:"call"`
}

// Verdict is an answer to a permission request.
type Verdict string

// The verdicts.
const (
	VerdictAllow        Verdict = "allow"
	VerdictReject       Verdict = "reject"
	VerdictCancelled    Verdict = "cancelled"
	VerdictUnrecognized Verdict = "unrecognized" // an option that was not offered: a denial
	// VerdictUndeliverable: the question could not be put to anybody. It denies a call that waits for it.
	VerdictUndeliverable Verdict = "undeliverable"
)

// The options that a permission request offers.
const (
	OptionAllowOnce    = "allow_once"
	OptionAllowSession = "allow_session" // only of a reusable call
	OptionRejectOnce   = "reject_once"
)

// PermissionAnswered is the user's answer, or the end of the question.
type PermissionAnswered struct {
	ID      string  `msgpack:"id" json:"id"`
	Call    string  `msgpack:"call" json:"call"`
	Verdict Verdict `msgpack:"verdict" json:"verdict"`
	Option  string  `msgpack:"option" json:"option,omitempty"`
	// Session says that the answer is a grant: later equal calls of the session need no question.
	Session bool `msgpack:"session" json:"session,omitempty"`
	// Grant is the question whose answer for the session answered this one as well, without anybody being asked.
	Grant string `msgpack:"grant" json:"grant,omitempty"`
}

// CallAbandoned: the call was waiting for an answer and waits no longer. It has done nothing and never will. Where its
// reason is BlockInterrupted its question stays pending: it is put again, and its answer runs nothing.
type CallAbandoned struct {
	ID     string    `msgpack:"id" json:"id"`
	Reason BlockKind `msgpack:"reason" json:"reason"`
}

// CallStarted is the fence: it is durable before the effect begins.
type CallStarted struct {
	ID      string `msgpack:"id" json:"id"`
	Attempt uint64 `msgpack:"attempt" json:"attempt"`
}

// Outcome is how a started call ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeError     Outcome = "error"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeUncertain Outcome = "uncertain" // the effect may have happened
)

// CallSettled is what became of the call.
type CallSettled struct {
	ID       string  `msgpack:"id" json:"id"`
	Attempt  uint64  `msgpack:"attempt" json:"attempt"`
	Outcome  Outcome `msgpack:"outcome" json:"outcome"`
	Class    string  `msgpack:"class" json:"class,omitempty"` // ReadRequired, NotFound, interrupted …
	Text     Text    `msgpack:"text" json:"text"`             // what the model sees
	Raw      Text    `msgpack:"raw" json:"raw"`               // typed outcome, JSON
	Files    []File  `msgpack:"files" json:"files,omitempty"`
	Exit     *Exit   `msgpack:"exit" json:"exit,omitempty"`
	Output   Text    `msgpack:"output" json:"output"` // file that holds all of a command's output
	OutBytes uint64  `msgpack:"out_bytes" json:"out_bytes,omitempty"`
	Millis   uint64  `msgpack:"duration_ms" json:"duration_ms,omitempty"`
	// PreImages names the artifact that holds what the changed files were before.
	PreImages string     `msgpack:"pre_images" json:"pre_images,omitempty"`
	Operation *Operation `msgpack:"operation" json:"operation,omitempty"`
}

// Operation identifies a mutation and the contents that it met, so that the same one against the same contents is recognized.
type Operation struct {
	Digest journal.Hash `msgpack:"digest" json:"digest"`
	State  journal.Hash `msgpack:"state" json:"state"`
}

// Change is what a call did to a file.
type Change string

// The changes.
const (
	ChangeRead   Change = "read"
	ChangeAdd    Change = "add"
	ChangeModify Change = "modify"
	ChangeDelete Change = "delete"
)

// File is a file that a call read or changed. Digest is SHA-256 of its content afterwards.
type File struct {
	Path   Text         `msgpack:"path" json:"path"` // as the user knows it
	Real   Text         `msgpack:"real" json:"real"` // with its links followed, where that differs
	Change Change       `msgpack:"change" json:"change"`
	Digest journal.Hash `msgpack:"digest" json:"digest"`
	Size   uint64       `msgpack:"size" json:"size"`
	Diff   bool         `msgpack:"diff" json:"diff,omitempty"` // Old and New hold the change
	Old    Text         `msgpack:"old" json:"old"`
	New    Text         `msgpack:"new" json:"new"`
}

// Exit is how a command ended.
type Exit struct {
	Exited  bool   `msgpack:"exited" json:"exited"`
	Code    int64  `msgpack:"code" json:"code"`
	Signal  string `msgpack:"signal" json:"signal,omitempty"`
	Ceiling bool   `msgpack:"ceiling" json:"ceiling,omitempty"`
}
