package inspect

import (
	"errors"
	"fmt"
	"strings"

	"zuno/internal/engine"
	"zuno/internal/live"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// history is a journal folded to its head, of which single commits are read where a text is needed.
type history struct {
	path   string
	file   *journal.File
	view   *projections.View
	source live.Source
	causes []uint64 // by commit, from 1
}

func openHistory(path string) (*history, error) {
	folder := projections.NewFolder(projections.Options{Keep: true})
	h := &history{path: path, view: folder.View}
	var err error
	h.file, h.source, err = live.Open(journal.Inspection{Path: path, Fold: func(c *journal.Raw) error {
		h.causes = append(h.causes, c.Cause)
		return unreadable(path, c, folder.Commit(c))
	}})
	if err != nil {
		return nil, unwrapped(err)
	}
	if h.source.Way != live.Free {
		InUse(h.source)
	}
	return h, nil
}

// happening is an event with what is known of its commit. Its texts are digest and size only.
type happening struct {
	place   projections.Place
	at      int64
	cause   uint64
	command string // type
	payload event.Payload
}

// events calls fn with each event of the root session from one commit to another, but for the parts of responses, whose
// places it gives to part.
func (h *history) events(from, to uint64, part func(projections.Place), fn func(happening)) error {
	err := h.file.Scan(from, func(c *journal.Raw) error {
		if c.Number > to {
			return errFound
		}
		for i := range c.Events {
			e := &c.Events[i]
			t := event.ByName(e.Type)
			if t == nil || e.Stream != 1 {
				continue
			}
			at := projections.Place{Commit: c.Number, Event: uint16(i)}
			if t.Current() == partType {
				part(at)
				continue
			}
			p, err := raised(c, e, t, nil)
			if err != nil {
				return err
			}
			fn(happening{at, c.At, c.Cause, string(c.Command.Type), p})
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

var partType = event.TypeOf(&event.ResponsePart{})

// whole reads the event that stands there with its texts.
func whole[T event.Payload](h *history, at projections.Place) (p T, err error) {
	err = h.file.Read(at.Commit, func(c *journal.Raw) error {
		d, err := engine.Decode(c)
		if err != nil {
			return err
		}
		p, _ = d.Events[at.Event].Payload.(T)
		return nil
	})
	return p, err
}

// link is a commit without its events.
type link struct {
	number, cause         uint64
	at                    int64
	command, id, who, run string
}

func (h *history) link(n uint64) (l link, err error) {
	err = h.file.Read(n, func(c *journal.Raw) error {
		l = link{number: n, cause: c.Cause, at: c.At, command: string(c.Command.Type), id: string(c.Command.ID), who: string(c.Command.Actor), run: c.Run.String()}
		return nil
	})
	return l, err
}

// chain follows the cause of a commit to the one that came from outside, the newest first.
func (h *history) chain(from uint64) (out []uint64) {
	for n := from; n > 0; n = h.causes[n-1] {
		out = append(out, n)
	}
	return out
}

// turnStory is what happened in a turn.
type turnStory struct {
	turn     *projections.Turn
	started  happening
	requests []*requestStory
	calls    map[string]*callStory
	controls []happening
	ended    *happening // nil while it runs
	to       uint64     // the last commit that it may reach
}

type requestStory struct {
	started happening
	parts   []projections.Place
	ended   *happening // completed, cut or failed
	calls   []*callStory
}

// callStory is the way of a call.
type callStory struct {
	request                         *requestStory
	requested                       happening
	asked, answered, started, ended *happening
	blocked                         *event.CallBlocked
	abandoned                       *event.CallAbandoned
	settled                         *event.CallSettled
	answer                          *event.PermissionAnswered
}

// story reads a turn from its begin to its end.
func (h *history) story(t *projections.Turn) (*turnStory, error) {
	s := &turnStory{turn: t, calls: map[string]*callStory{}, to: h.file.Head().Number}
	for _, f := range h.view.Root.Turns.Finished {
		if f.First == t.Started {
			s.to = f.Last
		}
	}
	err := h.events(t.Started, s.to, func(at projections.Place) {
		if r := s.last(); r != nil {
			r.parts = append(r.parts, at)
		}
	}, s.take)
	if err == nil && s.asksAgain() {
		err = h.events(s.to+1, h.file.Head().Number, func(projections.Place) {}, func(x happening) {
			if _, ok := x.payload.(*event.PermissionAnswered); ok {
				s.takeCall(x)
			}
		})
	}
	return s, err
}

// asksAgain says that a call was abandoned whose question stayed open: its answer comes after the turn, if it comes.
func (s *turnStory) asksAgain() bool {
	for _, c := range s.calls {
		if c.leftOpen() {
			return true
		}
	}
	return false
}

func (c *callStory) leftOpen() bool {
	return c.abandoned != nil && c.abandoned.Reason == event.BlockInterrupted && c.asked != nil &&
		(c.answered == nil || c.answered.place.Commit > c.ended.place.Commit)
}

func (s *turnStory) last() *requestStory {
	if len(s.requests) == 0 {
		return nil
	}
	return s.requests[len(s.requests)-1]
}

func (s *turnStory) take(x happening) {
	r := s.last()
	switch e := x.payload.(type) {
	case *event.TurnStarted:
		if e.ID == s.turn.ID {
			s.started = x
		}
	case *event.RequestStarted:
		if e.Turn == s.turn.ID {
			s.requests = append(s.requests, &requestStory{started: x})
		}
	case *event.ResponseCompleted, *event.ResponseCut, *event.RequestFailed:
		if r != nil {
			r.ended = &x
		}
	case *event.CallRequested:
		if r != nil && e.Turn == s.turn.ID {
			c := &callStory{request: r, requested: x}
			s.calls[e.ID] = c
			r.calls = append(r.calls, c)
		}
	case *event.ControlRequested:
		if e.Turn == s.turn.ID {
			s.controls = append(s.controls, x)
		}
	case *event.TurnEnded:
		if e.ID == s.turn.ID {
			s.ended = &x
		}
	default:
		s.takeCall(x)
	}
}

func (s *turnStory) takeCall(x happening) {
	var id string
	var set func(c *callStory)
	switch e := x.payload.(type) {
	case *event.PermissionAsked:
		id, set = e.Call, func(c *callStory) { c.asked = &x }
	case *event.PermissionAnswered:
		id, set = e.Call, func(c *callStory) { c.answered, c.answer = &x, e }
	case *event.CallStarted:
		id, set = e.ID, func(c *callStory) { c.started = &x }
	case *event.CallBlocked:
		id, set = e.ID, func(c *callStory) { c.ended, c.blocked = &x, e }
	case *event.CallAbandoned:
		id, set = e.ID, func(c *callStory) { c.ended, c.abandoned = &x, e }
	case *event.CallSettled:
		id, set = e.ID, func(c *callStory) { c.ended, c.settled = &x, e }
	}
	if c := s.calls[id]; c != nil {
		set(c)
	}
}

// state is how far the call came, in a few words.
func (c *callStory) state() string {
	switch {
	case c.settled != nil:
		return outcome(c.settled)
	case c.blocked != nil:
		return "blocked (" + string(c.blocked.Kind) + "), it did nothing"
	case c.abandoned != nil:
		return "abandoned (" + string(c.abandoned.Reason) + "), it did nothing"
	case c.started != nil:
		return "started and not ended"
	case c.asked != nil && c.answered == nil:
		return "waiting for the user's answer"
	}
	return "not started"
}

// number is the request's place in its turn, with its attempt where it is not the first.
func (r *requestStory) number() string {
	e := r.started.payload.(*event.RequestStarted)
	if e.Attempt > 1 {
		return fmt.Sprintf("request %d, attempt %d", e.Number, e.Attempt)
	}
	return fmt.Sprintf("request %d", e.Number)
}

// said is the beginning of a response's text.
func (h *history) said(r *requestStory, n int) (string, error) {
	var b strings.Builder
	for _, at := range r.parts {
		p, err := whole[*event.ResponsePart](h, at)
		if err != nil {
			return "", err
		}
		if p.Kind == event.PartText {
			b.WriteString(words(p.Text, 4*n))
			if b.Len() > n {
				break
			}
		}
	}
	return short(b.String(), n), nil
}
