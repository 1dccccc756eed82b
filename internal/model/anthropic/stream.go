package anthropic

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"zuno/internal/model"
	"zuno/internal/model/httpx"
)

// decoder takes the stream of a message. Its finish marker is message_stop.
type decoder struct {
	*httpx.Answer
	blocks map[int]*open
	stop   string // the reason, before the marker
	slow   bool   // without [decoder.quick]
	tokens tokens
}

// open is a content block.
type open struct {
	call  int // its index, or -1
	input json.RawMessage
}

type tokens struct{ input, output, read, written httpx.Count }

func newDecoder(emit func(model.Chunk) error) *decoder {
	return &decoder{Answer: httpx.NewAnswer(emit), blocks: map[int]*open{}}
}

type streamEvent struct {
	Type    string `json:"type"`
	Object  string `json:"object"`
	Index   int    `json:"index"`
	Message *struct {
		Usage *usage `json:"usage"`
	} `json:"message"`
	Block *struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta *struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Thinking   string `json:"thinking"`
		JSON       string `json:"partial_json"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type usage struct {
	Input   httpx.Count `json:"input_tokens"`
	Output  httpx.Count `json:"output_tokens"`
	Read    httpx.Count `json:"cache_read_input_tokens"`
	Written httpx.Count `json:"cache_creation_input_tokens"`
}

// Event takes one event. What is not known is passed over: the surface grows.
func (d *decoder) Event(kind string, data []byte) (over bool, err error) {
	if words, ok := d.quick(data); ok {
		return false, d.Text(words)
	}
	var e streamEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, httpx.Malformed(data, err)
	}
	if e.Type == "" {
		e.Type = kind
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			d.count(e.Message.Usage)
		}
	case "content_block_start":
		return false, d.begin(&e)
	case "content_block_delta":
		return false, d.delta(&e)
	case "content_block_stop":
		return false, d.close(e.Index)
	case "message_delta":
		d.count(e.Usage)
		if e.Delta != nil && e.Delta.StopReason != "" {
			d.stop = e.Delta.StopReason
		}
	case "message_stop":
		for _, i := range slices.Sorted(maps.Keys(d.blocks)) {
			if err := d.close(i); err != nil {
				return true, err
			}
		}
		d.finish()
		return true, nil
	case "error":
		return true, httpx.Fault(data)
	default:
		if e.Type == "" || e.Object == "error" {
			return false, httpx.Inside(data)
		}
	}
	return false, nil
}

// quick reads the event that most of a stream consists of: a few words. Anything else is left to the decoder.
func (d *decoder) quick(data []byte) (words string, ok bool) {
	if d.slow {
		return "", false
	}
	found, known := 0, 0
	ok = httpx.Quick(data, func(path []string, kind byte, value string) bool {
		switch path[0] {
		case "type":
			known++
			return len(path) == 1 && kind == httpx.QuickText && value == "content_block_delta"
		case "index":
			return len(path) == 1 && kind == httpx.QuickWhole && len(value) < 10
		case "delta":
		case "message", "content_block", "usage", "error":
			return false
		default:
			return true
		}
		if len(path) != 2 || kind != httpx.QuickText {
			return false
		}
		switch path[1] {
		case "type":
			known++
			return value == "text_delta"
		case "text":
			words = value
			found++
			return true
		case "thinking", "partial_json", "stop_reason":
			return false
		}
		return true
	})
	return words, ok && found == 1 && known == 2 && utf8.ValidString(words)
}

// count takes figures over: they are totals, and a later event says only some of them.
func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	t := &d.tokens
	t.input, t.output, t.read, t.written = u.Input.Or(t.input), u.Output.Or(t.output), u.Read.Or(t.read), u.Written.Or(t.written)
	d.Usage = model.Usage{Input: t.input.Tokens, Output: t.output.Tokens, CacheRead: t.read.Tokens, CacheWrite: t.written.Tokens}
	if t.input.Tokens != nil { // here without what the cache had or took
		sum := *t.input.Tokens
		for _, more := range []*uint64{t.read.Tokens, t.written.Tokens} {
			if more != nil {
				sum += min(*more, math.MaxUint64-sum)
			}
		}
		d.Usage.Input = &sum
	}
}

func (d *decoder) begin(e *streamEvent) error {
	if err := d.close(e.Index); err != nil { // one that was not ended before another took its place
		return err
	}
	b := &open{call: -1}
	d.blocks[e.Index] = b
	if len(d.blocks) > maxBlocks {
		return &model.Error{Kind: model.KindLimit, Reason: "the answer has more parts than are taken of one"}
	}
	if e.Block == nil {
		return nil
	}
	switch e.Block.Type {
	case "text":
		return d.Text(e.Block.Text)
	case "thinking":
		if d.Thoughts() > 0 {
			if err := d.Reasoning("\n\n"); err != nil {
				return err
			}
		}
		return d.Reasoning(e.Block.Thinking)
	case "tool_use":
		i, err := d.Begin(e.Block.ID, e.Block.Name)
		b.call, b.input = i, e.Block.Input
		return err
	}
	return nil
}

// maxBlocks bounds what is remembered of an answer beside its calls.
const maxBlocks = 4096

func (d *decoder) delta(e *streamEvent) error {
	if e.Delta == nil {
		return nil
	}
	switch e.Delta.Type {
	case "text_delta":
		return d.Text(e.Delta.Text)
	case "thinking_delta":
		return d.Reasoning(e.Delta.Thinking)
	case "input_json_delta":
		b := d.blocks[e.Index]
		if b == nil && d.Calls() > 0 { // one of them would run without its arguments
			return &model.Cut{Reason: "the stream holds arguments of a call that never began", Retryable: true}
		}
		if b != nil && b.call >= 0 {
			return d.Args(b.call, e.Delta.JSON)
		}
	}
	return nil
}

// close ends a block. A call whose arguments did not come in pieces has them from its beginning.
func (d *decoder) close(index int) error {
	b := d.blocks[index]
	if b == nil || b.call < 0 {
		return nil
	}
	call, input := b.call, bytes.TrimSpace(b.input)
	b.call = -1
	if d.HasArgs(call) || len(input) == 0 || string(input) == "null" {
		return nil
	}
	return d.Args(call, string(input))
}

func (d *decoder) finish() {
	finish := model.FinishOther
	switch d.stop {
	case "end_turn", "stop_sequence", "":
		finish = model.FinishStop
	case "tool_use":
		finish = model.FinishCalls
	case "max_tokens", "model_context_window_exceeded":
		finish = model.FinishLength
	case "refusal":
		finish = model.FinishRefusal
	}
	d.Finish(finish, d.stop)
}

// End gives the answer.
func (d *decoder) End() (*model.Response, error) { return d.Answer.End("message_stop") }
