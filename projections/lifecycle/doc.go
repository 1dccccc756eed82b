// Package lifecycle holds the state machines of a session, each as one looplab/fsm table.
//
// A live decision fires a transition through looplab/fsm; a fold uses an array compiled from the same table, so both
// agree and a replay costs nothing. The package does no I/O. The type to read first is [Machine].
package lifecycle
