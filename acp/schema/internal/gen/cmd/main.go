// Command cmd writes types_gen.go from schema.json, both in the working directory.
package main

import (
	"fmt"
	"os"

	"zuno/acp/schema/internal/gen"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	schema, err := os.ReadFile("schema.json")
	if err != nil {
		return err
	}
	src, err := gen.Generate(schema)
	if err != nil {
		return err
	}
	return os.WriteFile("types_gen.go", src, 0o644)
}
