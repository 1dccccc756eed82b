package projections_test

import (
	"encoding/json"
	"testing"

	"zuno/journal/event"
	"zuno/projections"
)

func n(x uint64) *uint64 { return &x }

func words(bytes int) event.Text { return event.NewText(string(make([]byte, bytes))) }

// begin is a turn with its first request, for an input of so many bytes.
func begin(bytes int) []event.Payload {
	return []event.Payload{
		&event.InputAdmitted{ID: "inp_1", Blocks: []event.Block{{Type: event.BlockText, Text: words(bytes)}}},
		&event.TurnStarted{ID: "turn_1", Model: event.ModelChoice{Provider: "p", Name: "m", Context: 200000}},
		&event.InputDeliveryBatch{Inputs: []string{"inp_1"}},
		&event.RequestStarted{ID: "req_1", Turn: "turn_1", Number: 1, Attempt: 1},
	}
}

func folded(events ...event.Payload) *projections.Usage {
	u := projections.NewUsage()
	for i, e := range events {
		u.Apply(e, int64(1000+i))
	}
	return u
}

func done(usage event.Usage) event.Payload {
	return &event.ResponseCompleted{Request: "req_1", Attempt: 1, Usage: usage}
}

// TestUsageIsABaselineAndATail: occupancy is what the provider confirmed last and an estimate of what has come since. What a
// request would be estimated at takes no part in it, and a later confirmation starts anew.
//
// spec: A121 A122 D139
func TestUsageIsABaselineAndATail(t *testing.T) {
	events := begin(400)
	events = append(events, &event.ResponsePart{Text: words(80)}, done(event.Usage{Input: n(900), Output: n(100)}))
	u := folded(events...)
	if *u.Used != 1000 || u.Freshness != projections.FreshConfirmed || u.Tail != 0 || u.Window != 200000 {
		t.Errorf("after a response %+v", u)
	}
	events = append(events, &event.CallRequested{ID: "call_1", Args: words(40)}, &event.CallStarted{ID: "call_1"}, &event.CallSettled{ID: "call_1", Text: words(2001)})
	u = folded(events...)
	if *u.Used != 1501 || u.Freshness != projections.FreshEstimated || u.Tail != 501 {
		t.Errorf("after a result: used %d, tail %d, %s", *u.Used, u.Tail, u.Freshness)
	}
	if u.Estimate != 100+20+10+501 || u.Estimate >= *u.Used {
		t.Errorf("the request is estimated at %d", u.Estimate)
	}
	events = append(events, &event.RequestStarted{ID: "req_2", Attempt: 1})
	if u = folded(events...); *u.Used != 1501 || u.Freshness != projections.FreshEstimated || u.Request.ID != "req_2" || u.Baseline.Request.ID != "req_1" {
		t.Errorf("at the next request %+v", u)
	}
	events = append(events, &event.RequestFailed{Request: "req_2", Attempt: 1}, &event.RequestStarted{ID: "req_2", Attempt: 2},
		&event.ResponsePart{Text: words(4000)}, &event.ResponseCut{Request: "req_2", Attempt: 2}, &event.RequestStarted{ID: "req_2", Attempt: 3})
	if u = folded(events...); *u.Used != 1501 || u.Request.Attempt != 3 || u.Request.Sequence != 4 {
		t.Errorf("after attempts that came to nothing %+v", u)
	}
	events = append(events, &event.ResponseCompleted{Request: "req_2", Attempt: 3, Usage: event.Usage{Input: n(1200), Output: n(10)}})
	if u = folded(events...); *u.Used != 1210 || u.Freshness != projections.FreshConfirmed || u.Baseline.Request.Attempt != 3 {
		t.Errorf("after the next response %+v", u)
	}
	events = append(events, &event.InputAdmitted{ID: "inp_2", Blocks: []event.Block{{Type: event.BlockImage, Text: words(1 << 20)}, {Type: event.BlockText, Text: words(4)}}})
	if u = folded(events...); *u.Used != 1210 {
		t.Errorf("an input that no turn has taken counts: %d", *u.Used)
	}
	events = append(events, &event.InputDeliveryBatch{Inputs: []string{"inp_2"}})
	if u = folded(events...); *u.Used != 1210+1501 || u.Freshness != projections.FreshEstimated {
		t.Errorf("after an input with an image: %d, %s", *u.Used, u.Freshness)
	}
}

// TestUsageSumsAreDisjoint: what all responses took is kept apart from what the context holds, each token in one category.
//
// spec: A126
func TestUsageSumsAreDisjoint(t *testing.T) {
	events := begin(4)
	for range 3 {
		events = append(events, &event.RequestStarted{ID: "req_1", Attempt: 1},
			done(event.Usage{Input: n(1000), Output: n(50), Reasoning: n(20), CacheRead: n(700), CacheWrite: n(100)}))
	}
	u := folded(events...)
	s := u.Sums
	if *u.Used != 1050 || *s.Input != 600 || *s.Output != 90 || *s.Reasoning != 60 || *s.CacheRead != 2100 || *s.CacheWrite != 300 || !u.Complete {
		t.Errorf("used %d of %+v", *u.Used, u)
	}
	wild := n(1<<64 - 1)
	if u = folded(append(begin(4), done(event.Usage{Input: wild, Output: wild, CacheRead: wild}), &event.RequestStarted{ID: "req_1", Attempt: 1}, done(event.Usage{Input: wild, Output: wild}))...); *u.Used > 1<<62 || int64(*u.Used) < 0 || *u.Sums.Input > 1<<60 {
		t.Errorf("figures that cannot be: %+v", u)
	}
	if u = folded(append(events, &event.RequestStarted{ID: "req_1", Attempt: 1}, &event.ResponseCut{Request: "req_1", Attempt: 1})...); u.Complete || *u.Sums.Input != 600 {
		t.Errorf("after a cut attempt, of which nobody knows what it took: %+v", u)
	}
}

// TestUnknownUsageStaysUnknown: what no provider said is absent, and is not zero.
//
// spec: A127
func TestUnknownUsageStaysUnknown(t *testing.T) {
	silent := append(begin(400), &event.ResponsePart{Text: words(80)}, done(event.Usage{}))
	u := folded(silent...)
	b, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if u.Used != nil || u.Freshness != projections.FreshUnknown || u.Complete || m["used_tokens"] != nil || m["baseline"] != nil || len(m["cumulative"].(map[string]any)) != 0 {
		t.Errorf("without usage %s", b)
	}
	u = folded(append(begin(400), &event.ResponsePart{Text: words(80)}, done(event.Usage{Output: n(20)}))...)
	if u.Used != nil || u.Sums.Input != nil || *u.Sums.Output != 20 || u.Sums.CacheRead != nil {
		t.Errorf("with the output alone %+v", u)
	}
	u = folded(append(begin(400), &event.ResponsePart{Text: words(80)}, done(event.Usage{Input: n(500)}), &event.CallRequested{Args: words(40)})...)
	if *u.Used != 530 || u.Tail != 30 || u.Freshness != projections.FreshEstimated || u.Baseline.Output != nil {
		t.Errorf("with the prompt alone, the answer is estimated: %+v", u)
	}
	confirmed := append(begin(400), done(event.Usage{Input: n(500), Output: n(10)}), &event.RequestStarted{ID: "req_2", Attempt: 1}, &event.ResponsePart{Text: words(40)}, &event.ResponseCompleted{Request: "req_2", Attempt: 1})
	if u = folded(confirmed...); *u.Used != 520 || u.Freshness != projections.FreshEstimated {
		t.Errorf("a response that says nothing keeps the baseline: %+v", u)
	}
}
