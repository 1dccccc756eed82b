package fake

import (
	"encoding/json"

	"zuno/internal/model"
)

// object is a JSON object whose keys come in alphabetical order.
type object = map[string]any

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of an answer that a test wrote
	}
	return string(b)
}

func data(v any) string { return "data: " + encode(v) + "\n\n" }

func chatEvents(a *Answer) (events []string) {
	chunk := func(choices []object, more object) {
		c := object{"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": choices}
		for k, v := range more {
			c[k] = v
		}
		events = append(events, data(c))
	}
	delta := func(d object, finish any) {
		chunk([]object{{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}, nil)
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	for _, s := range a.Reasoning {
		delta(object{"reasoning_content": s}, nil)
	}
	for _, s := range a.Text {
		delta(object{"content": s}, nil)
	}
	for i, c := range a.Calls {
		delta(object{"tool_calls": []object{{
			"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Tool, "arguments": ""},
		}}}, nil)
		for _, s := range c.Args {
			delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": s}}}}, nil)
		}
	}
	if a.Inside != "" {
		return append(events, "data: "+a.Inside+"\n\n")
	}
	if !a.NoMarker {
		delta(object{}, a.reason(map[string]string{
			model.FinishStop: "stop", model.FinishCalls: "tool_calls", model.FinishLength: "length", model.FinishRefusal: "content_filter",
		}))
	}
	if u := a.Usage; u != nil {
		usage := object{"prompt_tokens": value(u.Input), "completion_tokens": value(u.Output), "total_tokens": value(u.Input) + value(u.Output)}
		if u.CacheRead != nil {
			usage["prompt_tokens_details"] = object{"cached_tokens": *u.CacheRead}
		}
		if u.Reasoning != nil {
			usage["completion_tokens_details"] = object{"reasoning_tokens": *u.Reasoning}
		}
		chunk([]object{}, object{"usage": usage})
	}
	if !a.NoDone {
		events = append(events, "data: [DONE]\n\n")
	}
	return events
}
