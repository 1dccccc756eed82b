// Package archtest holds the rules that the architecture is made of as tests over the source: which package may import
// which, which packages are pure, and where time and randomness enter. It has no code of its own; read [rank] first.
package archtest
