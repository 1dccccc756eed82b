package acp

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zuno/journal"
)

// One session's disk hangs, and another's configuration. The reader of the connection goes on, what finds a full line is
// refused by name, and other sessions are as quick as ever; when the disk is back, everything that was taken is answered.
//
// spec: D258
func TestAStuckSessionHoldsUpNobody(t *testing.T) {
	var armed atomic.Bool
	stuck, release := make(chan struct{}), make(chan struct{})
	folder := make(chan struct{})
	p := serve(t, func(point journal.Point) error {
		if point == journal.PointAfterSync && armed.CompareAndSwap(true, false) {
			close(stuck)
			<-release
		}
		return nil
	}, func(cwd string) {
		if cwd == "/hangs" {
			<-folder
		}
	})
	one, other := p.open("/one"), p.open("/other")
	p.must("session/prompt", promptOf(one, "make it durable"))
	p.must("session/prompt", promptOf(other, "make it durable"))
	armed.Store(true)
	prompt := p.send("session/prompt", promptOf(one, "this one hangs"))
	select {
	case <-stuck:
	case <-time.After(patience):
		t.Fatal("the disk does not hang")
	}
	hangs := p.send("session/new", `{"cwd":"/hangs","mcpServers":[]}`)

	var lines strings.Builder
	var ids []string
	for range maxWaiting + 50 {
		line, id := p.line("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"build"}`, one))
		lines.WriteString(line)
		ids = append(ids, id)
	}
	p.write(lines.String())
	m := p.answer(ids[maxWaiting+49])
	if m.Error == nil || m.Error.Code != -32603 || !strings.Contains(string(m.Error.Data), `"reason":"tooManyRequests"`) || !strings.Contains(m.Error.Message, one) {
		t.Errorf("one too many is answered with %+v", m.Error)
	}
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", one))
	if r := string(p.must("session/prompt", promptOf(other, "are you there?"))); !strings.Contains(r, "end_turn") {
		t.Errorf("the other session answers %s", r)
	}
	p.must("session/list", `{}`)
	third := p.open("/third")
	p.must("session/prompt", promptOf(third, "and you?"))
	for _, line := range p.seen {
		if strings.Contains(line, `"id":"`+prompt+`"`) || strings.Contains(line, `"id":"`+hangs+`"`) || strings.Contains(line, `"id":"`+ids[0]+`"`) {
			t.Errorf("what hangs is answered: %s", line)
		}
	}
	close(release)
	close(folder)
	p.answer(ids[maxWaiting-100])
	if m := p.answer(p.send("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"build"}`, one))); m.Error != nil {
		t.Errorf("afterwards it answers %+v", m.Error)
	}
	refused, done := 0, 0
	for _, line := range p.seen {
		switch {
		case strings.Contains(line, "tooManyRequests"):
			refused++
		case strings.Contains(line, `"id":"`+prompt+`"`), strings.Contains(line, `"id":"`+hangs+`"`):
			done++
		}
	}
	if refused < 49 || refused > 51 || done != 2 {
		t.Errorf("%d were refused, %d of the two that hung were answered", refused, done)
	}
}

// spec: D258
func TestThirtyTwoSessionsOfAConnection(t *testing.T) {
	p := serve(t, nil, nil)
	var all []string
	for range maxSessions {
		all = append(all, p.open("/w"))
	}
	var prompts []string
	for _, id := range all {
		prompts = append(prompts, p.send("session/prompt", promptOf(id, "side by side")))
	}
	waiting := map[string]bool{}
	for _, id := range prompts {
		waiting[id] = true
	}
	p.until("all answers", func(m *message) bool {
		if waiting[m.ID] && m.Error != nil {
			t.Errorf("%+v", m.Error)
		}
		delete(waiting, m.ID)
		return len(waiting) == 0
	})
	for _, method := range []string{"session/new", "session/load", "session/resume"} {
		m := p.answer(p.send(method, `{"sessionId":"ses_00000000000000000000000000","cwd":"/w","mcpServers":[]}`))
		if m.Error == nil || m.Error.Code != -32603 || !strings.Contains(string(m.Error.Data), `"reason":"tooManySessions"`) || !strings.Contains(m.Error.Message, "session/close") {
			t.Fatalf("%s: one more is answered with %+v", method, m.Error)
		}
	}
	p.must("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/w","mcpServers":[]}`, all[3])) // one that is open is not one more
	p.must("session/close", fmt.Sprintf(`{"sessionId":%q}`, all[3]))
	p.must("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/w","mcpServers":[]}`, all[3]))
	p.must("session/delete", fmt.Sprintf(`{"sessionId":%q}`, all[4]))
	next := p.open("/w")
	p.must("session/prompt", promptOf(next, "the next one"))
	if m := p.answer(p.send("session/new", `{"cwd":"/w","mcpServers":[]}`)); m.Error == nil {
		t.Error("there is room for one more again")
	}
	// A session that cannot be opened takes no place.
	p.must("session/close", fmt.Sprintf(`{"sessionId":%q}`, next))
	for range 3 {
		if m := p.answer(p.send("session/load", `{"sessionId":"ses_00000000000000000000000000","cwd":"/w","mcpServers":[]}`)); m.Error == nil || m.Error.Code != -32002 {
			t.Errorf("%+v", m.Error)
		}
	}
	p.open("/w")
}

