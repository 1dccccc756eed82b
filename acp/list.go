package acp

import (
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
	page, err := engine.ListPage(s.host.Data(), engine.Query{Cwd: p.Cwd, From: from, Most: pageSize})
	if err != nil {
		_ = r.ReplyError(rpcError(err))
		return
	}
	for _, b := range page.Broken {
		s.log.Warn("session cannot be listed", "error", b)
	}
	out := schema.ListSessionsResponse{Sessions: []schema.SessionInfo{}}
	for i := range page.Sessions {
		sum := &page.Sessions[i]
		out.Sessions = append(out.Sessions, schema.SessionInfo{SessionID: sum.Session, Cwd: sum.Cwd, Title: sum.Title, UpdatedAt: timestamp(sum.Updated)})
	}
	if page.More {
		out.NextCursor = strconv.Itoa(from + pageSize)
	}
	_ = r.Reply(out)
}
