// Package acp serves the Agent Client Protocol: requests become commands, events become session/update.
//
// A [Server] has one connection and many sessions. Each session has one [Projector], a pure fold from events to what an
// editor draws, for live updates and for a load alike, so that an editor holds the same state after either. Package wire
// has the connection, package schema the messages; errors.go is the only place that knows error codes.
package acp
