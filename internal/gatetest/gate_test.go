package gatetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/commands"
	"zuno/internal/forge"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

const patience = 30 * time.Second

// zuno and newer are two builds of the command.
var zuno, newer string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gatetest-")
	if err == nil {
		zuno, newer = filepath.Join(dir, "zuno"), filepath.Join(dir, "newer")
		for to, flags := range map[string][]string{zuno: nil, newer: {"-ldflags=-buildid=a/newer/build/of/it"}} {
			out, e := exec.Command("go", append(append([]string{"build", "-o", to}, flags...), "zuno/cmd/zuno")...).CombinedOutput()
			if e != nil {
				err = fmt.Errorf("build zuno: %w\n%s", e, out)
			}
		}
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// place is one worktree with its data folder.
type place struct {
	t    *testing.T
	root string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t, t.TempDir()}
	for _, d := range []string{"w", "home", "config/zuno"} {
		if err := os.MkdirAll(p.at(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`{ "model": "scripted/story", "provider": { "scripted": { "type": "scripted", "options": { "script": %q } } } }`, p.at("story.yaml"))
	for name, text := range map[string]string{"story.yaml": "responses:\n  - text: Fine.\nrepeat: true\n", "config/zuno/zuno.json": config} {
		if err := os.WriteFile(p.at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *place) at(name string) string             { return filepath.Join(p.root, name) }
func (p *place) folder(session string) string      { return filepath.Join(p.at("data/sessions"), session) }
func (p *place) context() context.Context          { return p.t.Context() }
func (p *place) forge(id string, e ...forge.Event) { p.check(forge.Append(p.folder(id), e...)) }

func (p *place) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// start starts a build as an editor does.
func (p *place) start(binary, fault string) *client.Client {
	p.t.Helper()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.at("home"), "ZUNO_DATA_DIR=" + p.at("data"), "XDG_CONFIG_HOME=" + p.at("config"),
		"XDG_STATE_HOME=" + p.at("state"), "XDG_DATA_HOME=" + p.at("share"), "XDG_CACHE_HOME=" + p.at("cache"), "GORACE=atexit_sleep_ms=0",
	}
	if fault != "" {
		env = append(env, "ZUNO_TEST_FAULT="+fault)
	}
	c, err := client.Start(client.Config{Binary: binary, Args: []string{"acp"}, Env: env, Dir: p.at("w"), Permission: client.Allow})
	p.check(err)
	ctx, cancel := context.WithTimeout(p.context(), patience)
	defer cancel()
	_, err = c.Initialize(ctx)
	p.check(err)
	return c
}

func (p *place) load(c *client.Client, id string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.context(), patience)
	defer cancel()
	p.check(c.Load(ctx, id, p.at("w")))
}

// end ends the input and waits for the orderly exit.
func (p *place) end(c *client.Client) {
	p.t.Helper()
	c.CloseInput()
	ctx, cancel := context.WithTimeout(p.context(), patience)
	defer cancel()
	if status, err := c.Wait(ctx); err != nil || status != 0 {
		p.t.Fatalf("exit %d, %v\n%s", status, err, c.Stderr())
	}
}

// session makes one with a turn that completed, and gives its id.
func (p *place) session() string {
	p.t.Helper()
	c := p.start(zuno, "")
	ctx, cancel := context.WithTimeout(p.context(), patience)
	defer cancel()
	id, err := c.New(ctx, p.at("w"))
	p.check(err)
	_, err = c.Prompt(id, "Before.").Wait(ctx)
	p.check(err)
	p.end(c)
	return id
}

// refused sends a prompt that must be answered by an error.
func (p *place) refused(c *client.Client, id, messageID, text string) (*wire.Error, map[string]any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.context(), patience)
	defer cancel()
	var meta json.RawMessage
	if messageID != "" {
		meta = schema.Meta("zuno", map[string]string{"messageId": messageID})
	}
	r, err := c.PromptWith(id, meta, schema.Text(text)).Wait(ctx)
	var e *wire.Error
	if !errors.As(err, &e) {
		p.t.Fatalf("%q is answered by %+v, %v", text, r, err)
	}
	raw, err := json.Marshal(e.Data)
	p.check(err)
	var data map[string]any
	p.check(json.Unmarshal(raw, &data))
	return e, data
}

// said is what a journal says.
type said struct {
	view   *projections.View
	head   string
	counts map[string]int
}

func (p *place) read(id string) said {
	p.t.Helper()
	s := said{counts: map[string]int{}}
	folder := projections.NewFolder(projections.Options{Keep: true})
	f, err := journal.OpenRead(p.folder(id), func(c *journal.Raw) error {
		s.head = c.Hash.String()
		for i := range c.Events {
			s.counts[string(c.Events[i].Type)]++
		}
		return folder.Commit(c)
	})
	p.check(err)
	p.check(f.Close())
	s.view = folder.View
	if s.view.Corrupt != nil {
		p.t.Fatal(s.view.Corrupt)
	}
	return s
}

// Each gate of the table, of nobody and of a Goal, is told to the editor exactly: code, data, message and every field of the receipt.
// Later changes of the execution, a restart and a newer build leave what was told, a retry adds nothing, and nothing is asked of a
// provider or failed.
//
// spec: A180 A181 A182 A189 A190 A191 A192 A193 A194 A195 A203 A219 A249
func TestEachGateIsToldExactly(t *testing.T) {
	for _, g := range commands.Gates {
		for _, goal := range []string{"", "goal_1"} {
			if goal != "" && g.Reason == commands.GateUncertain {
				continue // it is talked about: another test's matter
			}
			t.Run(g.Reason+goal, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				id := p.session()
				raise := &event.ExecutionChanged{Trigger: "pause", Phase: "paused", Reason: g.Reason, Cycle: "cycle_of_gate", Goal: goal}
				more := map[string]any{}
				switch g.Reason {
				case commands.GateWaitingHuman:
					raise.Trigger, raise.Reason, raise.Waiting, more["requestId"] = "wait_human", "", "ask_1", "ask_1"
				case commands.GateWaitingExternal:
					raise.Trigger, raise.Reason, raise.Waiting, more["sourceId"] = "wait_external", "", "job_1", "job_1"
				}
				if raise.Trigger != "pause" { // a wait begins in a cycle that goes on
					p.forge(id, forge.Of(&event.ExecutionChanged{Trigger: "begin", Phase: "running"})...)
				}
				p.forge(id, forge.Of(raise)...)
				before := p.read(id)

				c := p.start(zuno, "")
				p.load(c, id)
				e, data := p.refused(c, id, "m1", "While it is held.")
				p.end(c)
				recovery := g.Recovery
				if goal != "" {
					recovery = g.Goal
				}
				gate := map[string]any{
					"reason": g.Reason, "recovery": string(recovery), "executionRevision": float64(before.view.Root.Execution.Revision), "cycleId": "cycle_of_gate",
				}
				maps.Copy(gate, more)
				if e.Code != -32005 || e.Message != commands.GateMessage(recovery) {
					t.Errorf("%d %s", e.Code, e.Message)
				}
				receipt, _ := data["receipt"].(map[string]any)
				if data["admission"] != "accepted" || data["reason"] != "executionGated" || data["recoveryRequired"] != true {
					t.Errorf("data %v", data)
				}
				want := []string{"admittedSequence", "clientMessageId", "delivery", "executionGate", "inputId", "sessionId", "state", "timeUpdated"}
				if got := slices.Sorted(maps.Keys(receipt)); !slices.Equal(got, want) {
					t.Errorf("the receipt has %v", got)
				}
				if receipt["state"] != "recorded" || receipt["clientMessageId"] != "m1" || receipt["sessionId"] != id || receipt["delivery"] != "steer" {
					t.Errorf("receipt %v", receipt)
				}
				if !reflect.DeepEqual(receipt["executionGate"], gate) {
					t.Errorf("gate %v, want %v", receipt["executionGate"], gate)
				}
				held := p.read(id)
				in := held.view.Root.Inputs.Get(fmt.Sprint(receipt["inputId"]))
				if in == nil || !in.State.Is("recorded") || float64(in.Sequence) != receipt["admittedSequence"] {
					t.Errorf("the journal has %+v", in)
				}

				// The execution moves on, another build comes, and the retry is told the same.
				p.forge(id, forge.Of(&event.ExecutionChanged{Trigger: "resume", Phase: "running", Cycle: "cycle_later"}, &event.ExecutionChanged{Trigger: "pause", Phase: "paused", Reason: commands.GateUser})...)
				c = p.start(newer, "")
				p.load(c, id)
				_, again := p.refused(c, id, "m1", "While it is held.")
				p.end(c)
				if !reflect.DeepEqual(again["receipt"], data["receipt"]) {
					t.Errorf("the retry is told %v, not %v", again["receipt"], data["receipt"])
				}
				after := p.read(id)
				if n := after.counts["session.input.admitted.1"]; n != held.counts["session.input.admitted.1"] {
					t.Errorf("the retry made an input")
				}
				for _, typ := range []string{"session.request.started.1", "session.turn.started.1", "session.input.applied.1", "session.input.settled.1"} {
					if after.counts[typ] != before.counts[typ] {
						t.Errorf("%d %s became %d", before.counts[typ], typ, after.counts[typ])
					}
				}
				if x := after.view.Root.Execution; x.Gate == nil || x.Gate.Reason != commands.GateUser {
					t.Errorf("loading and prompting left gate %+v", x.Gate)
				}
			})
		}
	}
}

