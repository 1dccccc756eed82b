package main

import (
	"errors"
	"strings"

	"zuno/internal/inspect"
)

type replayCmd struct {
	journalArg
	Until     *uint64 `placeholder:"N" help:"Fold the commits up to N only: what was true then. 0 is before the first."`
	View      string  `placeholder:"NAME" help:"Print one view only."`
	Diff      string  `placeholder:"A..B" xor:"what" help:"Print what changed in the views from commit A to commit B."`
	Where     string  `placeholder:"CONDITION" xor:"what" help:"Print the first event after which a field of the views has a value, such as gate.reason=no_progress."`
	Request   *int    `placeholder:"N" xor:"what" help:"Rebuild request N of the session (from 1) and compare its digest with the recorded one."`
	Check     bool    `xor:"what" help:"Decide each recorded command again and compare."`
	Strict    bool    `help:"With --check: a difference with another build fails too."`
	JSON      bool    `name:"json" help:"Print JSON, the same bytes for equal journals."`
	Normalize bool    `help:"Mask paths, ids, times, durations, digests, build and installation, so that two runs of one script compare equal."`
}

// Help names the views and what a condition is.
func (c *replayCmd) Help() string {
	return "The views are " + strings.Join(inspect.ViewNames(), ", ") + ". A condition is a path of names joined by dots, " +
		"as --json shows them, or the end of one; with = != > < >= <= and a value, or alone for its being there. Of a list, " +
		"one element that meets it is enough, and a number is compared with its length."
}

// Run folds and prints.
func (c *replayCmd) Run(g *globals) error {
	if err := c.fits(); err != nil {
		return err
	}
	p, err := c.find(g)
	if err != nil {
		return err
	}
	switch {
	case c.Diff != "":
		return c.diff(g, p)
	case c.Where != "":
		return c.where(g, p)
	case c.Check:
		return c.check(g, p)
	case c.Request != nil:
		return c.request(g, p)
	}
	p.Chosen = false // told already
	return showViews(g, p, inspect.ReplayOptions{Until: c.Until, Normalize: c.Normalize}, c.View, c.JSON)
}

// fits refuses flags that do not go together, before anything is read.
func (c *replayCmd) fits() error {
	other := c.Diff != "" || c.Where != "" || c.Check || c.Request != nil
	switch {
	case other && c.Until != nil:
		return errors.New("--until goes with the views alone")
	case (c.Where != "" || c.Check) && (c.View != "" || c.Normalize):
		return errors.New("--view and --normalize go with the views and with --diff")
	case c.Strict && !c.Check:
		return errors.New("--strict goes with --check")
	}
	return inspect.CheckView(c.View)
}

// request fails when the rebuilt request is not the one that was asked.
func (c *replayCmd) request(g *globals, p inspect.Place) error {
	r, err := inspect.Rebuild(p.Path, *c.Request)
	if err != nil {
		return err
	}
	out := []byte(r.Tell())
	if c.JSON {
		out = r.JSON()
	}
	if err := printed(g.stdout, out, nil); err != nil {
		return err
	}
	if !r.Equal {
		return errors.New("the rebuilt request differs from the recorded one")
	}
	return nil
}

func (c *replayCmd) diff(g *globals, p inspect.Place) error {
	r, err := inspect.ParseRange(c.Diff)
	if err != nil {
		return err
	}
	d, err := inspect.Compare(p.Path, r, c.View, c.Normalize)
	if err != nil {
		return err
	}
	if c.JSON {
		return printed(g.stdout, d.JSON(), nil)
	}
	return printed(g.stdout, []byte(d.Tell()), nil)
}

func (c *replayCmd) where(g *globals, p inspect.Place) error {
	condition, err := inspect.ParseCondition(c.Where)
	if err != nil {
		return err
	}
	f, err := inspect.Where(p.Path, condition)
	if err != nil {
		return err
	}
	if c.JSON {
		return printed(g.stdout, f.JSON(), nil)
	}
	return printed(g.stdout, []byte(f.Tell()), nil)
}

func (c *replayCmd) check(g *globals, p inspect.Place) error {
	build := buildID()
	if g.TestClockSeed != 0 {
		build = testBuild
	}
	r, failure := inspect.Check(p.Path, inspect.CheckOptions{Build: build, Strict: c.Strict})
	if r == nil {
		return failure
	}
	if c.JSON {
		b, err := r.JSON()
		return errors.Join(failure, printed(g.stdout, b, err))
	}
	s, err := r.Tell()
	return errors.Join(failure, printed(g.stdout, []byte(s), err))
}

// testBuild is the build id under the flag for a test clock.
const testBuild = "test"
