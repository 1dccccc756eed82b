// Package sse reads the events of a provider's answer, with a bound on each. It wraps a library that knows the format and
// adds what answers need: an answer that ends properly ends its last event too.
//
// Read [Read] first.
package sse
