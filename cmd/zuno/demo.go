package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"zuno/internal/demo"
)

type demoCmd struct{}

// Run shows this binary at work, in processes of its own.
func (c *demoCmd) Run(g *globals) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the demo cannot find its own binary: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return demo.Run(ctx, demo.Options{Binary: binary, Command: calledAs(binary), Out: g.stdout, Version: version})
}

// calledAs is how this binary is called again. That of `go run` is gone by then.
func calledAs(binary string) string {
	if strings.Contains(binary, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/zuno"
	}
	if strings.ContainsRune(os.Args[0], filepath.Separator) {
		return binary
	}
	return "zuno"
}
