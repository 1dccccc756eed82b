// Package openai speaks the two interfaces that OpenAI has, as providers: chat completions, which many other servers speak
// too, each a little differently, and responses. Both are thin: one attempt, a neutral request put into form, a stream
// taken apart; see the package httpx for what they share.
//
// Read [Chat] and [Responses] first.
package openai
