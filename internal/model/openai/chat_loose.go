package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// looseChunk reads chunks of servers that fill the known fields with other types: content in parts, arguments as an object,
// numbers as texts.
type looseChunk struct {
	Choices []struct {
		Index        json.RawMessage `json:"index"`
		Delta        *looseDelta     `json:"delta"`
		Message      *looseDelta     `json:"message"`
		FinishReason json.RawMessage `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type looseDelta struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Refusal          json.RawMessage `json:"refusal"`
	ToolCalls        []struct {
		Index    json.RawMessage `json:"index"`
		ID       json.RawMessage `json:"id"`
		Function *struct {
			Name      json.RawMessage `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (l *looseChunk) chunk() chatChunk {
	c := chatChunk{Error: l.Error}
	var usage chatUsage
	if json.Unmarshal(l.Usage, &usage) == nil && len(l.Usage) > 0 && l.Usage[0] == '{' {
		c.Usage = &usage
	}
	for _, choice := range l.Choices {
		out := chatChoice{Delta: choice.Delta.delta(), Message: choice.Message.delta()}
		if n := whole(choice.Index); n != nil {
			out.Index = *n
		}
		if reason := text(choice.FinishReason); reason != "" {
			out.FinishReason = &reason
		}
		c.Choices = append(c.Choices, out)
	}
	return c
}

func (l *looseDelta) delta() *chatDelta {
	if l == nil {
		return nil
	}
	d := &chatDelta{ReasoningContent: text(l.ReasoningContent), Reasoning: text(l.Reasoning), Refusal: text(l.Refusal)}
	var thoughts string
	d.Content, thoughts = content(l.Content)
	if d.ReasoningContent == "" {
		d.ReasoningContent = thoughts
	}
	for _, p := range l.ToolCalls {
		piece := chatPiece{Index: whole(p.Index), ID: text(p.ID)}
		if f := p.Function; f != nil {
			piece.Function = &chatArgs{Name: text(f.Name), Arguments: text(f.Arguments)}
			if v := bytes.TrimSpace(f.Arguments); len(v) > 0 && v[0] == '{' {
				piece.Function.Arguments = string(v)
			}
		}
		d.ToolCalls = append(d.ToolCalls, piece)
	}
	return d
}

// text is a value that should be a string; anything else is nothing, but a number is its digits.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

func whole(raw json.RawMessage) *int {
	n, err := strconv.Atoi(text(raw))
	if err != nil {
		return nil
	}
	return &n
}

// content is a text, or a list of parts of which some are thoughts.
func content(raw json.RawMessage) (words, thoughts string) {
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return text(raw), ""
	}
	var said, thought strings.Builder
	for _, p := range parts {
		said.WriteString(p.Text)
		if p.Type == "thinking" {
			inner, _ := content(p.Thinking)
			thought.WriteString(inner)
		}
	}
	return said.String(), thought.String()
}
