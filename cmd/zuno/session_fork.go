package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"zuno/internal/inspect"
)

type sessionForkCmd struct {
	journalArg
	At  uint64 `placeholder:"N" help:"The commit to go on from; the last one when it is absent."`
	Cwd string `placeholder:"DIR" help:"The folder that the new session works in; that of the source when it is absent."`
}

// Run makes a session of this installation. The source, which may be imported, is only read.
func (c *sessionForkCmd) Run(g *globals) error {
	place, err := c.find(g)
	if err != nil {
		return err
	}
	cwd := c.Cwd
	if cwd != "" {
		if cwd, err = filepath.Abs(cwd); err != nil {
			return err
		}
	}
	source, err := inspect.Source(place.Path)
	if err != nil {
		return err
	}
	p, err := g.process(circumstances{})
	if err != nil {
		return errors.Join(err, source.Close())
	}
	f, err := p.host.Fork(source, c.At, cwd)
	if err := errors.Join(err, source.Close()); err != nil {
		return err
	}
	fmt.Fprintf(g.stderr, "forked from commit %d of %s\n", f.Source.Commit, f.Source.Session)
	_, err = fmt.Fprintln(g.stdout, f.Session)
	return err
}
