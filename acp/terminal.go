package acp

import (
	"encoding/json"
	"strings"

	"zuno/acp/schema"
	"zuno/journal/event"
)

// terminal is a display-only terminal in a command's card. It exists in the client alone and is fed by the _meta of the
// card's updates; what it was told cannot be taken back.
type terminal struct {
	id   string
	told strings.Builder // what a running command has written so far, as the result may begin with it
}

// maxTold bounds what is kept of a running command's output: no result begins with more.
const maxTold = 64 << 10

// terminalMeta is what stands beside zuno in the _meta of an update of a command's card.
type terminalMeta struct {
	Info   *terminalInfo   `json:"terminal_info,omitempty"`
	Output *terminalOutput `json:"terminal_output,omitempty"`
	Exit   *terminalExit   `json:"terminal_exit,omitempty"`
}

type terminalInfo struct {
	ID  string `json:"terminal_id"`
	Cwd string `json:"cwd,omitempty"`
}

type terminalOutput struct {
	ID   string `json:"terminal_id"`
	Data string `json:"data"`
}

type terminalExit struct {
	ID     string  `json:"terminal_id"`
	Code   *int64  `json:"exit_code"`
	Signal *string `json:"signal"`
}

func (t terminalMeta) with(m zunoMeta) json.RawMessage {
	b, err := json.Marshal(struct {
		Zuno zunoMeta `json:"zuno"`
		terminalMeta
	}{m, t})
	if err != nil { // strings and numbers always encode
		return nil
	}
	return b
}

// drawsTerminals says that the client asked for display-only terminals.
func drawsTerminals(c *schema.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	var m struct {
		Output bool `json:"terminal_output"`
	}
	return json.Unmarshal(c.Meta, &m) == nil && m.Output
}

func (t *terminal) info(cwd string) terminalMeta {
	return terminalMeta{Info: &terminalInfo{t.id, cwd}}
}

// output is the next piece of a running command's output.
func (t *terminal) output(text string) terminalMeta {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if t.told.Len() < maxTold {
		t.told.WriteString(text)
	}
	return terminalMeta{Output: &terminalOutput{t.id, text}}
}

// closed ends the terminal of a command that never ran. What it says is said once.
func (t *terminal) closed(text string) terminalMeta {
	m := terminalMeta{Exit: &terminalExit{ID: t.id}}
	if t.told.Len() == 0 {
		t.told.WriteString(text)
		m.Output = &terminalOutput{t.id, text + "\n"}
	}
	return m
}

// ended tells the rest and how the command ended. The rest is what the result has beyond what was told; a result that
// begins otherwise leaves out a part of what was told, and the terminal has that already.
func (t *terminal) ended(e *event.CallSettled) terminalMeta {
	var m terminalMeta
	if rest, ok := strings.CutPrefix(e.Text.String(), t.told.String()); ok && rest != "" {
		rest, _ = fit(rest, maxRaw-1024)
		m.Output = &terminalOutput{t.id, rest}
	}
	m.Exit = &terminalExit{ID: t.id}
	if x := e.Exit; x != nil && x.Exited {
		m.Exit.Code = &x.Code
	} else if x != nil && x.Signal != "" {
		m.Exit.Signal = &x.Signal
	}
	return m
}
