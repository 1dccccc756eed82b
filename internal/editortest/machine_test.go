package editortest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/commands"
	"zuno/internal/engine"
	"zuno/internal/ledger"
	"zuno/internal/model"
	"zuno/journal/event"
	"zuno/projections"
)

// patience is how long something that must come is waited for. It is never waited for in a test that passes.
const patience = 20 * time.Second

// defect is what a mutant does otherwise.
type defect struct {
	decide   func(v *projections.View, typ string, payload []byte, texts event.Table, at commands.Stamp) commands.Decision
	says     func() func(lines []byte) []byte // what the adapter writes
	request  func(r *model.Request)           // what the model is sent
	twice    bool                             // an effect is carried out twice
	unfenced bool
	hangs    bool // it is found by what never comes
}

// machine is a session with everything around it: what outlives a process, what really happened, and what the user was told.
type machine struct {
	t      *rapid.T
	defect defect
	says   func([]byte) []byte // the mutant's adapter; nil for none
	base   string              // folder for the disks
	cwd    string
	lives  uint64

	mu      sync.Mutex
	changed chan struct{} // closed at the next change, and then made anew
	life    *life
	next    string // the disk that a dead process has left
	session string
	now     int64
	wrong   []string

	history // of the present life, from the session's beginning

	ran     map[string]int    // effects by their token
	told    map[string]string // input → newest state that the user was told
	answers map[string]int    // of the present connection, by the id of the request
	said    map[string]string // message id → text
	ended   map[string]bool   // turns whose prompts were answered
	loading bool              // what comes may be history
	waiting []*sent
	count   int

	observers []*sent // messages that were sent again
}

// history is what the follower of a life has seen.
type history struct {
	ledger   *ledger.Ledger
	states   map[string]string // input → terminal state
	clients  map[string]bool   // message ids of admitted inputs
	tokens   map[string]string // call → token
	texts    map[string]string // input → text
	recorded map[string]string // input → its text, once it is in the conversation
	turns    []string
	unknown  []string       // calls that are uncertain
	kinds    map[string]int // of what happened
}

func newHistory() history {
	return history{ledger: ledger.New(), states: map[string]string{}, clients: map[string]bool{}, tokens: map[string]string{}, texts: map[string]string{}, recorded: map[string]string{}, kinds: map[string]int{}}
}

// sent is a prompt that is not answered.
type sent struct {
	turn *client.Turn
	text string
}

func newMachine(t *rapid.T, d defect) *machine {
	base, err := os.MkdirTemp("", "zuno-editor-")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{
		t: t, defect: d, base: base, cwd: filepath.Join(base, "w"), changed: make(chan struct{}), now: 1_000_000, history: newHistory(),
		ran: map[string]int{}, told: map[string]string{}, ended: map[string]bool{}, said: map[string]string{},
	}
	if d.says != nil {
		m.says = d.says()
	}
	t.Cleanup(func() {
		m.life.end()
		_ = os.RemoveAll(base)
	})
	if err := os.Mkdir(m.cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	m.begin(filepath.Join(base, "life0"))
	m.open()
	return m
}

// patience of a mutant that is to hang is shorter.
func (m *machine) patience() time.Duration {
	if m.defect.hangs {
		return time.Second
	}
	return patience
}

func (m *machine) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), m.patience())
	m.t.Cleanup(cancel)
	return ctx
}

func (m *machine) signal() {
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *machine) wrongLocked(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
	m.signal()
}

func (m *machine) sessionID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session
}

// open begins a connection.
func (m *machine) open() {
	if _, err := m.life.editor.Initialize(m.ctx()); err != nil {
		m.t.Fatalf("initialize: %v", err)
	}
	m.enter()
}

// enter opens the session, or a new one where nothing of it was ever saved.
func (m *machine) enter() {
	c := m.life.editor
	if m.session != "" {
		err := m.load()
		var e *wire.Error
		switch {
		case err == nil:
			m.follow()
			return
		case m.over(): // it died meanwhile
			return
		case !errors.As(err, &e) || e.Code != wire.CodeResourceNotFound:
			m.t.Fatalf("load: %v", err)
		case len(m.told) > 0:
			m.t.Fatalf("a session with acknowledged inputs is lost")
		}
	}
	id, err := c.New(m.ctx(), m.cwd)
	if m.over() {
		return
	}
	if err != nil {
		m.t.Fatalf("session/new: %v", err)
	}
	m.mu.Lock()
	m.session = id
	m.mu.Unlock()
}

// follow has the machine see every commit of the session, from the first.
func (m *machine) follow() {
	s := m.life.host.Get(m.session)
	if s == nil || m.life.followed {
		return
	}
	m.life.followed = true
	m.mu.Lock()
	m.history = newHistory()
	m.mu.Unlock()
	if err := s.Attach(follower{m, m.life}, true); err != nil && !m.over() {
		m.t.Fatalf("follow: %v", err)
	}
}

func (m *machine) over() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.life.dead
}

// again begins the next life after a death.
func (m *machine) again() {
	m.life.end()
	m.waiting, m.observers = nil, nil // nobody answers any more, and the next editor is another
	m.begin(m.next)
	m.open()
	m.recovered()
}

