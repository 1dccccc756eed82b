package inspect

import (
	"strings"
	"time"

	"zuno/internal/engine"
)

// ListOptions say which sessions are listed.
type ListOptions struct {
	Cwd  string // only those of this folder; "" for all
	From int    // leave out so many
	Most int    // 0 for all
}

// List gives sessions, the last updated first, and says whether there are more. Broken are the errors of those that could
// not be read.
func (s Store) List(o ListOptions) (sums []engine.Summary, more bool, broken []error, err error) {
	p, err := engine.ListPage(s.Data, engine.Query(o))
	for i, err := range p.Broken {
		p.Broken[i] = unwrapped(err)
	}
	return p.Sessions, p.More, p.Broken, err
}

// ListText is a list of sessions for people; "" when there is none.
func ListText(sums []engine.Summary) string {
	if len(sums) == 0 {
		return ""
	}
	t := &table{}
	t.row("SESSION", "UPDATED", "FOLDER", "TITLE")
	for _, s := range sums {
		t.row(s.Session, minute(s.Updated), short(s.Cwd, 200), short(s.Title, 80))
	}
	var b strings.Builder
	t.write(&b, "")
	return b.String()
}

// listed is a session in the list for scripts.
type listed struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Cwd      string `json:"cwd"`
	Worktree string `json:"worktree"`
	Created  string `json:"created"` // RFC 3339
	Updated  string `json:"updated"`
	Commits  uint64 `json:"commits"`
}

// ListJSON is one JSON array with each session on a line of its own.
func ListJSON(sums []engine.Summary) ([]byte, error) {
	if len(sums) == 0 {
		return []byte("[]\n"), nil
	}
	b := []byte("[\n")
	for i, s := range sums {
		n, err := toNode(listed{s.Session, s.Title, s.Cwd, s.Worktree, rfc3339(s.Created), rfc3339(s.Updated), s.Head})
		if err != nil {
			return nil, err
		}
		b = n.compact(b)
		if i < len(sums)-1 {
			b = append(b, ',')
		}
		b = append(b, '\n')
	}
	return append(b, "]\n"...), nil
}

func rfc3339(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
