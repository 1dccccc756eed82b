package config_test

import (
	"strings"
	"testing"
	"time"

	"zuno/internal/config"
	"zuno/journal/event"
)

// spec: D214 D217 D223
func TestProvidersThatReachAServer(t *testing.T) {
	w := newWorld(t)
	w.write(w.global(), `{ "model": "local/m1",
		"provider": {
			"local": { "type": "openai", "surface": "responses",
				"options": { "baseURL": "http://127.0.0.1:8080/v1?version=1", "apiKey": "k", "headers": {"X-Team": "t", "X-None": null},
					"headerTimeout": 1000, "chunkTimeout": 2000, "timeout": 3000 },
				"models": { "m1": { "limit": { "context": 128000, "output": 8192 } } },
				"retry": { "max_attempts": 2, "recovery_window_ms": 0 } },
			"plain": { "type": "openai", "options": { "apiKey": "" } },
			"claude": { "type": "anthropic", "options": { "apiKey": "k" } } } }`)
	c := w.load()
	want := event.ModelChoice{Provider: "local", Name: "m1", Surface: "responses", Context: 128000, Output: 8192}
	if c.Model != want {
		t.Errorf("got %+v", c.Model)
	}
	local, plain, claude := c.Providers[0], c.Providers[1], c.Providers[2]
	o := local.Options
	if o.BaseURL != "http://127.0.0.1:8080/v1?version=1" || o.APIKey.Reveal() != "k" || o.Keyless || len(o.Headers) != 1 || o.Headers[0].Value.Reveal() != "t" {
		t.Errorf("got %+v", o)
	}
	if o.HeaderTimeout != time.Second || o.ChunkTimeout != 2*time.Second || o.Timeout != 3*time.Second {
		t.Errorf("timeouts: %+v", o)
	}
	if local.Retry != (event.RetryPolicy{MaxAttempts: 2}) || plain.Retry != (event.RetryPolicy{MaxAttempts: 5, WindowMS: 180_000}) {
		t.Errorf("retries: %+v %+v", local.Retry, plain.Retry)
	}
	if plain.Surface != "chat" || !plain.Options.Keyless || claude.Surface != "messages" {
		t.Errorf("got %+v %+v", plain, claude)
	}
	choice, p, err := c.Choose("scripted/demo")
	if err != nil || choice.Surface != "scripted" || p.Retry.MaxAttempts != 5 {
		t.Errorf("got %+v %+v %v", choice, p, err)
	}
}

// spec: D216
func TestKeysOfTheEnvironment(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}
	for _, tt := range []struct {
		p    config.Provider
		want string
	}{
		{config.Provider{Type: config.OpenAI}, "o"},
		{config.Provider{Type: config.Anthropic}, "a"},
		{config.Provider{Type: config.OpenAI, Options: config.ProviderOptions{APIKey: config.NewSecret("mine")}}, "mine"},
		{config.Provider{Type: config.OpenAI, Options: config.ProviderOptions{Keyless: true}}, ""},
		{config.Provider{Type: config.Scripted}, ""},
	} {
		if got := tt.p.Key(func(name string) string { return env[name] }); got.Reveal() != tt.want {
			t.Errorf("%+v: got %q", tt.p, got.Reveal())
		}
	}
}

