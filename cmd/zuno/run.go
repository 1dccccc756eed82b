package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"zuno/internal/config"
	"zuno/internal/headless"
	"zuno/journal/event"
)

type runCmd struct {
	Prompt []string `arg:"" optional:"" help:"The prompt; standard input when it is absent."`
	Model  string   `short:"m" placeholder:"PROVIDER/MODEL" help:"The model that answers."`
	Format string   `enum:"text,json" default:"text" help:"Output format: ${enum}."`
	JSON   bool     `name:"json" help:"The same as --format json."`
	Allow  []string `placeholder:"TOOL" help:"Allow a tool that would ask; repeatable."`
	Mode   string   `name:"permission-mode" enum:",standard,strict,allow_all" default:"" help:"Permission mode: standard, strict or allow_all."`
}

// Run runs one prompt and exits non-zero when its turn does not complete.
func (c *runCmd) Run(g *globals) error {
	text := strings.Join(c.Prompt, " ")
	if len(c.Prompt) == 0 {
		var err error
		if text, err = headless.ReadPrompt(g.stdin); err != nil {
			return err
		}
	}
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("the prompt is empty; give it as an argument or on standard input")
	}
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the current folder is not there: %w", err)
	}
	p, err := g.process(circumstances{
		override: config.Override{Model: c.Model, Mode: event.PermissionMode(c.Mode)},
		flags:    config.Flags{Headless: true, Allow: c.Allow},
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := headless.Runner{Host: p.host, IDs: p.ids, Out: g.stdout, Progress: g.stderr, JSON: c.JSON || c.Format == "json"}
	ok, err := r.Run(ctx, filepath.Clean(cwd), text)
	if err != nil {
		return err
	}
	if !ok {
		return exit(1)
	}
	return nil
}
