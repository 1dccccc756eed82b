package prooftest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
)

// An editor does what editors do, in any order: it prompts, queues, steers, sends again, withdraws, stops with and without a name,
// loads, resumes, closes and types commands, all while a real agent works, whose provider fails now and then and which is killed.
// Every prompt that was not lost with its process is answered once, with what its receipt says; every input has one end, but for
// those that are held after three deaths; what the agent recorded it would decide again.
//
// spec: A037 A044 A067 D245 D246
func TestEveryPromptIsAnsweredOnce(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for seed := range rounds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { t.Parallel(); randomEditor(t, uint64(seed)) })
	}
}

type sentPrompt struct {
	turn      *client.Turn
	id, text  string
	withdrawn bool
	lost      bool // with its process
}

func randomEditor(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	p := newPlace(t, `
responses:
  - parts: [{ text: "one ", after: 3ms }, { text: "two ", after: 3ms }, { text: "three", after: 2ms }]
  - text: I run.
    calls: [{ tool: shell, args: { command: "sleep 0.01" } }, { tool: read, args: { filePath: "${cwd}/a.txt" } }]
  - text: Done.
  - calls: [{ tool: nope, args: {} }]
  - text: So.
  - error: { status: 400, code: bad }
repeat: true
`)
	p.write("a.txt", "x\n")
	out := &lines{}
	start := func() *client.Client {
		c, err := client.Start(client.Config{Binary: zuno, Args: []string{"acp"}, Env: p.env, Dir: p.dir, Permission: client.Allow, Tap: out})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Kill() })
		if _, err := c.Initialize(p.ctx()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := start()
	session, err := c.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	var all, earlier []*sentPrompt // of this process, of those before
	prompt := func(id, text, delivery string) {
		zuno := map[string]string{}
		if id != "" {
			zuno["messageId"] = id
		}
		if delivery != "" {
			zuno["delivery"] = delivery
		}
		all = append(all, &sentPrompt{turn: c.PromptWith(session, schema.Meta("zuno", zuno), schema.Text(text)), id: id, text: text})
	}
	prompt("m0", "This is m0.", "")
	for i := 1; i <= 60; i++ {
		id := "m" + strconv.Itoa(i)
		switch n := r.IntN(24); n {
		case 0, 1, 2, 3:
			prompt(id, "This is "+id+".", "")
		case 4, 5:
			prompt("", "Without an id.", "queue")
		case 6, 7:
			if old := all[r.IntN(len(all))]; old.id != "" {
				prompt(old.id, old.text, "")
			}
		case 8, 9:
			_ = c.Call(p.ctx(), "session/steer", map[string]any{"sessionId": session, "expectedTurnId": newestTurn(c), "messageId": id, "prompt": []schema.ContentBlock{schema.Text("Steer " + id + ".")}}, nil)
		case 10, 11, 12:
			old := all[r.IntN(len(all))]
			old.withdrawn = true
			_ = c.Withdraw(old.turn)
		case 13:
			_ = c.Cancel(session)
		case 14:
			_ = c.Notify(schema.MethodSessionCancel, map[string]any{"sessionId": session, "_meta": map[string]any{"zuno": map[string]string{"expectedTurnId": newestTurn(c)}}})
		case 15:
			prompt(id, "/resume", "")
			all[len(all)-1].text = "/resume"
		case 16:
			prompt(id, "/inspect-outcome", "")
		case 17:
			if err := c.Load(p.ctx(), session, p.dir); err != nil {
				t.Fatal(err)
			}
		case 18:
			if err := c.Call(p.ctx(), schema.MethodSessionResume, schema.ResumeSessionRequest{SessionID: session, Cwd: p.dir}, nil); err != nil {
				t.Fatal(err)
			}
		case 19:
			if r.IntN(3) == 0 {
				if err := c.Close(p.ctx(), session); err != nil {
					t.Fatal(err)
				}
				if err := c.Load(p.ctx(), session, p.dir); err != nil && len(p.receipts(session)) > 0 {
					t.Fatal(err)
				} else if err != nil {
					return // all was withdrawn before it was taken: there never was such a session
				}
			}
		case 20:
			if r.IntN(2) == 0 {
				continue
			}
			if err := c.Kill(); err != nil {
				t.Fatal(err)
			}
			for _, s := range all {
				_, err := s.turn.Wait(p.ctx())
				var refused *wire.Error
				s.lost = err != nil && !errors.As(err, &refused)
			}
			out = &lines{}
			c = start()
			if err := c.Load(p.ctx(), session, p.dir); err != nil && len(p.receipts(session)) > 0 {
				t.Fatal(err)
			} else if err != nil {
				return
			}
			earlier, all = append(earlier, all...), nil
			prompt(id, "This is "+id+".", "")
		default: // let it work
			_, _ = all[r.IntN(len(all))].turn.Wait(p.ctx())
		}
	}
	for _, s := range earlier {
		if s.lost && s.id != "" && !s.withdrawn {
			prompt(s.id, s.text, "")
		}
	}
	prompt("last", "This is the last.", "queue") // whatever a close has left goes on with it
	held := false
	for _, s := range all {
		resp, err := s.turn.Wait(p.ctx())
		var refused *wire.Error
		data := ""
		if errors.As(err, &refused) {
			data = fmt.Sprintf("%s", refused.Data)
		}
		switch {
		case err == nil && (resp.StopReason == schema.StopEndTurn || resp.StopReason == schema.StopCancelled):
		case refused == nil:
			t.Fatalf("%q is answered %v %v\n%s", s.text, resp.StopReason, err, c.Stderr())
		case refused.Code == wire.CodeRequestCancelled && s.withdrawn:
		case refused.Code == wire.CodeInternalError && strings.Contains(data, "executionObservationUnavailable"):
		case refused.Code == wire.CodeInternalError && strings.Contains(data, `"state":"failed"`):
		case refused.Code == wire.CodeGated && strings.Contains(data, `"reason":"execution_unavailable"`):
			held = true
		case strings.HasPrefix(s.text, "/resume") && strings.Contains(data, `"state":"failed"`):
		default:
			t.Errorf("%q is answered %d %s %s", s.text, refused.Code, refused.Message, data)
		}
	}
	p.stop(c)
	answered := map[string]int{}
	for line := range strings.Lines(out.String()) {
		for _, s := range all {
			if strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`+s.turn.ID+`,`) {
				answered[s.turn.ID]++
			}
		}
	}
	for _, s := range all {
		if answered[s.turn.ID] != 1 {
			t.Errorf("request %s has %d answers", s.turn.ID, answered[s.turn.ID])
		}
	}
	n := 0
	for id, in := range p.receipts(session) {
		n++
		if id != "" && (in.admitted != 1 || in.recorded > 1 || in.applied > 1 || in.settled > 1 || in.settled == 0 && !held) {
			t.Errorf("%s: %+v", id, in)
		}
	}
	p.cli("replay", session, "--check")
	t.Logf("%d prompts, %d inputs", len(all), n)
}
