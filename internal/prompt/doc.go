// Package prompt makes the request that a provider is asked from what the journal says, and from nothing else: the same
// journal gives the same request in every build. It does no I/O. The type to read first is [History].
package prompt
