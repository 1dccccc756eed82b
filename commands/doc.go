// Package commands is what may happen: one file of rules for each noun, each rule a pure function from the view,
// the command and its stamp to the events that it causes, or to a refusal.
//
// A rule reads the view as it was before its command and never changes it. It does no I/O, knows no clock and
// never reads a text, only facts that stand beside it. A command's struct is what is recorded; what a text must
// look like is checked where the command is made. The function to read first is [Decide].
package commands
