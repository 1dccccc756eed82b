package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"zuno/acp/schema"
	"zuno/internal/engine"
	"zuno/internal/model"
	"zuno/internal/prompt"
	"zuno/journal/event"
)

// drawn projects the events and gives the updates, as a client reads them.
func drawn(t *testing.T, events ...event.Payload) (updates []map[string]any) {
	t.Helper()
	p := NewProjector(func(u schema.SessionUpdate) {
		b, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		updates = append(updates, m)
	})
	p.Committed(commit(events...))
	return updates
}

func commit(events ...event.Payload) *engine.Committed {
	c := &engine.Committed{Number: 1, At: 1893456000000}
	for _, e := range events {
		c.Events = append(c.Events, engine.Recorded{Stream: 1, Type: event.TypeOf(e), Payload: e})
	}
	return c
}

func number(n uint64) *uint64 { return &n }

// TestUsageNeedsAWindow: a size that nobody knows is not drawn as zero.
//
// spec: D138
func TestUsageNeedsAWindow(t *testing.T) {
	for _, c := range []struct {
		window uint64
		want   int
	}{{0, 0}, {200000, 1}} {
		n := 0
		for _, u := range drawn(t,
			&event.TurnStarted{ID: "turn_1", Model: event.ModelChoice{Context: c.window}},
			&event.RequestStarted{ID: "req_1", Attempt: 1},
			&event.ResponseCompleted{Request: "req_1", Attempt: 1, Usage: event.Usage{Input: number(120), Output: number(30)}}) {
			if u["sessionUpdate"] == "usage_update" {
				n++
				if u["used"] != 150.0 || u["size"] != 200000.0 {
					t.Errorf("usage %v", u)
				}
			}
		}
		if n != c.want {
			t.Errorf("window %d: %d updates of usage, want %d", c.window, n, c.want)
		}
	}
}

// TestBigDiffIsText: a change whose texts were too large to keep is told by its paths and counts, and its typed outcome is whole.
//
// spec: D144
func TestBigDiffIsText(t *testing.T) {
	raw := `{"files":[{"path":"/w/big.txt","change":"modify","size":2097152,"lines_added":7,"lines_removed":5}]}`
	updates := drawn(t,
		&event.CallRequested{ID: "call_1", Tool: "write", Kind: "edit", Args: event.NewText("{}")},
		&event.CallSettled{
			ID: "call_1", Outcome: event.OutcomeOK, Text: event.NewText("/w/big.txt: 7 lines added, 5 removed"), Raw: event.NewText(raw),
			Files: []event.File{{Path: event.NewText("/w/big.txt"), Change: event.ChangeModify, Size: 2 << 20}},
		})
	last := updates[len(updates)-1]
	b, _ := json.Marshal(last["content"])
	if strings.Contains(string(b), `"diff"`) || !strings.Contains(string(b), "big.txt: 7 lines added") {
		t.Errorf("content %s", b)
	}
	if b, _ := json.Marshal(last["rawOutput"]); !json.Valid(b) || !strings.Contains(string(b), "2097152") {
		t.Errorf("rawOutput %s", b)
	}
}

// TestRawOutputIsBounded: a large result names the file that has all of it, and fits its line.
//
// spec: D145
func TestRawOutputIsBounded(t *testing.T) {
	text := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	var line []byte
	p := NewProjector(func(u schema.SessionUpdate) {
		if u.ToolCallUpdate != nil && u.ToolCallUpdate.RawOutput != nil {
			line = u.ToolCallUpdate.RawOutput
		}
	})
	p.Committed(commit(&event.CallSettled{ID: "call_1", Outcome: event.OutcomeOK, Text: event.NewText(text), Output: event.NewText("/d/out/call_1.out"), OutBytes: 1 << 20}))
	var raw struct {
		Text, Output string
		Bytes        int
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		t.Fatal(err)
	}
	if len(line) > maxRaw || raw.Bytes != len(text) || raw.Output != "/d/out/call_1.out" || !strings.HasPrefix(text, raw.Text) || len(raw.Text) < maxRaw/2 {
		t.Errorf("%d bytes, of a text of %d said %d, output %q", len(line), len(text), raw.Bytes, raw.Output)
	}
}

// TestReceiptStages: the receipt tells admitted, recorded, applied and terminal apart, and an end comes once.
//
// spec: A042 A186 A188
func TestReceiptStages(t *testing.T) {
	r := newReceipts("ses_1")
	stage := func(want string, events ...event.Payload) {
		t.Helper()
		settled := r.apply(commit(events...), func(*Receipt) {})
		x := r.by["inp_1"]
		if x == nil || x.State != want {
			t.Fatalf("receipt %+v, want %s", x, want)
		}
		if x.Terminal() != (len(settled) == 1) {
			t.Fatalf("%s: terminal %v, %d settled", want, x.Terminal(), len(settled))
		}
		if want == "recorded" && (x.TurnID != "" || x.AppliedAt != "" || x.CompletedAt != "") {
			t.Fatalf("a delivery is no application: %+v", x)
		}
	}
	stage("admitted", &event.Opened{}, &event.InputAdmitted{ID: "inp_1", Client: "mine", Delivery: event.DeliverSteer})
	if x := r.by["inp_1"]; x.AdmittedSequence != 2 || x.ClientMessageID != "mine" || x.Delivery != "steer" {
		t.Errorf("receipt %+v", x)
	}
	stage("recorded", &event.InputDeliveryBatch{Turn: "turn_1", Inputs: []string{"inp_1"}})
	stage("applied", &event.InputApplied{Input: "inp_1", Turn: "turn_1"})
	stage("applied", &event.TurnEnded{ID: "turn_1", State: "failed"})
	stage("failed", &event.InputSettled{Input: "inp_1", State: "failed", Fault: event.Failure{Code: "rate_limited", Status: 429, RequestID: "req_9", Reason: event.NewText("slow down")}})
	if x := r.by["inp_1"]; x.Error == nil || x.Error.Status != 429 || x.Error.RequestID != "req_9" || x.Error.Message != "slow down" || x.TurnID != "turn_1" {
		t.Errorf("receipt %+v", x)
	}
}

