// Package shell holds the tool that runs a command.
//
// A command runs under bash with pipefail and without start-up files, in a session and process group of its own, with
// its input closed. Its output is a file that it writes itself: nothing of ours stands between, so a command that
// outlives its shell cannot hold a call up, and nothing it writes is held in memory.
//
// A call ends when the shell ends, at the hard ceiling, or when it is cancelled. Whatever is left of its processes is
// killed then. [tree] tells how they are found and which cannot be.
package shell
