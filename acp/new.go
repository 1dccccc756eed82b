package acp

import (
	"path/filepath"
	"strings"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
)

func (s *Server) newSession(r *wire.Request) {
	var p schema.NewSessionRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	cwd, servers, bad := opening(p.Cwd, p.McpServers)
	if bad != nil {
		_ = r.ReplyError(bad)
		return
	}
	s.open(r, s.host.NewID(), cwd, func(x *session) bool { return x.reserve(r, servers) })
}

// reserve begins a panel: a session that exists in this process alone until its first input.
func (x *session) reserve(req *wire.Request, mcpServers []string) (opened bool) {
	set, err := x.server.host.Configure(x.cwd, engine.Choice{})
	if err != nil {
		_ = req.ReplyError(rpcError(err))
		return false
	}
	x.mu.Lock()
	x.settings = set
	x.mu.Unlock()
	return req.ReplyThen(schema.NewSessionResponse{SessionID: x.id, Modes: modes(), ConfigOptions: x.options()}, func() { x.announce(mcpServers) }) == nil
}

// folder checks the folder that a request names.
func folder(cwd string) (string, *wire.Error) {
	if !filepath.IsAbs(cwd) {
		return "", invalid("cwd must be an absolute path, not %q", short(cwd))
	}
	if strings.ContainsRune(cwd, 0) {
		return "", invalid("cwd holds a NUL character")
	}
	return filepath.Clean(cwd), nil
}

// opening checks what a request names that opens a session: its folder and its MCP servers, of which it gives the names.
func opening(cwd string, list []schema.McpServer) (dir string, servers []string, bad *wire.Error) {
	if dir, bad = folder(cwd); bad == nil {
		servers, bad = mcpNames(list)
	}
	return dir, servers, bad
}
