package acp

import (
	"context"
	"slices"
	"strings"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/config"
	"zuno/internal/engine"
	"zuno/journal/event"
)

// The ids of the configuration options, in the order in which they are offered.
const (
	optionMode      = "mode"
	optionAgent     = "agent"
	optionModel     = "model"
	optionReasoning = "reasoning"
)

var optionIDs = []string{optionMode, optionAgent, optionModel, optionReasoning}

// agentBuild is the agent that does the work; there is no other one.
const agentBuild = "build"

// selection is what the options of a session show.
type selection struct {
	model          event.ModelChoice
	models, levels []string
}

func selectionOf(set *engine.Settings) selection {
	return selection{set.Policy.Model, set.Models, set.Levels}
}

func (o selection) options() []schema.SessionConfigOption {
	models := make([]schema.SessionConfigSelectOption, 0, len(o.models))
	for _, m := range o.models {
		models = append(models, selectable(m, m, ""))
	}
	level := o.model.Reasoning
	if level == "" {
		level = config.DefaultLevel
	}
	levels := []schema.SessionConfigSelectOption{selectable(config.DefaultLevel, "Configured default", "What the provider takes by itself.")}
	for _, l := range o.levels {
		levels = append(levels, selectable(l, strings.ToUpper(l[:1])+l[1:], ""))
	}
	return []schema.SessionConfigOption{
		schema.SelectOption(optionMode, "Mode", schema.CategoryMode, modeBuild, selectable(modeBuild, "Build", "Work in the worktree.")),
		schema.SelectOption(optionAgent, "Agent", "", agentBuild, selectable(agentBuild, "Build", "Reads, changes and runs what is in the worktree.")),
		schema.SelectOption(optionModel, "Model", schema.CategoryModel, o.model.String(), models...),
		schema.SelectOption(optionReasoning, "Reasoning", schema.CategoryThoughtLevel, level, levels...),
	}
}

func selectable(value, name, description string) schema.SessionConfigSelectOption {
	return schema.SessionConfigSelectOption{Value: schema.SessionConfigValueID(value), Name: name, Description: description}
}

// selected is what the session's options show now. Of a session that another process owns only the values are known.
func (x *session) selected() selection {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.selection()
}

// selection is selected where x.mu is held.
func (x *session) selection() selection {
	switch {
	case x.engine != nil:
		return selectionOf(x.engine.Settings())
	case x.settings != nil:
		return selectionOf(x.settings)
	}
	o := selection{model: x.model, models: []string{x.model.String()}}
	if x.model.Reasoning != "" {
		o.levels = []string{x.model.Reasoning}
	}
	return o
}

func (x *session) options() []schema.SessionConfigOption { return x.selected().options() }

// reconfigured tells of a choice that did not come from this client. x.mu is held.
func (x *session) reconfigured(c *engine.Committed) {
	for i := range c.Events {
		e, ok := c.Events[i].Payload.(*event.PolicyResolved)
		if !ok {
			continue
		}
		was := x.model
		x.model = e.Policy.Model
		if x.replaying || was == (event.ModelChoice{}) || was == x.model || x.own[c.Command] {
			continue
		}
		x.update(schema.ConfigUpdate(x.selection().options()...))
	}
}

func (s *Server) setOption(r *wire.Request) {
	var p schema.SetSessionConfigOptionRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	s.post(r, string(p.SessionID), func(x *session) {
		value, ok := p.Text()
		switch id := string(p.ConfigID); {
		case !slices.Contains(optionIDs, id):
			_ = r.ReplyError(invalid("there is no option %q; those that exist are %s", short(id), strings.Join(optionIDs, ", ")))
		case !ok:
			_ = r.ReplyError(invalid("the value of option %s is a string", id))
		default:
			x.set(r, id, value)
		}
	})
}

// set takes a choice of the client. What it cannot be is answered with what it can be.
func (x *session) set(req *wire.Request, option, value string) {
	o := x.selected()
	var offered []string
	switch option {
	case optionMode:
		offered = []string{modeBuild}
	case optionAgent:
		offered = []string{agentBuild}
	case optionModel:
		x.choose(req, o, func(c *engine.Choice) { c.Model = value }, value)
		return
	case optionReasoning:
		offered = append([]string{config.DefaultLevel}, o.levels...)
	}
	if !slices.Contains(offered, value) {
		_ = req.ReplyError(invalid("there is no value %q of option %s; those that exist are %s", short(value), option, strings.Join(offered, ", ")))
		return
	}
	switch {
	case option == optionMode:
		_ = req.ReplyThen(schema.SetSessionConfigOptionResponse{ConfigOptions: x.options()}, x.modeSet)
	case option == optionReasoning:
		level := value
		if level == config.DefaultLevel {
			level = ""
		}
		x.choose(req, o, func(c *engine.Choice) { c.Reasoning = level }, "")
	default:
		x.optionSet(req)
	}
}

// choose makes the session's next turn run under another choice. Before its first input nothing of it is on disk: it waits in
// this process, and the first input takes it along.
func (x *session) choose(req *wire.Request, o selection, change func(*engine.Choice), model string) {
	x.mu.Lock()
	s, set := x.engine, x.settings
	x.mu.Unlock()
	if s != nil {
		set = s.Settings()
	}
	if set == nil {
		_ = req.ReplyError(rpcError(engine.ErrClosed))
		return
	}
	choice := set.Choice()
	change(&choice)
	var err error
	if s != nil {
		command := "acp:choice:" + x.server.ids.ULID("choice:"+x.id).String()
		x.owns(command)
		defer x.disown(command)
		_, _, err = s.Choose(context.Background(), command, choice)
	} else if set, err = x.server.host.Reconfigure(x.id, x.cwd, choice); err == nil {
		x.mu.Lock()
		x.settings = set
		x.mu.Unlock()
	}
	switch {
	case err == nil:
		x.optionSet(req)
	case model != "" && !slices.Contains(o.models, model):
		_ = req.ReplyError(invalid("there is no model %q; those that exist are %s: %v", short(model), strings.Join(o.models, ", "), err).With(map[string]any{"reason": "configuration"}))
	default:
		_ = req.ReplyError(rpcError(err))
	}
}

// optionSet answers a choice that stands, and tells of it once.
func (x *session) optionSet(req *wire.Request) {
	all := x.options()
	_ = req.ReplyThen(schema.SetSessionConfigOptionResponse{ConfigOptions: all}, func() { x.update(schema.ConfigUpdate(all...)) })
}
