package model_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"zuno/internal/model"
	"zuno/internal/model/fake"
)

// rich has everything that all surfaces can say.
func rich() fake.Answer {
	return fake.Answer{
		Reasoning: []string{"Let me ", "think."},
		Text:      []string{"I read ", "two files: \"ä\n", "…\"."},
		Calls: []fake.Call{
			{ID: "call_a", Tool: "read", Args: []string{`{"pa`, `th":"a.t`, `xt"}`}},
			{ID: "call_b", Tool: "read", Args: []string{`{"path":"b.txt"}`}},
		},
		Usage: &model.Usage{Input: count(100), Output: count(20), CacheRead: count(64)},
	}
}

// spec: D214 D215
func TestTheSameAnswerIsTheSameOnEachSurface(t *testing.T) {
	want := &model.Response{
		Finish: model.FinishCalls, RequestID: "req_fake",
		Calls: []model.Call{{ID: "call_a", Tool: "read", Args: `{"path":"a.txt"}`}, {ID: "call_b", Tool: "read", Args: `{"path":"b.txt"}`}},
		Usage: model.Usage{Input: count(100), Output: count(20), CacheRead: count(64)},
	}
	onEach(t, func(t *testing.T, w *world) {
		a := w.ask(rich())
		got := *a.whole(t)
		got.Reason = "" // the provider's word
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if a.words(model.ChunkReasoning) != "Let me think." || a.words(model.ChunkText) != "I read two files: \"ä\n…\"." {
			t.Errorf("got %q and %q", a.words(model.ChunkReasoning), a.words(model.ChunkText))
		}
		var calls []model.Chunk
		for _, c := range a.chunks {
			if c.Kind == model.ChunkCall || c.Kind == model.ChunkArgs {
				calls = append(calls, c)
			}
		}
		wantCalls := []model.Chunk{
			{Kind: model.ChunkCall, Index: 0, CallID: "call_a", Tool: "read"},
			{Kind: model.ChunkArgs, Index: 0, CallID: "call_a", Tool: "read", Text: `{"pa`},
			{Kind: model.ChunkArgs, Index: 0, CallID: "call_a", Tool: "read", Text: `th":"a.t`},
			{Kind: model.ChunkArgs, Index: 0, CallID: "call_a", Tool: "read", Text: `xt"}`},
			{Kind: model.ChunkCall, Index: 1, CallID: "call_b", Tool: "read"},
			{Kind: model.ChunkArgs, Index: 1, CallID: "call_b", Tool: "read", Text: `{"path":"b.txt"}`},
		}
		if !reflect.DeepEqual(calls, wantCalls) {
			t.Errorf("got %+v", calls)
		}
	})
}

// spec: D215
func TestUsageThatIsNotSaidStaysUnknown(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := w.ask(fake.Answer{Text: []string{"x"}}, fake.Answer{Text: []string{"x"}, Usage: &model.Usage{Input: count(7), Output: count(3), Reasoning: count(2)}})
		r := a.whole(t)
		if r.Usage.Input != nil || r.Usage.CacheRead != nil || r.Usage.CacheWrite != nil || r.Usage.Reasoning != nil || r.Finish != model.FinishStop {
			t.Errorf("got %+v", r)
		}
		a = ask(t.Context(), w.make(w.options()), hello())
		u := a.whole(t).Usage
		if *u.Input != 7 || *u.Output != 3 || u.CacheRead != nil {
			t.Errorf("got %+v", u)
		}
		if w.surface != fake.Messages && *u.Reasoning != 2 {
			t.Errorf("reasoning: %+v", u)
		}
	})
}

// What a cache gave and took counts as input, as on the other surfaces.
//
// spec: D215
func TestCacheFiguresOfMessages(t *testing.T) {
	w := &world{t: t, surface: fake.Messages, make: surfaces[2].make, clock: &manual{}}
	a := w.ask(fake.Answer{Text: []string{"x"}, Usage: &model.Usage{Input: count(100), Output: count(5), CacheRead: count(60), CacheWrite: count(30)}})
	if u := a.whole(t).Usage; *u.Input != 100 || *u.CacheRead != 60 || *u.CacheWrite != 30 || *u.Output != 5 {
		t.Errorf("got %+v", u)
	}
}

