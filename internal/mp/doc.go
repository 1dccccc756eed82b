// Package mp reads msgpack from bytes that nobody has vouched for.
//
// A Reader allocates nothing, never reads past its input and never trusts a length that the remaining
// bytes cannot hold, so a hostile five-byte header costs nothing. It is the reading half of the codec;
// the writing half is vmihailenco/msgpack, which produces the same wire format. The type to read first
// is [Reader].
package mp
