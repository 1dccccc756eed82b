// Package anthropic speaks Anthropic's messages interface as a provider. It is thin: one attempt, a neutral request put
// into form, a stream taken apart; see the package httpx for what it shares with the others.
//
// Read [New] first.
package anthropic