// conversation has everything that a request may hold.
func conversation() *model.Request {
	half := 0.5
	return &model.Request{
		Model: "m", Params: model.Params{MaxOutput: 99, Temperature: &half, Reasoning: "high"},
		Sections: []model.Section{{ID: "a", Text: "Be brief.\n"}, {ID: "b", Text: "  "}, {ID: "c", Text: "Be right."}},
		Tools:    []model.Tool{{Name: "read", Description: "Reads <a> file.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, {Name: "bare"}},
		Messages: []model.Message{
			{Role: model.RoleUser, Parts: []model.Part{
				{Kind: model.PartText, Text: "Look:"}, {Kind: model.PartImage, Media: "image/png", Data: []byte("png")}, {Kind: model.PartText},
			}},
			{Role: model.RoleAssistant, Parts: []model.Part{
				{Kind: model.PartReasoning, Text: "hidden thoughts"},
				{Kind: model.PartText, Text: "I look."},
				{Kind: model.PartCall, CallID: "call_1", Tool: "read", Text: `{"path":"a"}`},
				{Kind: model.PartCall, CallID: "ours: 2", Tool: "read", Text: `{"path": "b`},
				{Kind: model.PartCall, CallID: "call_3", Tool: "bare", Text: ""},
			}},
			{Role: model.RoleTool, Parts: []model.Part{
				{Kind: model.PartResult, CallID: "call_3", Text: ""},
				{Kind: model.PartResult, CallID: "call_1", Text: "content of a"},
				{Kind: model.PartResult, CallID: "never made", Text: "x"},
			}},
			{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "Go"}}},
			{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "on."}}},
			{Role: model.RoleAssistant, Parts: []model.Part{{Kind: model.PartReasoning, Text: "only thoughts"}}},
		},
	}
}

