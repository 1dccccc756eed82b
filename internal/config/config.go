package config

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"zuno/journal/event"
)

// Defaults of what no layer sets.
const (
	DefaultModel         = "scripted/demo" // embedded, needs no configuration
	DefaultHardCeilingMS = 30 * 60 * 1000  // half an hour
	DefaultConcurrency   = 8
	ScriptedContext      = 200_000 // the scripted model's window, in tokens
	// DefaultLevel stands for the level of reasoning that the provider takes by itself.
	DefaultLevel = "default"
)

// Defaults of a provider's retries.
const (
	DefaultMaxAttempts      = 5
	DefaultRecoveryWindowMS = 180_000
)

// Scripted is the provider type that answers from a script, and the id of the provider that is always there.
const Scripted = "scripted"

// The provider types that reach a server.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
)

// The surfaces of providers: what is spoken on the wire.
const (
	SurfaceChat      = "chat"      // of type openai, its default
	SurfaceResponses = "responses" // of type openai
	SurfaceMessages  = "messages"  // of type anthropic
)

// demo is the model name that the embedded script serves.
const demo = "demo"

// Options are where a configuration is looked for. The environment is asked through Getenv alone.
type Options struct {
	Cwd      string // the folder of the session, absolute
	Home     string // in place of $HOME
	Getenv   func(string) string
	Override Override
}

// Override is the highest layer, filled from flags. An empty field says nothing.
type Override struct {
	Model string
	Mode  event.PermissionMode
}

// Flags are the circumstances of one run that a policy needs besides its configuration.
type Flags struct {
	Agent    string
	Headless bool     // nobody is there to be asked
	Chosen   bool     // the model was chosen for the session, over the configuration
	Allow    []string // tools whose questions count as answered with yes; denials stay
}

// Config is the merged configuration. Printing or encoding it shows no secret.
type Config struct {
	// Model answers unless a session chose another one; Provider is its provider.
	Model     event.ModelChoice
	Provider  Provider
	Mode      event.PermissionMode
	Rules     []event.Rule // low to high; the last that matches decides
	Providers []Provider   // as configured, in order
	Shell     event.ShellPolicy
	Worktree  string   // root of the worktree that the folder lies in
	Files     []string // the documents that were read, low to high
}

// Provider is a configured provider.
type Provider struct {
	ID      string
	Type    string
	Surface string // the type itself where it speaks nothing on a wire
	Options ProviderOptions
	Models  []Model
	Retry   event.RetryPolicy // complete: defaults are filled in
	place   Place
}

// KeyVariable names the environment variable that holds a key of the provider's type; empty where it needs none.
func (p *Provider) KeyVariable() string {
	switch p.Type {
	case OpenAI:
		return "OPENAI_API_KEY"
	case Anthropic:
		return "ANTHROPIC_API_KEY"
	}
	return ""
}

// Key is what a request identifies itself with: the configured key, or that of the environment. It is zero where there is
// neither, and where the configuration says that none is wanted.
func (p *Provider) Key(getenv func(string) string) Secret {
	if p.Options.Keyless || !p.Options.APIKey.IsZero() || p.KeyVariable() == "" || getenv == nil {
		return p.Options.APIKey
	}
	return NewSecret(getenv(p.KeyVariable()))
}

// ProviderOptions are the options of all provider types; each type accepts its own.
type ProviderOptions struct {
	Script  string // of type scripted: absolute path; empty is the embedded one
	BaseURL string // empty is the provider's own
	APIKey  Secret
	Keyless bool     // the configured key is the empty text: the server wants none
	Headers []Header // in the order of the file
	// How long an answer may take to begin, to go on, and in all. Zero is the default, which for Timeout is no limit.
	HeaderTimeout, ChunkTimeout, Timeout time.Duration
}

// Header is sent with every request to a provider.
type Header struct {
	Name  string
	Value Secret
}

// Model is what is configured of a provider's model. Zero is unknown.
type Model struct {
	Name            string
	Context, Output uint64 // tokens
	// Reasoning are the levels that a session may choose from, in the words that the provider takes.
	Reasoning []string
}

