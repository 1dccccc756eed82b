package openai

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"zuno/internal/model"
	"zuno/internal/model/fake"
	"zuno/internal/model/httpx"
)

type decoded struct {
	text, thoughts string
	response       *model.Response
	err            error
}

func decode(r io.Reader, surface fake.Surface) decoded { return decodeBy(r, surface, false) }

// decodeBy decodes, with the general decoder alone where slow.
func decodeBy(r io.Reader, surface fake.Surface, slow bool) (d decoded) {
	emit := func(c model.Chunk) error {
		switch c.Kind {
		case model.ChunkText:
			d.text += c.Text
		case model.ChunkReasoning:
			d.thoughts += c.Text
		case model.ChunkCall, model.ChunkArgs:
		}
		return nil
	}
	chat, responses := newChatDecoder(emit), newResponsesDecoder(emit)
	chat.slow, responses.slow = slow, slow
	var decoder httpx.Decoder = chat
	if surface == fake.Responses {
		decoder = responses
	}
	d.response, d.err = httpx.Decode(r, decoder, httpx.MaxEvent)
	return d
}

// What servers that call themselves compatible send.
//
// spec: D214 D230
func TestChatOfOtherServers(t *testing.T) {
	const done = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	call := func(id, tool, args string) model.Call { return model.Call{ID: id, Tool: tool, Args: args} }
	for _, tt := range []struct {
		name     string
		events   []string
		text     string
		thoughts string
		calls    []model.Call
		finish   string
	}{
		{
			name: "thoughts under another name, and both", finish: "stop", thoughts: "hm so", text: "x",
			events: []string{`{"choices":[{"delta":{"reasoning":"hm "}}]}`, `{"choices":[{"delta":{"reasoning":"so","reasoning_content":"so"}}]}`, `{"choices":[{"delta":{"content":"x"}}]}`, done},
		},
		{
			name: "content in parts", finish: "stop", thoughts: "hm", text: "x",
			events: []string{`{"choices":[{"index":"0","delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"x"}]},"finish_reason":null}]}`, done},
		},
		{
			name: "an empty finish reason is none", finish: "stop", text: "xy",
			events: []string{`{"choices":[{"delta":{"content":"x"},"finish_reason":""}]}`, `{"choices":[{"delta":{"content":"y"},"finish_reason":""}]}`, done},
		},
		{
			name: "calls without index", finish: "tool_calls",
			calls: []model.Call{call("a", "read", `{"p":1}`), call("b", "read", `{"p":2}`)},
			events: []string{
				`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"read","arguments":""}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"p\":"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"arguments":"1}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"read","arguments":"{\"p\":2}"}}]}}]}`, done,
			},
		},
		{
			name: "calls without id", finish: "tool_calls",
			calls: []model.Call{call("", "read", `{"p":1}`), call("", "read", `{"p":2}`), call("", "list", `{}`)},
			events: []string{
				`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"read","arguments":"{\"p\":1}"}},{"function":{"name":"read","arguments":"{\"p\":2}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"list","arguments":"{}"}}]}}]}`, done,
			},
		},
		{
			name: "every call has index 0", finish: "tool_calls",
			calls: []model.Call{call("a", "read", `{"p":1}`), call("b", "read", `{"p":2}`)},
			events: []string{
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":"{\"p\":2}"}}]}}]}`, done,
			},
		},
		{
			name: "name and id with each piece", finish: "tool_calls",
			calls: []model.Call{call("a", "read", `{"p":1}`)},
			events: []string{
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}]}}]}`, done,
			},
		},
		{
			name: "pieces of two calls in turn", finish: "tool_calls",
			calls: []model.Call{call("a", "read", `{"p":1}`), call("b", "list", `{"p":2}`)},
			events: []string{
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":""}},{"index":1,"id":"b","function":{"name":"list","arguments":""}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"p\":"}},{"index":0,"function":{"arguments":"{\"p\":1"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}},{"index":1,"function":{"arguments":"2}"}}]}}]}`, done,
			},
		},
		{
			name: "arguments as an object, index as a text", finish: "tool_calls", calls: []model.Call{call("7", "read", `{"p": 1}`)},
			events: []string{`{"choices":[{"delta":{"tool_calls":[{"index":"0","id":7,"function":{"name":"read","arguments":{"p": 1}}}]}}]}`, done},
		},
		{
			name: "the older form of a call", finish: "tool_calls", calls: []model.Call{call("", "read", `{"p":1}`)},
			events: []string{`{"choices":[{"delta":{"function_call":{"name":"read","arguments":"{\"p\""}}}]}`, `{"choices":[{"delta":{"function_call":{"arguments":":1}"}}}]}`, `{"choices":[{"delta":{},"finish_reason":"function_call"}]}`},
		},
		{
			name: "one document", finish: "stop", text: "all",
			events: []string{`{"choices":[{"index":0,"message":{"role":"assistant","content":"all"},"finish_reason":"stop"}]}`},
		},
		{
			name: "a refusal", finish: "refusal", text: "I will not.",
			events: []string{`{"choices":[{"delta":{"refusal":"I will not."}}]}`, done},
		},
		{
			name: "other choices", finish: "stop", text: "x",
			events: []string{`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"x"}}]}`, done},
		},
		{
			name: "noise after the finish", finish: "stop", text: "x",
			events: []string{`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`, `{"choices":null}`, `{"error":{"message":"late"}}`, `<bye>`},
		},
	} {
		for _, frame := range []struct{ before, between string }{{"data: ", "\n\n"}, {"data:", "\r\n\r\n"}, {": note\nevent: x\nid: 1\ndata: ", "\n\n\n"}} {
			var stream strings.Builder
			for _, e := range tt.events {
				stream.WriteString(frame.before + e + frame.between)
			}
			text := strings.TrimRight(stream.String(), "\r\n") // the last event without its empty line
			d := decode(strings.NewReader(text), fake.Chat)
			if d.err != nil || d.text != tt.text || d.thoughts != tt.thoughts || d.response.Finish != tt.finish || !reflect.DeepEqual(d.response.Calls, tt.calls) {
				t.Errorf("%s: got %+v %+v", tt.name, d, d.response)
			}
		}
	}
}

// spec: D215
func TestFiguresOfOtherServers(t *testing.T) {
	for text, want := range map[string][3]uint64{ // zero: unknown
		`{"prompt_tokens":9,"completion_tokens":3,"prompt_cache_hit_tokens":4}`:                    {9, 3, 4},
		`{"prompt_tokens":9.5,"completion_tokens":-3,"prompt_tokens_details":null}`:                {},
		`{"prompt_tokens":"9","completion_tokens":3,"prompt_tokens_details":{}}`:                   {0, 3, 0},
		`{"prompt_tokens":9,"completion_tokens":null,"prompt_tokens_details":{"cached_tokens":5}}`: {9, 0, 5},
		`null`: {},
	} {
		d := decode(strings.NewReader(`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":`+text+"}\n\n"), fake.Chat)
		if d.err != nil {
			t.Fatal(d.err)
		}
		for i, got := range []*uint64{d.response.Usage.Input, d.response.Usage.Output, d.response.Usage.CacheRead} {
			if want[i] == 0 && got != nil || want[i] != 0 && (got == nil || *got != want[i]) {
				t.Errorf("%s: figure %d is %v", text, i, got)
			}
		}
	}
}

