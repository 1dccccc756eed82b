package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"zuno/acp"
	"zuno/acp/schema"
)

type acpCmd struct {
	Check bool `help:"Say that the adapter is there, and exit."`
}

// Run serves until the end of input.
func (c *acpCmd) Run(g *globals) error {
	if c.Check {
		_, err := fmt.Fprintf(g.stdout, "ACP stdio adapter ready (protocol v%d; schema %s)\n", schema.ProtocolVersion, schema.SHA256Prefix)
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // an editor that is gone ends the connection, not the process in the middle of a commit
	p, err := g.process(circumstances{})
	if err != nil {
		return err
	}
	return acp.NewServer(p.host, p.ids, p.log, g.stderr, version).Serve(context.Background(), g.stdin, noClose{g.stdout})
}

// noClose keeps standard output open for whoever else holds it.
type noClose struct{ io.Writer }
