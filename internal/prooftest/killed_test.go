package prooftest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/journal/event"
)

// Case S26: the process is killed at random moments while the model speaks and while a command runs. What was accepted is there,
// what was shown and committed is there, the command that had begun is unknown, never successful, and is not run again, and the
// model is given a result for every call.
//
// spec: A035 D282
func TestKilledMidTurn(t *testing.T) {
	if testing.Short() {
		t.Skip("kills the binary twenty times")
	}
	var words strings.Builder
	for i := range 40 {
		fmt.Fprintf(&words, "      - { text: \"word%d \", after: 1ms }\n", i)
	}
	story := "responses:\n  - parts:\n" + words.String() + `
    calls: [{ tool: shell, args: { command: "echo x >>log; echo BEGAN; [ -e quick ] || sleep 5" } }]
  - text: Going on.
  - text: Going on.
`
	for i := range 20 {
		t.Run(strconv.Itoa(i), func(t *testing.T) { killedMidTurn(t, story, uint64(i)) })
	}
}

func killedMidTurn(t *testing.T, story string, seed uint64) {
	p := newPlace(t, story)
	r := rand.New(rand.NewPCG(seed, 26))
	c := p.start()
	session, err := c.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	turn := c.PromptWith(session, messageMeta("one"), schema.Text("Do it."))
	inCommand := seed%2 == 0
	if inCommand {
		if err := c.Until(p.ctx(), session, func(e *client.Editor) bool { return strings.Contains(e.String(), "| BEGAN\n") }); err != nil {
			t.Fatal(err)
		}
	} else {
		n := 1 + r.IntN(12)
		if err := c.Until(p.ctx(), session, func(e *client.Editor) bool { return len(agentText(e)) >= n*6 }); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = turn.Wait(p.ctx())
	p.write("quick", "") // a response that was not complete is given again, and then its command runs for the first time

	c = p.start()
	if err := c.Load(p.ctx(), session, p.dir); err != nil {
		t.Fatal(err)
	}
	state := c.State(session)
	if !strings.Contains(state, "Do it.") {
		t.Errorf("the prompt is not there:\n%s", state)
	}
	if inCommand && (!strings.Contains(state, "word39") || !strings.Contains(state, "failed, uncertain")) {
		t.Errorf("after a kill during the command an editor holds\n%s", state)
	}
	if strings.Contains(state, "completed") {
		t.Errorf("something is told as done:\n%s", state)
	}
	if r, err := c.Prompt(session, "Go on.").Wait(p.ctx()); err != nil || r.StopReason != schema.StopEndTurn {
		t.Errorf("the next prompt: %v %v", r.StopReason, err)
	}
	p.stop(c)
	if b, _ := os.ReadFile(filepath.Join(p.dir, "log")); len(b) > 2 || inCommand && len(b) != 2 {
		t.Errorf("the command wrote %q", b)
	}
	calls, results := map[string]bool{}, map[string]bool{}
	for _, c := range p.commits(session) {
		for _, e := range c.Events {
			switch e := e.Payload.(type) {
			case *event.CallRequested:
				calls[e.ID] = true
			case *event.CallSettled:
				results[e.ID] = true
			case *event.CallBlocked:
				results[e.ID] = true
			case *event.CallAbandoned:
				results[e.ID] = true
			}
		}
	}
	if len(calls) != len(results) || inCommand && len(calls) != 1 {
		t.Errorf("%d calls, %d results", len(calls), len(results))
	}
	if inCommand {
		if text := p.cli("replay", session, "--request", "2"); !strings.Contains(text, "its effect may have happened") {
			t.Errorf("the model is told\n%s", text)
		}
	}
}

// agentText is what the agent has said.
func agentText(e *client.Editor) (text string) {
	for _, it := range e.Items {
		if it.Kind == client.Agent {
			text += it.Text
		}
	}
	return text
}
