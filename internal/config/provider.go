package config

import (
	"path/filepath"
	"strings"
	"time"

	"zuno/journal/event"
)

// providers decodes the merged `provider` object.
func providers(list *node) ([]Provider, *Error) {
	if list == nil {
		return nil, nil
	}
	var all []Provider
	for _, m := range list.members {
		if m.value.kind == kindNull {
			continue
		}
		p, err := provider(&m)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func provider(m *member) (Provider, *Error) {
	key := join("provider", m.key)
	p := Provider{ID: m.key, place: Place{File: m.value.src.name, Line: m.line, Key: key}}
	place := p.place
	if t := m.value.get("type"); t != nil {
		p.Type, place = t.text, t.at(key+".type")
	} else if m.key == Scripted {
		p.Type = Scripted
	}
	if p.Type == "" {
		return p, &Error{
			Code: InvalidValue, What: key + " names no type", Places: []Place{place},
			Fix: `give it a type: "openai", "anthropic" or "scripted"`,
		}
	}
	if providerTypes[p.Type] == nil {
		return p, &Error{
			Code: ProviderUnavailable, What: "provider type " + quoted(p.Type) + " is not available in this build",
			Places: []Place{place}, Fix: `use the type "openai", "anthropic" or "scripted"`,
		}
	}
	p.Surface = surface(p.Type, m.value.get("surface"))
	p.Options = options(m.value.get("options"))
	p.Retry = retry(m.value.get("retry"))
	if models := m.value.get("models"); models != nil {
		for _, named := range models.members {
			limit := named.value.get("limit")
			model := Model{Name: named.key}
			if n := limit.get("context"); n != nil {
				model.Context = n.number()
			}
			if n := limit.get("output"); n != nil {
				model.Output = n.number()
			}
			if levels := named.value.get("reasoning"); levels != nil {
				for _, level := range levels.items {
					model.Reasoning = append(model.Reasoning, level.text)
				}
			}
			p.Models = append(p.Models, model)
		}
	}
	return p, nil
}

// surface is what a provider of a type speaks.
func surface(kind string, n *node) string {
	switch kind {
	case OpenAI:
		if n != nil {
			return n.text
		}
		return SurfaceChat
	case Anthropic:
		return SurfaceMessages
	}
	return kind
}

func retry(n *node) event.RetryPolicy {
	p := event.RetryPolicy{MaxAttempts: DefaultMaxAttempts, WindowMS: DefaultRecoveryWindowMS}
	if attempts := n.get("max_attempts"); attempts != nil {
		p.MaxAttempts = attempts.number()
	}
	if window := n.get("recovery_window_ms"); window != nil {
		p.WindowMS = window.number()
	}
	return p
}

// options decodes the keys of every provider type; the shape of a type has refused those of another.
func options(n *node) ProviderOptions {
	var o ProviderOptions
	if script := n.get("script"); script != nil {
		o.Script = script.path()
	}
	if url := n.get("baseURL"); url != nil {
		o.BaseURL = url.text
	}
	if key := n.get("apiKey"); key != nil {
		o.APIKey, o.Keyless = NewSecret(key.text), key.text == ""
	}
	for key, to := range map[string]*time.Duration{"headerTimeout": &o.HeaderTimeout, "chunkTimeout": &o.ChunkTimeout, "timeout": &o.Timeout} {
		if ms := n.get(key); ms != nil {
			*to = time.Duration(ms.number()) * time.Millisecond
		}
	}
	if headers := n.get("headers"); headers != nil {
		for _, h := range headers.members {
			if h.value.kind == kindText {
				o.Headers = append(o.Headers, Header{h.key, NewSecret(h.value.text)})
			}
		}
	}
	return o
}

// path is a file name, relative to the document that names it.
func (n *node) path() string {
	if filepath.IsAbs(n.text) {
		return filepath.Clean(n.text)
	}
	return filepath.Join(n.src.dir, n.text)
}

// Choose resolves "provider/model" to what a policy records of it and to its provider. Its error is an [*Error].
func (c *Config) Choose(model string) (event.ModelChoice, Provider, error) {
	choice, p, err := c.choose(model, Place{})
	if err != nil {
		return choice, p, err
	}
	return choice, p, nil
}

func (c *Config) choose(model string, place Place) (event.ModelChoice, Provider, *Error) {
	refuse := func(code Code, what, fix string) (event.ModelChoice, Provider, *Error) {
		e := &Error{Code: code, What: what, Fix: fix}
		if place != (Place{}) {
			e.Places = []Place{place}
		}
		return event.ModelChoice{}, Provider{}, e
	}
	id, name, ok := splitModel(model)
	switch {
	case !ok || strings.ContainsFunc(model, unprintable):
		return refuse(InvalidValue, `a model is named "provider/model", not `+quoted(model), "name the provider and the model")
	case name == "*":
		return refuse(InvalidValue, quoted(model)+" stands for any model of its provider", "name one that the provider knows in place of the asterisk")
	}
	p, ok := c.provider(id)
	if !ok {
		return refuse(ProviderMissing, "the model "+quoted(model)+" needs a provider that is not configured: "+quoted(id),
			"configure "+join("provider", id)+", or use the model "+DefaultModel)
	}
	if p.Type == Scripted && name != demo && p.Options.Script == "" {
		return refuse(ScriptMissing, "the scripted model "+quoted(model)+" has no script",
			"set "+join("provider", id)+".options.script to a file, or use the model "+DefaultModel)
	}
	choice := event.ModelChoice{Provider: id, Name: name, Surface: p.Surface}
	if p.Type == Scripted {
		choice.Context = ScriptedContext
	}
	for _, m := range p.Models {
		if m.Name != name {
			continue
		}
		if m.Context != 0 {
			choice.Context = m.Context
		}
		choice.Output = m.Output
	}
	return choice, p, nil
}

// Levels are the levels of reasoning that the model which answers is configured with.
func (c *Config) Levels() []string {
	for _, m := range c.Provider.Models {
		if m.Name == c.Model.Name {
			return m.Reasoning
		}
	}
	return nil
}

func (c *Config) provider(id string) (Provider, bool) {
	for _, p := range c.Providers {
		if p.ID == id {
			return p, true
		}
	}
	return Provider{ID: Scripted, Type: Scripted, Surface: Scripted, Retry: retry(nil)}, id == Scripted
}

func splitModel(model string) (provider, name string, ok bool) {
	provider, name, ok = strings.Cut(model, "/")
	return provider, name, ok && provider != "" && name != ""
}
