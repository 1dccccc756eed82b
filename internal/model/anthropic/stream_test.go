package anthropic

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

func decode(r io.Reader) decoded { return decodeBy(r, false) }

// decodeBy decodes, with the general decoder alone where slow.
func decodeBy(r io.Reader, slow bool) (d decoded) {
	decoder := newDecoder(func(c model.Chunk) error {
		switch c.Kind {
		case model.ChunkText:
			d.text += c.Text
		case model.ChunkReasoning:
			d.thoughts += c.Text
		case model.ChunkCall, model.ChunkArgs:
		}
		return nil
	})
	decoder.slow = slow
	d.response, d.err = httpx.Decode(r, decoder, httpx.MaxEvent)
	return d
}

// spec: D214 D215 D230
func TestMessagesOfOtherServers(t *testing.T) {
	const stop = `{"type":"message_stop"}`
	for _, tt := range []struct {
		name     string
		events   []string
		text     string
		thoughts string
		calls    []model.Call
		finish   string
	}{
		{
			name: "arguments at the beginning of their block", finish: "tool_calls", calls: []model.Call{{ID: "a", Tool: "read", Args: `{"p": 1}`}},
			events: []string{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"read","input":{"p": 1}}}`, stop},
		},
		{
			name: "a call without arguments", finish: "tool_calls", calls: []model.Call{{ID: "a", Tool: "list", Args: `{}`}},
			events: []string{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"list","input":{}}}`, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, stop},
		},
		{
			name: "text in the beginning of its block, other blocks and events", finish: "stop", text: "xy", thoughts: "a\n\nb",
			events: []string{
				`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"zzz"}}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"a"}}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"b"}}`,
				`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"x"}}`,
				`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"y"}}`,
				`{"type":"content_block_delta","index":3,"delta":{"type":"citations_delta","citation":{}}}`,
				`{"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
				`{"type":"of the future"}`, `{"type":"message_delta"}`, stop, `{"type":"error","error":{"message":"late"}}`,
			},
		},
	} {
		d := decode(strings.NewReader("data: " + strings.Join(tt.events, "\n\ndata: ") + "\n\n"))
		if d.err != nil || d.text != tt.text || d.thoughts != tt.thoughts || d.response.Finish != tt.finish || !reflect.DeepEqual(d.response.Calls, tt.calls) {
			t.Errorf("%s: got %+v %+v", tt.name, d, d.response)
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
	stream := fake.Messages.Stream(new(answered()))
	for at := range len(stream) {
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF}[:1+at%3/2] { // the second for each third
			d := decode(io.MultiReader(strings.NewReader(stream[:at]), failing{end}))
			var cut *model.Cut
			switch {
			case d.err == nil:
				if len(d.response.Calls) != 2 || d.response.Calls[0].Args != `{"p":1}` || d.text != "I read." {
					t.Fatalf("cut at %d: got %+v", at, d.response)
				}
			case !errors.As(d.err, &cut) || !cut.Retryable || !strings.HasPrefix("I read.", d.text):
				t.Fatalf("cut at %d: got %v", at, d.err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// spec: D237
func FuzzMessages(f *testing.F) {
	f.Add(fake.Messages.Stream(new(answered())))
	f.Add(fake.Messages.Stream(&fake.Answer{Text: []string{"x"}, Inside: `{"error":{"message":"m","code":500}}`}))
	f.Fuzz(func(t *testing.T, stream string) {
		d := decode(strings.NewReader(stream))
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
		again := decodeBy(strings.NewReader(stream), true)
		if again.text != d.text || again.thoughts != d.thoughts || !reflect.DeepEqual(again.response, d.response) || (again.err == nil) != (d.err == nil) {
			t.Errorf("the general decoder gives something else: %+v, not %+v", again, d)
		}
	})
}

// Figures come at the beginning and at the end of a message, and are totals each time: the last of each counts once.
//
// spec: A123
func TestFiguresAreSnapshots(t *testing.T) {
	d := decode(strings.NewReader(`data: {"type":"message_start","message":{"usage":{"input_tokens":40,"cache_read_input_tokens":50,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":40,"output_tokens":7}}

data: {"type":"message_stop"}

`))
	u := d.response.Usage
	if d.err != nil || u.Input == nil || *u.Input != 90 || u.Output == nil || *u.Output != 7 || u.CacheRead == nil || *u.CacheRead != 50 || u.CacheWrite != nil {
		t.Errorf("%v %+v", d.err, u)
	}
}
