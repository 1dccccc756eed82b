// Package prooftest holds tests that read what the real binary leaves behind: they run an agent as an editor does, and then
// look at the journal, the folders and the process itself.
package prooftest
