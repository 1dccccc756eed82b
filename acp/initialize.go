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
	s.ready = true
	s.terminal.Store(drawsTerminals(p.ClientCapabilities))
	_ = r.Reply(schema.InitializeResponse{
		ProtocolVersion: schema.ProtocolVersion,
		AgentInfo:       &schema.Implementation{Name: "zuno", Title: "zuno", Version: s.version},
		AuthMethods:     []schema.AuthMethod{},
		Meta:            schema.Meta("zuno", extensions),
		AgentCapabilities: &schema.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: &schema.PromptCapabilities{Image: true, EmbeddedContext: true},
			McpCapabilities:    &schema.McpCapabilities{},
			Meta:               schema.Meta("zuno", extensions),
			SessionCapabilities: &schema.SessionCapabilities{
				List: &schema.SessionListCapabilities{}, Delete: &schema.SessionDeleteCapabilities{},
				Resume: &schema.SessionResumeCapabilities{}, Close: &schema.SessionCloseCapabilities{},
			},
		},
	})
}

// extensions are what this agent serves beside the protocol. They stand in two places: clients look in either.
var extensions = struct {
	Steering     steering     `json:"steering"`
	Cancellation cancellation `json:"cancellation"`
}{
	steering{1, methodSteer, []string{methodSteerAlias}, "params.update._meta.zuno.turnId"},
	cancellation{1, schema.MethodSessionCancel, "_meta.zuno.expectedTurnId", "currentTargetAtDispatch", false},
}

type steering struct {
	Version    int      `json:"version"`
	Method     string   `json:"method"`
	Aliases    []string `json:"aliases"`
	TurnIDPath string   `json:"turnIdPath"`
}

type cancellation struct {
	Version             int    `json:"version"`
	Method              string `json:"method"`
	ExpectedTurnIDPath  string `json:"expectedTurnIdPath"`
	LegacySessionIDOnly string `json:"legacySessionIdOnly"`
	ArmsNextTurn        bool   `json:"armsNextTurn"`
}
