// Package crashtest kills the real binary at every point of a scripted session – around each append and inside each effect
// – and looks at what is left: it has no code of its own, only tests. Start with TestKilledAnywhere.
package crashtest
