package httpx

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"zuno/internal/model"
)

// noResult stands for a result that the conversation lacks: no surface takes a call without one.
const noResult = "No result was recorded for this call."

// maxCallID is the length of a call's id that every surface takes.
const maxCallID = 40

// Conversation is what a surface is told of a request's messages: no empty text, no reasoning (which belongs to the provider
// that wrote it and to no other), neighbours of one role joined, and after each message with calls exactly one with
// their results, in the order of the calls.
func Conversation(messages []model.Message) []model.Message {
	var out []model.Message
	add := func(m model.Message) {
		if len(m.Parts) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == m.Role && m.Role != model.RoleTool {
			out[n-1].Parts = append(out[n-1].Parts, m.Parts...)
			return
		}
		out = append(out, m)
	}
	for i, m := range messages {
		if m.Role == model.RoleTool {
			continue // taken with its calls
		}
		said := model.Message{Role: m.Role}
		var calls []string
		for _, p := range m.Parts {
			switch p.Kind {
			case model.PartText:
				if p.Text != "" {
					said.Parts = append(said.Parts, p)
				}
			case model.PartImage:
				if m.Role == model.RoleUser && len(p.Data) > 0 {
					said.Parts = append(said.Parts, p)
				}
			case model.PartCall:
				said.Parts = append(said.Parts, p)
				calls = append(calls, p.CallID)
			case model.PartReasoning, model.PartResult:
			}
		}
		add(said)
		if len(calls) > 0 {
			out = append(out, results(calls, messages[i+1:]))
		}
	}
	return out
}

func results(calls []string, after []model.Message) model.Message {
	found := map[string]model.Part{}
	for _, m := range after {
		if m.Role == model.RoleAssistant {
			break
		}
		for _, p := range m.Parts {
			if p.Kind == model.PartResult {
				found[p.CallID] = p
			}
		}
	}
	m := model.Message{Role: model.RoleTool}
	for _, id := range calls {
		p, ok := found[id]
		if !ok {
			p = model.Part{Kind: model.PartResult, CallID: id, Text: noResult, Failed: true}
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

// CallID is the id of a call on the wire: ours, if every surface takes it, otherwise one that is made from it. Call and result
// get the same.
func CallID(id string) string {
	if id != "" && len(id) <= maxCallID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// Arguments is a call's arguments as an object. Some servers parse it, and a call that was refused because its arguments are
// none must not make every later request fail: the model then sees the beginning of what it wrote.
func Arguments(args string) json.RawMessage {
	trimmed := strings.TrimSpace(args)
	if trimmed == "" {
		return json.RawMessage("{}")
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	const most = 1 << 10
	if len(args) > most {
		args = strings.ToValidUTF8(args[:most], "") + "…"
	}
	b, _ := json.Marshal(map[string]string{"invalid_arguments": args}) // of a string it cannot fail
	return b
}

// Schema is a tool's schema; without one it takes an object.
func Schema(schema []byte) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema
}

// System is the prompt's sections as one text.
func System(sections []model.Section) string {
	texts := make([]string, 0, len(sections))
	for _, s := range sections {
		if t := strings.TrimSpace(s.Text); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n")
}

// DataURL is an image as an address.
func DataURL(p model.Part) string {
	return "data:" + p.Media + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// Text joins the texts of parts; what else they hold is left out.
func Text(parts []model.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Kind == model.PartText {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
