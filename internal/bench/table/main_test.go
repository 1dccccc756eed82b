package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeQuotesTheTable: row by row, the README has what this command prints.
//
// spec: D171
func TestReadmeQuotesTheTable(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := os.ReadFile(filepath.Join("..", "..", "..", "justfile"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(recipe), "./internal/bench/table") {
		t.Error("just bench does not print the table")
	}
	for _, r := range rows {
		if !strings.Contains(string(page), "\n| "+r.what+" | ") {
			t.Errorf("the README lacks the row %q", r.what)
		}
	}
}
