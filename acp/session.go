package acp

import (
	"cmp"
	"sync"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
	"zuno/journal/event"
)

// session is one session as this connection has it: a panel of the editor. It exists on disk only after its first input.
type session struct {
	server   *Server
	id, cwd  string
	settings *engine.Settings // of a reserved session
	line     line
	outlet   outlet

	over    bool // closed, or about to be; like opening, it is the server's, which guards it
	opening int  // requests that wait to open it

	mu        sync.Mutex // guards what follows
	engine    *engine.Session
	projector *Projector
	receipts  *receipts
	waiting   map[string][]*observer // of an input
	told      map[string]bool        // inputs whose receipts the client is told of as they move on
	own       map[string]bool        // ids of this client's commands that are being decided
	lost      error                  // why nothing of the session is seen any more until it is loaded again
	head      headMeta               // of the last commit that was drawn
	command   string                 // of the commit that is being drawn
	replaying bool
	follower  *follower         // of a session that another process owns
	model     event.ModelChoice // of the policy that was committed last
	places    *places           // of the replay that goes on
	replay    *replay           // where its updates go; nil for one that is not told
}

func newSession(s *Server, id, cwd string) *session {
	x := &session{server: s, id: id, cwd: cwd}
	x.reset()
	return x
}

func (x *session) reset() {
	x.projector = NewProjector(x.update)
	x.projector.Terminal = x.server.terminal.Load()
	x.projector.Own = func(*event.InputAdmitted) bool { return !x.replaying && x.own[x.command] }
	x.receipts = newReceipts(x.id)
	x.waiting = map[string][]*observer{}
	x.told = map[string]bool{}
	x.own = map[string]bool{}
}

// update tells the client, when it may be told.
func (x *session) update(u schema.SessionUpdate) {
	if x.replaying {
		u = x.actionable(u)
	}
	if x.replay != nil {
		x.replay.add(u)
		return
	}
	x.outlet.pass(u, x.tell)
}

func (x *session) tell(u schema.SessionUpdate) {
	if err := x.server.conn.Notify(schema.MethodSessionUpdate, schema.SessionNotification{SessionID: x.id, Update: u}); err != nil {
		x.server.log.Debug("update not sent", "session", x.id, "error", err)
	}
}

// actionable drops from a replayed update what an editor could not open.
func (x *session) actionable(u schema.SessionUpdate) schema.SessionUpdate {
	if x.places == nil {
		x.places = newPlaces(cmp.Or(x.projector.worktree, x.cwd))
	}
	return x.places.filter(u)
}

// Committed draws a durable commit, then answers the prompts that it settles or holds: all updates of a turn precede its answer.
func (x *session) Committed(c *engine.Committed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.command = c.Command
	busy := x.projector.turn != "" || x.receipts.open > 0
	x.projector.Committed(c)
	x.reconfigured(c)
	x.head = headMeta{c.Number, c.Hash.String()}
	for _, r := range x.receipts.apply(c, func(r *Receipt) { x.progress(r, busy) }) {
		if !x.replaying { // what history says of an input may be long over
			x.done(r)
		}
	}
}

// done answers who waits for an input that is over or held. x.mu is held.
func (x *session) done(r *Receipt) {
	for _, o := range x.waiting[r.InputID] {
		now, head := *r, x.head
		x.outlet.after(func() { x.answer(o, &now, &head) })
	}
	delete(x.waiting, r.InputID)
	delete(x.told, r.InputID)
}

// progress tells the client of an input that has no turn of its own yet how its receipt moves on: at once that it is admitted, and
// then each step up to the one that answers its prompt.
func (x *session) progress(r *Receipt, busy bool) {
	if r.State == "admitted" && r.ExecutionGate == nil && busy && !x.replaying && x.own[x.command] {
		x.told[r.InputID] = true
	}
	if x.replaying || !x.told[r.InputID] || r.Answerable() && len(x.waiting[r.InputID]) > 0 {
		return
	}
	x.update(schema.InfoUpdate(schema.Nullable{}, schema.Nullable{}).WithMeta(schema.Meta("zuno", promptMeta{TurnID: x.projector.turn, Receipt: r})))
}

// Lost answers the prompts that wait: nothing more comes of them before the session is loaded again.
func (x *session) Lost(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lost = err
	for input, waiting := range x.waiting {
		for _, o := range waiting {
			_ = o.req.ReplyError(lost(err))
		}
		delete(x.waiting, input)
	}
}

func lost(err error) *wire.Error {
	e := *rpcError(err)
	e.Message += "; load the session again to see what was saved"
	return &e
}

// Live draws what may be shown before it is durable.
func (x *session) Live(l engine.Live) {
	x.mu.Lock()
	x.projector.Live(l)
	x.mu.Unlock()
}
