package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/internal/model/scripted"
)

// limit bounds the whole demonstration; it takes a few seconds on a warm build cache.
const limit = 2 * time.Minute

// Options are what a demonstration needs.
type Options struct {
	Binary  string    // the agent
	Command string    // how the user calls it
	Out     io.Writer // what an editor would draw
	Version string
}

// show is one demonstration.
type show struct {
	o       Options
	folder  string // kept
	tree    string // the worktree
	data    string
	environ []string
	p       *printer
	agent   *client.Client
	session string
	heads   []client.Head // after the first prompt and after the last
	first   []string      // the items of the first prompt as the editor held them
	unknown string        // what the card of the interrupted command says
}

// Run runs the demonstration. The error names the first claim that did not hold.
func Run(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := &show{o: o, p: &printer{out: o.Out}}
	defer func() {
		if s.agent != nil {
			_ = s.agent.Kill()
		}
		if err != nil && s.folder != "" {
			err = fmt.Errorf("%w\nEverything is kept in %s", err, s.folder)
		}
	}()
	for _, step := range []func(context.Context) error{s.prepare, s.fix, s.interrupt, s.resume, s.ask} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.next()
	return s.p.err
}

// start starts an agent and makes the printer follow its session.
func (s *show) start(ctx context.Context) (err error) {
	s.agent, err = client.Start(client.Config{
		Binary: s.o.Binary, Args: []string{"acp"}, Env: s.environ, Dir: s.tree,
		Permission: s.permit, OnUpdate: func(session string, _ schema.SessionUpdate) { s.draw(session, false) },
	})
	if err != nil {
		return err
	}
	if _, err := s.agent.Initialize(ctx); err != nil {
		return fmt.Errorf("the agent does not answer: %w%s", err, s.complaint())
	}
	return nil
}

func (s *show) complaint() string {
	if text := strings.TrimSpace(s.agent.Stderr()); text != "" {
		return "\nIt said: " + text
	}
	return ""
}

// permit is the demonstration's answer to every question.
func (s *show) permit(ctx context.Context, q *schema.RequestPermissionRequest) (string, bool) {
	option, ok := client.Allow(ctx, q)
	for i := range q.Options {
		if ok && q.Options[i].OptionID == option {
			s.agent.Look(q.SessionID, func(e *client.Editor) { s.p.asked(e, q.ToolCall.ToolCallID, q.Options[i].Name) })
		}
	}
	return option, ok
}

func (s *show) draw(session string, all bool) {
	s.agent.Look(session, func(e *client.Editor) { s.p.draw(e, all) })
}

// prompt sends a text and waits for the end of its turn.
func (s *show) prompt(ctx context.Context, text string) (client.Head, error) {
	answer, err := s.agent.Prompt(s.session, text).Wait(ctx)
	s.draw(s.session, true)
	if err != nil {
		return client.Head{}, fmt.Errorf("the prompt %q failed: %w%s", text, err, s.complaint())
	}
	if answer.StopReason != schema.StopEndTurn {
		return client.Head{}, fmt.Errorf("the prompt %q ended with %s", text, answer.StopReason)
	}
	head := client.ReadMeta(answer.Meta).Head
	s.heads = append(s.heads, head)
	return head, nil
}

// fix has the failing test fixed.
func (s *show) fix(ctx context.Context) (err error) {
	s.p.title("1. An editor asks for a fix")
	if err := s.start(ctx); err != nil {
		return err
	}
	if s.session, err = s.agent.New(ctx, s.tree); err != nil {
		return fmt.Errorf("no session: %w%s", err, s.complaint())
	}
	head, err := s.prompt(ctx, scripted.DemoFix)
	if err != nil {
		return err
	}
	var statuses []string
	s.agent.Look(s.session, func(e *client.Editor) {
		for _, it := range e.Items {
			s.first = append(s.first, it.String())
			if it.Card != nil {
				statuses = append(statuses, string(it.Card.Kind)+" "+string(it.Card.Status))
			}
		}
	})
	if got, want := strings.Join(statuses, ", "), "read completed, execute failed, edit completed, execute completed"; got != want {
		return fmt.Errorf("the editor's cards are not those of a fix: %s", got)
	}
	if now, err := os.ReadFile(filepath.Join(s.tree, "calc.go")); err != nil || string(now) != scripted.DemoCalcFixed {
		return fmt.Errorf("calc.go is not fixed on disk (%v)", err)
	}
	s.p.holds("the test failed before the change and passes after it; calc.go is changed on disk")
	s.p.holds("everything is in the journal, up to commit %d", head.Number)
	return nil
}

