// Package wire carries JSON-RPC 2.0 over a pair of byte streams, one message a
// line, for an agent that an editor drives over stdio.
//
// Read [Conn] first. It sits on sourcegraph/jsonrpc2, which matches calls with
// answers and delivers messages, and gives it an object stream of its own that
// survives what clients really send:
//
//   - A line is bounded. An overlong one is read past and answered with
//     [CodeInvalidRequest]; malformed JSON and broken UTF-8 are answered with
//     [CodeParseError]; a batch, a scalar or an ill-formed object is answered
//     with CodeInvalidRequest. These answers carry id null, and the connection
//     goes on.
//   - A request id is carried as its raw JSON text and given back byte for
//     byte. An id is in use from the moment the request is read until its
//     answer is queued; a second request under it is refused.
//   - Params and results pass through as raw JSON, never decoded on the way.
//   - Writing never waits for the peer: messages go to a queue, bounded in
//     bytes, that one goroutine writes in the order in which they were sent.
//
// Messages are delivered inline, in the order in which they were read, and
// answers to our own calls are read by the same goroutine. A [Handler]
// therefore returns quickly, and never waits for a [Conn.Call] it makes inline;
// longer work goes to [Request.Go] or to a queue of the handler's own.
//
// The package knows nothing of ACP's types, sessions or turns.
package wire