// spec: D118 D217
func TestServerOptionsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		text, what string
		code       config.Code
	}{
		{`{"provider": {"x": {"type": "openai", "surface": "messages"}}}`, `provider.x.surface must be "chat" or "responses", not "messages"`, config.InvalidValue},
		{`{"provider": {"x": {"type": "anthropic", "surface": "chat"}}}`, "provider.x.surface", config.UnknownKey},
		{`{"provider": {"x": {"type": "openai", "options": {"script": "a"}}}}`, "provider.x.options.script", config.UnknownKey},
		{`{"provider": {"x": {"type": "openai", "options": {"baseURL": "hunter2"}}}}`, `must be an address that begins with "http://" or "https://"`, config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "options": {"baseURL": "file:///hunter2"}}}}`, "must be an address", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "options": {"baseURL": "https://"}}}}`, "must be an address", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "options": {"baseURL": "https://me:hunter2@host/v1"}}}}`, "must not hold a password", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "options": {"apiKey": "hunter2\n"}}}}`, "apiKey must not hold control characters", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "options": {"apiKey": 3}}}}`, "apiKey must be a string", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "options": {"headers": {"a b": "hunter2"}}}}}`, "is no name of a header", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "options": {"headers": {"a": "hunter2\r\nb: c"}}}}}`, "must not hold control characters", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "options": {"timeout": 0}}}}`, "timeout must be a whole number", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "retry": {"max_attempts": 0}}}}`, "max_attempts must be a whole number from 1 to 100", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "models": {"m": {"reasoning": "high"}}}}}`, "reasoning must be a list of words, not a string", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "models": {"m": {"reasoning": ["High"]}}}}}`, "must hold words of up to 32", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "models": {"m": {"reasoning": [3]}}}}}`, "must hold words of up to 32", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "models": {"m": {"reasoning": ["low", "default"]}}}}}`, `may not hold "default"`, config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "models": {"m": {"reasoning": ["low", "low"]}}}}}`, `names "low" twice`, config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "models": {"m": {"reasoning": ["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p","q"]}}}}}`, "may have 16 levels at most", config.InvalidValue},
		{`{"provider": {"x": {"type": "openai", "retry": {"tries": 1}}}}`, "provider.x.retry.tries", config.UnknownKey},
	} {
		w := newWorld(t)
		w.write(w.global(), tt.text)
		if text := w.refused(tt.code).Error(); !strings.Contains(text, tt.what) || strings.Contains(text, "hunter2") {
			t.Errorf("%s: got\n%s", tt.text, text)
		}
	}
}

// A cloned repository cannot send conversations or keys anywhere: neither by a provider of its own nor by changing the user's.
//
// spec: D119 D217
func TestAProjectDoesNotSayWhereRequestsGo(t *testing.T) {
	const users = `{"provider": {"mine": {"type": "anthropic", "options": {"apiKey": "hunter2"}}, "local": {"type": "openai"}}}`
	for _, tt := range []struct{ text, key string }{
		{`{"provider": {"new": {"type": "openai", "options": {"baseURL": "https://elsewhere/v1"}}}}`, "provider.new.options.baseURL"},
		{`{"provider": {"new": {"type": "openai", "options": {"apiKey": "theirs"}}}}`, "provider.new.options.apiKey"},
		{`{"provider": {"new": {"type": "openai", "options": {"headers": {"a": "b"}}}}}`, "provider.new.options.headers"},
		{`{"provider": {"mine": {"options": {"baseURL": "https://elsewhere/v1"}}}}`, "provider.mine.options.baseURL"},
		{`{"provider": {"mine": {"type": "openai"}}}`, "provider.mine.type"},
		{`{"provider": {"local": {"surface": "responses"}}}`, "provider.local.surface"},
	} {
		w := newWorld(t)
		w.write(w.global(), users)
		file := w.write(w.root, tt.text)
		if e := w.refused(config.ProjectWidens); e.Places[0].File != file || e.Places[0].Key != tt.key {
			t.Errorf("%s: got\n%v", tt.text, e)
		}
	}
	w := newWorld(t)
	w.write(w.global(), users)
	w.write(w.root, `{"model": "mine/m", "provider": {"mine": {"type": "anthropic", "models": {"m": {"limit": {"context": 5}}}, "retry": {"max_attempts": 1}},
		"new": {"type": "openai", "surface": "responses", "options": {"timeout": 5}}}}`)
	if c := w.load(); c.Model.Context != 5 || c.Provider.Retry.MaxAttempts != 1 {
		t.Errorf("what leads nowhere is refused: %+v", c)
	}
	w.env["ZUNO_CONFIG_CONTENT"] = `{"provider": {"mine": {"options": {"baseURL": "http://127.0.0.1:1/v1"}}}}`
	if c := w.load(); c.Provider.Options.BaseURL != "http://127.0.0.1:1/v1" {
		t.Errorf("the user's own document: %+v", c)
	}
}

// The levels of reasoning are those that the answering model is configured with, in order.
//
// spec: D260
func TestLevelsOfReasoning(t *testing.T) {
	w := newWorld(t)
	w.write(w.global(), `{"model": "x/m", "provider": {"x": {"type": "openai", "models": {"m": {"reasoning": ["low", "high"]}, "n": {}}}}}`)
	c := w.load()
	if got := strings.Join(c.Levels(), " "); got != "low high" || c.Model.Reasoning != "" {
		t.Errorf("levels %q, chosen %q", got, c.Model.Reasoning)
	}
	var err error
	if c.Model, c.Provider, err = c.Choose("x/n"); err != nil || len(c.Levels()) != 0 {
		t.Errorf("levels %q, %v", c.Levels(), err)
	}
	w.write(w.root, `{"provider": {"x": {"models": {"m": {"reasoning": ["max"]}}}}}`)
	if got := strings.Join(w.load().Levels(), " "); got != "max" {
		t.Errorf("a list replaces the one below it: %q", got)
	}
}
