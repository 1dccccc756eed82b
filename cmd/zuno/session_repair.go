package main

import (
	"errors"
	"fmt"

	"zuno/commands"
	"zuno/internal/inspect"
)

type sessionRepairCmd struct {
	Session  string `arg:"" help:"The full id of the session."`
	Input    string `required:"" placeholder:"INPUT" help:"The full id of the input that a false block holds."`
	DryRun   bool   `name:"dry-run" xor:"mode" help:"Only look and prove, which is the default."`
	Apply    bool   `xor:"mode" help:"Queue the control that frees the input. Close every editor that has the session open first."`
	Revision *int64 `name:"expected-revision" placeholder:"N" help:"The execution's revision, as the inspection printed it; --apply requires it."`
	JSON     bool   `name:"json" help:"Print one JSON object."`
}

// Validate refuses what cannot be meant.
func (c *sessionRepairCmd) Validate() error {
	switch {
	case c.Apply && c.Revision == nil:
		return errors.New("--apply requires --expected-revision N, which the inspection without --apply prints")
	case c.Revision != nil && *c.Revision < 1:
		return fmt.Errorf("--expected-revision takes a number from 1 on, not %d", *c.Revision)
	case c.Input == "":
		return errors.New("--input takes the full id of an input")
	}
	return nil
}

// Run inspects, and with --apply takes the session and queues the control. What is refused is told and exits with 1.
func (c *sessionRepairCmd) Run(g *globals) error {
	s, err := store()
	if err != nil {
		return err
	}
	r, err := inspect.InspectRepair(s, c.Session, c.Input)
	if err != nil {
		return err
	}
	switch {
	case r.Result == inspect.RepairRefused:
	case c.Revision != nil && uint64(*c.Revision) != r.Revision:
		r.Refuse(commands.StaleRepair(uint64(*c.Revision), r.Revision))
	case c.Apply:
		if err := c.apply(g, r); err != nil {
			return err
		}
	}
	if c.JSON {
		b, err := r.JSON()
		err = printed(g.stdout, b, err)
		if err == nil && r.Result == inspect.RepairRefused {
			err = exit(1)
		}
		return err
	}
	if err := printed(g.stdout, []byte(r.Tell()), nil); err != nil || r.Result != inspect.RepairRefused {
		return err
	}
	return fmt.Errorf("not repaired: %s", r.Message)
}

// apply owns the session for as long as it takes to prove it again and to commit.
func (c *sessionRepairCmd) apply(g *globals, r *inspect.Repair) error {
	p, err := g.process(circumstances{})
	if err != nil {
		return err
	}
	done, err := p.host.Repair(c.Session, c.Input, uint64(*c.Revision))
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		r.Refuse(refusal)
		return nil
	}
	if err != nil {
		return err
	}
	r.Result = inspect.RepairQueued
	if done.Repeated {
		r.Result = inspect.RepairAlready
	}
	r.Control, r.Head, r.Commits = done.Control, done.Head.Hash.String(), done.Head.Number
	return nil
}