// Figures that come several times are totals so far: the last of each counts once, and what a later one leaves out stays.
//
// spec: A123
func TestFiguresAreSnapshots(t *testing.T) {
	d := decode(strings.NewReader(`data: {"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":90,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":50}}}

data: {"choices":[{"delta":{"content":"y"}}],"usage":{"prompt_tokens":90,"completion_tokens":5}}

data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":7}}

`), fake.Chat)
	u := d.response.Usage
	if d.err != nil || u.Input == nil || *u.Input != 90 || u.Output == nil || *u.Output != 7 || u.CacheRead == nil || *u.CacheRead != 50 || u.Reasoning != nil {
		t.Errorf("%v %+v", d.err, u)
	}
}

// Texts and arguments that a server does not send in pieces are not lost, and those that it sends twice are taken once.
//
// spec: D214 D215
func TestResponsesOfOtherServers(t *testing.T) {
	const end = `{"type":"response.completed","response":{"status":"completed"}}`
	for _, tt := range []struct {
		events []string
		text   string
		calls  []model.Call
	}{
		{[]string{`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"all"}`, end}, "all", nil},
		{[]string{`{"type":"response.output_text.delta","delta":"all"}`, `{"type":"response.output_text.done","text":"all"}`, end}, "all", nil},
		{[]string{`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"a","name":"read","arguments":"{}"}}`, end}, "", []model.Call{{ID: "a", Tool: "read", Args: "{}"}}},
		{[]string{`{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{}"}`, `{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"a","name":"read","arguments":"{}"}}`, end}, "", []model.Call{{ID: "a", Tool: "read", Args: "{}"}}},
		{[]string{`{"type":"response.refusal.delta","delta":"no"}`, `{"type":"response.refusal.done","refusal":"no"}`, `{"type":"something.new","x":[1]}`, end}, "no", nil},
	} {
		d := decode(strings.NewReader("data: "+strings.Join(tt.events, "\n\ndata: ")+"\n\n"), fake.Responses)
		if d.err != nil || d.text != tt.text || !reflect.DeepEqual(d.response.Calls, tt.calls) {
			t.Errorf("%v: got %+v %+v", tt.events, d, d.response)
		}
	}
}

