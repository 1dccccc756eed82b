// Package editortest drives a whole session as an editor has it – the protocol's server, the engine and a journal on disk, in one
// process that "dies" by going on with a copy of its disk – and checks after each step what must always hold. It has no code of its
// own, only tests. Start with TestWholeSession.
package editortest
