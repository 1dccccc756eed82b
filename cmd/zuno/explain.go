package main

import (
	"errors"

	"zuno/internal/inspect"
)

type explainCmd struct {
	Kind string `arg:"" enum:"call,input,turn,gate" help:"What is explained: ${enum}."`
	journalArg
	ID   string `arg:"" optional:"" default:"last" help:"Its id, the beginning of one that is unique, or last."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run explains. What a corrupt journal still says is printed before its error.
func (c *explainCmd) Run(g *globals) error {
	p, err := c.find(g)
	if err != nil {
		return err
	}
	x, failure := inspect.Explain(p.Path, c.Kind, c.ID)
	if x == nil {
		return failure
	}
	if c.JSON {
		b, err := x.JSON()
		return errors.Join(failure, printed(g.stdout, b, err))
	}
	return errors.Join(failure, printed(g.stdout, []byte(x.Tell()), nil))
}
