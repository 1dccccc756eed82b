package crashtest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zuno/acp/client"
	"zuno/acp/schema"
)

// editorStory is what the model does for editorSession. The clock of the tests jumps over the wait before its second attempt.
const editorStory = `
responses:
  - text: I look and wait.
    calls:
      - tool: read
        args: { filePath: "${cwd}/numbers" }
      - tool: shell
        args: { command: "echo one >>ran; until [ -e ${go} ]; do sleep 0.01; done" }
  - text: I write.
    calls:
      - tool: write
        args: { filePath: "${cwd}/written", content: "written once\n" }
      - tool: shell
        args: { command: "echo two >>ran" }
  - text: The first two are done.
  - text: I ask.
    calls:
      - tool: shell
        args: { command: "echo refused >>ran" }
  - error: { status: 503, code: overloaded }
  - text: I had to try twice.
    calls:
      - tool: shell
        args: { command: "echo three >>ran" }
  - error: { status: 400, code: bad_request }
  - text: The last is done.
repeat: true
`

// editorSession is what an editor does: a steer, a second prompt, a third that is withdrawn, a question that is answered by a stop, a
// provider that fails once and then for good.
var editorSession = &scenario{
	story: editorStory, clock: true, play: playEditor,
	words: []string{"one", "two", "refused", "three"}, fails: 2,
}

// turnOf is the turn that an update belongs to.
func turnOf(meta json.RawMessage) string {
	var m struct{ Zuno struct{ TurnID string } }
	_ = json.Unmarshal(meta, &m)
	return m.Zuno.TurnID
}

// playEditor plays the session until its end or the death of the agent; what waits for an agent that is dead ends with it.
func playEditor(t *testing.T, c *client.Client, p *place, w *witness) (id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	letGo := func() {
		if err := os.WriteFile(filepath.Join(p.root, "go"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	defer letGo() // a command that its agent has left behind ends, too
	refuse := make(chan struct{}, 1)
	c.SetPermission(func(ctx context.Context, q *schema.RequestPermissionRequest) (string, bool) {
		if strings.Contains(q.ToolCall.Title, "refused") {
			refuse <- struct{}{}
			<-ctx.Done()
			return "", false
		}
		return client.Allow(ctx, q)
	})
	if _, err := c.Initialize(ctx); err != nil {
		t.Fatalf("initialize: %v\n%s", err, c.Stderr())
	}
	id, err := c.New(ctx, p.work)
	if err != nil {
		t.Fatalf("session/new: %v\n%s", err, c.Stderr())
	}
	answer := func(turn *client.Turn) {
		r, err := turn.Wait(ctx)
		if ctx.Err() != nil {
			t.Error("a prompt was not answered")
		}
		w.answered(r, err)
	}
	first := c.Prompt(id, "first")
	if c.Until(ctx, id, func(*client.Editor) bool { return w.turn() != "" }) == nil {
		var steered struct {
			InputID string `json:"inputId"`
		}
		if c.Call(ctx, "session/steer", map[string]any{
			"sessionId": id, "expectedTurnId": w.turn(), "prompt": []schema.ContentBlock{schema.Text("steered")},
		}, &steered) == nil {
			w.accepted(steered.InputID)
		}
	}
	second := c.Prompt(id, "second")
	third := c.PromptWith(id, schema.Meta("zuno", map[string]string{"delivery": "queue"}), schema.Text("third"))
	if c.Until(ctx, id, func(*client.Editor) bool { return w.count() >= 3 }) == nil { // the steered one, the second and the third
		_ = c.Withdraw(third)
	}
	answer(third)
	letGo()
	answer(first)
	answer(second)

	fourth := c.Prompt(id, "fourth")
	over := make(chan struct{})
	go func() { answer(fourth); close(over) }()
	select {
	case <-refuse:
		_ = c.Notify(schema.MethodSessionCancel, schema.CancelNotification{SessionID: id, Meta: schema.Meta("zuno", map[string]string{"expectedTurnId": w.turn()})})
	case <-over:
	}
	<-over
	for _, text := range []string{"fifth", "sixth"} {
		answer(c.Prompt(id, text))
	}
	c.CloseInput()
	if status, err := c.Wait(ctx); err != nil {
		t.Error(err)
		_ = c.Kill()
	} else if ran, _ := os.ReadFile(filepath.Join(p.work, "ran")); status == 0 && string(ran) != "one\ntwo\nthree\n" {
		t.Errorf("without a kill these ran: %q", ran)
	}
	return id
}

// A session with everything that an editor does is killed at every pass of every point: before each append, between append and sync,
// after the sync and before the answer, and inside of each effect. What was acknowledged is found, nothing happens twice, and the
// session goes on.
//
// spec: D272
func TestEditorSessionKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("kills the binary some hundred times")
	}
	begun := time.Now()
	points, wrong := editorSession.trials(t, false)
	if points < 150 {
		t.Errorf("only %d points", points)
	}
	for n, found := range wrong {
		for _, s := range found {
			t.Errorf("point %d: %s", n, s)
		}
	}
	t.Logf("%d points in %s", points, time.Since(begun).Round(time.Second))
}
