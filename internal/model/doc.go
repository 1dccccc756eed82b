// Package model is what an answering model looks like from the inside: one neutral request, one stream of chunks,
// one typed end. A provider is a thin client behind [Provider]; retries, completeness, redaction and records
// are the engine's. It imports nothing of ours.
package model
