package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zuno/journal"
)

// An editor takes back more at once than a line holds, while the disk hangs: each request was accepted, so each withdrawal counts.
//
// spec: A065 D258
func TestNoWithdrawalIsDropped(t *testing.T) {
	var armed atomic.Bool
	stuck, release := make(chan struct{}), make(chan struct{})
	p := serve(t, func(point journal.Point) error {
		if point == journal.PointAfterSync && armed.CompareAndSwap(true, false) {
			close(stuck)
			<-release
		}
		return nil
	}, nil)
	session := p.open("/w")
	turn := p.send("session/prompt", promptOf(session, stopMe))
	p.until("the turn", func(m *message) bool { return strings.Contains(string(m.Params), "answered by") })
	const many = maxWaiting + spareNotices + 100
	var ids []string
	for len(ids) < many {
		var lines strings.Builder
		chunk := min(many-len(ids), maxWaiting/2)
		for range chunk {
			line, id := p.line("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"later"}],"_meta":{"zuno":{"delivery":"queue"}}}`, session))
			lines.WriteString(line)
			ids = append(ids, id)
		}
		p.write(lines.String())
		p.until("the admissions", func(m *message) bool {
			if strings.Contains(string(m.Params), `"state":"admitted"`) {
				chunk--
			}
			return chunk == 0
		})
	}
	armed.Store(true)
	last := p.send("session/prompt", promptOf(session, "this one hangs"))
	select {
	case <-stuck:
	case <-time.After(patience):
		t.Fatal("the disk does not hang")
	}
	waiting := map[string]bool{}
	var lines strings.Builder
	for _, id := range ids {
		waiting[id] = true
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%q}}`+"\n", id)
	}
	p.write(lines.String())
	p.must("session/list", `{}`) // everything before it was read
	close(release)
	p.until("the answers to all that was withdrawn", func(m *message) bool {
		if waiting[m.ID] {
			delete(waiting, m.ID)
			if m.Error == nil || m.Error.Code != -32800 || !strings.Contains(string(m.Error.Data), `"admission":"withdrawn"`) {
				t.Errorf("%s is answered with %s %+v", m.ID, m.Result, m.Error)
			}
		}
		return len(waiting) == 0
	})
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", session))
	ends := map[string]string{turn: "", last: ""}
	p.until("the ends of the turns", func(m *message) bool {
		var r struct{ StopReason string }
		if _, ok := ends[m.ID]; ok && json.Unmarshal(m.Result, &r) == nil {
			ends[m.ID] = r.StopReason
		}
		return ends[turn] != "" && ends[last] != ""
	})
	if ends[turn] != "cancelled" || ends[last] != "end_turn" {
		t.Errorf("the turns ended as %v", ends)
	}
}

// After a write of which nobody knows whether it counts, a session takes nothing before it is loaded again, says so, and leaves no
// request without an answer.
//
// spec: A037
func TestALostSessionSaysThatItIsToBeLoadedAgain(t *testing.T) {
	var armed atomic.Bool
	p := serve(t, func(point journal.Point) error {
		if point == journal.PointBeforeSync && armed.CompareAndSwap(true, false) {
			return fmt.Errorf("%w: the disk is gone", journal.ErrUnknownOutcome)
		}
		return nil
	}, nil)
	session := p.open("/w")
	turn := p.send("session/prompt", promptOf(session, stopMe))
	p.until("the turn", func(m *message) bool { return strings.Contains(string(m.Params), "answered by") })
	armed.Store(true)
	lost := p.send("session/prompt", promptOf(session, "this one is lost"))
	left := map[string]bool{turn: true, lost: true}
	p.until("both answers", func(m *message) bool {
		if left[m.ID] && m.Error == nil {
			t.Errorf("%s is answered with %s", m.ID, m.Result)
		}
		delete(left, m.ID)
		return len(left) == 0
	})
	if m := p.answer(p.send("session/prompt", promptOf(session, "and now?"))); m.Error == nil || !strings.Contains(m.Error.Message, "load the session again") {
		t.Errorf("the next one is answered with %s %+v", m.Result, m.Error)
	}
	p.must("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/w","mcpServers":[]}`, session))
	p.must("session/prompt", promptOf(session, "and now?"))
}
