// Package scripted is the model that answers from a script: the embedded default that serves without configuration, and
// the provider that tests drive everything with. A script is a list of responses in YAML. Entries are taken in
// order; which one is next is the caller's to remember (model.Request.Position and Used), so that a session goes on
// where it was after a restart and the provider itself holds no state.
//
// A script is checked as a whole when it is loaded: keys, types, variables, the line of each mistake. Variables are
// substituted plainly; there is no template language.
//
// Read [Script] first.
package scripted
