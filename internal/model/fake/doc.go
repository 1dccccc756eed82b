// Package fake is a provider's server on the loopback for tests: one for each surface, with the answers and the misbehaviour
// that a test scripts, and a record of what was asked. Nothing of the product imports it. The providers' official clients
// are held against it, so that what it says is what the real ones say.
//
// Read [Answer] first.
package fake
