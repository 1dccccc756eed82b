package scripted

import (
	"fmt"
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"zuno/internal/model"
)

// maxDelay bounds every time in a script.
const maxDelay = 24 * time.Hour

func (p *parser) entry(n *yaml.Node) entry {
	var e entry
	speaks, counted := false, false
	for _, f := range p.fields(n, "an entry",
		"text", "reasoning", "parts", "calls", "usage", "delay", "error", "cut", "expect", "when") {
		switch f.name {
		case "text":
			e.text, speaks = p.template(f), true
		case "reasoning":
			e.reasoning, speaks = p.template(f), true
		case "parts":
			e.parts, speaks = list(p, f, p.part), true
		case "calls":
			e.calls, speaks = list(p, f, p.call), true
		case "usage":
			e.usage, counted = p.usage(f.value), true
		case "delay":
			e.delay = p.duration(f)
		case "error":
			e.failure = p.failure(f.value)
		case "cut":
			e.cut = p.boolean(f)
		case "expect":
			e.expect = p.expect(f.value)
		case "when":
			e.when = p.filled(f)
		}
	}
	switch {
	case e.failure != nil && (speaks || counted || e.cut):
		p.fail(n, "an error is the whole answer: it goes with delay, expect and when alone")
	case e.cut && counted:
		p.fail(n, "a response that is cut has no usage")
	}
	return e
}

// list reads a sequence of T.
func list[T any](p *parser, f field, item func(*yaml.Node) T) []T {
	if f.value.Kind != yaml.SequenceNode {
		p.fail(f.value, f.name+" must be a list")
		return nil
	}
	all := make([]T, len(f.value.Content))
	for i, n := range f.value.Content {
		all[i] = item(n)
	}
	return all
}

func (p *parser) part(n *yaml.Node) part {
	var made part
	kinds := 0
	for _, f := range p.fields(n, "a part", "text", "reasoning", "after") {
		switch f.name {
		case "text":
			made.kind, made.text = model.ChunkText, p.template(f)
			kinds++
		case "reasoning":
			made.kind, made.text = model.ChunkReasoning, p.template(f)
			kinds++
		case "after":
			made.after = p.duration(f)
		}
	}
	if kinds != 1 {
		p.fail(n, "a part has either text or reasoning")
	}
	return made
}

func (p *parser) call(n *yaml.Node) call {
	made := call{args: template{{literal: "{}"}}}
	given := 0
	for _, f := range p.fields(n, "a call", "tool", "args", "raw_arguments", "id") {
		switch f.name {
		case "tool":
			made.tool = p.filled(f)
		case "id":
			made.id = p.filled(f)
		case "args":
			made.args = p.arguments(f.value)
			given++
		case "raw_arguments":
			made.args = p.template(f)
			given++
		}
	}
	if made.tool == "" {
		p.fail(n, "a call names its tool")
	}
	if given > 1 {
		p.fail(n, "a call has either args or raw_arguments")
	}
	return made
}

func (p *parser) usage(n *yaml.Node) model.Usage {
	var u model.Usage
	for _, f := range p.fields(n, "usage", "input", "output", "reasoning", "cache_read", "cache_write") {
		tokens := p.whole(f, math.MaxUint32)
		switch f.name {
		case "input":
			u.Input = &tokens
		case "output":
			u.Output = &tokens
		case "reasoning":
			u.Reasoning = &tokens
		case "cache_read":
			u.CacheRead = &tokens
		case "cache_write":
			u.CacheWrite = &tokens
		}
	}
	return u
}

func (p *parser) failure(n *yaml.Node) *model.Error {
	e := &model.Error{Reason: "the script says that the request fails"}
	for _, f := range p.fields(n, "error", "status", "retry_after", "code", "request_id", "message") {
		switch f.name {
		case "status":
			e.Status = int(p.whole(f, 999))
		case "retry_after":
			e.RetryAfter = p.duration(f)
		case "code":
			e.Code = p.text(f)
		case "request_id":
			e.RequestID = p.text(f)
		case "message":
			e.Reason = p.filled(f)
		}
	}
	return e
}

func (p *parser) expect(n *yaml.Node) []string {
	var texts []string
	for _, f := range p.fields(n, "expect", "contains") {
		if f.name != "contains" {
			continue
		}
		if f.value.Kind != yaml.SequenceNode {
			texts = append(texts, p.filled(f))
			continue
		}
		texts = list(p, f, func(n *yaml.Node) string { return p.filled(field{f.name, f.key, n}) })
	}
	if len(texts) == 0 {
		p.fail(n, "expect has a text or a list of texts in `contains`")
	}
	return texts
}

func (p *parser) duration(f field) time.Duration {
	if f.value.Kind == yaml.ScalarNode {
		if d, err := time.ParseDuration(f.value.Value); err == nil && d >= 0 && d <= maxDelay {
			return d
		}
	}
	p.fail(f.value, fmt.Sprintf("%s must be a time from 0s to %s, such as 50ms or 2s", f.name, maxDelay))
	return 0
}
