package fake

import "zuno/internal/model"

func messagesEvents(a *Answer) (events []string) {
	event := func(kind string, fields object) {
		fields["type"] = kind
		events = append(events, "event: "+kind+"\n"+data(fields))
	}
	usage := object{"input_tokens": 0, "output_tokens": 1}
	if u := a.Usage; u != nil {
		usage["input_tokens"] = value(u.Input) - value(u.CacheRead) - value(u.CacheWrite)
		if u.CacheRead != nil {
			usage["cache_read_input_tokens"] = *u.CacheRead
		}
		if u.CacheWrite != nil {
			usage["cache_creation_input_tokens"] = *u.CacheWrite
		}
	}
	message := object{
		"id": "msg_fake", "type": "message", "role": "assistant", "model": "fake", "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if a.Usage == nil {
		delete(message, "usage")
	}
	event("message_start", object{"message": message})
	event("ping", object{})
	index := 0
	block := func(start object, deltas []object) {
		event("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			event("content_block_delta", object{"index": index, "delta": d})
		}
		event("content_block_stop", object{"index": index})
		index++
	}
	pieces := func(kind, key string, texts []string) (out []object) {
		for _, s := range texts {
			out = append(out, object{"type": kind, key: s})
		}
		return out
	}
	if len(a.Reasoning) > 0 {
		thoughts := pieces("thinking_delta", "thinking", a.Reasoning)
		block(object{"type": "thinking", "thinking": "", "signature": ""}, append(thoughts, object{"type": "signature_delta", "signature": "c2ln"}))
	}
	if len(a.Text) > 0 {
		block(object{"type": "text", "text": ""}, pieces("text_delta", "text", a.Text))
	}
	for _, c := range a.Calls {
		block(object{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": object{}}, pieces("input_json_delta", "partial_json", c.Args))
	}
	if a.Inside != "" {
		return append(events, "event: error\ndata: "+a.Inside+"\n\n")
	}
	end := object{"delta": object{"stop_reason": a.reason(map[string]string{
		model.FinishStop: "end_turn", model.FinishCalls: "tool_use", model.FinishLength: "max_tokens", model.FinishRefusal: "refusal",
	}), "stop_sequence": nil}}
	if u := a.Usage; u != nil {
		end["usage"] = object{"output_tokens": value(u.Output)}
	}
	event("message_delta", end)
	if !a.NoMarker {
		event("message_stop", object{})
	}
	return events
}
