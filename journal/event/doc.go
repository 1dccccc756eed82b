// Package event is the catalogue of what can happen in a session: one Go struct for each event type, its name with
// the version last, its generated codec, and the upcasters of older versions. It also holds the data that
// decisions carry beside events (declarations, policy, the tool catalogue). It does no I/O. The type to read
// first is [Type].
package event
