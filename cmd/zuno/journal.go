package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"zuno/internal/inspect"
)

type journalCmd struct {
	Show   journalShowCmd   `cmd:"" help:"Show the commits of a journal one by one."`
	Verify journalVerifyCmd `cmd:"" help:"Check that a journal is whole, and that it is the one whose head was noted."`
	Tail   journalTailCmd   `cmd:"" help:"Show the events of a journal one a line, each below what caused it, and follow a session."`
	Script journalScriptCmd `cmd:"" help:"Write the recorded responses as a script of the scripted model."`
	Export journalExportCmd `cmd:"" help:"Write a journal as JSON lines, one for each commit."`
	Import journalImportCmd `cmd:"" help:"Make a journal of JSON lines again, for inspection."`
	Redact journalRedactCmd `cmd:"" help:"Write a journal without its texts to a fresh file."`
}

// journalArg names a journal.
type journalArg struct {
	Session string `arg:"" name:"session|file" help:"A session: an id, the beginning of one that is unique, or last. Or the path of a journal's file or a session's folder."`
}

func (a *journalArg) find(g *globals) (inspect.Place, error) {
	s, err := store()
	if err != nil {
		return inspect.Place{}, err
	}
	p, err := s.FindFile(a.Session)
	if err == nil {
		tellChoice(g, p)
	}
	return p, err
}

type journalShowCmd struct {
	journalArg
	JSON bool `name:"json" help:"Print one JSON object a line, with the texts in their places."`
}

// Run shows each commit.
func (c *journalShowCmd) Run(g *globals) error {
	p, err := c.find(g)
	if err != nil {
		return err
	}
	return inspect.Show(p.Path, g.stdout, c.JSON)
}

type journalVerifyCmd struct {
	journalArg
	Head string `placeholder:"HASH" help:"The hash of a commit that must be in the journal: the last one that was known."`
	JSON bool   `name:"json" help:"Print the result as a JSON object."`
}

// Run exits non-zero unless the journal is whole and has the head.
func (c *journalVerifyCmd) Run(g *globals) error {
	if c.Head != "" {
		if _, err := inspect.ParseHead(c.Head); err != nil {
			return err
		}
	}
	p, err := c.find(g)
	if err != nil {
		return err
	}
	v, failure := inspect.Verify(p.Path, c.Head)
	if c.JSON {
		b, err := v.JSON()
		return errors.Join(failure, printed(g.stdout, b, err))
	}
	return errors.Join(failure, v.Tell(g.stdout))
}

type journalExportCmd struct {
	journalArg
	Normalize bool `help:"Mask paths, ids, times, durations, digests, build and installation, so that two runs of one script compare equal. Such an export cannot be imported."`
	Redact    bool `help:"Leave out all texts and the salt. The chain still verifies against the same head."`
}

// Run writes nothing but JSON objects to standard output.
func (c *journalExportCmd) Run(g *globals) error {
	p, err := c.find(g)
	if err != nil {
		return err
	}
	if c.Redact {
		return inspect.ExportRedacted(p.Path, g.stdout, c.Normalize)
	}
	return inspect.Export(p.Path, g.stdout, c.Normalize)
}

type journalTailCmd struct {
	journalArg
	Most   *int `short:"n" name:"most" placeholder:"N" help:"Only the last N events."`
	Follow bool `short:"f" name:"follow" help:"Go on with what is committed from now on, until it is interrupted."`
}

// Run shows events, and with -f those to come.
func (c *journalTailCmd) Run(g *globals) error {
	if c.Most != nil && *c.Most < 0 {
		return fmt.Errorf("-n takes a number from 0 on, not %d", *c.Most)
	}
	p, err := c.find(g)
	if err != nil {
		return err
	}
	o := inspect.TailOptions{Most: c.Most, Follow: c.Follow}
	if !c.Follow {
		return inspect.Tail(context.Background(), p.Path, g.stdout, o)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- inspect.Tail(ctx, p.Path, g.stdout, o) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(tailWait):
		return nil
	}
}

// tailWait is how long a tail that was interrupted may take to end by itself: a pager may not take its output any more, or
// an owner make a snapshot for it.
const tailWait = time.Second

type journalScriptCmd struct {
	journalArg
}

// Run writes a script with which the same prompts get the same responses.
func (c *journalScriptCmd) Run(g *globals) error {
	p, err := c.find(g)
	if err != nil {
		return err
	}
	b, doubts, err := inspect.Script(p.Path)
	for _, d := range doubts {
		fmt.Fprintln(g.stderr, "zuno:", d)
	}
	return printed(g.stdout, b, err)
}
