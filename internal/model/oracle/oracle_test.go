//go:build oracle

package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"zuno/internal/model"
	ours "zuno/internal/model/anthropic"
	"zuno/internal/model/fake"
	"zuno/internal/model/httpx"
	oursopenai "zuno/internal/model/openai"
)

func count(n uint64) *uint64 { return &n }

func rich() fake.Answer {
	return fake.Answer{
		Reasoning: []string{"Let me ", "think."},
		Text:      []string{"I read ", "two files."},
		Calls: []fake.Call{
			{ID: "call_a", Tool: "read", Args: []string{`{"pa`, `th":"a"}`}},
			{ID: "call_b", Tool: "read", Args: []string{`{"path":"b"}`}},
		},
		Usage: &model.Usage{Input: count(100), Output: count(20), CacheRead: count(64), Reasoning: count(5)},
	}
}

const failure = `{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded","param":null}}`

// spec: D219
func TestChatIsWhatTheOfficialClientReads(t *testing.T) {
	s := fake.Start(fake.Chat, rich(), fake.Answer{Status: 429, Raw: failure})
	defer s.Close()
	client := openai.NewClient(option.WithBaseURL(s.BaseURL()), option.WithAPIKey("k"), option.WithMaxRetries(0))
	ask := func() (openai.ChatCompletionAccumulator, error) {
		stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
			Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
			StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
		})
		defer stream.Close()
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			if !all.AddChunk(stream.Current()) {
				t.Fatal("the accumulator refuses a chunk")
			}
		}
		return all, stream.Err()
	}
	all, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	choice := all.Choices[0]
	calls := choice.Message.ToolCalls
	if choice.Message.Content != "I read two files." || choice.FinishReason != "tool_calls" || len(calls) != 2 {
		t.Errorf("got %+v", choice)
	}
	if calls[0].ID != "call_a" || calls[0].Function.Name != "read" || calls[0].Function.Arguments != `{"path":"a"}` || calls[1].Function.Arguments != `{"path":"b"}` {
		t.Errorf("got %+v", calls)
	}
	if u := all.Usage; u.PromptTokens != 100 || u.CompletionTokens != 20 || u.PromptTokensDetails.CachedTokens != 64 || u.CompletionTokensDetails.ReasoningTokens != 5 {
		t.Errorf("got %+v", u)
	}
	_, err = ask()
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != 429 || refused.Code != "rate_limit_exceeded" {
		t.Errorf("got %v", err)
	}
}

// spec: D219
func TestResponsesIsWhatTheOfficialClientReads(t *testing.T) {
	s := fake.Start(fake.Responses, rich(), fake.Answer{Text: []string{"x"}, Finish: model.FinishLength})
	defer s.Close()
	client := openai.NewClient(option.WithBaseURL(s.BaseURL()), option.WithAPIKey("k"), option.WithMaxRetries(0))
	ask := func() (text, thoughts, args strings.Builder, end responses.Response) {
		stream := client.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
			Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hello")},
		})
		defer stream.Close()
		for stream.Next() {
			switch e := stream.Current().AsAny().(type) {
			case responses.ResponseTextDeltaEvent:
				text.WriteString(e.Delta)
			case responses.ResponseReasoningSummaryTextDeltaEvent:
				thoughts.WriteString(e.Delta)
			case responses.ResponseFunctionCallArgumentsDeltaEvent:
				args.WriteString(e.Delta)
			case responses.ResponseCompletedEvent:
				end = e.Response
			case responses.ResponseIncompleteEvent:
				end = e.Response
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		return text, thoughts, args, end
	}
	text, thoughts, args, end := ask()
	if text.String() != "I read two files." || thoughts.String() != "Let me think." || args.String() != `{"path":"a"}{"path":"b"}` {
		t.Errorf("got %q %q %q", text.String(), thoughts.String(), args.String())
	}
	if end.Status != "completed" || end.OutputText() != "I read two files." || len(end.Output) != 4 || end.Output[3].AsFunctionCall().CallID != "call_b" {
		t.Errorf("got %+v", end)
	}
	if u := end.Usage; u.InputTokens != 100 || u.OutputTokens != 20 || u.InputTokensDetails.CachedTokens != 64 || u.OutputTokensDetails.ReasoningTokens != 5 {
		t.Errorf("got %+v", u)
	}
	if _, _, _, end = ask(); end.Status != "incomplete" || end.IncompleteDetails.Reason != "max_output_tokens" {
		t.Errorf("got %+v", end)
	}
}

