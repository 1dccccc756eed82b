// Package httpx is what the providers that are reached over HTTP have in common: one attempt per request, its timeouts and
// bounds, the typed end of what goes wrong, and the neutral answer that a surface's stream is collected in. It retries
// nothing, follows no redirect and keeps no request.
//
// A surface gives a [Target], the form of its requests and a [Decoder]; read [Client.Stream] first. Secrets enter through
// functions of [Options] and leave in headers and the address only: every text of an error passes the redaction of this
// package.
package httpx
