package event

import "zuno/journal"

// Forks is where a session comes from that was not begun by an input.
var Forks = Group{
	Of[Forked]("session.forked.1"),
}

// Forked: the session took over another one's conversation, up to and with one of its commits. What follows in this
// commit and the next ones of the same command happened there, and is told here anew.
type Forked struct {
	Session string       `msgpack:"session" json:"session"` // the source
	Commit  uint64       `msgpack:"commit" json:"commit"`
	Hash    journal.Hash `msgpack:"hash" json:"hash"` // of that commit; the first commit of this session names it too
}