// A request that is ready at the end of the input is still answered, and then the resumed work is stopped, not waited for.
//
// spec: A210 A211 A212
func TestReadyRequestIsAnsweredAtTheEndOfInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.session()
	p.check(os.WriteFile(p.at("story.yaml"), []byte("responses:\n  - text: Before.\n  - text: I run it.\n    calls:\n      - tool: shell\n        args: { command: \"echo BEGUN; sleep 600\" }\n"), 0o644))
	p.forge(id, forge.Of(&event.ExecutionChanged{Trigger: "pause", Phase: "paused", Reason: commands.GateUser, Cycle: "cycle_of_gate"})...)
	c := p.start(zuno, "")
	p.load(c, id)
	p.refused(c, id, "", "Saved.")
	c.Prompt(id, "/resume")
	ctx, cancel := context.WithTimeout(p.context(), patience)
	defer cancel()
	p.check(c.Until(ctx, id, func(e *client.Editor) bool { return strings.Contains(e.String(), "BEGUN") }))
	ready := c.Prompt(id, "/inspect-outcome call_x perhaps so")
	began := time.Now()
	p.end(c)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
	_, err := ready.Wait(ctx)
	var e *wire.Error
	if !errors.As(err, &e) || e.Code != wire.CodeInvalidParams {
		t.Errorf("the ready request is answered by %v", err)
	}
	s := p.read(id)
	for _, in := range s.view.Root.Inputs.All {
		if in.Control != nil && (!in.State.Is("cancelled") || in.Turn == "") {
			t.Errorf("the resume is %s, of turn %q", in.State, in.Turn)
		}
	}
	if s.view.Root.Turns.Active != nil || len(s.view.Root.Calls.Open) > 0 {
		t.Error("something was left open")
	}
	c = p.start(zuno, "")
	p.load(c, id)
	p.end(c)
	if after := p.read(id); after.counts["session.turn.started.1"] != s.counts["session.turn.started.1"] {
		t.Error("a load ran something")
	}
}

