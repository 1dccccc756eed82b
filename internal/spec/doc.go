// Command spec compares the table of requirements with the tests that show them.
//
// The table is docs/requirements.tsv. A test names the rows that it shows in a
// comment of its own line:
//
//	// spec: A001 D060-D063     in a Go test or a Node test
//	# spec: D018                in a txtar script
//
// `go run ./internal/spec` prints, per part and section, the rows that no test
// names. It exits with 1 when a test names a row that does not exist or the
// table itself is broken, so that a typing error cannot pass for coverage.
//
// The package reads files and prints; it imports nothing of the product. Start
// with Table (the rows) and Scan (the names).
package main