// spec: D214 D215 D216
func TestFormOfTheRequest(t *testing.T) {
	forms := map[fake.Surface]string{
		fake.Chat: `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":99,"temperature":0.5,"reasoning_effort":"high",
			"messages":[
				{"role":"system","content":"Be brief.\n\nBe right."},
				{"role":"user","content":[{"type":"text","text":"Look:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]},
				{"role":"assistant","content":"I look.","tool_calls":[
					{"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},
					{"id":"OTHER","type":"function","function":{"name":"read","arguments":"{\"invalid_arguments\":\"{\\\"path\\\": \\\"b\"}"}},
					{"id":"call_3","type":"function","function":{"name":"bare","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"call_1","content":"content of a"},
				{"role":"tool","tool_call_id":"OTHER","content":"No result was recorded for this call."},
				{"role":"tool","tool_call_id":"call_3","content":""},
				{"role":"user","content":"Go\n\non."}],
			"tools":[
				{"type":"function","function":{"name":"read","description":"Reads <a> file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},
				{"type":"function","function":{"name":"bare","parameters":{"type":"object","properties":{}}}}]}`,
		fake.Responses: `{"model":"m","stream":true,"store":false,"max_output_tokens":99,"temperature":0.5,"reasoning":{"effort":"high"},"instructions":"Be brief.\n\nBe right.",
			"input":[
				{"type":"message","role":"user","content":[{"type":"input_text","text":"Look:"},{"type":"input_image","image_url":"data:image/png;base64,cG5n"}]},
				{"type":"message","role":"assistant","content":"I look."},
				{"type":"function_call","call_id":"call_1","name":"read","arguments":"{\"path\":\"a\"}"},
				{"type":"function_call","call_id":"OTHER","name":"read","arguments":"{\"invalid_arguments\":\"{\\\"path\\\": \\\"b\"}"},
				{"type":"function_call","call_id":"call_3","name":"bare","arguments":"{}"},
				{"type":"function_call_output","call_id":"call_1","output":"content of a"},
				{"type":"function_call_output","call_id":"OTHER","output":"No result was recorded for this call."},
				{"type":"function_call_output","call_id":"call_3","output":""},
				{"type":"message","role":"user","content":[{"type":"input_text","text":"Go"},{"type":"input_text","text":"on."}]}],
			"tools":[
				{"type":"function","name":"read","description":"Reads <a> file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"strict":false},
				{"type":"function","name":"bare","parameters":{"type":"object","properties":{}},"strict":false}]}`,
		fake.Messages: `{"model":"m","stream":true,"max_tokens":99,"temperature":0.5,"output_config":{"effort":"high"},
			"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be right.","cache_control":{"type":"ephemeral"}}],
			"messages":[
				{"role":"user","content":[{"type":"text","text":"Look:"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]},
				{"role":"assistant","content":[{"type":"text","text":"I look."},
					{"type":"tool_use","id":"call_1","name":"read","input":{"path":"a"}},
					{"type":"tool_use","id":"OTHER","name":"read","input":{"invalid_arguments":"{\"path\": \"b"}},
					{"type":"tool_use","id":"call_3","name":"bare","input":{}}]},
				{"role":"user","content":[
					{"type":"tool_result","tool_use_id":"call_1","content":"content of a"},
					{"type":"tool_result","tool_use_id":"OTHER","content":"No result was recorded for this call.","is_error":true},
					{"type":"tool_result","tool_use_id":"call_3","content":""},
					{"type":"text","text":"Go"},{"type":"text","text":"on.","cache_control":{"type":"ephemeral"}}]}],
			"tools":[
				{"name":"read","description":"Reads <a> file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},
				{"name":"bare","input_schema":{"type":"object","properties":{}}}]}`,
	}
	onEach(t, func(t *testing.T, w *world) {
		w.serve(fake.Answer{Text: []string{"ok"}})
		o := w.options()
		o.BaseURL += "?version=7"
		a := ask(t.Context(), w.make(o), conversation())
		a.whole(t)
		requests := w.server.Requests()
		if len(requests) != 1 {
			t.Fatalf("%d requests", len(requests))
		}
		r := requests[0]
		var got, want any
		if err := json.Unmarshal([]byte(r.Body), &got); err != nil {
			t.Fatal(err)
		}
		form := forms[w.surface]
		if i := strings.Index(r.Body, `"call_`); i < 0 || !strings.Contains(r.Body, `"call_1"`) {
			t.Errorf("our id is not used: %s", r.Body)
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(form, "OTHER", otherID(r.Body))), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%s", r.Body)
		}
		if strings.Contains(r.Body, "thoughts") || strings.Contains(r.Body, `\u003c`) {
			t.Errorf("got\n%s", r.Body)
		}
		if r.Method != "POST" || r.Path != "/v1"+w.surface.Path() || r.Query != "version=7" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %+v", r)
		}
		auth := map[fake.Surface]string{fake.Chat: "Authorization", fake.Responses: "Authorization", fake.Messages: "X-Api-Key"}[w.surface]
		if !strings.HasSuffix(r.Header.Get(auth), marker) {
			t.Errorf("key: %v", r.Header)
		}
	})
}

// otherID is the id that stands for one of ours that is not fit for the wire: the same for call and result.
func otherID(body string) string {
	for _, part := range strings.Split(body, `"`) {
		if strings.HasPrefix(part, "call_") && len(part) > 30 {
			return part
		}
	}
	return "none"
}

// spec: D216 D217
func TestKeysAndHeaders(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.serve(fake.Answer{}, fake.Answer{}, fake.Answer{})
		o := w.options()
		o.Key = func() string { return " " }
		a := ask(t.Context(), w.make(o), hello())
		e := a.failure(t)
		if e.Kind != model.KindNoKey || !e.Auth || e.Retryable || !strings.Contains(e.Reason, w.keyName) || e.Status != 0 || e.RequestID != "" {
			t.Errorf("got %+v", e)
		}
		if len(w.server.Requests()) != 0 {
			t.Error("a request was sent without a key")
		}
		keyless := func(want bool) { // what a resume asks before it goes on
			t.Helper()
			if k, ok := w.make(o).(interface{ Keyless() bool }); !ok || k.Keyless() != want {
				t.Errorf("it says that it has no key: %v, %v", ok, !want)
			}
		}
		keyless(true)
		o.Keyless = true
		keyless(false)
		if a = ask(t.Context(), w.make(o), hello()); a.err != nil {
			t.Error(a.err)
		}
		o.Keyless = false
		o.Headers = append(o.Headers, header("authorization", "Gateway 1"), header("X-Team", "t"))
		keyless(false)
		if a = ask(t.Context(), w.make(o), hello()); a.err != nil {
			t.Error(a.err)
		}
		first, second := w.server.Requests()[0].Header, w.server.Requests()[1].Header
		if first.Get("Authorization")+first.Get("X-Api-Key") != "" || second.Get("Authorization") != "Gateway 1" || second.Get("X-Team") != "t" {
			t.Errorf("got %v and %v", first, second)
		}
	})
}

