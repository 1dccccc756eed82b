package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
)

// effect is something that runs outside of the owner's goroutine.
type effect struct {
	step    Step
	cause   uint64 // head at which Next asked for it
	ctx     context.Context
	cancel  context.CancelFunc
	queued  chan struct{} // closed when its fence waits to be decided, or never will
	settled chan struct{} // closed when the effect is over
	before  []*effect     // calls of the same response that come first: they are started and recorded first
	peers   []*effect     // what is started with it
	aborted bool          // it ended without a word, and that was recorded
}

// reconcile compares what should run with what runs. Every way of starting and stopping goes through here.
func (s *Session) reconcile() {
	if s.broken != nil || s.closing {
		s.cancelAll()
		return
	}
	head := s.log.Head().Number
	steps := Next(s.folder.View)
	wanted := make(map[string]bool, len(steps))
	for _, st := range steps {
		wanted[st.Key] = st.Kind != StepPresent || !s.draining // an orderly end waits for no answer
	}
	for key, e := range s.running {
		if !wanted[key] {
			e.cancel()
		}
	}
	if s.draining {
		return
	}
	var before, fresh []*effect
	for _, st := range steps {
		e := s.running[st.Key]
		if e == nil {
			if at, ok := s.refused[st.Key]; st.Open || ok && at == head {
				continue // its effect of this run is over, or its fence was just refused at this very state
			}
			if st.Kind == StepPresent && !s.present(st) {
				continue
			}
			e = s.newEffect(st, head, before)
			fresh = append(fresh, e)
		}
		before = append(before, e)
	}
	for _, e := range fresh {
		e.peers = fresh
	}
	for _, e := range fresh {
		go s.start(e)
	}
}

func (s *Session) cancelAll() {
	for _, e := range s.running {
		e.cancel()
	}
}

func (s *Session) newEffect(st Step, head uint64, before []*effect) *effect {
	ctx, cancel := context.WithCancel(context.Background())
	e := &effect{
		step: st, cause: head, ctx: ctx, cancel: cancel, queued: make(chan struct{}), settled: make(chan struct{}),
		before: append([]*effect(nil), before...),
	}
	s.running[st.Key] = e
	return e
}

// start runs an effect to its end.
func (s *Session) start(e *effect) {
	defer func() {
		e.cancel()
		e.inLine()
		close(e.settled)
		if err := s.inOwner(func() { s.finished(e) }); err != nil {
			s.host.log.Debug("effect outlived its session", "session", s.ID, "step", e.step.Key)
		}
	}()
	defer func() {
		if x := recover(); x != nil { // finished settles what it left open
			s.host.log.Error("effect panicked", "session", s.ID, "step", e.step.Key, "panic", fmt.Sprint(x), "stack", string(debug.Stack()))
		}
	}()
	s.perform(e)
}

// inLine lets those go on that come after the effect. Only the effect's own goroutine calls it.
func (e *effect) inLine() {
	select {
	case <-e.queued:
	default:
		close(e.queued)
	}
}

// finished runs in the owner's goroutine, which reconciles after it.
func (s *Session) finished(e *effect) {
	if c := s.leftOpen(e.step); c != nil && !e.aborted && s.broken == nil {
		e.aborted = true
		go func() {
			_ = s.report(e, "abort", e.cause, c)
			_ = s.inOwner(func() { s.finished(e) })
		}()
		return
	}
	delete(s.running, e.step.Key)
	if e.step.Kind == StepPresent {
		return // it has no fence; [Session.present] says whether it is put again
	}
	s.refused[e.step.Key] = s.log.Head().Number
	if len(s.refused) > 1024 {
		clear(s.refused)
	}
}

