package prooftest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/journal/event"
)

// lines keeps what an agent writes.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func messageMeta(id string) json.RawMessage {
	return schema.Meta("zuno", map[string]string{"messageId": id})
}

// received is what the journal holds of one input.
type received struct {
	client                               string
	admitted, recorded, applied, settled int
	state                                string
}

// receipts are those of all inputs of a session, by their messageId.
func (p *place) receipts(session string) map[string]*received {
	p.t.Helper()
	byID, byClient := map[string]*received{}, map[string]*received{}
	if _, err := os.Stat(p.folder(session)); err != nil {
		return nil
	}
	for _, c := range p.commits(session) {
		for _, e := range c.Events {
			switch e := e.Payload.(type) {
			case *event.InputAdmitted:
				r := byID[e.ID]
				if r == nil {
					r = &received{client: e.Client}
					byID[e.ID] = r
				}
				if old := byClient[e.Client]; old != nil && old != r && e.Client != "" {
					p.t.Errorf("messageId %q is that of two inputs", e.Client)
				}
				byClient[e.Client] = r
				r.admitted++
			case *event.InputDeliveryBatch:
				for _, id := range e.Inputs {
					byID[id].recorded++
				}
			case *event.InputApplied:
				byID[e.Input].applied++
			case *event.InputSettled:
				byID[e.Input].settled++
				byID[e.Input].state = e.State
			}
		}
	}
	return byClient
}

// Fifty prompts are sent while a turn works. Each is acknowledged, none is refused, each is answered once and in the order in which
// it was sent, after the first; the model is told each once.
//
// spec: A037 A038 A039 A060 D247 D248
func TestFiftyPromptsWhileBusy(t *testing.T) {
	p := newPlace(t, `
responses:
  - calls: [{ tool: shell, args: { command: "until [ -e go ]; do sleep 0.01; done" } }]
  - text: Done.
`)
	out := &lines{}
	c, err := client.Start(client.Config{Binary: zuno, Args: []string{"acp"}, Env: p.env, Dir: p.dir, Permission: client.Allow, Tap: out})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Kill() })
	if _, err := c.Initialize(p.ctx()); err != nil {
		t.Fatal(err)
	}
	session, err := c.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	turns := []*client.Turn{c.Prompt(session, "Start.")}
	working := func(e *client.Editor) bool { return strings.Contains(e.String(), "in_progress") }
	if err := c.Until(p.ctx(), session, working); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		turns = append(turns, c.Prompt(session, fmt.Sprintf("Number %d.", i)))
	}
	if err := c.Until(p.ctx(), session, func(e *client.Editor) bool { return len(e.Told) >= 50 }); err != nil {
		t.Fatal(err)
	}
	for _, told := range c.Updates() {
		if s := string(told.MetaOf()); strings.Contains(s, `"receipt"`) && !strings.Contains(s, `"state":"admitted"`) {
			t.Errorf("while the first turn works: %s", s)
		}
	}
	p.write("go", "")
	for i, turn := range turns {
		r, err := turn.Wait(p.ctx())
		if err != nil || r.StopReason != schema.StopEndTurn {
			t.Fatalf("prompt %d: %v %v", i, r.StopReason, err)
		}
	}
	p.stop(c)
	text, at := out.String(), 0
	for i, turn := range turns {
		answers := regexp.MustCompile(`"id":`+regexp.QuoteMeta(turn.ID)+`,"(result|error)"`).FindAllStringIndex(text, -1)
		if len(answers) != 1 || answers[0][0] < at {
			t.Fatalf("prompt %d has %d answers, or one before that of the prompt before it", i, len(answers))
		}
		at = answers[0][0]
	}
	for _, c := range p.commits(session) {
		for _, e := range c.Events {
			switch e := e.Payload.(type) {
			case *event.ControlRequested, *event.ResponseCut:
				t.Errorf("%T: something was stopped", e)
			}
		}
	}
	if text := p.cli("replay", session, "--request", "2"); strings.Count(text, "\n  Number ") != 50 {
		t.Errorf("the model is told\n%s", text)
	}
	p.cli("replay", session, "--check")
}

// cli runs a command of the binary and gives its standard output.
func (p *place) cli(args ...string) string {
	p.t.Helper()
	cmd := p.command(args...)
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("zuno %v: %v", args, err)
	}
	return string(out)
}

// The process is killed at each of its points while a prompt works, a second one waits, and a third message was steered. Another
// process is sent all of them again under their messageIds: each is one input with one end, applied once at most, what was
// acknowledged is there, every retry is answered, and the command ran once at most.
//
// spec: A035 A044 A143 D245
func TestMessagesSentAgainAfterEveryCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("kills the binary some dozen times")
	}
	for n := 1; ; n++ {
		over := false
		t.Run(strconv.Itoa(n), func(t *testing.T) { over = sentAgain(t, n) })
		if over || t.Failed() {
			if n < 20 {
				t.Errorf("only %d points", n)
			}
			t.Logf("%d points", n)
			return
		}
	}
}

