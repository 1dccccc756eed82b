package main

import (
	"fmt"
	"os"

	"zuno/internal/config"
	"zuno/internal/model"
	"zuno/internal/model/anthropic"
	"zuno/internal/model/httpx"
	"zuno/internal/model/openai"
	"zuno/internal/model/scripted"
)

// provider makes what answers of the provider that the configuration chose. It reaches nothing yet.
func (p *process) provider(cfg *config.Config) (model.Provider, error) {
	chosen := cfg.Provider
	switch chosen.Surface {
	case config.SurfaceChat:
		return openai.Chat(reach(&chosen)), nil
	case config.SurfaceResponses:
		return openai.Responses(reach(&chosen)), nil
	case config.SurfaceMessages:
		return anthropic.New(reach(&chosen)), nil
	case config.Scripted:
		script := scripted.Demo
		if path := chosen.Options.Script; path != "" {
			s, err := scripted.Load(path)
			if err != nil {
				return nil, err
			}
			script = func() *scripted.Script { return s }
		}
		return scripted.New(script(), nil, p.clock), nil
	}
	return nil, fmt.Errorf("no provider speaks %q", chosen.Surface)
}

// reach says how a configured provider is reached. Its keys stay behind functions until a request is sent.
func reach(p *config.Provider) httpx.Options {
	o := httpx.Options{
		BaseURL: p.Options.BaseURL, Key: func() string { return p.Key(os.Getenv).Reveal() }, Keyless: p.Options.Keyless,
		HeaderTimeout: p.Options.HeaderTimeout, ChunkTimeout: p.Options.ChunkTimeout, Timeout: p.Options.Timeout,
		Clock: realClock{}, // a peer is real also where the session's clock is a test's
	}
	for _, h := range p.Options.Headers {
		o.Headers = append(o.Headers, httpx.Header{Name: h.Name, Value: h.Value.Reveal})
	}
	return o
}
