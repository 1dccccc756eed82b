package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"zuno/internal/inspect"
)

type journalImportCmd struct {
	File string `arg:"" name:"file" help:"An export: JSON lines. - is standard input."`
	As   string `placeholder:"FILE" help:"Make a journal's file instead of a session of the data folder; large texts go to artifacts/ beside it."`
	Head string `placeholder:"HASH" help:"The hash of a commit that must be in the journal."`
	JSON bool   `name:"json" help:"Print the result as a JSON object."`
}

// Run imports all of it or nothing, and says what the journal is found under.
func (c *journalImportCmd) Run(g *globals) error {
	s, err := store()
	if err != nil {
		return err
	}
	in := g.stdin
	if c.File != "-" {
		if in, err = os.Open(c.File); err != nil {
			return err
		}
		defer in.Close()
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	p, v, err := s.Import(interruptible{in, stop}, inspect.ImportOptions{File: c.As, Session: g.sessionID(), Head: c.Head})
	if err != nil {
		return err
	}
	if p.Session != "" {
		fmt.Fprintf(g.stderr, "session %s, for inspection only: `zuno session fork %s` makes one that can go on\n", p.Session, p.Session)
	}
	return c.tell(g, v)
}

func (c *journalImportCmd) tell(g *globals, v inspect.Verification) error {
	if c.JSON {
		b, err := v.JSON()
		return printed(g.stdout, b, err)
	}
	return v.Tell(g.stdout)
}

// interruptible ends in an error after a signal, so that what was begun is taken back.
type interruptible struct {
	f    *os.File
	stop <-chan os.Signal
}

func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := r.f.Read(p)
		done <- result{n, err}
	}()
	select {
	case d := <-done:
		return d.n, d.err
	case <-r.stop:
		return 0, errors.New("interrupted")
	}
}

// sessionID is a fresh id.
func (g *globals) sessionID() string {
	if g.TestClockSeed != 0 {
		return "ses_" + strings.ToLower(newSeededIDs(g.TestClockSeed).ULID("session").String())
	}
	return "ses_" + strings.ToLower(realIDs{}.ULID("session").String())
}

type journalRedactCmd struct {
	journalArg
	Out string `arg:"" name:"out" help:"The file that is written. It must not exist."`
}

// Run writes a fresh file: no free page of it holds a text.
func (c *journalRedactCmd) Run(g *globals) error {
	p, err := c.find(g)
	if err != nil {
		return err
	}
	v, err := inspect.Redact(p.Path, c.Out)
	if err != nil {
		return err
	}
	return v.Tell(g.stdout)
}
