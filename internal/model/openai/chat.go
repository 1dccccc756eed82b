package openai

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"zuno/internal/model"
	"zuno/internal/model/httpx"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// KeyName is the variable that holds a key.
const KeyName = "OPENAI_API_KEY"

func target(path string) httpx.Target {
	return httpx.Target{BaseURL: DefaultBaseURL, Path: path, KeyName: KeyName, KeyHeader: "Authorization", KeyPrefix: "Bearer "}
}

type chat struct {
	client *httpx.Client
	// newLimit says that the server wants the newer name of the output's limit. Other servers know the older one only.
	newLimit bool
}

// Chat is the provider of the surface "chat". It reaches nothing until it is asked.
func Chat(o httpx.Options) model.Provider {
	t := target("/chat/completions")
	return &chat{httpx.New(o, t), openAI(o.Base(&t))}
}

func openAI(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.azure.com"))
}

func (p *chat) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) (*model.Response, error) {
	return p.client.Stream(ctx, p.request(r), newChatDecoder(emit))
}

// Keyless says that a key is needed and there is none now.
func (p *chat) Keyless() bool { return p.client.Keyless() }

type chatRequest struct {
	Model         string         `json:"model"`
	Messages      []chatMessage  `json:"messages"`
	Tools         []chatTool     `json:"tools,omitempty"`
	Stream        bool           `json:"stream"`
	StreamOptions map[string]any `json:"stream_options"`
	MaxTokens     uint64         `json:"max_tokens,omitempty"`
	MaxCompletion uint64         `json:"max_completion_tokens,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	TopP          *float64       `json:"top_p,omitempty"`
	Effort        string         `json:"reasoning_effort,omitempty"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content"` // a text, the parts of one with images, or null beside calls
	Calls   []chatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string          `json:"type"`
	Function chatToolDetails `json:"function"`
}

type chatToolDetails struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type chatPart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *chatImage `json:"image_url,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

func (p *chat) request(r *model.Request) *chatRequest {
	q := &chatRequest{
		Model: r.Model, Stream: true, StreamOptions: map[string]any{"include_usage": true},
		Temperature: r.Params.Temperature, TopP: r.Params.TopP, Effort: r.Params.Reasoning,
	}
	if p.newLimit {
		q.MaxCompletion = r.Params.MaxOutput
	} else {
		q.MaxTokens = r.Params.MaxOutput
	}
	// One system message: the templates of local models take no second one.
	if system := httpx.System(r.Sections); system != "" {
		q.Messages = append(q.Messages, chatMessage{Role: "system", Content: system})
	}
	for _, m := range httpx.Conversation(r.Messages) {
		q.Messages = append(q.Messages, chatMessages(m)...)
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, chatTool{"function", chatToolDetails{t.Name, t.Description, httpx.Schema(t.Schema)}})
	}
	return q
}

func chatMessages(m model.Message) []chatMessage {
	switch m.Role {
	case model.RoleTool:
		all := make([]chatMessage, 0, len(m.Parts))
		for _, p := range m.Parts {
			all = append(all, chatMessage{Role: "tool", CallID: httpx.CallID(p.CallID), Content: p.Text})
		}
		return all
	case model.RoleAssistant:
		out := chatMessage{Role: "assistant"}
		if text := httpx.Text(m.Parts); text != "" {
			out.Content = text
		}
		for _, p := range m.Parts {
			if p.Kind == model.PartCall {
				out.Calls = append(out.Calls, chatCall{
					ID: httpx.CallID(p.CallID), Type: "function",
					Function: chatFunction{p.Tool, string(httpx.Arguments(p.Text))},
				})
			}
		}
		return []chatMessage{out}
	default:
		return []chatMessage{{Role: "user", Content: chatContent(m.Parts)}}
	}
}

// chatContent is a plain text where that will do: not every server takes parts.
func chatContent(parts []model.Part) any {
	var out []chatPart
	images := false
	for _, p := range parts {
		if p.Kind == model.PartImage {
			images = true
			out = append(out, chatPart{Type: "image_url", Image: &chatImage{httpx.DataURL(p)}})
		} else {
			out = append(out, chatPart{Type: "text", Text: p.Text})
		}
	}
	if images {
		return out
	}
	return httpx.Text(parts)
}
