package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"zuno/journal"
)

// faults reads ZUNO_TEST_FAULT, by which crash tests have this process killed at the Nth pass of a point ("after-sync:3", or
// "any:17" for the Nth point of all), and ZUNO_TEST_UNFENCED, the mutant that they must catch.
func faults() (func(journal.Point) error, bool) {
	unfenced := os.Getenv("ZUNO_TEST_UNFENCED") != ""
	name, count, ok := strings.Cut(os.Getenv("ZUNO_TEST_FAULT"), ":")
	if !ok {
		return nil, unfenced
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		return nil, unfenced
	}
	var passed atomic.Int64
	return func(p journal.Point) error {
		if (name == "any" || name == string(p)) && passed.Add(1) == n {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}, unfenced
}
