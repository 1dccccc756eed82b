package openai

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"zuno/internal/model"
	"zuno/internal/model/httpx"
)

// chatDecoder takes the stream of a chat completion. Its finish marker is a finish_reason: the line [DONE] after it may be
// missing, as with many servers, but does not stand for it.
type chatDecoder struct {
	*httpx.Answer
	byIndex map[int]int // the server's index of a call → ours
	last    int         // the call that a piece without index or id belongs to
	refused bool
	slow    bool // without [chatDecoder.quick]
}

func newChatDecoder(emit func(model.Chunk) error) *chatDecoder {
	return &chatDecoder{Answer: httpx.NewAnswer(emit), byIndex: map[int]int{}, last: -1}
}

type chatChunk struct {
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type chatChoice struct {
	Index        int        `json:"index"`
	Delta        *chatDelta `json:"delta"`
	Message      *chatDelta `json:"message"`
	FinishReason *string    `json:"finish_reason"`
}

// chatDelta has the form that nearly all chunks have; odd ones are read by [looseDelta].
type chatDelta struct {
	Content          string      `json:"content"`
	ReasoningContent string      `json:"reasoning_content"`
	Reasoning        string      `json:"reasoning"`
	Refusal          string      `json:"refusal"`
	ToolCalls        []chatPiece `json:"tool_calls"`
	FunctionCall     *chatArgs   `json:"function_call"`
}

type chatPiece struct {
	Index    *int      `json:"index"`
	ID       string    `json:"id"`
	Function *chatArgs `json:"function"`
}

type chatArgs struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatUsage struct {
	Prompt     httpx.Count `json:"prompt_tokens"`
	Completion httpx.Count `json:"completion_tokens"`
	CacheHit   httpx.Count `json:"prompt_cache_hit_tokens"`
	PromptMore *struct {
		Cached  httpx.Count `json:"cached_tokens"`
		Written httpx.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionMore *struct {
		Reasoning httpx.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *chatUsage) counts() model.Usage {
	out := model.Usage{Input: u.Prompt.Tokens, Output: u.Completion.Tokens, CacheRead: u.CacheHit.Tokens}
	if m := u.PromptMore; m != nil {
		out.CacheRead, out.CacheWrite = m.Cached.Or(u.CacheHit).Tokens, m.Written.Tokens
	}
	if m := u.CompletionMore; m != nil {
		out.Reasoning = m.Reasoning.Tokens
	}
	return out
}

// Event takes one chunk.
func (d *chatDecoder) Event(_ string, data []byte) (over bool, err error) {
	if string(data) == "[DONE]" {
		return true, nil
	}
	if words, ok := d.quick(data); ok {
		return false, d.Text(words)
	}
	var c chatChunk
	if err := d.unmarshal(data, &c); err != nil {
		if d.Finished() {
			return true, nil
		}
		return false, httpx.Malformed(data, err)
	}
	return false, d.chunk(&c, data)
}

// quick reads the chunk that most of a stream consists of: a few words and nothing else. Anything else is left to the decoder.
func (d *chatDecoder) quick(data []byte) (words string, ok bool) {
	if d.slow {
		return "", false
	}
	found := 0
	ok = httpx.Quick(data, func(path []string, kind byte, value string) bool {
		null := kind == httpx.QuickWord && value == "null"
		switch path[0] {
		case "usage", "error":
			return len(path) == 1 && null
		case "choices":
		default:
			return true
		}
		if len(path) < 3 || path[1] != httpx.QuickElement {
			return false
		}
		switch path[2] {
		case "index":
			return len(path) == 3 && kind == httpx.QuickWhole && value == "0"
		case "finish_reason", "message":
			return len(path) == 3 && null
		case "delta":
		default:
			return true
		}
		if len(path) < 4 {
			return false
		}
		switch path[3] {
		case "content":
			words = value
			found++
			return len(path) == 4 && kind == httpx.QuickText
		case "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call":
			return len(path) == 4 && null
		}
		return true
	})
	return words, ok && found == 1 && utf8.ValidString(words)
}

// Whole takes a completion that came in one piece.
func (d *chatDecoder) Whole(data []byte) error {
	var c chatChunk
	if err := d.unmarshal(data, &c); err != nil {
		return httpx.Malformed(data, err)
	}
	return d.chunk(&c, data)
}

// unmarshal reads a chunk of the usual form, or else one with the oddities that are known.
func (d *chatDecoder) unmarshal(data []byte, c *chatChunk) error {
	err := json.Unmarshal(data, c)
	var odd *json.UnmarshalTypeError
	if !errors.As(err, &odd) {
		return err
	}
	var loose looseChunk
	if err := json.Unmarshal(data, &loose); err != nil {
		return err
	}
	*c = loose.chunk()
	return nil
}

func (d *chatDecoder) chunk(c *chatChunk, data []byte) error {
	if len(c.Error) > 0 && string(c.Error) != "null" && !d.Finished() {
		return httpx.Fault(data)
	}
	if len(c.Choices) == 0 && c.Usage == nil && !d.Finished() {
		return httpx.Inside(data)
	}
	if c.Usage != nil {
		d.Usage.Merge(c.Usage.counts())
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue // none was asked for
		}
		delta := choice.Delta
		if delta == nil {
			delta = choice.Message
		}
		if delta != nil {
			if err := d.delta(delta); err != nil {
				return err
			}
		}
		if choice.FinishReason != nil && *choice.FinishReason != "" {
			if *choice.FinishReason == "error" {
				return httpx.Fault([]byte(`{"error":{"message":"the provider ended its answer with an error that it did not name","code":"error"}}`))
			}
			d.finish(*choice.FinishReason)
		}
	}
	return nil
}

func (d *chatDecoder) finish(reason string) {
	finish := model.FinishOther
	switch reason {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence":
		finish = model.FinishStop
	case "tool_calls", "function_call", "tool_use":
		finish = model.FinishCalls
	case "length", "max_tokens":
		finish = model.FinishLength
	case "content_filter", "refusal":
		finish = model.FinishRefusal
	}
	if d.refused && finish == model.FinishStop {
		finish = model.FinishRefusal
	}
	d.Finish(finish, reason)
}

func (d *chatDecoder) delta(delta *chatDelta) error {
	thought := delta.ReasoningContent
	if thought == "" {
		thought = delta.Reasoning // some servers give both, equal
	}
	if err := d.Reasoning(thought); err != nil {
		return err
	}
	if err := d.Text(delta.Content); err != nil {
		return err
	}
	if delta.Refusal != "" {
		d.refused = true
		if err := d.Text(delta.Refusal); err != nil {
			return err
		}
	}
	for i := range delta.ToolCalls {
		if err := d.piece(&delta.ToolCalls[i]); err != nil {
			return err
		}
	}
	if f := delta.FunctionCall; f != nil {
		return d.piece(&chatPiece{Index: new(0), Function: f})
	}
	return nil
}

// piece adds to a call, or begins one.
func (d *chatDecoder) piece(p *chatPiece) error {
	var f chatArgs
	if p.Function != nil {
		f = *p.Function
	}
	i, err := d.find(p, f.Name)
	if err != nil {
		return err
	}
	d.last = i
	if err := d.Know(i, p.ID, f.Name); err != nil {
		return err
	}
	return d.Args(i, f.Arguments)
}

// find is the call that a piece belongs to. An index decides, unless the piece plainly begins another call: with an id of its
// own, as from servers that number every call 0, or with a name after arguments that are complete. Without an index, the id
// decides, then whether there is a name.
func (d *chatDecoder) find(p *chatPiece, name string) (int, error) {
	at := d.last
	if p.Index != nil {
		known, ok := d.byIndex[*p.Index]
		if !ok {
			known = -1
		}
		at = known
	} else if p.ID != "" {
		for i := range d.Calls() {
			if d.IDOf(i) == p.ID {
				at = i
			}
		}
	}
	if at < 0 || d.another(at, p, name) {
		i, err := d.Begin(p.ID, name)
		if err == nil && p.Index != nil {
			d.byIndex[*p.Index] = i
		}
		return i, err
	}
	return at, nil
}

func (d *chatDecoder) another(at int, p *chatPiece, name string) bool {
	id := d.IDOf(at)
	switch {
	case p.ID != "" && id != "" && p.ID != id:
		return true
	case name == "" || d.ToolOf(at) == "":
		return false
	}
	if p.ID == "" && p.Index == nil && !d.HasArgs(at) && name != d.ToolOf(at) {
		return true
	}
	return d.HasArgs(at) && d.Complete(at) && p.Function.Arguments != ""
}

// End gives the answer.
func (d *chatDecoder) End() (*model.Response, error) { return d.Answer.End("a finish_reason") }
