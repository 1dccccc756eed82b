package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"zuno/acp/schema"
	"zuno/acp/wire"
)

func init() {
	for name, s := range map[string]step{"resume": stepResume, "delete": stepDelete, "option": stepOption, "wire": stepWire} {
		steps[name] = s
	}
}

func stepResume(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	session := p.session
	if len(args) > 0 {
		session = args[0]
	}
	err := p.agent.Call(ctx, schema.MethodSessionResume, schema.ResumeSessionRequest{SessionID: session, Cwd: ts.MkAbs(".")}, nil)
	if err == nil {
		p.session = session
	}
	return err
}

func stepDelete(ctx context.Context, _ *testscript.TestScript, p *player, args []string) error {
	session := p.session
	if len(args) > 0 {
		session = args[0]
	}
	return p.agent.Call(ctx, schema.MethodSessionDelete, schema.DeleteSessionRequest{SessionID: session}, nil)
}

// stepOption chooses a value of an option, or the mode when it is called mode.
func stepOption(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	if len(args) != 2 {
		ts.Fatalf("usage: acp option ID VALUE")
	}
	value, err := json.Marshal(args[1])
	ts.Check(err)
	return p.agent.Call(ctx, schema.MethodSessionSetConfigOption, map[string]any{"sessionId": p.session, "configId": args[0], "value": json.RawMessage(value)}, nil)
}

var (
	marksMu sync.Mutex
	marks   = map[*tap]int{}
)

// stepWire prints what the agent has sent since the last time, a line for each message, in the order of the wire. It waits for
// all that the session's last requests bring about.
func stepWire(ctx context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	err := p.agent.Call(ctx, schema.MethodSessionSetMode, schema.SetSessionModeRequest{SessionID: p.session, ModeID: "marker"}, nil)
	var refused *wire.Error
	if !errors.As(err, &refused) {
		ts.Fatalf("the marker was answered with %v", err)
	}
	marksMu.Lock()
	defer marksMu.Unlock()
	text := p.tap.String()
	text = text[:strings.LastIndexByte(text, '\n')+1]
	var lines []string
	for line := range strings.Lines(text[marks[p.tap]:]) {
		lines = append(lines, wireLine([]byte(line)))
	}
	marker := slices.Index(lines, fmt.Sprintf("error %d %s", refused.Code, refused.Message))
	for i, line := range lines {
		if i != marker {
			fmt.Fprintln(ts.Stdout(), line)
		}
	}
	marks[p.tap] = len(text)
	return nil
}

func wireLine(line []byte) string {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Update schema.SessionUpdate `json:"update"`
		} `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *wire.Error     `json:"error"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err.Error()
	}
	switch {
	case m.Method == schema.MethodSessionUpdate:
		return "update " + m.Params.Update.Kind + said(&m.Params.Update)
	case m.Method != "":
		return "request " + m.Method
	case m.Error != nil:
		return fmt.Sprintf("error %d %s", m.Error.Code, m.Error.Message)
	}
	return "answer"
}

// said is what an update says, of those that say little.
func said(u *schema.SessionUpdate) (s string) {
	switch {
	case u.CurrentModeUpdate != nil:
		return " " + string(u.CurrentModeUpdate.CurrentModeID)
	case u.ConfigOptionUpdate != nil:
		for _, o := range u.ConfigOptionUpdate.ConfigOptions {
			s += " " + string(o.ID) + "=" + strings.Trim(string(o.CurrentValue), `"`)
		}
	case u.SessionInfoUpdate != nil:
		title, _ := u.SessionInfoUpdate.Title.Value()
		return " " + title
	case u.UsageUpdate != nil:
		return fmt.Sprintf(" %d of %d", u.UsageUpdate.Used, u.UsageUpdate.Size)
	case u.ToolCall != nil:
		return fmt.Sprintf(" %s %s", u.ToolCall.Status, u.ToolCall.Title)
	case u.ContentChunk != nil && strings.Contains(string(u.ContentChunk.Meta), "notice"):
		return " notice " + strings.Join(strings.Fields(string(u.ContentChunk.Meta)), "")
	}
	return s
}
