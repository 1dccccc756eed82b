package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// gate explains what holds the session, or that nothing does.
func (e *explainer) gate() error {
	x := &e.view.Root.Execution
	if x.Gate == nil {
		return e.noGate()
	}
	g := x.Gate
	e.out.ID = strconv.FormatUint(g.Revision, 10)
	e.out.Title = fmt.Sprintf("the session is %s: %s", x.State.String(), gateWords(g))
	l, err := e.link(g.Raised)
	if err != nil {
		return err
	}
	if err := e.events(g.Raised, g.Raised, func(projections.Place) {}, func(h happening) {
		if c, ok := h.payload.(*event.ExecutionChanged); ok {
			e.step(h, "raised", "%s: %s", short(c.Trigger, 40), gateWords(g))
		}
	}); err != nil {
		return err
	}
	e.out.Steps = append(e.out.Steps, Step{Commit: l.number, At: l.at, Cause: l.cause, What: "command", Text: fmt.Sprintf("%s by %s (%s)", short(l.command, 80), short(l.who, 40), short(l.id, 120))})
	if err := e.known(g.Raised); err != nil {
		return err
	}
	if err := e.refused(g.Raised); err != nil {
		return err
	}
	e.note("%s", clears(x.State.String(), g))
	e.queued()
	e.because(g.Raised, 0)
	return nil
}

func gateWords(g *projections.Gate) string {
	s := short(g.Reason, line)
	if s == "" {
		s = "no reason recorded"
	}
	if g.Waiting != "" {
		s += ", waiting for " + short(g.Waiting, 80)
	}
	return s
}

// clears says what ends a gate. Only a resume leads out of a wait or a pause.
func clears(state string, g *projections.Gate) string {
	switch state {
	case "waiting_human":
		return "It is cleared by the user's answer to " + short(cmp.Or(g.Waiting, "what was asked"), 80) + "."
	case "waiting_external":
		return "It is cleared when " + short(cmp.Or(g.Waiting, "what it waits for"), 80) + " arrives."
	}
	return "It is cleared by resuming the session; until then inputs are kept in order and nothing starts."
}

// known tells what the view said when the gate was raised.
func (e *explainer) known(raised uint64) error {
	for _, u := range e.view.Root.Calls.Uncertain {
		if u.Settled <= raised {
			l, err := e.link(u.Settled)
			if err != nil {
				return err
			}
			e.out.Steps = append(e.out.Steps, Step{Commit: u.Settled, At: l.at, Cause: l.cause, What: "known", Text: fmt.Sprintf("the effect of call %s (%s) is unknown", short(u.Call, 80), short(u.Tool, 40))})
		}
	}
	return nil
}

// refusedPrefix begins the types of events that record an attempt to clear a gate that was refused.
const refusedPrefix = "session.attempt.refused."

func (e *explainer) refused(since uint64) error {
	var commits []uint64
	err := e.file.Scan(since, func(c *journal.Raw) error {
		for i := range c.Events {
			if strings.HasPrefix(string(c.Events[i].Type), refusedPrefix) {
				commits = append(commits, c.Number)
			}
		}
		return nil
	})
	for _, n := range slices.Compact(commits) {
		err = errors.Join(err, e.refusedBy(n))
	}
	return err
}

func (e *explainer) refusedBy(commit uint64) error {
	err := linesFrom(e.file, commit, func(line *node) error {
		inline(line)
		at, _ := time.Parse(time.RFC3339, line.get("at").text())
		for _, x := range line.get("events").children() {
			if strings.HasPrefix(x.get("type").text(), refusedPrefix) {
				e.out.Steps = append(e.out.Steps, Step{
					Commit: commit, At: at.UnixMilli(), Cause: line.get("cause").uint(), What: "refused", Text: short(facts(x.get("payload")), 2*saidText),
				})
			}
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// noGate says what the session waits for instead.
func (e *explainer) noGate() error {
	root := e.view.Root
	x := &root.Execution
	state := x.State.String()
	if x.Phase != "" {
		state += ", phase " + short(x.Phase, 40)
	}
	e.out.Title = fmt.Sprintf("nothing holds the session: there is no gate, execution is %s at commit %d", state, e.view.Number)
	last, before := uint64(0), uint64(0)
	if n := len(root.Turns.All); n > 0 {
		t := root.Turns.All[n-1]
		s, err := e.story(t)
		if err != nil {
			return err
		}
		e.step(s.started, "turn", "%s began", short(t.ID, 80))
		before = t.Started
		if s.ended != nil {
			last = s.ended.place.Commit
			if err := e.recovered(s.ended); err != nil {
				return err
			}
			if err := e.ended(s); err != nil {
				return err
			}
		} else {
			e.running(s)
			last = e.newest(s)
		}
	}
	for _, u := range root.Calls.Uncertain {
		if u.Settled == last {
			e.out.Steps = append(e.out.Steps, Step{Commit: u.Settled, What: "unknown", At: e.out.Steps[len(e.out.Steps)-1].At, Text: fmt.Sprintf("what call %s (%s) did", short(u.Call, 80), short(u.Tool, 40))})
		}
	}
	e.queued()
	switch {
	case root.Turns.Active != nil:
	case root.Inputs.Waiting() == nil:
		e.note("The session is idle: it waits for a prompt.")
	default:
		in := root.Inputs.Waiting()
		e.note("Input %s %s", short(in.ID, 80), e.waits(in))
	}
	slices.SortStableFunc(e.out.Steps, func(a, b Step) int { return cmp.Compare(a.Commit, b.Commit) })
	if last > 0 {
		e.because(last, before)
		return nil
	}
	return nil
}

// newest is the last thing that an unfinished turn began.
func (e *explainer) newest(s *turnStory) uint64 {
	n := s.started.place.Commit
	if r := s.last(); r != nil {
		n = r.started.place.Commit
		for _, c := range r.calls {
			for _, x := range []*happening{&c.requested, c.asked, c.answered, c.started, c.ended} {
				if x != nil {
					n = max(n, x.place.Commit)
				}
			}
		}
	}
	return n
}

// queued lists the inputs that no turn has taken.
func (e *explainer) queued() {
	n := 0
	for _, in := range e.view.Root.Inputs.Open {
		if in.Turn != "" {
			continue
		}
		if n++; n > mostIDs {
			continue
		}
		p, err := whole[*event.InputAdmitted](e.history, in.Admitted)
		l, err2 := e.link(in.Admitted.Commit)
		if err != nil || err2 != nil {
			continue
		}
		e.step(happening{place: in.Admitted, at: l.at, cause: l.cause}, "waiting", "input %s: %q", short(in.ID, 80), words(blocks(p.Blocks), saidText))
	}
	if n > mostIDs {
		e.note("%d more inputs wait.", n-mostIDs)
	}
}
