package lifecycle

import "github.com/looplab/fsm"

// The triggers of a call. The last four are its outcomes.
const (
	CallBlock     Trigger = "block"
	CallAsk       Trigger = "ask"
	CallAbandon   Trigger = "abandon"
	CallStart     Trigger = "start"
	CallOK        Trigger = "ok"
	CallError     Trigger = "error"
	CallCancelled Trigger = "cancelled"
	CallUncertain Trigger = "uncertain"
)

// Call is the way of a tool call. A started call is settled with one of four outcomes; the others have done nothing.
var Call = define("call", "requested", fsm.Events{
	{Name: string(CallBlock), Src: []string{"requested", "asking"}, Dst: "blocked"},
	{Name: string(CallAsk), Src: []string{"requested"}, Dst: "asking"},
	{Name: string(CallAbandon), Src: []string{"asking"}, Dst: "abandoned"},
	{Name: string(CallStart), Src: []string{"requested", "asking"}, Dst: "started"},
	{Name: string(CallOK), Src: []string{"started"}, Dst: "settled_ok"},
	{Name: string(CallError), Src: []string{"started"}, Dst: "settled_error"},
	{Name: string(CallCancelled), Src: []string{"started"}, Dst: "settled_cancelled"},
	{Name: string(CallUncertain), Src: []string{"started"}, Dst: "settled_uncertain"},
})
