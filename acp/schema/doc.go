// Package schema has the messages of the Agent Client Protocol, version 1, as Go
// types. They are generated from schema.json, which is the published schema; see
// [SHA256]. Read [SessionUpdate] first: most of what an agent sends is one.
//
// How the types read and write JSON:
//
//   - An optional field that is zero is left out. A required list that is nil is
//     written as []. An optional list that is empty but not nil is written, since
//     [] replaces what the client has.
//   - _meta is raw JSON; [Meta] makes it.
//   - A choice (ContentBlock, SessionUpdate …) is a struct with a pointer per
//     variant. A variant that this schema does not know is kept in Raw and written
//     back as it came.
//   - [Nullable] tells absent, null and a value apart where that has a meaning.
//   - Nothing is escaped for HTML.
//
// Decoding checks JSON types, not the schema: required members may be missing, and
// strings outside an enum come through. The caller decides what that means.
//
// The package does no I/O and knows nothing of sessions.
package schema

//go:generate go run ./internal/gen/cmd