// Three processes die while they begin the turn of the same input, at a point where no record tells of the beginning. The fourth
// does not try it: the session is held, and /resume runs the input once.
//
// spec: D253
func TestThreeDeathsBeforeTheFenceHoldTheSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(p.context(), patience)
	defer cancel()
	dies := func(c *client.Client) {
		t.Helper()
		if status, err := c.Wait(ctx); err != nil || status != -1 {
			t.Fatalf("exit %d, %v\n%s", status, err, c.Stderr())
		}
	}
	c := p.start(zuno, "before-append:2") // the first is the session with its input
	id, err := c.New(ctx, p.at("w"))
	p.check(err)
	c.Prompt(id, "The deadly one.")
	dies(c)
	for range 2 {
		c = p.start(zuno, "before-append:3") // opening, the second input, the request
		p.load(c, id)
		c.Prompt(id, "Is anybody there?")
		dies(c)
	}
	s := p.read(id)
	if s.counts["session.request.started.1"] != 0 || s.counts["session.run.died.1"] != 2 {
		t.Fatalf("%v", s.counts)
	}
	c = p.start(zuno, "")
	p.load(c, id)
	_, data := p.refused(c, id, "", "And now?")
	receipt, _ := data["receipt"].(map[string]any)
	if gate, _ := receipt["executionGate"].(map[string]any); gate["reason"] != commands.GateExecutionUnavailable {
		t.Errorf("%v", data)
	}
	if n := p.open(id).counts["session.request.started.1"]; n != 0 {
		t.Errorf("a fourth start: %d", n)
	}
	if _, err := c.Prompt(id, "/resume").Wait(ctx); err != nil {
		t.Errorf("/resume: %v", err)
	}
	p.end(c)
	s = p.read(id)
	first := s.view.Root.Inputs.All[0]
	if !first.State.Is("completed") || s.view.Root.Execution.Gate != nil || s.counts["session.run.died.1"] != 3 {
		t.Errorf("%s, %v", first.State, s.counts)
	}
}

// open reads the journal of a session that somebody owns.
func (p *place) open(id string) said {
	p.t.Helper()
	s := said{counts: map[string]int{}}
	f, err := journal.OpenLive(filepath.Join(p.folder(id), "journal.zuno"), func(c *journal.Raw) error {
		for i := range c.Events {
			s.counts[string(c.Events[i].Type)]++
		}
		return nil
	})
	p.check(err)
	p.check(f.Close())
	return s
}
