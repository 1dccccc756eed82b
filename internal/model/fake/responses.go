package fake

import (
	"strconv"
	"strings"

	"zuno/internal/model"
)

func responsesEvents(a *Answer) []string {
	w := responsesWriter{}
	w.event("response.created", object{"response": w.response(a, "in_progress")})
	if len(a.Reasoning) > 0 {
		w.reasoning(a)
	}
	if len(a.Text) > 0 {
		w.message(a)
	}
	for i, c := range a.Calls {
		w.call(i, c)
	}
	switch {
	case a.Inside != "":
		w.events = append(w.events, "event: error\ndata: "+a.Inside+"\n\n")
	case a.NoMarker:
	case a.finish() == model.FinishLength || a.finish() == model.FinishRefusal || a.Reason != "":
		w.event("response.incomplete", object{"response": w.response(a, "incomplete")})
	default:
		w.event("response.completed", object{"response": w.response(a, "completed")})
	}
	return w.events
}

type responsesWriter struct {
	events []string
	output []object
}

func (w *responsesWriter) event(kind string, fields object) {
	fields["type"], fields["sequence_number"] = kind, len(w.events)
	w.events = append(w.events, "event: "+kind+"\n"+data(fields))
}

func (w *responsesWriter) response(a *Answer, status string) object {
	r := object{
		"id": "resp_fake", "object": "response", "created_at": 1, "status": status, "model": "fake", "error": nil,
		"incomplete_details": nil, "output": append([]object{}, w.output...), "usage": nil,
	}
	if status == "incomplete" {
		r["incomplete_details"] = object{"reason": a.reason(map[string]string{
			model.FinishLength: "max_output_tokens", model.FinishRefusal: "content_filter",
		})}
	}
	if u := a.Usage; u != nil && status != "in_progress" {
		usage := object{"input_tokens": value(u.Input), "output_tokens": value(u.Output), "total_tokens": value(u.Input) + value(u.Output)}
		if u.CacheRead != nil {
			usage["input_tokens_details"] = object{"cached_tokens": *u.CacheRead}
		}
		if u.Reasoning != nil {
			usage["output_tokens_details"] = object{"reasoning_tokens": *u.Reasoning}
		}
		r["usage"] = usage
	}
	return r
}

// item writes an item's beginning, lets body write its inside, and writes its end.
func (w *responsesWriter) item(began, done object, body func(at int, id string)) {
	at := len(w.output)
	id := done["id"].(string)
	w.event("response.output_item.added", object{"output_index": at, "item": began})
	body(at, id)
	w.event("response.output_item.done", object{"output_index": at, "item": done})
	w.output = append(w.output, done)
}

func (w *responsesWriter) reasoning(a *Answer) {
	whole := object{"type": "summary_text", "text": strings.Join(a.Reasoning, "")}
	w.item(
		object{"type": "reasoning", "id": "rs_1", "summary": []object{}},
		object{"type": "reasoning", "id": "rs_1", "summary": []object{whole}},
		func(at int, id string) {
			place := func(more object) object {
				more["item_id"], more["output_index"], more["summary_index"] = id, at, 0
				return more
			}
			w.event("response.reasoning_summary_part.added", place(object{"part": object{"type": "summary_text", "text": ""}}))
			for _, s := range a.Reasoning {
				w.event("response.reasoning_summary_text.delta", place(object{"delta": s}))
			}
			w.event("response.reasoning_summary_text.done", place(object{"text": whole["text"]}))
			w.event("response.reasoning_summary_part.done", place(object{"part": whole}))
		})
}

func (w *responsesWriter) message(a *Answer) {
	whole := object{"type": "output_text", "text": strings.Join(a.Text, ""), "annotations": []object{}}
	w.item(
		object{"type": "message", "id": "msg_1", "status": "in_progress", "role": "assistant", "content": []object{}},
		object{"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": []object{whole}},
		func(at int, id string) {
			place := func(more object) object {
				more["item_id"], more["output_index"], more["content_index"] = id, at, 0
				return more
			}
			w.event("response.content_part.added", place(object{"part": object{"type": "output_text", "text": "", "annotations": []object{}}}))
			for _, s := range a.Text {
				w.event("response.output_text.delta", place(object{"delta": s, "logprobs": []object{}}))
			}
			w.event("response.output_text.done", place(object{"text": whole["text"], "logprobs": []object{}}))
			w.event("response.content_part.done", place(object{"part": whole}))
		})
}

func (w *responsesWriter) call(i int, c Call) {
	id := "fc_" + strconv.Itoa(i+1)
	args := strings.Join(c.Args, "")
	item := func(status, args string) object {
		return object{"type": "function_call", "id": id, "status": status, "call_id": c.ID, "name": c.Tool, "arguments": args}
	}
	w.item(item("in_progress", ""), item("completed", args), func(at int, id string) {
		for _, s := range c.Args {
			w.event("response.function_call_arguments.delta", object{"item_id": id, "output_index": at, "delta": s})
		}
		w.event("response.function_call_arguments.done", object{"item_id": id, "output_index": at, "name": c.Tool, "arguments": args})
	})
}