// sentAgain kills the process at its nth point; over says that there were fewer.
func sentAgain(t *testing.T, n int) (over bool) {
	p := newPlace(t, `
responses:
  - calls: [{ tool: shell, args: { command: "echo x >>ran; until [ -e go ]; do sleep 0.005; done" } }]
  - text: Done.
repeat: true
`)
	env := p.env
	p.env = append(env[:len(env):len(env)], fmt.Sprintf("ZUNO_TEST_FAULT=any:%d", n))
	c := p.start()
	session, err := c.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	say := func(c *client.Client, id string) *client.Turn {
		return c.PromptWith(session, messageMeta(id), schema.Text("This is "+id+"."))
	}
	acked := map[string]bool{} // what the client was told is saved
	first := say(c, "m1")
	if c.Until(p.ctx(), session, func(e *client.Editor) bool { return strings.Contains(e.String(), "in_progress") }) == nil {
		acked["m1"] = true
		second := say(c, "m2")
		if c.Until(p.ctx(), session, func(e *client.Editor) bool { return len(e.Told) > 0 }) == nil {
			acked["m2"] = true
			steer := map[string]any{"sessionId": session, "expectedTurnId": newestTurn(c), "messageId": "m3", "prompt": []schema.ContentBlock{schema.Text("This is m3.")}}
			if c.Call(p.ctx(), "session/steer", steer, nil) == nil {
				acked["m3"] = true
			}
		}
		p.write("go", "")
		_, _ = second.Wait(p.ctx())
	}
	_, err = first.Wait(p.ctx())
	c.CloseInput()
	status, _ := c.Wait(p.ctx())
	over = status == 0 && err == nil
	p.write("go", "")

	p.env = env
	before := p.receipts(session)
	c = p.start()
	if err := c.Load(p.ctx(), session, p.dir); err != nil {
		if len(acked) > 0 {
			t.Errorf("%v was saved, and the session is not there: %v", acked, err)
		}
		return over // it died before anything was saved
	}
	for id := range acked {
		if before[id] == nil {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	var again []*client.Turn
	ids := []string{"m1", "m2", "m3"}
	for _, id := range ids {
		again = append(again, say(c, id))
	}
	for i, turn := range again {
		r, err := turn.Wait(p.ctx())
		var refused *wire.Error
		state := ""
		switch {
		case errors.As(err, &refused):
			state = fmt.Sprint(refused.Data)
			if b, ok := refused.Data.(json.RawMessage); ok {
				state = string(b)
			}
			if refused.Code != wire.CodeInternalError || !strings.Contains(state, `"state":"failed"`) {
				t.Errorf("%s is answered %v %s", ids[i], err, state)
			}
		case err != nil:
			t.Errorf("%s: %v", ids[i], err)
		case r.StopReason != schema.StopEndTurn:
			t.Errorf("%s ends as %s", ids[i], r.StopReason)
		}
		if b := before[ids[i]]; b != nil && b.settled > 0 && (b.state == "failed") != (refused != nil) {
			t.Errorf("%s was %s, and its retry is answered %v", ids[i], b.state, err)
		}
	}
	p.stop(c)
	for id, r := range p.receipts(session) {
		if r.admitted != 1 || r.applied > 1 || r.recorded > 1 || r.settled != 1 {
			t.Errorf("%s: %+v", id, r)
		}
	}
	p.cli("replay", session, "--check")
	return over
}

func newestTurn(c *client.Client) (turn string) {
	for _, u := range c.Updates() {
		var m struct{ Zuno struct{ TurnID string } }
		if raw := u.MetaOf(); len(raw) > 0 && json.Unmarshal(raw, &m) == nil && m.Zuno.TurnID != "" {
			turn = m.Zuno.TurnID
		}
	}
	return turn
}

// Two processes speak with one session, one after the other and at once: only its owner takes messages, and a messageId is the same
// message for either.
//
// spec: A044 A046
func TestOneMessageInTwoProcesses(t *testing.T) {
	p := newPlace(t, "responses:\n  - text: Alpha.\nrepeat: true\n")
	one := p.start()
	session, err := one.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	say := func(c *client.Client, session string) (schema.PromptResponse, error) {
		return c.PromptWith(session, messageMeta("m"), schema.Text("Say alpha.")).Wait(p.ctx())
	}
	first, err := say(one, session)
	if err != nil {
		t.Fatal(err)
	}
	two := p.start()
	if err := two.Load(p.ctx(), session, p.dir); err != nil {
		t.Fatal(err)
	}
	var refused *wire.Error
	if _, err := say(two, session); !errors.As(err, &refused) || refused.Code != wire.CodeInUse {
		t.Errorf("a message to a session that another process has: %v", err)
	}
	other, err := two.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := say(two, other); err != nil {
		t.Errorf("the same id in another session: %v", err)
	}
	p.stop(one)
	if err := two.Load(p.ctx(), session, p.dir); err != nil {
		t.Fatal(err)
	}
	again, err := say(two, session)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := receiptOf(first), receiptOf(again); a != b {
		t.Errorf("the original receipt is\n%s\nthe retry has\n%s", a, b)
	}
	p.stop(two)
	if n := len(p.receipts(session)); n != 1 {
		t.Errorf("%d inputs", n)
	}
}

func receiptOf(r schema.PromptResponse) string { return string(client.ReadMeta(r.Meta).Receipt) }

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(zuno, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}
