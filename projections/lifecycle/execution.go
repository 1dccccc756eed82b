package lifecycle

import "github.com/looplab/fsm"

// The triggers of a session's execution.
const (
	ExecutionBegin        Trigger = "begin"
	ExecutionWaitHuman    Trigger = "wait_human"
	ExecutionWaitExternal Trigger = "wait_external"
	ExecutionPause        Trigger = "pause"
	ExecutionResume       Trigger = "resume"
	ExecutionComplete     Trigger = "complete"
)

// Execution is what a session is ready for. Its cycle ends with completed; begin starts the next one. Only resume
// leads out of a wait or a pause.
var Execution = define("execution", "ready", fsm.Events{
	{Name: string(ExecutionBegin), Src: []string{"ready", "completed"}, Dst: "ready"},
	{Name: string(ExecutionWaitHuman), Src: []string{"ready"}, Dst: "waiting_human"},
	{Name: string(ExecutionWaitExternal), Src: []string{"ready"}, Dst: "waiting_external"},
	{Name: string(ExecutionPause), Src: []string{"ready", "waiting_human", "waiting_external", "completed"}, Dst: "paused"},
	{Name: string(ExecutionResume), Src: []string{"waiting_human", "waiting_external", "paused"}, Dst: "ready"},
	{Name: string(ExecutionComplete), Src: []string{"ready"}, Dst: "completed"},
})
