package acp

import (
	"strings"

	"zuno/acp/schema"
	"zuno/commands"
)

// announcement is what a client may know only after it knows the session: the commands, and what there is to say of its servers.
func announcement(mcpServers []string) []schema.SessionUpdate {
	all := []schema.SessionUpdate{schema.CommandsUpdate(available()...)}
	if len(mcpServers) > 0 {
		all = append(all, notice(noticeMeta{"warning", commands.NoticeMCP}, "MCP servers are not available in this build and were not started: "+strings.Join(mcpServers, ", ")+"."))
	}
	return all
}

// notice is a message from us to the user, which no journal holds.
func notice(m noticeMeta, text string) schema.SessionUpdate {
	return schema.ThoughtChunk("", text).WithMeta(schema.Meta("zuno", zunoMeta{Notice: &m}))
}

// announce tells the client of a session that it has just been told the name of.
func (x *session) announce(mcpServers []string) {
	x.outlet.open(announcement(mcpServers), x.tell)
}

// publish tells the present state of a session that was loaded or resumed. Of what a load has replayed it repeats nothing.
func (x *session) publish(mcpServers []string, state []schema.SessionUpdate) {
	all := append([]schema.SessionUpdate{schema.ModeUpdate(modeBuild), schema.ConfigUpdate(x.options()...)}, announcement(mcpServers)...)
	x.mu.Lock()
	f, s := x.follower, x.engine
	x.mu.Unlock()
	if f != nil {
		all = append(all, f.notice())
	}
	x.outlet.open(append(all, state...), x.tell)
	if s != nil {
		s.SetAsker(x) // only now: a client answers questions about a session and a call that it knows
	}
}