func answered() fake.Answer {
	return fake.Answer{
		Reasoning: []string{"so"}, Text: []string{"I ", "read."},
		Calls: []fake.Call{{ID: "a", Tool: "read", Args: []string{`{"p"`, `:1}`}}, {ID: "b", Tool: "read", Args: []string{`{}`}}},
	}
}

// spec: D228
func TestCutAtEachByte(t *testing.T) {
	for _, surface := range []fake.Surface{fake.Chat, fake.Responses} {
		stream := surface.Stream(new(answered()))
		for at := range len(stream) {
			for _, end := range []error{io.EOF, io.ErrUnexpectedEOF}[:1+at%3/2] { // the second for each third
				d := decode(io.MultiReader(strings.NewReader(stream[:at]), failing{end}), surface)
				var cut *model.Cut
				switch {
				case d.err == nil:
					if len(d.response.Calls) != 2 || d.response.Calls[0].Args != `{"p":1}` || d.text != "I read." {
						t.Fatalf("%s cut at %d: got %+v", surface, at, d.response)
					}
				case !errors.As(d.err, &cut) || !cut.Retryable || !strings.HasPrefix("I read.", d.text):
					t.Fatalf("%s cut at %d: got %v", surface, at, d.err)
				}
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// spec: D237
func FuzzChat(f *testing.F) { fuzz(f, fake.Chat) }

// spec: D237
func FuzzResponses(f *testing.F) { fuzz(f, fake.Responses) }

func fuzz(f *testing.F, surface fake.Surface) {
	f.Add(surface.Stream(new(answered())))
	f.Add(surface.Stream(&fake.Answer{Text: []string{"x"}, Inside: `{"error":{"message":"m","code":500}}`}))
	f.Fuzz(func(t *testing.T, stream string) {
		d := decode(strings.NewReader(stream), surface)
		var cut *model.Cut
		var failure *model.Error
		switch {
		case d.err == nil && d.response.Finish == "":
			t.Error("a response without a finish")
		case d.err == nil && len(d.response.Calls) > httpx.MaxCalls:
			t.Error("too many calls")
		case d.err != nil && !errors.As(d.err, &cut) && !errors.As(d.err, &failure):
			t.Errorf("got %T %v", d.err, d.err)
		case failure != nil && len(failure.Reason) > httpx.MaxReason:
			t.Error("a long reason")
		}
		again := decodeBy(strings.NewReader(stream), surface, true)
		if again.text != d.text || again.thoughts != d.thoughts || !reflect.DeepEqual(again.response, d.response) || (again.err == nil) != (d.err == nil) {
			t.Errorf("the general decoder gives something else: %+v, not %+v", again, d)
		}
	})
}
