package acp

import (
	"encoding/json"
	"reflect"
	"testing"

	"zuno/acp/schema"
	"zuno/journal/event"
	"zuno/projections"
)

// usageEvents are a turn with a response that says what it took, and a result.
func usageEvents(window uint64) []event.Payload {
	return []event.Payload{
		&event.Created{Session: "ses_1", Cwd: event.NewText("/w"), Worktree: event.NewText("/w")},
		&event.TurnStarted{ID: "turn_1", Model: event.ModelChoice{Provider: "p", Name: "m", Context: window}},
		&event.RequestStarted{ID: "req_1", Attempt: 1},
		&event.ResponseCompleted{Request: "req_1", Attempt: 1, Usage: event.Usage{Input: number(950), Output: number(50), CacheRead: number(900)}},
		&event.CallRequested{ID: "call_1", Tool: "read", Args: event.NewText("{}")},
		&event.CallSettled{ID: "call_1", Outcome: event.OutcomeOK, Text: event.NewText("0123456789")},
	}
}

// TestUsageUpdates: an update comes when a response has confirmed what the context holds and when the tail grows, never without
// a window, and not again while nothing changes. Its metadata identify the request, and leave out what is unknown.
//
// spec: A121 A125 A126 A127 D138
func TestUsageUpdates(t *testing.T) {
	var got []*schema.UsageUpdate
	p := NewProjector(func(u schema.SessionUpdate) {
		if u.UsageUpdate != nil {
			got = append(got, u.UsageUpdate)
		}
	})
	for _, e := range usageEvents(200000) {
		p.Committed(commit(e))
	}
	if len(got) != 2 || got[0].Used != 1000 || got[1].Used != 1003 || got[0].Size != 200000 {
		t.Fatalf("%d updates: %+v", len(got), got)
	}
	var m struct {
		Zuno struct {
			TurnID  string         `json:"turnId"`
			Context map[string]any `json:"contextUsage"`
		} `json:"zuno"`
	}
	if err := json.Unmarshal(got[1].Meta, &m); err != nil {
		t.Fatal(err)
	}
	request := map[string]any{
		"requestId": "req_1", "requestSequence": 1.0, "attempt": 1.0, "contextEpoch": 0.0, "providerId": "p", "modelId": "m",
		"source": "main", "turnId": "turn_1", "timeStarted": "2030-01-01T00:00:00.000Z",
	}
	want := map[string]any{
		"sessionId": "ses_1", "source": "main", "contextEpoch": 0.0, "request": request, "usedTokens": 1003.0, "estimatedTailTokens": 3.0,
		"contextLimit": 200000.0, "freshness": "estimated", "cumulativeKnown": true, "timeUpdated": "2030-01-01T00:00:00.000Z",
		"lastConfirmed":   map[string]any{"promptTokens": 950.0, "outputTokens": 50.0, "request": request, "timeConfirmed": "2030-01-01T00:00:00.000Z"},
		"cumulativeUsage": map[string]any{"input": 50.0, "output": 50.0, "cacheRead": 900.0},
	}
	for _, changing := range []string{"revision", "requestEstimateTokens"} {
		if m.Zuno.Context[changing] == nil {
			t.Errorf("no %s", changing)
		}
		delete(m.Zuno.Context, changing)
	}
	if !reflect.DeepEqual(m.Zuno.Context, want) || m.Zuno.TurnID != "turn_1" {
		t.Errorf("contextUsage\n%v, want\n%v", m.Zuno.Context, want)
	}
	got = nil
	p = NewProjector(func(u schema.SessionUpdate) {
		if u.UsageUpdate != nil {
			got = append(got, u.UsageUpdate)
		}
	})
	p.Replay = true
	p.Committed(commit(usageEvents(200000)...))
	if len(got) != 0 {
		t.Errorf("%d updates while history is drawn", len(got))
	}
	p.Replay = false
	p.Usage()
	p.Usage()
	if len(got) != 1 || got[0].Used != 1003 {
		t.Errorf("afterwards %+v", got)
	}
	for _, u := range drawn(t, usageEvents(0)...) {
		if u["sessionUpdate"] == "usage_update" {
			t.Errorf("without a window %v", u)
		}
	}
}

// TestUsageOfAViewIsThatOfTheProjector: a client that resumes is told from the view what one that was there has been told.
//
// spec: A121
func TestUsageOfAViewIsThatOfTheProjector(t *testing.T) {
	var live any
	for _, u := range drawn(t, usageEvents(4096)...) {
		if u["sessionUpdate"] == "usage_update" {
			live = u
		}
	}
	view := projections.NewUsage()
	for _, e := range usageEvents(4096) {
		view.Apply(e, 1893456000000)
	}
	update, ok := usageUpdate("ses_1", "turn_1", view)
	b, err := json.Marshal(update)
	var resumed any
	if err != nil || !ok || json.Unmarshal(b, &resumed) != nil || !reflect.DeepEqual(live, resumed) {
		t.Errorf("live %v\nfrom the view %s (%v)", live, b, err)
	}
}
