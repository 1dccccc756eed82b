package openai

import (
	"context"
	"encoding/json"

	"zuno/internal/model"
	"zuno/internal/model/httpx"
)

// maxResponseEvent is larger than usual: the last event repeats the whole answer, and the first ones the request's
// instructions and tools.
const maxResponseEvent = 8 << 20

type responses struct{ client *httpx.Client }

// Responses is the provider of the surface "responses". It reaches nothing until it is asked, and has the server keep nothing.
func Responses(o httpx.Options) model.Provider {
	t := target("/responses")
	t.MaxEvent = maxResponseEvent
	return &responses{httpx.New(o, t)}
}

func (p *responses) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) (*model.Response, error) {
	return p.client.Stream(ctx, responsesRequestOf(r), newResponsesDecoder(emit))
}

// Keyless says that a key is needed and there is none now.
func (p *responses) Keyless() bool { return p.client.Keyless() }

type responsesRequest struct {
	Model        string          `json:"model"`
	Instructions string          `json:"instructions,omitempty"`
	Input        []any           `json:"input"`
	Tools        []responsesTool `json:"tools,omitempty"`
	Stream       bool            `json:"stream"`
	Store        bool            `json:"store"`
	MaxOutput    uint64          `json:"max_output_tokens,omitempty"`
	Temperature  *float64        `json:"temperature,omitempty"`
	TopP         *float64        `json:"top_p,omitempty"`
	Reasoning    *responsesLevel `json:"reasoning,omitempty"`
}

type responsesLevel struct {
	Effort string `json:"effort"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // the surface's default is true, which most schemas do not meet
}

type responsesMessage struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type responsesPart struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Image string `json:"image_url,omitempty"`
}

type responsesCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type responsesResult struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

func responsesRequestOf(r *model.Request) *responsesRequest {
	q := &responsesRequest{
		Model: r.Model, Instructions: httpx.System(r.Sections), Stream: true, Input: []any{},
		MaxOutput: r.Params.MaxOutput, Temperature: r.Params.Temperature, TopP: r.Params.TopP,
	}
	if level := r.Params.Reasoning; level != "" {
		q.Reasoning = &responsesLevel{level}
	}
	for _, m := range httpx.Conversation(r.Messages) {
		q.Input = append(q.Input, responsesItems(m)...)
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: httpx.Schema(t.Schema)})
	}
	return q
}

func responsesItems(m model.Message) (items []any) {
	switch m.Role {
	case model.RoleTool:
		for _, p := range m.Parts {
			items = append(items, responsesResult{"function_call_output", httpx.CallID(p.CallID), p.Text})
		}
	case model.RoleAssistant:
		if text := httpx.Text(m.Parts); text != "" {
			items = append(items, responsesMessage{"message", "assistant", text})
		}
		for _, p := range m.Parts {
			if p.Kind == model.PartCall {
				items = append(items, responsesCall{"function_call", httpx.CallID(p.CallID), p.Tool, string(httpx.Arguments(p.Text))})
			}
		}
	default:
		var content []responsesPart
		for _, p := range m.Parts {
			if p.Kind == model.PartImage {
				content = append(content, responsesPart{Type: "input_image", Image: httpx.DataURL(p)})
			} else {
				content = append(content, responsesPart{Type: "input_text", Text: p.Text})
			}
		}
		items = append(items, responsesMessage{"message", "user", content})
	}
	return items
}
