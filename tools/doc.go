// Package tools is what a model can call. A tool does an effect and tells what became of it; it knows nothing of turns,
// records or permissions. The engine does: it resolves a call ([Registry.Resolve]), has it permitted, makes the start
// durable, runs it ([Prepared].Run) and records the [Result].
//
// Everything up to Run is free of effects and bounded: arguments are checked against the schema that the model was
// sent, paths are resolved with stat-like calls only. A call that is refused there is [Blocked] and nothing happened.
//
// A tool carries three declarations – effect, replay, concurrency – that are stated independently. What is not stated
// is the strict choice. Read [Spec] first. The tools themselves live in one package per family: tools/files,
// tools/patch, tools/search, tools/shell.
package tools
