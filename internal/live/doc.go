// Package live reads a session that another process owns. The owner answers on a unix socket: it hands over a snapshot
// of the journal, says its head, and tells each new one. An owner that does not answer, because it is stopped or has no
// socket, is read past, from a copy of the file that is accepted only if all of it verifies. The function to read first
// is [Open], which takes the first of these ways that works; [Serve] is the other side.
//
// Nothing here holds up the owner: a snapshot is a file of its own, made in a goroutine of its own, and given away as a
// descriptor, so that it does not matter whether, or how fast, the other side reads.
//
// A session has a socket of its own, not a process one for all of its sessions. The session's lock then is the socket's
// too: whoever has it may remove what lies under the socket's name, so that a dead owner leaves nothing behind that its
// successor does not clear away. A request needs no session's name, and nothing listens before a session is owned.
package live
