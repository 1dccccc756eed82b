// Package headless runs one prompt without an editor and prints what happens: text for people, or one JSON object a
// line. The type to read first is [Runner].
package headless