// TestAHumanIsWaitedFor: what leads to a question to the user answers its prompt with end_turn and a receipt that is not over, a retry
// is told the same, and the receipt goes on when the answer has come. What waits for something else is not answered.
//
// spec: A207
func TestAHumanIsWaitedFor(t *testing.T) {
	r := newReceipts("ses_1")
	r.apply(commit(&event.InputAdmitted{ID: "inp_1"}, &event.InputDeliveryBatch{Inputs: []string{"inp_1"}}, &event.InputApplied{Input: "inp_1", Turn: "turn_1"},
		&event.InputAdmitted{ID: "inp_2"}), func(*Receipt) {})
	if over := r.apply(commit(&event.ExecutionChanged{Trigger: "wait_external"}), func(*Receipt) {}); len(over) > 0 {
		t.Errorf("something outside: %+v", over)
	}
	over := r.apply(commit(&event.ExecutionChanged{Trigger: "wait_human", Waiting: "ask_1"}), func(*Receipt) {})
	if len(over) != 1 || over[0].InputID != "inp_1" || over[0].State != "applied" || over[0].Terminal() || !over[0].Answerable() || over[0].stopReason() != "end_turn" || over[0].StopReason != "" {
		t.Fatalf("%+v", over)
	}
	if r.by["inp_2"].Answerable() || r.open != 1 {
		t.Errorf("what was not applied is answered, %d are open", r.open)
	}
	r.apply(commit(&event.ExecutionChanged{Trigger: "resume"}), func(*Receipt) {})
	if r.by["inp_1"].Answerable() || r.open != 2 {
		t.Errorf("it waits no longer, and is answered; %d are open", r.open)
	}
	over = r.apply(commit(&event.InputSettled{Input: "inp_1", State: "completed", Stop: "refusal"}), func(*Receipt) {})
	if len(over) != 1 || over[0].stopReason() != "refusal" || r.open != 1 || len(r.running) != 0 {
		t.Errorf("%+v, %d open", over, r.open)
	}
}

// TestNoticesStayOutOfTheModel: what zuno says to the user is drawn, and no request holds it.
//
// spec: A109 A115
func TestNoticesStayOutOfTheModel(t *testing.T) {
	notice := &event.NoticeRaised{ID: "note_1", Severity: "warning", Code: "session.interrupted", Text: event.NewText("for the user alone")}
	updates := drawn(t, notice)
	if len(updates) != 1 || updates[0]["sessionUpdate"] != "agent_thought_chunk" {
		t.Fatalf("updates %v", updates)
	}
	b, _ := json.Marshal(updates[0]["_meta"])
	if want := `{"zuno":{"notice":{"code":"session.interrupted","severity":"warning"}}}`; string(b) != want {
		t.Errorf("_meta %s, want %s", b, want)
	}
	h := prompt.NewHistory()
	h.Apply(&event.InputAdmitted{ID: "inp_1", Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("hello")}}})
	h.Apply(&event.InputDeliveryBatch{Inputs: []string{"inp_1"}})
	h.Apply(notice)
	req := h.Request(event.ModelChoice{Name: "m"}, "/", 0, nil)
	if n := len(req.Messages); n != 1 || req.Messages[0].Role != model.RoleUser || strings.Contains(req.Messages[0].Parts[0].Text, "for the user") {
		t.Errorf("messages %+v", req.Messages)
	}
}

// TestLiveTextIsNotShownTwice: whatever comes first, live text or its commit, each byte is drawn once and in order; what does
// not follow on what was drawn waits for its commit.
//
// spec: D137
func TestLiveTextIsNotShownTwice(t *testing.T) {
	live := func(offset int, text string) engine.Live {
		return engine.Live{Kind: engine.LiveText, Turn: "turn_1", Request: "req_1", Attempt: 1, Offset: offset, Text: text}
	}
	part := func(text string) *engine.Committed {
		return commit(&event.ResponsePart{Request: "req_1", Attempt: 1, Kind: event.PartText, Text: event.NewText(text)})
	}
	for name, steps := range map[string][]any{
		"live first":        {live(0, "one "), live(4, "two "), part("one two "), live(8, "three"), part("three")},
		"attached too late": {live(4, "two "), part("one two "), live(8, "three"), part("three")},
		"commit only":       {part("one "), part("two "), part("three")},
		"live again":        {live(0, "one "), live(0, "one "), part("one two three"), live(4, "two ")},
	} {
		got := ""
		p := NewProjector(func(u schema.SessionUpdate) {
			if u.ContentChunk != nil {
				got += u.ContentChunk.Content.TextContent.Text
			}
		})
		p.Committed(commit(&event.TurnStarted{ID: "turn_1"}, &event.RequestStarted{ID: "req_1", Attempt: 1}))
		for _, s := range steps {
			switch s := s.(type) {
			case engine.Live:
				p.Live(s)
			case *engine.Committed:
				p.Committed(s)
			}
		}
		if got != "one two three" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
