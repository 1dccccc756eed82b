// Package demo shows the agent at work: an editor has a failing test fixed, the agent's process is killed in the middle of
// a command, and the next process goes on from the journal.
//
// Nothing is staged: the agent is the same binary, driven over pipes by the client of package acp/client, with real tools
// in a real git worktree. Whatever the demonstration says, it has checked; [Run] fails when anything does not hold.
package demo
