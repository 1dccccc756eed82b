package acp

import (
	"path/filepath"
	"strconv"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
)

// pageSize is how many sessions one answer lists.
const pageSize = 100

// listSessions opens nothing and starts nothing.
func (s *Server) listSessions(r *wire.Request) {
	var p schema.ListSessionsRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	from := 0
	if p.Cursor != "" {
		n, err := strconv.Atoi(p.Cursor)
		if err != nil || n < 0 {
			_ = r.ReplyError(invalid("cursor %q is none of ours; leave it out to start over", short(p.Cursor)))
			return
		}
		from = n
	}
	all, broken, err := engine.List(s.host.Data())
	if err != nil {
		_ = r.ReplyError(rpcError(err))
		return
	}
	for _, b := range broken {
		s.log.Warn("session cannot be listed", "error", b)
	}
	out := schema.ListSessionsResponse{Sessions: []schema.SessionInfo{}}
	for i, n := 0, 0; i < len(all); i++ {
		if p.Cwd != "" && filepath.Clean(p.Cwd) != all[i].Cwd {
			continue
		}
		n++
		if n <= from {
			continue
		}
		if len(out.Sessions) == pageSize {
			out.NextCursor = strconv.Itoa(from + pageSize)
			break
		}
		out.Sessions = append(out.Sessions, schema.SessionInfo{SessionID: all[i].Session, Cwd: all[i].Cwd, Title: all[i].Title, UpdatedAt: timestamp(all[i].Updated)})
	}
	_ = r.Reply(out)
}