// Load reads and merges all layers. Its error is an [*Error].
func Load(o Options) (*Config, error) {
	if !filepath.IsAbs(o.Cwd) {
		return nil, &Error{
			Code: NoFolder, What: "the folder of a session must be an absolute path",
			Places: []Place{{File: quoted(o.Cwd)}}, Fix: "give the whole path",
		}
	}
	docs, err := o.layers()
	if err != nil {
		return nil, err
	}
	if err := check(docs); err != nil {
		return nil, err
	}
	c := &Config{
		Mode:     event.ModeStandard,
		Rules:    mergeRules(docs, o.home()),
		Shell:    event.ShellPolicy{HardCeilingMS: DefaultHardCeilingMS},
		Worktree: Worktree(o.Cwd),
	}
	var root *node
	for _, doc := range docs {
		root = merge(root, doc)
		c.Files = append(c.Files, doc.src.name)
	}
	if mode := root.get("permission").get("mode"); mode != nil {
		c.Mode = event.PermissionMode(mode.text)
	}
	if ceiling := root.get("shell").get("hard_ceiling_ms"); ceiling != nil {
		c.Shell.HardCeilingMS = ceiling.number()
	}
	if c.Providers, err = providers(root.get("provider")); err != nil {
		return nil, err
	}
	if err := c.override(root.get("model"), o.Override); err != nil {
		return nil, err
	}
	return c, nil
}

// check refuses what is wrong in any document: keys first, all of them; then values; then what a project may not give.
func check(docs []*node) *Error {
	var c checker
	shape := rootShape(typesOf(docs))
	for _, doc := range docs {
		c.walk(doc, shape, "")
	}
	if len(c.unknown) > 0 {
		keys := make([]string, len(c.unknown))
		for i, p := range c.unknown {
			keys[i] = p.Key
		}
		return &Error{
			Code: UnknownKey, What: "unknown configuration keys: " + strings.Join(keys, ", "), Places: c.unknown,
			Fix: "remove them; this version knows model, permission, provider and shell",
		}
	}
	if c.invalid != nil {
		return c.invalid
	}
	var gives, leads []Place
	for _, doc := range docs {
		if doc.src.project {
			gives = append(gives, projectGives(doc)...)
			leads = append(leads, projectLeads(doc, docs)...)
		}
	}
	if len(leads) > 0 {
		return &Error{
			Code: ProjectWidens, What: "a project file may not say where a provider's requests go, nor with what key: a cloned repository would get your conversations",
			Places: leads, Fix: "move this to the global zuno.json or to " + inline,
		}
	}
	if len(gives) > 0 {
		return &Error{
			Code: ProjectWidens, What: `a project file may set permission mode "strict" and rules that ask or deny, nothing that allows`,
			Places: gives, Fix: "move this to the global zuno.json or to " + inline,
		}
	}
	return nil
}

// typesOf finds the type of each provider over all documents.
func typesOf(docs []*node) map[string]string {
	types := map[string]string{}
	for _, doc := range docs {
		list := doc.get("provider")
		if list == nil {
			continue
		}
		for _, m := range list.members {
			if t := m.value.get("type"); t != nil && t.kind == kindText {
				types[m.key] = t.text
			} else if m.key == Scripted && types[m.key] == "" {
				types[m.key] = Scripted
			}
		}
	}
	return types
}

// override applies the flags and resolves the model.
func (c *Config) override(model *node, o Override) *Error {
	if o.Mode != "" {
		if problem := isMode(&node{kind: kindText, text: string(o.Mode)}); problem != "" {
			return &Error{
				Code: InvalidValue, What: "the permission mode " + problem,
				Places: []Place{{File: "the flag"}}, Fix: "name one of the three",
			}
		}
		c.Mode = o.Mode
	}
	name, place := DefaultModel, Place{}
	if model != nil {
		name, place = model.text, model.at("model")
	}
	if o.Model != "" {
		name, place = o.Model, Place{File: "the flag", Key: "model"}
	}
	var err *Error
	c.Model, c.Provider, err = c.choose(name, place)
	return err
}

// Policy is what decisions read: the configuration under the circumstances of a run.
func (c *Config) Policy(f Flags) event.Policy {
	p := event.Policy{
		Agent: f.Agent, Mode: c.Mode, Headless: f.Headless, Model: c.Model, Chosen: f.Chosen, Shell: c.Shell,
		Concurrency: DefaultConcurrency, Retry: c.Provider.Retry,
		Rules: append([]event.Rule(nil), c.Rules...),
	}
	for _, tool := range f.Allow {
		if tool != "" {
			p.Rules = append(p.Rules, event.Rule{Tool: tool, Action: allowAsked})
		}
	}
	return p
}

func (n *node) number() uint64 {
	v, _ := strconv.ParseUint(n.text, 10, 64) // checked by the shape
	return v
}
