package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/commands"
)

// randomStory is forty commands, each of which writes a word of its own, with an end of the turn after every third.
func randomStory() (story string, words []string) {
	var b strings.Builder
	b.WriteString("responses:\n")
	for i := range 40 {
		word := fmt.Sprintf("w%d.", i)
		words = append(words, word)
		fmt.Fprintf(&b, "  - parts: [{ text: \"I run \", after: 2ms }, { text: \"it.\\n\", after: 2ms }]\n    calls: [{ tool: shell, args: { command: \"echo %s >>ran\" } }]\n", word)
		if i%3 == 2 {
			b.WriteString("  - text: That is all.\n")
		}
	}
	return b.String(), words
}

// An editor does anything at any time – prompts, messages that it sends again, steers, stops, withdrawals – and the binary is killed
// and opened again under it. What was acknowledged is found each time, no command runs twice, every message that was sent under an
// id is one input, and the session goes on.
//
// spec: D245 D271
func TestRandomEditor(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 2
	}
	binary := build(t)
	story, words := randomStory()
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &scenario{story: story, words: words}
			randomEditor(t, s.place(t), binary, rand.New(rand.NewPCG(uint64(seed), 245)))
		})
	}
}

func randomEditor(t *testing.T, p *place, binary string, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	w := newWitness()
	var id string
	var pending []*client.Turn
	open := func() *client.Client {
		c := p.start(t, binary, "", false, w.see)
		t.Cleanup(func() { _ = c.Kill() })
		if _, err := c.Initialize(ctx); err != nil {
			t.Fatal(err, c.Stderr())
		}
		pending = nil
		if id != "" && c.Load(ctx, id, p.work) == nil {
			return c
		}
		if w.count() > 0 {
			t.Fatal("a session with acknowledged inputs cannot be loaded")
		}
		var err error
		if id, err = c.New(ctx, p.work); err != nil {
			t.Fatal(err)
		}
		return c
	}
	look := func(when string) *found {
		if p.sessionDir(t) == "" {
			return nil
		}
		f, err := inspect(filepath.Join(p.data, "sessions", id))
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range f.judge(p, w) {
			t.Errorf("%s: %s", when, wrong)
		}
		return f
	}
	collect := func(turn *client.Turn) { w.answered(turn.Wait(ctx)) }
	c := open()
	for step := range 40 {
		switch n := r.IntN(12); {
		case n < 3:
			pending = append(pending, c.PromptWith(id, schema.Meta("zuno", map[string]string{"messageId": fmt.Sprint("m", r.IntN(10))}), schema.Text("Go on.")))
		case n < 5:
			pending = append(pending, c.Prompt(id, fmt.Sprint("Go on, ", step)))
		case n == 5:
			var steered struct {
				InputID string `json:"inputId"`
			}
			if c.Call(ctx, "session/steer", map[string]any{"sessionId": id, "expectedTurnId": w.turn(), "prompt": []schema.ContentBlock{schema.Text("This way.")}}, &steered) == nil {
				w.accepted(steered.InputID)
			}
		case n == 6:
			_ = c.Cancel(id)
		case n == 7:
			_ = c.Notify(schema.MethodSessionCancel, schema.CancelNotification{SessionID: id, Meta: schema.Meta("zuno", map[string]string{"expectedTurnId": w.turn()})})
		case n == 8 && len(pending) > 0:
			_ = c.Withdraw(pending[r.IntN(len(pending))])
		case n == 9 && len(pending) > 0:
			collect(pending[0])
			pending = pending[1:]
		case n == 10 && len(pending) > 0: // some more is said, or the newest prompt is answered
			wanted, newest := w.seen.Load()+1+r.Int64N(6), pending[len(pending)-1]
			until, stop := context.WithCancel(ctx)
			go func() { _, _ = newest.Wait(until); stop() }()
			_ = c.Until(until, id, func(*client.Editor) bool { return w.seen.Load() >= wanted })
			stop()
		case n == 11:
			_ = c.Kill()
			for _, turn := range pending {
				collect(turn)
			}
			look("killed")
			c = open()
		}
	}
	last := c.Prompt(id, "And now?")
	for _, turn := range append(pending, last) {
		_, err := turn.Wait(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatal("a prompt was not answered")
		}
		collect(turn)
		var e *wire.Error
		if errors.As(err, &e) && e.Code == wire.CodeGated && turn == last { // three deaths at one step
			if data, _ := e.Data.(json.RawMessage); !strings.Contains(string(data), commands.GateExecutionUnavailable) {
				t.Errorf("a prompt is held: %s", data)
			}
			collect(c.Prompt(id, "/resume"))
		}
	}
	c.CloseInput()
	if status, err := c.Wait(ctx); err != nil || status != 0 {
		t.Errorf("the agent ended with %d (%v): %s", status, err, c.Stderr())
	}
	f := look("at the end")
	if n := len(f.view.Root.Inputs.Open); n > 0 {
		t.Errorf("%d inputs have no end", n)
	}
	messages := map[string]int{}
	for _, in := range f.view.Root.Inputs.All {
		if messages[in.Client]++; in.Client != "" && messages[in.Client] > 1 {
			t.Errorf("message %s is %d inputs", in.Client, messages[in.Client])
		}
	}
	t.Logf("%d inputs, %d turns, %d commands, %d kills", len(f.admitted), f.view.Root.Turns.Count, len(f.started), p.started-1)
	for input := range f.admitted {
		if len(f.settled[input]) != 1 {
			t.Errorf("input %s has the receipts %v", input, f.settled[input])
		}
	}
}