// interrupt kills the agent while a command runs.
func (s *show) interrupt(ctx context.Context) error {
	s.p.title("2. The agent is killed in the middle of a command")
	turn := s.agent.Prompt(s.session, scripted.DemoCount)
	running := func(e *client.Editor) bool {
		c := lastCard(e)
		return c != nil && c.Status == schema.StatusInProgress && strings.Contains(c.Text(), scripted.DemoCounted)
	}
	if err := s.agent.Until(ctx, s.session, running); err != nil {
		s.draw(s.session, true)
		return fmt.Errorf("the command did not get to %q: %w%s", scripted.DemoCounted, err, s.complaint())
	}
	s.draw(s.session, true)
	family, known := descendants(s.agent.PID())
	if err := s.agent.Kill(); err != nil {
		return err
	}
	if _, err := turn.Wait(ctx); err == nil {
		return fmt.Errorf("the killed agent has answered the prompt")
	}
	s.p.say("The card's live output shows %s: SIGKILL to the agent, process %d.", scripted.DemoCounted, s.agent.PID())
	if !known {
		s.p.say("The system does not say which processes there are, so what is left of the command was not looked for.")
		return nil
	}
	if len(family) == 0 {
		return fmt.Errorf("the command's process was not found before the kill")
	}
	if left := survivors(ctx, family); len(left) > 0 {
		s.p.say("! Still running, and ended by this demo now: %s", names(left))
		if left = end(ctx, left); len(left) > 0 {
			return fmt.Errorf("cannot be ended: %s", names(left))
		}
		return nil
	}
	s.p.holds("no process of it is left: %s ended with it", names(family))
	return nil
}

func lastCard(e *client.Editor) (c *client.Card) {
	for _, it := range e.Items {
		if it.Card != nil {
			c = it.Card
		}
	}
	return c
}

// resume starts the agent again and looks at what it knows.
func (s *show) resume(ctx context.Context) error {
	s.p.title("3. It is started again, and the editor loads the session")
	s.p.silence() // the history has been drawn
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.agent.Load(ctx, s.session, s.tree); err != nil {
		return fmt.Errorf("the session cannot be loaded: %w%s", err, s.complaint())
	}
	var items []*client.Item
	s.agent.Look(s.session, func(e *client.Editor) {
		items = append(items, e.Items...)
		s.p.goOn(len(e.Items))
	})
	var prompts []string
	var notice, uncertain string
	for i, it := range items {
		if i < len(s.first) && it.String() != s.first[i] {
			return fmt.Errorf("item %d of the first prompt is not as it was: it was\n%sand is\n%s", i+1, s.first[i], it)
		}
		switch {
		case it.Kind == client.User:
			prompts = append(prompts, it.Text)
		case it.Kind == client.Notice && it.Code == "session.interrupted":
			notice = it.Text
		case it.Card != nil && it.Card.Status == schema.StatusFailed && it.Card.Outcome == "uncertain":
			uncertain, s.unknown = it.Card.Title, unfenced(it.Card.Text())
		}
	}
	if len(items) < len(s.first) || len(prompts) != 2 || prompts[0] != scripted.DemoFix || prompts[1] != scripted.DemoCount {
		return fmt.Errorf("something was lost: the prompts are %q, with %d items", prompts, len(items))
	}
	s.p.holds("nothing is lost: both prompts are there, and all %d items of the first are as the editor had them", len(s.first))
	if err := s.counted(); err != nil {
		return err
	}
	s.p.holds("nothing ran twice: %s has exactly 1 line", scripted.DemoCounter)
	if uncertain == "" || notice == "" {
		return fmt.Errorf("the interrupted command is not shown as uncertain: card %q, notice %q", uncertain, notice)
	}
	s.p.holds("what is uncertain is said, by its card (failed, uncertain) and in a notice:")
	s.p.block("    ", notice+"\n")
	return nil
}

// counted checks that the command ran once.
func (s *show) counted() error {
	text, err := os.ReadFile(filepath.Join(s.tree, scripted.DemoCounter))
	if err != nil {
		return fmt.Errorf("the command has left no trace: %w", err)
	}
	if n := strings.Count(string(text), "\n"); n != 1 {
		return fmt.Errorf("the command ran %d times: %s", n, scripted.DemoCounter)
	}
	return nil
}

// ask has the model tell what it knows of the interrupted command.
func (s *show) ask(ctx context.Context) error {
	if _, err := s.prompt(ctx, scripted.DemoAsk); err != nil {
		return err
	}
	var said string
	s.agent.Look(s.session, func(e *client.Editor) {
		if n := len(e.Items); n > 0 {
			said = e.Items[n-1].Text
		}
	})
	if s.unknown == "" || !strings.Contains(said, s.unknown) {
		return fmt.Errorf("the model was not told what the card says, %q; it said: %s", s.unknown, said)
	}
	if err := s.counted(); err != nil {
		return err
	}
	s.p.holds("the next prompt works, and the model was told; %s still has 1 line", scripted.DemoCounter)
	s.agent.CloseInput()
	status, err := s.agent.Wait(ctx)
	if err != nil {
		return err
	}
	if status != 0 {
		return fmt.Errorf("at the end of its input the agent exited with status %d%s", status, s.complaint())
	}
	return nil
}

// next says where everything is and what to try.
func (s *show) next() {
	journal := filepath.Join(s.data, "sessions", s.session, "journal.zuno")
	last := s.heads[len(s.heads)-1]
	s.p.title("What to try next")
	s.p.say("The worktree is %s,\nthe journal %s, %d commits.", s.tree, journal, last.Number)
	s.p.say("\nexport ZUNO_DATA_DIR=%s", quote(s.data))
	for _, c := range []struct{ command, why string }{
		{"journal verify last --head " + last.Hash, "is it the history that the editor was told of?"},
		{"journal show last", "every commit, in order"},
		{fmt.Sprintf("replay last --until %d", s.heads[0].Number), "what was true after the first prompt"},
		{"session show last", "what is true now"},
	} {
		s.p.say("%s %s   # %s", s.o.Command, c.command, c.why)
	}
}
