package event

// Effect says what a call does to the user's state (specification: effect classification).
type Effect string

// The effects. SideEffecting is the default: what is not known to be harmless is not.
const (
	ReadOnly      Effect = "read_only"
	UserMediated  Effect = "user_mediated"
	Delegating    Effect = "delegating"
	SideEffecting Effect = "side_effecting"
)

// Replay says whether a call may be attempted again after a failure.
type Replay string

// The replay policies. ReplayNever is the default.
const (
	ReplayNever Replay = "never"
	ReplaySafe  Replay = "safe"
)

// Concurrency says whether a call may overlap with others.
type Concurrency string

// The overlap policies. Exclusive is the default: a barrier on both sides.
const (
	Exclusive          Concurrency = "exclusive"
	ParallelSafe       Concurrency = "parallel_safe"
	IsolatedBackground Concurrency = "isolated_background"
)

// Declaration is the three independent declarations of a tool or, resolved, of one call.
type Declaration struct {
	Effect      Effect      `msgpack:"effect" json:"effect"`
	Replay      Replay      `msgpack:"replay" json:"replay"`
	Concurrency Concurrency `msgpack:"concurrency" json:"concurrency"`
}

// WithDefaults fills what is undeclared with the strict choice.
func (d Declaration) WithDefaults() Declaration {
	if d.Effect == "" {
		d.Effect = SideEffecting
	}
	if d.Replay == "" {
		d.Replay = ReplayNever
	}
	if d.Concurrency == "" {
		d.Concurrency = Exclusive
	}
	return d
}

// AccessKind is what a call wants with a resource.
type AccessKind string

// The kinds of access.
const (
	AccessRead    AccessKind = "read"
	AccessWrite   AccessKind = "write"
	AccessExecute AccessKind = "execute"
)

// Place is where the resource of an access lies, which is a fact that a decision may read; its path is a text.
type Place string

// The places. PlaceSecret is an environment file (.env and its like), wherever it lies.
const (
	PlaceInside  Place = "inside"  // the worktree
	PlaceOutside Place = "outside" // anywhere else
	PlaceSecret  Place = "secret"
	PlaceNone    Place = "none" // a command
	// PlaceGit is what git keeps of a repository, wherever it lies: who writes there decides what git runs. Only of an
	// access that writes.
	PlaceGit Place = "git"
)

// Action is what a permission rule says.
type Action string

// The actions.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
)

// PermissionMode is how freely calls run (configuration: permission.mode).
type PermissionMode string

// The permission modes: by rules; a fresh question for every side effect; no questions.
const (
	ModeStandard PermissionMode = "standard"
	ModeStrict   PermissionMode = "strict"
	ModeAllowAll PermissionMode = "allow_all"
)

// Rule is one line of permission.rules. Of several that match, the last decides. Tool may hold *; an empty Pattern
// stands for the whole tool.
type Rule struct {
	Tool    string `msgpack:"tool" json:"tool"`
	Pattern string `msgpack:"pattern" json:"pattern,omitempty"`
	Action  Action `msgpack:"action" json:"action"`
}

// Policy is all of the configuration that a decision reads. It holds no secret.
type Policy struct {
	Agent       string         `msgpack:"agent" json:"agent"`
	Mode        PermissionMode `msgpack:"mode" json:"mode"`
	Rules       []Rule         `msgpack:"rules" json:"rules,omitempty"`
	Headless    bool           `msgpack:"headless" json:"headless,omitempty"` // nobody is there to ask
	Model       ModelChoice    `msgpack:"model" json:"model"`
	Shell       ShellPolicy    `msgpack:"shell" json:"shell"`
	Concurrency uint64         `msgpack:"tool_calls" json:"tool_calls"` // bound on calls that overlap, 1 to 64
	Retry       RetryPolicy    `msgpack:"retry" json:"retry,omitzero"`
	Chosen      bool           `msgpack:"model_chosen" json:"model_chosen,omitempty"` // Model was chosen for this session, whatever the configuration names
}

// RetryPolicy bounds the attempts of one request to the provider.
type RetryPolicy struct {
	MaxAttempts uint64 `msgpack:"max_attempts" json:"max_attempts"` // 0 and 1: no retry
	WindowMS    uint64 `msgpack:"window_ms" json:"window_ms"`       // from the start of the first attempt to that of the last
}

// ModelChoice is the model that answers, with what is known of its limits (tokens; 0 is unknown).
type ModelChoice struct {
	Provider string `msgpack:"provider" json:"provider"`
	Name     string `msgpack:"name" json:"name"`
	Surface  string `msgpack:"surface" json:"surface"`
	Context  uint64 `msgpack:"context" json:"context,omitempty"`
	Output   uint64 `msgpack:"output" json:"output,omitempty"`
	// Reasoning is the level that was chosen; empty leaves it to the provider.
	Reasoning string `msgpack:"reasoning" json:"reasoning,omitempty"`
}

// String is "provider/name", by which a model is configured and chosen.
func (m ModelChoice) String() string { return m.Provider + "/" + m.Name }

// ShellPolicy bounds commands.
type ShellPolicy struct {
	HardCeilingMS uint64 `msgpack:"hard_ceiling_ms" json:"hard_ceiling_ms"` // after which a command is killed
}
