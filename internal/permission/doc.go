// Package permission decides whether a call runs, asks or is denied. It is a function of the recorded policy and of
// what the call declares: no clock, no environment, no file. The decision is taken before the call's command is
// made and travels with it as a fact, so that nothing has to be decided again when a journal is read.
//
// Read [Decide] first.
package permission
