package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"zuno/internal/config"
	"zuno/internal/model/anthropic"
	"zuno/internal/model/openai"
)

type modelsCmd struct {
	JSON bool `name:"json" help:"Print one JSON array, each model on a line of its own."`
}

// Help says what the list holds.
func (c *modelsCmd) Help() string {
	return "Lists what the configuration of the current folder names, and asks no provider. A provider without models stands " +
		"as provider/*: it takes any model name. The model that answers unless another is chosen is marked with an asterisk."
}

// Run lists the configured models, and the default one where the configuration does not name it.
func (c *modelsCmd) Run(g *globals) error {
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the current folder is not there: %w", err)
	}
	cfg, err := config.Load(config.Options{Cwd: filepath.Clean(cwd), Getenv: os.Getenv})
	if err != nil {
		return err
	}
	list := listModels(cfg)
	if c.JSON {
		b, err := modelsJSON(list)
		return printed(g.stdout, b, err)
	}
	return printed(g.stdout, modelsText(list), nil)
}

// listed is a model as the list shows it. Zero limits are unknown.
type listed struct {
	Model     string   `json:"model"`
	Default   bool     `json:"default"`
	Type      string   `json:"type"`
	Surface   string   `json:"surface"`
	Context   uint64   `json:"context,omitempty"`
	Output    uint64   `json:"output,omitempty"`
	Reasoning []string `json:"reasoning,omitempty"` // the levels that it is configured with
	// Key is where the key comes from: configured, environment, missing, or none where none is wanted.
	Key         string `json:"key"`
	KeyVariable string `json:"key_variable,omitempty"`
	Address     string `json:"address,omitempty"`
}

func listModels(cfg *config.Config) (list []listed) {
	eachModel(cfg, func(p *config.Provider, m config.Model) {
		l := listed{
			Model: p.ID + "/" + m.Name, Type: p.Type, Surface: p.Surface, Context: m.Context, Output: m.Output, Reasoning: m.Reasoning,
			KeyVariable: p.KeyVariable(), Key: keySource(p), Address: addressOf(p),
		}
		if p.ID == cfg.Model.Provider && m.Name == cfg.Model.Name {
			l.Default, l.Context, l.Output = true, cfg.Model.Context, cfg.Model.Output
		}
		list = append(list, l)
	})
	return list
}

// anyModel stands for the names of a provider that takes any.
const anyModel = "*"

// eachModel goes through the configured models in order, the one that answers among them.
func eachModel(cfg *config.Config, add func(*config.Provider, config.Model)) {
	found := false
	one := func(p *config.Provider, m config.Model) {
		found = found || p.ID == cfg.Model.Provider && m.Name == cfg.Model.Name
		add(p, m)
	}
	for i := range cfg.Providers {
		p := &cfg.Providers[i]
		for _, m := range p.Models {
			one(p, m)
		}
		switch {
		case p.ID == cfg.Model.Provider && !found:
			one(p, config.Model{Name: cfg.Model.Name})
		case len(p.Models) == 0 && p.Type != config.Scripted:
			one(p, config.Model{Name: anyModel})
		}
	}
	if !found {
		one(&cfg.Provider, config.Model{Name: cfg.Model.Name})
	}
}

// modelNames are the names that an editor can offer.
func modelNames(cfg *config.Config) (names []string) {
	eachModel(cfg, func(p *config.Provider, m config.Model) {
		if m.Name != anyModel {
			names = append(names, p.ID+"/"+m.Name)
		}
	})
	return names
}

func keySource(p *config.Provider) string {
	switch {
	case p.KeyVariable() == "" || p.Options.Keyless:
		return "none"
	case !p.Options.APIKey.IsZero():
		return "configured"
	case !p.Key(os.Getenv).IsZero():
		return "environment"
	}
	return "missing"
}

// addressOf leaves out the query, which may hold a key.
func addressOf(p *config.Provider) string {
	address := p.Options.BaseURL
	if address == "" {
		address = map[string]string{config.OpenAI: openai.DefaultBaseURL, config.Anthropic: anthropic.DefaultBaseURL}[p.Type]
	}
	if at := strings.IndexAny(address, "?#"); at >= 0 {
		address = address[:at]
	}
	return address
}

func modelsJSON(list []listed) ([]byte, error) {
	lines := make([][]byte, len(list))
	for i, l := range list {
		b, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		lines[i] = b
	}
	return append(append([]byte("["), bytes.Join(lines, []byte(",\n "))...), "]\n"...), nil
}

func modelsText(list []listed) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  model\tspeaks\tcontext\toutput\tkey\taddress")
	for _, l := range list {
		mark, speaks := " ", l.Type
		if l.Default {
			mark = "*"
		}
		if l.Surface != l.Type {
			speaks += " " + l.Surface
		}
		address := l.Address
		if address == "" {
			address = "-"
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\t%s\t%s\n", mark, l.Model, speaks, tokens(l.Context), tokens(l.Output), keyWords(&l), address)
	}
	_ = w.Flush()
	return b.Bytes()
}

func tokens(n uint64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(n, 10)
}

func keyWords(l *listed) string {
	switch l.Key {
	case "environment":
		return "from " + l.KeyVariable
	case "missing":
		return "missing: set " + l.KeyVariable
	case "none":
		return "not needed"
	}
	return l.Key
}
