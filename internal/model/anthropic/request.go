package anthropic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"zuno/internal/model"
	"zuno/internal/model/httpx"
)

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com/v1"

// KeyName is the variable that holds a key.
const KeyName = "ANTHROPIC_API_KEY"

// defaultOutput is the limit of an answer in tokens where none is known: the surface requires one, and every current model can
// do as much.
const defaultOutput = 8192

const apiVersion = "2023-06-01"

type provider struct{ client *httpx.Client }

// New is the provider. It reaches nothing until it is asked. A base URL without the version's /v1, as other tools want it, is
// taken too.
func New(o httpx.Options) model.Provider {
	t := httpx.Target{
		BaseURL: DefaultBaseURL, Path: "/messages", KeyName: KeyName, KeyHeader: "X-Api-Key",
		Headers: [][2]string{{"Anthropic-Version", apiVersion}},
	}
	base, _, _ := strings.Cut(o.Base(&t), "?")
	if !strings.HasSuffix(strings.TrimRight(base, "/"), "/v1") {
		t.Path = "/v1/messages"
	}
	return &provider{httpx.New(o, t)}
}

func (p *provider) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) (*model.Response, error) {
	return p.client.Stream(ctx, requestOf(r), newDecoder(emit))
}

// Keyless says that a key is needed and there is none now.
func (p *provider) Keyless() bool { return p.client.Keyless() }

type request struct {
	Model       string    `json:"model"`
	MaxTokens   uint64    `json:"max_tokens"`
	System      []block   `json:"system,omitempty"`
	Messages    []message `json:"messages"`
	Tools       []tool    `json:"tools,omitempty"`
	Stream      bool      `json:"stream"`
	Temperature *float64  `json:"temperature,omitempty"`
	TopP        *float64  `json:"top_p,omitempty"`
	Output      *output   `json:"output_config,omitempty"`
}

type output struct {
	Effort string `json:"effort"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text,omitempty"`
	Source  *source         `json:"source,omitempty"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	UseID   string          `json:"tool_use_id,omitempty"`
	Content *string         `json:"content,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
	Cache   *cache          `json:"cache_control,omitempty"`
}

type source struct {
	Type  string `json:"type"`
	Media string `json:"media_type"`
	Data  string `json:"data"`
}

type cache struct {
	Type string `json:"type"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

func requestOf(r *model.Request) *request {
	q := &request{
		Model: r.Model, MaxTokens: r.Params.MaxOutput, Stream: true, Messages: []message{},
		Temperature: r.Params.Temperature, TopP: r.Params.TopP,
	}
	if level := r.Params.Reasoning; level != "" {
		q.Output = &output{level}
	}
	if q.MaxTokens == 0 {
		q.MaxTokens = defaultOutput
	}
	for _, s := range r.Sections {
		if text := strings.TrimSpace(s.Text); text != "" {
			q.System = append(q.System, block{Type: "text", Text: text})
		}
	}
	for _, m := range httpx.Conversation(r.Messages) {
		add(q, m)
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, tool{t.Name, t.Description, httpx.Schema(t.Schema)})
	}
	q.markCache()
	return q
}

// add appends a message. Results are a user's here, and lead the message in which the user goes on.
func add(q *request, m model.Message) {
	role := "user"
	if m.Role == model.RoleAssistant {
		role = "assistant"
	}
	if n := len(q.Messages); n > 0 && q.Messages[n-1].Role == role {
		q.Messages[n-1].Content = append(q.Messages[n-1].Content, blocks(m)...)
		return
	}
	q.Messages = append(q.Messages, message{role, blocks(m)})
}

func blocks(m model.Message) (out []block) {
	for _, p := range m.Parts {
		switch p.Kind {
		case model.PartImage:
			out = append(out, block{Type: "image", Source: &source{"base64", p.Media, base64.StdEncoding.EncodeToString(p.Data)}})
		case model.PartCall:
			out = append(out, block{Type: "tool_use", ID: httpx.CallID(p.CallID), Name: p.Tool, Input: httpx.Arguments(p.Text)})
		case model.PartResult:
			out = append(out, block{Type: "tool_result", UseID: httpx.CallID(p.CallID), Content: &p.Text, IsError: p.Failed})
		case model.PartText, model.PartReasoning:
			out = append(out, block{Type: "text", Text: p.Text})
		}
	}
	return out
}

// markCache has the server keep what the next request will begin with: tools and system, and the conversation so far. Without
// the marks it caches nothing.
func (q *request) markCache() {
	if n := len(q.System); n > 0 {
		q.System[n-1].Cache = &cache{"ephemeral"}
	}
	if n := len(q.Messages); n > 0 {
		if content := q.Messages[n-1].Content; len(content) > 0 {
			content[len(content)-1].Cache = &cache{"ephemeral"}
		}
	}
}
