package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"zuno/commands"
	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
)

// maxPrompt bounds a prompt on standard input.
const maxPrompt = 16 << 20

// ReadPrompt reads a prompt to its end.
func ReadPrompt(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	if len(b) > maxPrompt {
		return "", fmt.Errorf("the prompt is longer than %d MiB; put it into a file and name that", maxPrompt>>20)
	}
	return strings.TrimRight(string(b), "\n"), nil
}

// Runner runs prompts.
type Runner struct {
	Host     *engine.Host
	IDs      engine.IDs
	Out      io.Writer // the answer, or JSON lines; the head comes last
	Progress io.Writer
	JSON     bool
}

// Run makes a session in cwd, sends it the prompt, and follows its turn to the end. ok says that the turn completed. When
// ctx ends the turn is stopped, and still told to its end.
//
// A native command is carried out as in an editor, and never said to the model; a malformed one is refused before anything is saved.
func (r *Runner) Run(ctx context.Context, cwd, text string) (ok bool, err error) {
	control, native, refusal := commands.Slash(text)
	if refusal != nil {
		return false, refusal
	}
	admit := &commands.AdmitInput{
		Delivery: event.DeliverSteer, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText(text)}}, Control: control,
	}
	if !native {
		admit.Title = event.NewText(commands.Title(text))
	}
	id, set, err := r.Host.Reserve(cwd)
	if err != nil {
		return false, err
	}
	f := &follower{w: &writer{out: r.Out, progress: r.Progress, json: r.JSON}, over: make(chan struct{}), lost: make(chan error, 1)}
	message := "cli:" + r.IDs.ULID("command").String()
	s, _, err := r.Host.Create(id, cwd, set, f, message, "user", admit)
	if err != nil {
		return false, err
	}
	select {
	case <-f.over:
	case err := <-f.lost:
		return false, err
	case <-ctx.Done():
		_, err := s.Do(context.Background(), "cli:"+r.IDs.ULID("command").String(), "user", &commands.CancelTurn{Source: "user"})
		var refusal *commands.Refusal
		if err != nil && !errors.As(err, &refusal) {
			return false, err
		}
		select {
		case <-f.over:
		case err := <-f.lost:
			return false, err
		}
	}
	if err := r.Host.Close(context.Background(), id, "close"); err != nil {
		return false, err
	}
	return f.end(id, s.Head())
}

// follower prints what happens in the session until the input is settled.
type follower struct {
	w    *writer
	over chan struct{}
	lost chan error // the session may append no more

	mu      sync.Mutex
	flow    engine.Flow
	settled *event.InputSettled
	denied  int
	ran     int
}

// Lost ends the waiting.
func (f *follower) Lost(err error) { f.lost <- err }

// Live shows text as it comes.
func (f *follower) Live(l engine.Live) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.Kind == engine.LiveText {
		f.show(f.flow.Live(&l))
	}
}

// show prints what follows on the text so far. A text that is left behind is ended, and what takes its place begins anew.
func (f *follower) show(pieces []engine.Shown) {
	for _, s := range pieces {
		if s.Cut {
			f.w.endText()
			f.w.event("text_cut", map[string]any{})
		}
		f.w.text(s.Text)
	}
}

// Committed shows what became durable and was not shown already.
func (f *follower) Committed(c *engine.Committed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range c.Events {
		f.event(c.Events[i].Payload)
	}
}

func (f *follower) event(p event.Payload) {
	switch e := p.(type) {
	case *event.ResponsePart:
		if e.Kind != event.PartText {
			return
		}
		f.show(f.flow.Part(e))
	case *event.TurnStarted:
		f.w.event("turn_started", map[string]any{"turn": e.ID, "model": e.Model.Provider + "/" + e.Model.Name})
	case *event.ResponseCompleted:
		for _, s := range f.flow.Complete() {
			if s.Kind == event.PartText {
				f.show([]engine.Shown{s})
			}
		}
		f.w.endText()
	case *event.ControlAnswered:
		f.w.text(e.Text.String())
		f.w.endText()
	case *event.CallRequested:
		f.w.event("call", map[string]any{"id": e.ID, "tool": e.Tool, "title": e.Title.String()})
	case *event.CallBlocked:
		if e.Kind == event.Denied {
			f.denied++
		}
		f.w.event("call_blocked", map[string]any{"id": e.ID, "kind": e.Kind, "text": e.Text.String()})
	case *event.CallStarted:
		f.ran++
		f.w.event("call_started", map[string]any{"id": e.ID})
	case *event.CallSettled:
		m := map[string]any{"id": e.ID, "outcome": e.Outcome, "text": e.Text.String()}
		if e.Exit != nil && e.Exit.Exited {
			m["exit"] = e.Exit.Code
		}
		f.w.event("call_settled", m)
	case *event.RequestBackoff:
		f.w.event("retry", map[string]any{"attempt": e.Attempt, "delay_ms": e.DelayMS})
	case *event.NoticeRaised:
		f.w.event("notice", map[string]any{"severity": e.Severity, "code": e.Code, "text": e.Text.String()})
	case *event.TurnEnded:
		f.w.endText()
		f.w.event("turn_ended", map[string]any{"turn": e.ID, "state": e.State, "stop": e.Stop})
	case *event.InputSettled:
		if f.settled == nil { // the session has one input
			f.settled = e
			close(f.over)
		}
	}
}

func (f *follower) end(session string, head journal.Head) (ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ok = f.settled.State == "completed"
	if f.denied > 0 && f.ran == 0 {
		ok = false // everything that it wanted to do was denied
	}
	if f.settled.State == "failed" {
		fault := &f.settled.Fault
		m := map[string]any{"code": fault.Code, "text": fault.Reason.String()}
		if fault.Status != 0 {
			m["status"] = fault.Status
		}
		if fault.RequestID != "" {
			m["request_id"] = fault.RequestID
		}
		f.w.event("error", m)
	}
	f.w.head(session, head)
	return ok, f.w.err
}
