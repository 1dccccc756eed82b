package gatetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"zuno/acp/client"
	"zuno/commands"
	"zuno/internal/forge"
	"zuno/journal/event"
)

// blocked is a session with an input that a false block holds.
func (p *place) blocked() (id, input string, revision uint64) {
	p.t.Helper()
	id = p.session()
	p.forge(id, forge.Of(&event.ExecutionChanged{Trigger: "pause", Phase: "paused", Reason: commands.GateBlocked, Cause: p.read(id).view.Root.Turns.Over.ID})...)
	c := p.start(zuno, "")
	p.load(c, id)
	_, data := p.refused(c, id, "held", "Are you there?")
	p.end(c)
	receipt, _ := data["receipt"].(map[string]any)
	return id, fmt.Sprint(receipt["inputId"]), p.read(id).view.Root.Execution.Revision
}

// repair applies one and gives its result; killed says that it died at the fault.
func (p *place) repair(fault, id, input string, revision uint64) (result string, killed bool) {
	p.t.Helper()
	cmd := exec.Command(zuno, "session", "repair", id, "--input", input, "--apply", "--expected-revision", fmt.Sprint(revision), "--json")
	cmd.Dir = p.at("w")
	cmd.Env = append(os.Environ(), "HOME="+p.at("home"), "ZUNO_DATA_DIR="+p.at("data"), "XDG_CONFIG_HOME="+p.at("config"), "XDG_STATE_HOME="+p.at("state"))
	if fault != "" {
		cmd.Env = append(cmd.Env, "ZUNO_TEST_FAULT="+fault)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == -1 {
		return "", true
	}
	var r struct {
		Result string `json:"result"`
	}
	if json.Unmarshal(out.Bytes(), &r) != nil {
		p.t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	return r.Result, false
}

// A repair that dies before its commit is durable has written nothing, one that dies after it has queued the control; applied again
// there is one control and no more.
//
// spec: A229 A230 A250 A254 A255
func TestARepairThatDiesQueuesAtMostOneControl(t *testing.T) {
	for fault, durable := range map[string]bool{"before-append:1": false, "before-sync:1": false, "after-sync:1": true} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			id, input, revision := p.blocked()
			before := p.read(id)
			if _, killed := p.repair(fault, id, input, revision); !killed {
				t.Fatal("it lived")
			}
			if got := p.read(id).head != before.head; got != durable {
				t.Errorf("the head has moved: %v", got)
			}
			want := map[bool]string{false: "control_queued", true: "already_queued"}[durable]
			if result, _ := p.repair("", id, input, revision); result != want {
				t.Errorf("applied again: %s, want %s", result, want)
			}
			queued := p.read(id)
			if result, _ := p.repair("", id, input, revision); result != "already_queued" || p.read(id).head != queued.head {
				t.Errorf("once more: %s", result)
			}
			if a, b := queued.counts["session.input.admitted.1"], before.counts["session.input.admitted.1"]; a != b+1 {
				t.Errorf("%d inputs became %d", b, a)
			}
			if a, b := queued.counts["session.opened.1"], before.counts["session.opened.1"]; a != b+1 {
				t.Errorf("%d openings became %d", b, a)
			}
			delta := queued.view.Number - before.view.Number
			if delta != 2 {
				t.Errorf("%d commits", delta)
			}
		})
	}
}

// Wherever the process dies while it carries out a queued repair: the input is applied once and has one receipt in the end, and what
// a turn had taken is not run again.
//
// spec: A201 A202 A204 A213 A257
func TestAQueuedRepairSurvivesEveryDeath(t *testing.T) {
	for n := 1; n <= 12; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			id, input, revision := p.blocked()
			if result, _ := p.repair("", id, input, revision); result != "control_queued" {
				t.Fatal(result)
			}
			ctx, cancel := context.WithTimeout(p.context(), patience)
			defer cancel()
			c := p.start(zuno, fmt.Sprintf("any:%d", n))
			err := c.Load(ctx, id, p.at("w"))
			if err == nil {
				err = c.Until(ctx, id, func(e *client.Editor) bool { return strings.Count(e.String(), "Fine.") >= 2 })
			}
			died := err != nil
			c.CloseInput()
			if status, err := c.Wait(ctx); err != nil || !died && status != 0 && status != -1 {
				t.Fatalf("exit %d, %v", status, err)
			}
			for range 2 {
				c = p.start(zuno, "")
				p.load(c, id)
				s := p.open(id)
				if s.counts["session.input.applied.1"] < 3 { // it had not begun: now it does
					p.check(c.Until(ctx, id, func(e *client.Editor) bool { return strings.Count(e.String(), "Fine.") >= 2 }))
				}
				p.end(c)
			}
			s := p.read(id)
			settled := map[string]string{}
			for _, in := range s.view.Root.Inputs.All {
				settled[in.ID] = in.State.String()
			}
			taken := s.counts["session.input.applied.1"]
			if state := settled[input]; taken != 3 || state != "completed" && state != "failed" && state != "cancelled" {
				t.Errorf("%d inputs were applied; the freed one is %s", taken, state)
			}
			if n := s.counts["session.input.settled.1"]; n != 3 || s.view.Root.Turns.Count != 2 || s.view.Root.Execution.Gate != nil {
				t.Errorf("%d receipts, %d turns, gate %+v", n, s.view.Root.Turns.Count, s.view.Root.Execution.Gate)
			}
		})
	}
}