// spec: D229
func TestAnswersThatLackSomething(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := w.ask(fake.Answer{}, fake.Answer{Reasoning: []string{"hm"}}, fake.Answer{Reasoning: []string{"hm"}, Finish: model.FinishLength})
		if r := a.whole(t); r.Lack != model.LackAll || r.Finish != model.FinishStop {
			t.Errorf("got %+v", r)
		}
		p := w.make(w.options())
		a = ask(t.Context(), p, hello())
		if r := a.whole(t); r.Lack != model.LackAnswer || r.Finish != model.FinishStop {
			t.Errorf("got %+v", r)
		}
		a = ask(t.Context(), p, hello())
		if r := a.whole(t); r.Lack != model.LackAnswer || r.Finish != model.FinishLength {
			t.Errorf("got %+v", r)
		}
	})
}

// spec: D229
func TestFinishes(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, tt := range []struct {
			a    fake.Answer
			want string
		}{
			{fake.Answer{Text: []string{"x"}, Finish: model.FinishLength}, model.FinishLength},
			{fake.Answer{Finish: model.FinishRefusal}, model.FinishRefusal},
			{fake.Answer{Text: []string{"x"}, Reason: "tired"}, model.FinishOther},
		} {
			a := w.ask(tt.a)
			if r := a.whole(t); r.Finish != tt.want || r.Reason == "" || tt.a.Reason != "" && r.Reason != tt.a.Reason {
				t.Errorf("got %+v, want %s", r, tt.want)
			}
		}
	})
}

// A call that is broken keeps its place, whatever is wrong with it.
//
// spec: D230
func TestBrokenCalls(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	calls := []struct {
		call fake.Call
		want model.Defect
	}{
		{fake.Call{ID: "1", Tool: "read", Args: []string{`{"path": "a.txt"`}}, model.DefectCut},
		{fake.Call{ID: "2", Tool: "read", Args: []string{`{"path": }`}}, model.DefectInvalid},
		{fake.Call{ID: "3", Tool: "read", Args: []string{`[]`}}, ""},
		{fake.Call{ID: "4", Tool: "read", Args: []string{`null`}}, ""},
		{fake.Call{ID: "5", Tool: "read", Args: []string{long}}, model.DefectInvalid},
		{fake.Call{ID: "6", Tool: "", Args: []string{`{"a":1}`}}, model.DefectNoName},
		{fake.Call{ID: "1", Tool: "read", Args: []string{`{"path":"b"}`}}, model.DefectDuplicate},
		{fake.Call{ID: "8", Tool: "no_such_tool", Args: []string{`{}`}}, ""},
		{fake.Call{ID: "9", Tool: "read", Args: []string{strings.Repeat("[", 20000)}}, model.DefectInvalid},
	}
	var all fake.Answer
	for _, c := range calls {
		all.Calls = append(all.Calls, c.call)
	}
	onEach(t, func(t *testing.T, w *world) {
		a := w.ask(all)
		r := a.whole(t)
		if len(r.Calls) != len(calls) {
			t.Fatalf("got %d calls", len(r.Calls))
		}
		for i, c := range r.Calls {
			want := calls[i]
			defect := want.want
			if i == 8 && c.Defect == model.DefectCut { // deeper than JSON may be: either word is right
				defect = model.DefectCut
			}
			if c.Defect != defect || c.ID != want.call.ID || c.Tool != want.call.Tool || c.Args != strings.Join(want.call.Args, "") {
				t.Errorf("call %d: got %.100v, want %s", i, c, want.want)
			}
		}
	})
}

// spec: D230
func TestACallWithoutArguments(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a := w.ask(fake.Answer{Calls: []fake.Call{{ID: "1", Tool: "list"}}})
		r := a.whole(t)
		if c := r.Calls[0]; c.Defect != "" || c.Args != "" && c.Args != "{}" || r.Finish != model.FinishCalls {
			t.Errorf("got %+v", r)
		}
	})
}
