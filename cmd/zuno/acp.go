package main

import (
	"context"
	"fmt"
	"io"
	"os"
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
	// Whoever asks the process to end gets the orderly stop that the end of input gets; who asks twice gets what they ask for.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)
	return acp.NewServer(p.host, p.ids, p.log, g.stderr, version).Serve(ctx, g.stdin, noClose{g.stdout})
}

// noClose keeps standard output open for whoever else holds it.
type noClose struct{ io.Writer }
