package lifecycle

import "github.com/looplab/fsm"

// The triggers of an input.
const (
	InputRecorded  Trigger = "record"
	InputApplied   Trigger = "apply"
	InputCompleted Trigger = "completed"
	InputFailed    Trigger = "failed"
	InputCancelled Trigger = "cancelled"
)

// Input is the way of an input: saved, taken into the history, seen by a provider, done. An execution gate
// stands beside it and moves nothing.
var Input = define("input", "admitted", fsm.Events{
	{Name: string(InputRecorded), Src: []string{"admitted"}, Dst: "recorded"},
	{Name: string(InputApplied), Src: []string{"recorded"}, Dst: "applied"},
	{Name: string(InputCompleted), Src: []string{"applied"}, Dst: "completed"},
	{Name: string(InputFailed), Src: []string{"admitted", "recorded", "applied"}, Dst: "failed"},
	{Name: string(InputCancelled), Src: []string{"admitted", "recorded", "applied"}, Dst: "cancelled"},
})

// The triggers of a turn.
const (
	TurnCompleted Trigger = "completed"
	TurnCancelled Trigger = "cancelled"
	TurnFailed    Trigger = "failed"
)

// Turn is the way of a turn.
var Turn = define("turn", "running", fsm.Events{
	{Name: string(TurnCompleted), Src: []string{"running"}, Dst: "completed"},
	{Name: string(TurnCancelled), Src: []string{"running"}, Dst: "cancelled"},
	{Name: string(TurnFailed), Src: []string{"running"}, Dst: "failed"},
})
