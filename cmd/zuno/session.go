package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"zuno/internal/config"
	"zuno/internal/inspect"
	"zuno/internal/live"
)

type sessionCmd struct {
	List   sessionListCmd   `cmd:"" help:"List sessions, the last updated first."`
	Show   sessionShowCmd   `cmd:"" help:"Show what is true of a session now: its views."`
	Fork   sessionForkCmd   `cmd:"" help:"Make a new session that goes on from a commit of another one."`
	Repair sessionRepairCmd `cmd:"" help:"Look whether a false block holds an input and, with --apply, free it."`
}

type sessionListCmd struct {
	JSON bool   `name:"json" help:"Print one JSON array, each session on a line of its own."`
	Cwd  string `placeholder:"DIR" help:"Only the sessions of this folder."`
	Most int    `short:"n" name:"most" placeholder:"N" default:"100" help:"At most N sessions, ${default} if it is not given; 0 for all."`
	Page int    `placeholder:"P" default:"1" help:"The Pth page of N sessions."`
}

// Run lists what can be read and tells of what cannot.
func (c *sessionListCmd) Run(g *globals) error {
	if c.Most < 0 {
		return fmt.Errorf("-n takes a number from 0 on, not %d", c.Most)
	}
	if c.Page < 1 || c.Most > 0 && c.Page > math.MaxInt/c.Most {
		return fmt.Errorf("--page takes a number from 1 on, not %d", c.Page)
	}
	s, err := store()
	if err != nil {
		return err
	}
	o := inspect.ListOptions{Most: c.Most, From: (c.Page - 1) * c.Most}
	if c.Cwd != "" {
		if o.Cwd, err = filepath.Abs(c.Cwd); err != nil {
			return err
		}
	}
	sums, more, broken, err := s.List(o)
	if err != nil {
		return err
	}
	for _, err := range broken {
		fmt.Fprintln(g.stderr, "zuno:", err)
	}
	if more {
		fmt.Fprintf(g.stderr, "there are more: --page %d shows the next, -n 0 all\n", c.Page+1)
	}
	if c.JSON {
		b, err := inspect.ListJSON(sums)
		return printed(g.stdout, b, err)
	}
	if len(sums) == 0 && o.From == 0 {
		fmt.Fprintln(g.stderr, "no sessions in", s.Data)
	}
	return printed(g.stdout, []byte(inspect.ListText(sums)), nil)
}

type sessionShowCmd struct {
	Session string `arg:"" help:"An id, the beginning of one that is unique, or last."`
	JSON    bool   `name:"json" help:"Print JSON, as replay --json does."`
}

// Run shows the views at the head.
func (c *sessionShowCmd) Run(g *globals) error {
	s, err := store()
	if err != nil {
		return err
	}
	p, err := s.Find(c.Session)
	if err != nil {
		return err
	}
	return showViews(g, p, inspect.ReplayOptions{}, "", c.JSON)
}

// store is the sessions of this user, seen from the current folder.
func store() (s inspect.Store, err error) {
	dirs, err := config.FindDirs(config.Options{Getenv: os.Getenv})
	if err != nil {
		return s, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "" // sessions can be inspected from a folder that is gone
	}
	return inspect.Store{Data: dirs.Data, Cwd: cwd}, nil
}

// showViews prints the views of a journal, or the one of that name. What a corrupt journal still says is printed before its
// error.
func showViews(g *globals, p inspect.Place, o inspect.ReplayOptions, view string, asJSON bool) error {
	if err := inspect.CheckView(view); err != nil {
		return err
	}
	tellChoice(g, p)
	r, err := inspect.Fold(p.Path, o)
	if err != nil {
		return err
	}
	if n := r.Redacted(); n > 0 {
		fmt.Fprintf(g.stderr, "the texts of this journal are redacted: %d of them were dropped\n", n)
	}
	var b []byte
	if asJSON {
		b, err = r.JSON(view)
	} else {
		var s string
		s, err = r.Tell(view)
		b = []byte(s)
	}
	return errors.Join(printed(g.stdout, b, err), r.Corrupt(), r.Close())
}

// tellInUse says how a session that another process owns was read: once, also when it is read again and again.
func tellInUse(stderr io.Writer) func(live.Source) {
	type way struct {
		session string
		way     live.Way
		pid     int
	}
	told := map[way]bool{}
	return func(s live.Source) {
		if w := (way{s.Name, s.Way, s.PID}); !told[w] {
			told[w] = true
			fmt.Fprintln(stderr, s)
		}
	}
}

// tellChoice says which session a prefix or last was.
func tellChoice(g *globals, p inspect.Place) {
	if p.Chosen {
		fmt.Fprintln(g.stderr, "session", p.Session)
	}
}

func printed(w io.Writer, b []byte, err error) error {
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}
