// Package client speaks the Agent Client Protocol from the editor's side, with an agent that it starts.
//
// It serves the demonstration, the scripts, the crash tests and the benchmarks: a [Client] is one agent process over real
// pipes, and an [Editor] is what an editor that receives its updates holds and would draw. It knows the protocol and
// nothing of how this agent works inside.
package client
