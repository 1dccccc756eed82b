package engine

import (
	"context"
	"log/slog"
	"time"

	"zuno/commands"
	"zuno/internal/model"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

// Clock is the only time. The real one and the test clock are made in cmd.
type Clock interface {
	// Now is milliseconds since the epoch. It may jump back; the owner never lets a commit follow it there.
	Now() int64
	// Sleep waits for d or the end of ctx, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
	// AfterFunc calls f in a goroutine of its own after d, unless it is stopped before.
	AfterFunc(d time.Duration, f func()) (stop func())
	// Committed tells a test clock that a commit was decided.
	Committed()
}

// Stopwatch is a [Clock] whose durations are not differences of Now: a test clock leaves out what it added for commits,
// whose number in a span of time is chance.
type Stopwatch interface {
	// Elapsed is milliseconds since some instant.
	Elapsed() int64
}

func elapsed(c Clock) int64 {
	if s, ok := c.(Stopwatch); ok {
		return s.Elapsed()
	}
	return c.Now()
}

// IDs is the only source of randomness. The real one and the seeded one are made in cmd.
type IDs interface {
	// ULID is a fresh id; scope tells a seeded source what it must differ by.
	ULID(scope string) journal.RunID
	// Salt is 16 random bytes.
	Salt(scope string) []byte
}

// Settings are what a folder's configuration says, at the time when a session takes it.
type Settings struct {
	Policy   event.Policy
	Worktree string
	Sections []event.SectionResolved
	Provider model.Provider // of Policy.Model
	Models   []string       // "provider/name" of each that is configured
	Levels   []string       // of reasoning, that Policy.Model is configured with
	Environ  []string       // of commands
}

// Choice is what was chosen for a session, over its folder's configuration. What is empty was not.
type Choice struct {
	Model     string // "provider/name"
	Reasoning string // a level; one that the model does not have counts as none
}

// PermissionRequest is a question to the user about a call.
type PermissionRequest struct {
	ID       string
	Call     string
	Reusable bool // the answer may be for the whole session
	Over     bool // the call is over, with the process that asked first: the answer is recorded and runs nothing
}

// Asker puts permission requests to the user. AskPermission returns when there is an answer, or when ctx ends. A question
// that cannot be put is answered by event.VerdictUndeliverable. An option of event.OptionAllowSession with event.VerdictAllow
// is a grant for the session, and is on offer only when the request is reusable.
type Asker interface {
	AskPermission(ctx context.Context, r PermissionRequest) (v event.Verdict, option string)
}

// Observer follows a session. Committed is called from the owner's goroutine (while [Host.OpenSeen] reads a journal: from one of its
// own) for each durable commit, in order; Live from
// the goroutines of effects, for what may be shown before it is durable. Neither may block.
type Observer interface {
	Committed(c *Committed)
	Live(l Live)
}

// Replayed is an [Observer] that wants to know when it has been given what was committed before it was attached. It is called
// from the owner's goroutine, before anything new comes.
type Replayed interface {
	Replayed()
}

// Loser is an [Observer] that wants to know when the session may append no more, for example because a sync failed: nothing
// further will be committed before it is opened afresh. Lost is called once, from the owner's goroutine.
type Loser interface {
	Lost(err error)
}

// LiveKind is what may be shown early.
type LiveKind uint8

// The kinds of live updates. A commit replaces each of them.
const (
	LiveText LiveKind = iota
	LiveReasoning
	LiveCall   // the name of a call is known: a pending card
	LiveOutput // output of a running command
)

// Live is text of an unfinished response, a pending card, or output of a running command.
type Live struct {
	Kind    LiveKind
	Turn    string
	Request string
	Attempt uint64
	Offset  int // bytes of this attempt's text of this kind that came before Text
	Text    string
	Call    string
	Tool    string
}

// Options are what a [Host] is built from.
type Options struct {
	Data     string        // the data folder
	Build    func() string // asked when a session is opened
	Clock    Clock
	IDs      IDs
	Tools    *tools.Registry
	Log      *slog.Logger
	Settings func(cwd string, c Choice) (*Settings, error) // of a folder, with what was chosen
	FreeMiB  func(dir string) uint64
	Sockets  []string                  // folders in which owned sessions may answer inspectors, the best first; see live.Folders
	Fault    func(journal.Point) error // crash tests; nil otherwise
	// Unfenced starts a call's effect before its fence: the mutant that crash tests must catch.
	Unfenced bool
	// Decide decides a command; commands.Decide if nil. A test seeds defects here that its invariants must find.
	Decide func(v *projections.View, typ string, payload []byte, texts event.Table, at commands.Stamp) commands.Decision
}
