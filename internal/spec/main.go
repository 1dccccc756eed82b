package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 0, 1 when a test names a row that does not exist
// or the table is broken, 2 for a usage error or files that cannot be read.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("spec", flag.ContinueOnError)
	flags.SetOutput(stderr)
	parts := flags.String("part", "", "only these parts, separated by commas")
	asJSON := flags.Bool("json", false, "print JSON, with the places that name each row")
	counts := flags.Bool("counts", false, "print one line per part")
	rootFlag := flags.String("root", "", "the module's root (default: found upwards from here)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	root, err := moduleRoot(*rootFlag)
	if err != nil {
		fmt.Fprintln(stderr, "spec:", err)
		return 2
	}
	var wanted []string
	if *parts != "" {
		wanted = strings.Split(*parts, ",")
	}
	report, table, err := compareTree(root, wanted)
	if err != nil {
		fmt.Fprintln(stderr, "spec:", err)
		return 2
	}
	for _, part := range wanted {
		if !slices.ContainsFunc(table.Rows, func(r Row) bool { return r.Part == part }) {
			fmt.Fprintf(stderr, "spec: no part %q in %s\n", part, tablePath)
			return 2
		}
	}

	if *asJSON {
		out := json.NewEncoder(stdout)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		err = report.Print(stdout, *counts)
	}
	if err != nil {
		fmt.Fprintln(stderr, "spec:", err)
		return 2
	}
	for _, problem := range report.Problems {
		fmt.Fprintln(stderr, problem)
	}
	if len(report.Problems) > 0 {
		return 1
	}
	return 0
}

// compareTree reads the table and the tests below root and compares them.
func compareTree(root string, parts []string) (Report, *Table, error) {
	file, err := os.Open(filepath.Join(root, filepath.FromSlash(tablePath)))
	if err != nil {
		return Report{}, nil, fmt.Errorf("open the table: %w", err)
	}
	defer file.Close()
	table, problems, err := ReadTable(tablePath, file)
	if err != nil {
		return Report{}, nil, err
	}
	namings, unreadable, err := Scan(os.DirFS(root))
	if err != nil {
		return Report{}, nil, err
	}
	problems = append(problems, unreadable...)
	problems = append(problems, Unknown(table, namings)...)
	report := Compare(table, namings, parts)
	report.Problems = append(report.Problems, problems...)
	return report, table, nil
}

// moduleRoot returns given, or the nearest folder upwards that holds go.mod.
func moduleRoot(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module's root: %w", err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("find the module's root: %w", err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod here or above; run it inside the project")
		}
		dir = parent
	}
}