// An editor applies its user's defaults right after a session is made, and sends the first prompt, without waiting for any
// answer. Everything is taken in the order of the wire.
//
// spec: A030 D260 D261
func TestChoicesAndAPromptWithoutWaiting(t *testing.T) {
	p := serve(t, nil, nil)
	for range 20 {
		session := p.open("/w")
		var lines strings.Builder
		var ids []string
		add := func(method, params string) {
			line, id := p.line(method, params)
			lines.WriteString(line)
			ids = append(ids, id)
		}
		option := func(id, value string) {
			add("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%q}`, session, id, value))
		}
		add("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"build"}`, session))
		option("model", "p/n")
		option("reasoning", "high")
		add("session/prompt", promptOf(session, "Go."))
		option("model", "p/m")
		p.seen = nil
		p.write(lines.String())
		left := len(ids)
		p.until("all answers", func(m *message) bool {
			if m.ID != "" && m.Method == "" {
				left--
				if m.Error != nil {
					t.Errorf("%s: %+v", m.ID, m.Error)
				}
			}
			return left == 0
		})
		p.must("session/prompt", promptOf(session, "Go on."))
		all := strings.Join(p.seen, "\n")
		first, second := strings.Index(all, "answered by n high"), strings.Index(all, "answered by m high")
		if first < 0 || second < first {
			t.Fatalf("the turns did not have what was chosen before them:\n%s", all)
		}
		if n := strings.Count(all, `"sessionUpdate":"config_option_update"`); n != 4 { // one for each choice, and for the mode
			t.Errorf("%d updates of options", n)
		}
		if n := strings.Count(all, `"sessionUpdate":"current_mode_update"`); n != 1 {
			t.Errorf("%d updates of the mode", n)
		}
		p.must("session/close", fmt.Sprintf(`{"sessionId":%q}`, session))
	}
}

// A client that introduces itself again, while its sessions are being opened, is answered, and takes nothing along.
//
// spec: D258
func TestInitializeAgainWhileSessionsOpen(t *testing.T) {
	p := serve(t, nil, nil)
	session := p.open("/w")
	p.must("session/prompt", promptOf(session, "make it durable"))
	var lines strings.Builder
	var last string
	for range 20 {
		line, _ := p.line("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/w","mcpServers":[]}`, session))
		again, id := p.line("initialize", `{"protocolVersion":1,"clientCapabilities":{"_meta":{"terminal_output":true}}}`)
		lines.WriteString(line + again)
		last = id
	}
	p.write(lines.String())
	if m := p.answer(last); m.Error != nil {
		t.Errorf("%+v", m.Error)
	}
	p.must("session/prompt", promptOf(session, "go on"))
}
