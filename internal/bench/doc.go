// Package bench holds the benchmarks of whole paths: start-up, a commit through the whole engine, replay, opening, rounds over
// real pipes, memory. Each states its figure as a ratio against something measured in the same run (metric "ratio") beside
// the ratio that it must reach ("limit"); table prints them. Benchmarks of single packages stand beside their code.
package bench
