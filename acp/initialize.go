package acp

import (
	"zuno/acp/schema"
	"zuno/acp/wire"
)

func (s *Server) initialize(r *wire.Request) {
	var p schema.InitializeRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	s.ready, s.terminal = true, drawsTerminals(p.ClientCapabilities)
	_ = r.Reply(schema.InitializeResponse{
		ProtocolVersion: schema.ProtocolVersion,
		AgentInfo:       &schema.Implementation{Name: "zuno", Title: "zuno", Version: s.version},
		AuthMethods:     []schema.AuthMethod{},
		AgentCapabilities: &schema.AgentCapabilities{
			LoadSession:         true,
			PromptCapabilities:  &schema.PromptCapabilities{Image: true, EmbeddedContext: true},
			McpCapabilities:     &schema.McpCapabilities{},
			SessionCapabilities: &schema.SessionCapabilities{List: &schema.SessionListCapabilities{}, Close: &schema.SessionCloseCapabilities{}},
		},
	})
}
