package acp

import (
	"path/filepath"
	"strings"

	"zuno/acp/schema"
	"zuno/acp/wire"
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
	id, set, err := s.host.Reserve(cwd)
	if err != nil {
		_ = r.ReplyError(rpcError(err))
		return
	}
	x := newSession(s, id, cwd)
	x.settings = set
	s.mu.Lock()
	s.sessions[id] = x
	s.mu.Unlock()
	_ = r.ReplyThen(schema.NewSessionResponse{SessionID: id, Modes: modes(), ConfigOptions: settingsOptions(set)}, func() { x.announce(servers) })
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