// settle waits until nothing happens any more without the machine: whatever runs waits for it.
func (m *machine) settle() {
	m.t.Helper()
	deadline := time.After(m.patience())
	for {
		if m.over() {
			m.again()
		}
		m.fence()
		m.follow()
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		moving := m.moving()
		if moving == "" {
			m.fence()
		}
		m.mu.Lock()
		wrong, dead := m.wrong, m.life.dead
		m.mu.Unlock()
		if len(wrong) > 0 {
			m.t.Fatalf("%s", strings.Join(wrong, "\n"))
		}
		if moving == "" && !dead {
			m.answered()
			return
		}
		if dead {
			continue
		}
		select {
		case <-changed:
		case <-deadline:
			m.t.Fatalf("the session does not come to rest: %s", moving)
		}
	}
}

// fence returns when everything that was sent before was taken, and everything that was said before was heard.
func (m *machine) fence() {
	for _, method := range []string{"_zuno/session/steer", "_test/fence"} {
		err := m.life.editor.Call(m.ctx(), method, map[string]any{
			"sessionId": m.session, "expectedTurnId": "turn_none", "prompt": []schema.ContentBlock{schema.Text("fence")},
		}, nil)
		if errors.Is(err, context.DeadlineExceeded) {
			m.t.Fatalf("%s was not answered", method)
		}
	}
}

// moving names something that goes on by itself; "" when nothing does.
func (m *machine) moving() (what string) {
	s := m.life.host.Get(m.session)
	if s == nil {
		return ""
	}
	var steps []engine.Step
	stopping := false
	if err := s.Read(func(v *projections.View) {
		steps = engine.Next(v)
		stopping = v.Root.Turns.Active != nil && v.Root.Turns.Active.Cancelling
		m.mu.Lock()
		defer m.mu.Unlock()
		if wrong := m.ledger.Agree(v.Root); wrong != "" && !m.life.dead {
			m.wrongLocked("%s", wrong)
		}
	}); err != nil {
		return "the session cannot be read: " + err.Error()
	}
	if stopping {
		return "the turn is being stopped"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.life
	requests, timers := 0, 0
	var calls, questions, left []string
	for _, st := range steps {
		switch {
		case st.Kind == engine.StepTimer:
			timers++
		case st.Kind == engine.StepPresent:
			left = append(left, st.Call)
		case !st.Open:
			return st.Key + " is about to begin"
		case st.Kind == engine.StepRequest:
			requests++
		case st.Kind == engine.StepCall:
			calls = append(calls, st.Call)
		case st.Kind == engine.StepAsk:
			questions = append(questions, st.Call)
		}
	}
	var running, asking []string
	for _, r := range l.runs {
		running = append(running, r.call)
	}
	for _, q := range l.questions {
		if !slices.Contains(left, q.call) {
			asking = append(asking, q.call)
		}
	}
	if len(calls) > 0 && l.ended[calls[0]] { // one that comes later is settled after it
		return "call " + calls[0] + " has ended"
	}
	calls = slices.DeleteFunc(calls, func(call string) bool { return l.ended[call] })
	slices.Sort(calls)
	slices.Sort(running)
	switch {
	case len(l.streams) != requests:
		return fmt.Sprintf("%d requests are wanted and %d run", requests, len(l.streams))
	case !slices.Equal(calls, running):
		return fmt.Sprintf("calls %v are wanted and %v run", calls, running)
	case !slices.Equal(questions, asking):
		return fmt.Sprintf("questions %v are wanted and %v are asked", questions, asking)
	case len(l.sleepers) < timers:
		return "a timer is not waited for yet"
	}
	return ""
}

// answered drops the prompts that were answered.
func (m *machine) answered() {
	m.mu.Lock()
	defer m.mu.Unlock()
	done := func(p *sent) bool { return m.answers[p.turn.ID] > 0 }
	m.waiting, m.observers = slices.DeleteFunc(m.waiting, done), slices.DeleteFunc(m.observers, done)
}

// follower sees the commits of a life.
type follower struct {
	m *machine
	l *life
}

func (f follower) Live(engine.Live) {}

func (f follower) Committed(c *engine.Committed) {
	m := f.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.l.dead || m.life != f.l {
		return
	}
	for i := range c.Events {
		if wrong := m.ledger.Take(c.Events[i].Payload); wrong != "" {
			m.wrongLocked("commit %d (%s): %s", c.Number, c.Type, wrong)
		}
		switch e := c.Events[i].Payload.(type) {
		case *event.InputAdmitted:
			m.clients[e.Client] = true
			if e.Control == nil {
				m.recorded[e.ID] = "" // not yet
				m.texts[e.ID] = e.Blocks[0].Text.String()
			}
		case *event.InputDeliveryBatch:
			for _, id := range e.Inputs {
				if _, ok := m.recorded[id]; ok {
					m.recorded[id] = m.texts[id]
				}
			}
		case *event.InputSettled:
			m.states[e.Input] = e.State
		case *event.TurnStarted:
			m.turns = append(m.turns, e.ID)
		case *event.CallRequested:
			var a arguments
			_ = json.Unmarshal([]byte(e.Args.String()), &a)
			m.tokens[e.ID] = a.N
		case *event.CallSettled:
			if e.Outcome == event.OutcomeUncertain {
				m.unknown = append(m.unknown, e.ID)
			}
		}
	}
	m.signal()
}

// Write sees what the agent says, line by line.
func (m *machine) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for line := range bytes.Lines(p) {
		m.heard(line)
	}
	return len(p), nil
}
