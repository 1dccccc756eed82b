package projections

import (
	"fmt"

	"zuno/journal/event"
	"zuno/projections/lifecycle"
)

// View is everything that the journal says at one commit.
type View struct {
	Number  uint64 `json:"commit"` // of the last commit folded
	Run     Run    `json:"run"`
	At      int64  `json:"at"`
	ID      string `json:"session"`
	Created Origin `json:"created"`

	Policy    event.Policy      `json:"policy"`
	PolicySet bool              `json:"-"`
	Sections  []SectionState    `json:"sections,omitempty"`
	Catalogue []event.ToolEntry `json:"catalogue,omitempty"`

	Root     *Session            `json:"root"`
	Children map[uint64]*Session `json:"children,omitempty"` // by stream
	Corrupt  *Corruption         `json:"corrupt,omitempty"`
}

// Run is the ownership that the last commit belongs to.
type Run struct {
	ID     string `json:"id"`
	Build  string `json:"build"`
	Commit uint64 `json:"commit"` // its session.opened
	Count  uint64 `json:"count"`
}

// Origin is where the session came from.
type Origin struct {
	Installation string     `json:"installation"`
	Cwd          event.Text `json:"cwd"`
	Worktree     event.Text `json:"worktree"`
	At           int64      `json:"at"`

	Fork *event.Forked `json:"forked_from,omitempty"` // of a session that took over another one's conversation
}

// SectionState is the present text of a prompt section.
type SectionState struct {
	ID   string     `json:"id"`
	Text event.Text `json:"text"`
	Place
}

// Place is where in the journal something stands.
type Place struct {
	Commit uint64 `json:"commit"`
	Event  uint16 `json:"event"` // within its commit, from 0
}

// Session is the view of one stream.
type Session struct {
	Sequence    uint64      `json:"sequence"` // events of this stream so far
	Title       event.Text  `json:"title"`
	Updated     int64       `json:"updated"` // last input or turn
	Execution   Execution   `json:"execution"`
	Inputs      Inputs      `json:"inputs"`
	Turns       Turns       `json:"turns"`
	Calls       Calls       `json:"calls"`
	Permissions Permissions `json:"permissions"`
	Transcript  Transcript  `json:"transcript"`
	Usage       Usage       `json:"usage"`
	Controls    Controls    `json:"controls"`
	Notices     Notices     `json:"notices"`
	Files       Files       `json:"files"`
	Script      Script      `json:"script"`
}

// Corruption is the first event that could not have happened.
type Corruption struct {
	Commit uint64 `json:"commit"`
	Event  uint16 `json:"event"`
	Why    string `json:"why"`
}

func (c *Corruption) Error() string {
	return fmt.Sprintf("commit %d event %d could not have happened: %s", c.Commit, c.Event, c.Why)
}

// Meta is what a fold knows of an event beside its payload.
type Meta struct {
	Commit   uint64
	Index    uint16 // within the commit, from 0
	At       int64
	Sequence uint64 // within the stream, from 1
}

func (m Meta) place() Place { return Place{m.Commit, m.Index} }

// Options tune a fold.
type Options struct {
	// Keep holds finished entities in the views, for inspection. A running session does not.
	Keep bool
}

// NewView is the view of an empty journal.
func NewView(o Options) *View {
	return &View{Root: newSession(o), Children: map[uint64]*Session{}}
}

func newSession(o Options) *Session {
	s := &Session{Usage: newUsage()}
	s.Execution.State, s.Execution.Mode = lifecycle.Execution.Initial, "work"
	s.Inputs.keep, s.Turns.keep, s.Calls.keep, s.Permissions.keep, s.Controls.keep, s.Notices.keep = o.Keep, o.Keep, o.Keep, o.Keep, o.Keep, o.Keep
	return s
}

// Stream is the view of a stream; nil when there is none.
func (v *View) Stream(n uint64) *Session {
	if n == 1 {
		return v.Root
	}
	return v.Children[n]
}
