package openai

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"zuno/internal/model"
	"zuno/internal/model/httpx"
)

// responsesDecoder takes the stream of a response. Its finish markers are response.completed and response.incomplete.
type responsesDecoder struct {
	*httpx.Answer
	calls   map[int]int     // output index → call
	said    map[[2]int]bool // output and content index whose text came
	items   bool            // a text came with its whole item
	refused bool
	slow    bool // without [responsesDecoder.quick]
}

func newResponsesDecoder(emit func(model.Chunk) error) *responsesDecoder {
	return &responsesDecoder{Answer: httpx.NewAnswer(emit), calls: map[int]int{}, said: map[[2]int]bool{}}
}

type responsesEvent struct {
	Type         string          `json:"type"`
	Object       string          `json:"object"`
	OutputIndex  int             `json:"output_index"`
	ContentIndex int             `json:"content_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        string          `json:"delta"`
	Text         string          `json:"text"`
	Refusal      string          `json:"refusal"`
	Arguments    string          `json:"arguments"`
	Item         *responsesItem  `json:"item"`
	Response     json.RawMessage `json:"response"`
	Error        json.RawMessage `json:"error"`
}

type responsesItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// Content is read only where nothing else brought it: an odd one must not cost the answer.
	Content json.RawMessage `json:"content"`
}

type responsesEnd struct {
	Output     json.RawMessage `json:"output"`
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input     httpx.Count `json:"input_tokens"`
		Output    httpx.Count `json:"output_tokens"`
		InputMore *struct {
			Cached  httpx.Count `json:"cached_tokens"`
			Written httpx.Count `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputMore *struct {
			Reasoning httpx.Count `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// Event takes one event. What is not known is passed over: the surface grows.
func (d *responsesDecoder) Event(kind string, data []byte) (over bool, err error) {
	if string(data) == "[DONE]" {
		return true, nil
	}
	if words, ok := d.quick(data); ok {
		return false, d.Text(words)
	}
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, httpx.Malformed(data, err)
	}
	if e.Type == "" {
		e.Type = kind
	}
	switch e.Type {
	case "response.output_text.delta":
		d.said[[2]int{e.OutputIndex, e.ContentIndex}] = true
		return false, d.Text(e.Delta)
	case "response.refusal.delta":
		d.said[[2]int{e.OutputIndex, e.ContentIndex}], d.refused = true, true
		return false, d.Text(e.Delta)
	case "response.output_text.done":
		return false, d.missed(&e, e.Text)
	case "response.refusal.done":
		d.refused = true
		return false, d.missed(&e, e.Refusal)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return false, d.Reasoning(e.Delta)
	case "response.reasoning_summary_part.added":
		if d.Thoughts() > 0 {
			return false, d.Reasoning("\n\n")
		}
	case "response.output_item.added", "response.output_item.done":
		return false, d.item(&e)
	case "response.function_call_arguments.delta":
		i, err := d.call(&e)
		if err != nil {
			return false, err
		}
		return false, d.Args(i, e.Delta)
	case "response.function_call_arguments.done":
		i, err := d.call(&e)
		if err != nil || d.HasArgs(i) {
			return false, err
		}
		return false, d.Args(i, e.Arguments)
	case "response.completed", "response.incomplete", "response.done":
		return true, d.end(e.Response)
	case "response.failed", "response.cancelled":
		return true, failure(e.Response, data)
	case "error":
		return true, httpx.Fault(data)
	default:
		if e.Type == "" || e.Object == "error" {
			return false, httpx.Inside(data)
		}
	}
	return false, nil
}

// quick reads the event that most of a stream consists of: a few words of some place in the output. Anything else is left to
// the decoder.
func (d *responsesDecoder) quick(data []byte) (words string, ok bool) {
	if d.slow {
		return "", false
	}
	var place [2]int
	found, known := 0, 0
	ok = httpx.Quick(data, func(path []string, kind byte, value string) bool {
		switch path[0] {
		case "type":
			known++
			return len(path) == 1 && kind == httpx.QuickText && value == "response.output_text.delta"
		case "delta":
			words = value
			found++
			return len(path) == 1 && kind == httpx.QuickText
		case "output_index", "content_index":
			n, err := strconv.Atoi(value)
			if path[0] == "output_index" {
				place[0] = n
			} else {
				place[1] = n
			}
			return err == nil && len(path) == 1 && kind == httpx.QuickWhole
		case "summary_index", "text", "refusal", "arguments", "item", "response", "error":
			return false
		}
		return true
	})
	if ok = ok && found == 1 && known == 1 && utf8.ValidString(words); ok {
		d.said[place] = true
	}
	return words, ok
}

// missed passes a text on that came in one piece only.
func (d *responsesDecoder) missed(e *responsesEvent, text string) error {
	at := [2]int{e.OutputIndex, e.ContentIndex}
	if d.said[at] {
		return nil
	}
	d.said[at] = true
	return d.Text(text)
}

// call is the call at an event's place. One whose beginning was not told begins here.
func (d *responsesDecoder) call(e *responsesEvent) (int, error) {
	if i, ok := d.calls[e.OutputIndex]; ok {
		return i, nil
	}
	i, err := d.Begin("", "")
	d.calls[e.OutputIndex] = i
	return i, err
}

func (d *responsesDecoder) item(e *responsesEvent) error {
	switch {
	case e.Item == nil:
		return nil
	case e.Item.Type == "message" && e.Type == "response.output_item.done":
		return d.message(e.Item)
	case e.Item.Type != "function_call":
		return nil
	}
	if i, ok := d.calls[e.OutputIndex]; ok && d.another(i, e) {
		delete(d.calls, e.OutputIndex)
	}
	i, err := d.call(e)
	if err != nil {
		return err
	}
	if err := d.Know(i, e.Item.CallID, e.Item.Name); err != nil || e.Type == "response.output_item.added" || d.HasArgs(i) {
		return err // arguments that are there at the beginning come again
	}
	return d.Args(i, e.Item.Arguments)
}

// another says that an item is not the call that is known at its place, as with servers that number every call 0.
func (d *responsesDecoder) another(i int, e *responsesEvent) bool {
	id := d.IDOf(i)
	return id != "" && e.Item.CallID != "" && (id != e.Item.CallID || e.Type == "response.output_item.added" && d.HasArgs(i))
}

// message passes the words of a whole item on, unless words came in pieces: then these are the same.
func (d *responsesDecoder) message(item *responsesItem) error {
	if len(d.said) > 0 {
		return nil
	}
	var content []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if json.Unmarshal(item.Content, &content) != nil {
		return nil
	}
	for _, part := range content {
		text := part.Text
		if part.Type == "refusal" {
			d.refused, text = true, part.Refusal
		}
		d.items = d.items || text != ""
		if err := d.Text(text); err != nil {
			return err
		}
	}
	return nil
}

// output takes what nothing but the last event told: some proxies leave no other.
func (d *responsesDecoder) output(data json.RawMessage) error {
	words, calls := len(d.said) == 0 && !d.items, d.Calls() == 0
	var items []responsesItem
	if !words && !calls || json.Unmarshal(data, &items) != nil {
		return nil
	}
	for at := range items {
		var err error
		switch item := &items[at]; {
		case item.Type == "message" && words:
			err = d.message(item)
		case item.Type == "function_call" && calls:
			err = d.item(&responsesEvent{Type: "response.output_item.done", OutputIndex: at, Item: item})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *responsesDecoder) end(data json.RawMessage) error {
	var r responsesEnd
	if len(data) > 0 {
		if err := json.Unmarshal(data, &r); err != nil {
			return httpx.Malformed(data, err)
		}
	}
	if err := d.output(r.Output); err != nil {
		return err
	}
	if u := r.Usage; u != nil {
		d.Usage = model.Usage{Input: u.Input.Tokens, Output: u.Output.Tokens}
		if m := u.InputMore; m != nil {
			d.Usage.CacheRead, d.Usage.CacheWrite = m.Cached.Tokens, m.Written.Tokens
		}
		if m := u.OutputMore; m != nil {
			d.Usage.Reasoning = m.Reasoning.Tokens
		}
	}
	reason := r.Status
	if r.Incomplete != nil {
		reason = r.Incomplete.Reason
	}
	switch reason {
	case "completed", "":
		switch {
		case d.refused:
			d.Finish(model.FinishRefusal, reason)
		case d.Calls() > 0:
			d.Finish(model.FinishCalls, reason)
		default:
			d.Finish(model.FinishStop, reason)
		}
	case "max_output_tokens":
		d.Finish(model.FinishLength, reason)
	case "content_filter":
		d.Finish(model.FinishRefusal, reason)
	case "failed", "cancelled":
		return failure(data, data)
	default:
		d.Finish(model.FinishOther, reason)
	}
	return nil
}

// failure is the error that a response ended with.
func failure(response json.RawMessage, event []byte) error {
	if err := httpx.Inside(response); err != nil {
		return err
	}
	return httpx.Fault(event)
}

// End gives the answer.
func (d *responsesDecoder) End() (*model.Response, error) {
	return d.Answer.End("response.completed")
}