// leftOpen is the command that ends what an effect left open: it panicked, or how it ended could not be recorded, or its
// fence turned out to be another's. A turn would wait for it for ever. nil when nothing is open, which is the rule.
func (s *Session) leftOpen(st Step) commands.Command {
	root := s.folder.View.Root
	switch t := root.Turns.Active; st.Kind {
	case StepRequest:
		if t != nil && t.Request != nil && t.Request.Open && requestStep(t, t.Request.Number, t.Request.Attempt, true).Key == st.Key {
			return &commands.FailRequest{Request: t.Request.ID, Attempt: t.Request.Attempt, Fault: event.Failure{
				Code:   "internal",
				Reason: event.NewText("the request ended in an unexpected way; the log says more"),
			}}
		}
	case StepAsk:
		if p := root.Permissions.Of(st.Call); p != nil {
			return &commands.AnswerPermission{Permission: p.ID, Verdict: event.VerdictCancelled}
		}
	case StepCall:
		if c := root.Calls.Get(st.Call); c != nil && c.State.Is("started") && c.Attempt == st.Attempt {
			return &commands.SettleCall{ID: c.ID, Attempt: c.Attempt, Outcome: event.OutcomeUncertain, Class: "internal", Text: event.NewText(unknownEffect)}
		}
	}
	return nil
}

// unknownEffect is what the model is told of a call whose tool failed in a way that nobody foresaw.
const unknownEffect = "The tool failed in an unexpected way, and what it did is unknown. Inspect the state that it would have changed before any new mutation."

func (s *Session) perform(e *effect) {
	switch e.step.Kind {
	case StepRequest:
		s.performRequest(e)
	case StepAsk:
		s.performAsk(e)
	case StepCall:
		s.performCall(e)
	case StepTimer:
		s.performTimer(e)
	case StepControl:
		s.performControl(e)
	case StepPresent:
		s.performPresent(e)
	}
}

const (
	retryEvery     = 200 * time.Millisecond // while nothing can be written
	retriesLeaving = 5                      // once the session is to be closed
)

// commandID names a command of an effect: its step and the ordinal of its run, and which of the effect's commands it is.
func (s *Session) commandID(e *effect, part string) string {
	id := "engine:" + e.step.Key + ":" + s.runLabel
	if part != "" {
		id += ":" + part
	}
	return id
}

// fence makes the start of an effect durable. Only a fresh start permits the effect. Starts are decided in the order of
// the steps, whichever goroutine gets here first: two runs of the same thing write the same records.
func (s *Session) fence(e *effect, c commands.Command) (o Outcome, fresh bool, err error) {
	for _, b := range e.before {
		<-b.queued
	}
	for {
		sections := s.resolveContext(e)
		var r *request
		if r, err = s.encode(s.commandID(e, ""), "engine", e.cause, c); err == nil {
			r.fence = true
			o, err = s.submit(context.Background(), r, e.inLine)
		}
		s.contextResolved(sections)
		var full *journal.NotAppended
		if !errors.As(err, &full) || s.leaving.Load() || s.host.clock.Sleep(e.ctx, retryEvery) != nil {
			break
		}
		s.host.log.Warn("step not started yet", "session", s.ID, "step", e.step.Key, "error", err)
	}
	if err != nil {
		s.host.log.Debug("step not started", "session", s.ID, "step", e.step.Key, "error", err)
		return o, false, err
	}
	if o.Repeated {
		s.host.log.Warn("step was started before and is not started again", "session", s.ID, "step", e.step.Key)
	}
	return o, !o.Repeated, nil
}

// actor is who a command of an effect is by. A finding is the user's, whose words it carries out; no model can make one.
func actor(c commands.Command) string {
	if _, ok := c.(*commands.RecordOutcome); ok {
		return "user"
	}
	return "engine"
}

// report records what became of an effect. What cannot be written is tried again, with the same id: the result of
// something that really happened must not be lost to a full disk. It gives up soon after the session is to be closed.
func (s *Session) report(e *effect, part string, cause uint64, c commands.Command) error {
	for left := 0; ; {
		_, err := s.do(context.Background(), s.commandID(e, part), actor(c), cause, c)
		var full *journal.NotAppended
		if !errors.As(err, &full) {
			if err != nil {
				s.host.log.Error("result not recorded", "session", s.ID, "step", e.step.Key, "error", err)
			}
			return err
		}
		s.host.log.Warn("result not recorded yet", "session", s.ID, "step", e.step.Key, "error", err)
		if s.leaving.Load() {
			if left++; left > retriesLeaving {
				return err
			}
		}
		_ = s.host.clock.Sleep(context.Background(), retryEvery)
	}
}
