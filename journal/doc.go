// Package journal is what happened: an append-only log of commits, each linked to the one before by its hash, in one
// bbolt file for each session.
//
// It knows the envelope of a commit and nothing of what the events mean, imports no other package of ours than the
// msgpack reader, and never changes a commit that it has written. Whoever opens a session's [File] owns the session
// until it closes it. The type to read first is [Log].
package journal
