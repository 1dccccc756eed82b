package main

import (
	"strings"

	"zuno/internal/inspect"
)

type replayCmd struct {
	journalArg
	Until     *uint64 `placeholder:"N" help:"Fold the commits up to N only: what was true then. 0 is before the first."`
	View      string  `placeholder:"NAME" help:"Print one view only."`
	JSON      bool    `name:"json" help:"Print JSON, the same bytes for equal journals."`
	Normalize bool    `help:"Mask paths, ids, times, durations, digests, build and installation, so that two runs of one script compare equal."`
}

// Help names the views.
func (c *replayCmd) Help() string {
	return "The views are " + strings.Join(inspect.ViewNames(), ", ") + "."
}

// Run folds and prints.
func (c *replayCmd) Run(g *globals) error {
	if err := inspect.CheckView(c.View); err != nil {
		return err
	}
	p, err := c.find(g)
	if err != nil {
		return err
	}
	p.Chosen = false // told already
	return showViews(g, p, inspect.ReplayOptions{Until: c.Until, Normalize: c.Normalize}, c.View, c.JSON)
}
