package event

// Inputs is the way of what a user (or, later, a report) sent.
var Inputs = Group{
	Of[InputAdmitted]("session.input.admitted.1"),
	Of[InputDeliveryBatch]("session.input.delivery_batch.1"),
	Of[InputApplied]("session.input.applied.1"),
	Of[InputSettled]("session.input.settled.1"),
	Of[InputGated]("session.input.gated.1"),
	Of[InputObserved]("session.input.observed.1"),
}

// Delivery says when an input wants to be taken.
type Delivery string

// The deliveries.
const (
	DeliverSteer Delivery = "steer" // at the next safe point
	DeliverQueue Delivery = "queue" // in a turn of its own
)

// Trigger says who caused an input or a turn.
type Trigger string

// The triggers.
const (
	TriggerUser        Trigger = "user"
	TriggerUserControl Trigger = "user_control" // a native command of the user
	TriggerRecovery    Trigger = "recovery"     // a control that a repair queued
	TriggerLegacy      Trigger = "legacy"       // recorded before anybody told who sent it
)

// InputAdmitted: the input is saved. From here on it is never lost.
type InputAdmitted struct {
	ID       string   `msgpack:"id" json:"id"`
	Client   string   `msgpack:"client" json:"client,omitempty"` // the client's own message id
	Trigger  Trigger  `msgpack:"trigger" json:"trigger"`
	Delivery Delivery `msgpack:"delivery" json:"delivery"`
	Blocks   []Block  `msgpack:"blocks" json:"blocks"`
	// Turn is the running turn that the input was steered into by name; empty where no turn was named.
	Turn string `msgpack:"turn" json:"turn,omitempty"`
	// Control is what a native command asks for; nil for what the model is to be told.
	Control *Control `msgpack:"control" json:"control,omitempty"`
}

// ControlKind is a native command.
type ControlKind string

// The native commands.
const (
	ControlResume  ControlKind = "resume_work"     // /resume
	ControlInspect ControlKind = "inspect_outcome" // /inspect-outcome: lists
	ControlFinding ControlKind = "record_outcome"  // /inspect-outcome CALL VERDICT NOTE
	ControlRecover ControlKind = "recover_input"   // queued by an offline repair
)

// Finding is what a user found out about a call whose effect was unknown.
type Finding string

// The findings. FindingUnknown clears nothing.
const (
	FindingHappened     Finding = "happened"
	FindingDidNotHappen Finding = "did_not_happen"
	FindingUnknown      Finding = "unknown"
)

// Control is the typed form of a native command: a decision reads it, and never the text that it was made of.
type Control struct {
	Kind    ControlKind `msgpack:"kind" json:"kind"`
	Call    string      `msgpack:"call" json:"call,omitempty"`       // of a finding
	Finding Finding     `msgpack:"finding" json:"finding,omitempty"` // of a finding
	Note    Text        `msgpack:"note" json:"note"`                 // of a finding: what was looked at
	// Input and Revision are those of a repair: the input that was held by mistake, and the execution revision at which
	// that was proved.
	Input    string `msgpack:"input" json:"input,omitempty"`
	Revision uint64 `msgpack:"revision" json:"revision,omitempty"`
	Actor    string `msgpack:"actor" json:"actor,omitempty"` // of a repair: who ordered it
}

// BlockType is the type of a content block, as in ACP.
type BlockType string

// The types of blocks that are taken.
const (
	BlockText     BlockType = "text"
	BlockLink     BlockType = "resource_link"
	BlockResource BlockType = "resource"
	BlockImage    BlockType = "image" // Text is its bytes in base64, Mime their format
)

// Block is one block of a prompt.
type Block struct {
	Type BlockType `msgpack:"type" json:"type"`
	Text Text      `msgpack:"text" json:"text"`
	URI  Text      `msgpack:"uri" json:"uri"`
	Name Text      `msgpack:"name" json:"name"`
	Mime string    `msgpack:"mime" json:"mime,omitempty"`
}

// InputDeliveryBatch: the inputs were taken into the history, in this order. It does not say that a provider saw them.
type InputDeliveryBatch struct {
	Turn   string   `msgpack:"turn" json:"turn"`
	Cycle  string   `msgpack:"cycle" json:"cycle"`
	Inputs []string `msgpack:"inputs" json:"inputs"`
}

// InputApplied: a request that holds the input was dispatched to the provider.
type InputApplied struct {
	Input   string `msgpack:"input" json:"input"`
	Turn    string `msgpack:"turn" json:"turn"`
	Request string `msgpack:"request" json:"request"`
}

// InputSettled is the one terminal receipt of an input.
type InputSettled struct {
	Input string  `msgpack:"input" json:"input"`
	State string  `msgpack:"state" json:"state"` // completed, failed, cancelled
	Stop  string  `msgpack:"stop" json:"stop,omitempty"`
	Fault Failure `msgpack:"failure" json:"failure,omitzero"`
}

// Failure is why a request, a turn or an input failed. What is not known stays zero.
type Failure struct {
	Code      string `msgpack:"code" json:"code"` // a stable word: interrupted, provider, expectation_failed …
	Status    uint64 `msgpack:"status" json:"status,omitempty"`
	RequestID string `msgpack:"request_id" json:"request_id,omitempty"`
	Reason    Text   `msgpack:"reason" json:"reason"`
}

// InputGated: execution is held, so the saved input is not run. It moves no receipt; the gate stands beside it.
type InputGated struct {
	Input string        `msgpack:"input" json:"input"`
	Gate  ExecutionGate `msgpack:"gate" json:"gate"`
}

// InputObserved: a client sent an input again that waits since an earlier run. It is no other input, and it asks for work like a
// new one: nothing else would make this run begin with what waits.
type InputObserved struct {
	Input string `msgpack:"input" json:"input"`
}

// ExecutionGate is why execution does not go on, as it was when the input met it. Reason and Recovery are of the table
// in package commands.
type ExecutionGate struct {
	Reason   string `msgpack:"reason" json:"reason"`
	Recovery string `msgpack:"recovery" json:"recovery"`
	Revision uint64 `msgpack:"revision" json:"revision"` // of the execution
	Cycle    string `msgpack:"cycle" json:"cycle,omitempty"`
	Request  string `msgpack:"request" json:"request,omitempty"` // the human request that is waited for
	Source   string `msgpack:"source" json:"source,omitempty"`   // the external source that is waited for
}