// spec: D219
func TestMessagesIsWhatTheOfficialClientReads(t *testing.T) {
	s := fake.Start(fake.Messages, rich(), fake.Answer{Status: 429, Raw: `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`})
	defer s.Close()
	client := anthropic.NewClient(anthropicoption.WithBaseURL(strings.TrimSuffix(s.BaseURL(), "/v1")), anthropicoption.WithAPIKey("k"), anthropicoption.WithMaxRetries(0))
	ask := func() (anthropic.Message, error) {
		stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
			Model: "m", MaxTokens: 9, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
		})
		defer stream.Close()
		var all anthropic.Message
		for stream.Next() {
			if err := all.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		return all, stream.Err()
	}
	all, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	if all.StopReason != "tool_use" || len(all.Content) != 4 || all.Content[0].Thinking != "Let me think." || all.Content[1].Text != "I read two files." {
		t.Errorf("got %+v", all)
	}
	if c := all.Content[2].AsToolUse(); c.ID != "call_a" || c.Name != "read" || string(c.Input) != `{"path":"a"}` {
		t.Errorf("got %+v", c)
	}
	if u := all.Usage; u.InputTokens != 36 || u.CacheReadInputTokens != 64 || u.OutputTokens != 20 {
		t.Errorf("got %+v", u)
	}
	_, err = ask()
	var refused *anthropic.Error
	if !errors.As(err, &refused) || refused.StatusCode != 429 {
		t.Errorf("got %v", err)
	}
}

// The official types read the requests that we write, with nothing left over: what a client would send is what we send.
//
// spec: D219
func TestOurRequestsAreWhatTheOfficialTypesSay(t *testing.T) {
	half := 0.5
	request := &model.Request{
		Model: "m", Params: model.Params{MaxOutput: 9, Temperature: &half, TopP: &half},
		Sections: []model.Section{{ID: "a", Text: "Be brief."}},
		Tools:    []model.Tool{{Name: "read", Description: "d", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}},
		Messages: []model.Message{
			{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "hello"}, {Kind: model.PartImage, Media: "image/png", Data: []byte("x")}}},
			{Role: model.RoleAssistant, Parts: []model.Part{{Kind: model.PartText, Text: "t"}, {Kind: model.PartCall, CallID: "c1", Tool: "read", Text: `{"path":"a"}`}}},
			{Role: model.RoleTool, Parts: []model.Part{{Kind: model.PartResult, CallID: "c1", Text: "r", Failed: true}}},
		},
	}
	for _, tt := range []struct {
		surface  fake.Surface
		provider func(httpx.Options) model.Provider
		params   any
	}{
		{fake.Chat, oursopenai.Chat, &openai.ChatCompletionNewParams{}},
		{fake.Responses, oursopenai.Responses, &responses.ResponseNewParams{}},
		{fake.Messages, ours.New, &anthropic.MessageNewParams{}},
	} {
		s := fake.Start(tt.surface, fake.Answer{})
		p := tt.provider(httpx.Options{BaseURL: s.BaseURL(), Keyless: true, Clock: still{}})
		if _, err := p.Stream(context.Background(), request, func(model.Chunk) error { return nil }); err != nil {
			t.Fatal(err)
		}
		body := []byte(s.Requests()[0].Body)
		s.Close()
		if tt.surface == fake.Responses {
			tt.params, body = inputs(t, body)
		}
		if err := json.Unmarshal(body, tt.params); err != nil {
			t.Errorf("%s: %v", tt.surface, err)
			continue
		}
		again, err := json.Marshal(tt.params)
		if err != nil {
			t.Fatal(err)
		}
		var sent, read map[string]any
		if json.Unmarshal(body, &sent) != nil || json.Unmarshal(again, &read) != nil {
			t.Fatal("no objects")
		}
		delete(sent, "stream") // the clients add it themselves
		delete(read, "stream")
		lost(t, string(tt.surface), sent, read)
	}
}

// inputs takes the input out of a request: its items are read one by one, since the union of a text and a list is written only.
func inputs(t *testing.T, body []byte) (*responses.ResponseNewParams, []byte) {
	t.Helper()
	var all map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(body, &all) != nil || json.Unmarshal(all["input"], &items) != nil || len(items) == 0 {
		t.Fatalf("no input: %s", body)
	}
	for _, item := range items {
		var read responses.ResponseInputItemUnionParam
		var sent, again any
		if err := json.Unmarshal(item, &read); err != nil {
			t.Errorf("%s: %v", item, err)
			continue
		}
		text, err := json.Marshal(read)
		if err != nil || json.Unmarshal(item, &sent) != nil || json.Unmarshal(text, &again) != nil {
			t.Fatal(err)
		}
		lost(t, "input", sent, again)
	}
	delete(all, "input")
	rest, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return &responses.ResponseNewParams{}, rest
}

// lost names what one value has and the other lacks.
func lost(t *testing.T, at string, sent, read any) {
	t.Helper()
	switch sent := sent.(type) {
	case map[string]any:
		other, ok := read.(map[string]any)
		if !ok {
			t.Errorf("%s: read as %v", at, read)
			return
		}
		for k, v := range sent {
			lost(t, at+"."+k, v, other[k])
		}
	case []any:
		other, ok := read.([]any)
		if !ok || len(other) != len(sent) {
			t.Errorf("%s: read as %v", at, read)
			return
		}
		for i := range sent {
			lost(t, at, sent[i], other[i])
		}
	default:
		if parts, ok := read.([]any); ok && len(parts) == 1 { // a text is read as its one part
			if part, ok := parts[0].(map[string]any); ok && part["type"] == "text" {
				read = part["text"]
			}
		}
		if sent != read {
			t.Errorf("%s: %v is read as %v", at, sent, read)
		}
	}
}
