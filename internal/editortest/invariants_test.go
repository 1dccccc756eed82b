package editortest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/internal/inspect"
	"zuno/internal/ledger"
	"zuno/internal/model"
	"zuno/journal"
	"zuno/projections"
)

// receipt is what a client is told of an input.
type receipt struct {
	InputID string `json:"inputId"`
	State   string `json:"state"`
	TurnID  string `json:"turnId"`
}

var ranks = map[string]int{"admitted": 1, "recorded": 2, "applied": 3, "completed": 4, "failed": 4, "cancelled": 4}

// heard looks at one line of the agent: each request is answered once, receipts only move forward, and nothing of a turn comes after
// its answer, unless it is replayed.
func (m *machine) heard(line []byte) {
	type meta struct {
		Zuno struct {
			Receipt *receipt `json:"receipt"`
			TurnID  string   `json:"turnId"`
		} `json:"zuno"`
	}
	var x struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Result struct {
			Meta meta   `json:"_meta"`
			Stop string `json:"stopReason"`
		} `json:"result"`
		Error struct {
			Data struct {
				Receipt *receipt `json:"receipt"`
			} `json:"data"`
		} `json:"error"`
		Params struct {
			Update struct {
				Meta meta `json:"_meta"`
			} `json:"update"`
		} `json:"params"`
	}
	if err := json.Unmarshal(line, &x); err != nil && len(strings.TrimSpace(string(line))) > 0 {
		m.wrongLocked("the agent said %.200q: %v", line, err)
		return
	}
	if x.Method == "" {
		if m.answers[string(x.ID)]++; m.answers[string(x.ID)] > 1 {
			m.wrongLocked("request %s was answered %d times", x.ID, m.answers[string(x.ID)])
		}
	}
	if turn := x.Params.Update.Meta.Zuno.TurnID; turn != "" && m.ended[turn] && !m.loading {
		m.wrongLocked("an update of turn %s comes after the answer of its prompt: %.300s", turn, line)
	}
	if r := x.Result.Meta.Zuno.Receipt; r != nil && x.Result.Stop == "end_turn" && r.TurnID != "" {
		m.ended[r.TurnID] = true
	}
	for _, r := range []*receipt{x.Result.Meta.Zuno.Receipt, x.Error.Data.Receipt, x.Params.Update.Meta.Zuno.Receipt} {
		if r == nil {
			continue
		}
		before := m.told[r.InputID]
		if ranks[r.State] < ranks[before] || ranks[before] == 4 && r.State != before || ranks[r.State] == 0 {
			m.wrongLocked("the receipt of %s went from %q to %q", r.InputID, before, r.State)
		}
		m.told[r.InputID] = r.State
	}
}

// asked looks at a request to the model: it is one that a provider accepts, and each input that is in the conversation stands there
// once.
func (m *machine) asked(l *life, r *model.Request) {
	if m.defect.request != nil {
		m.defect.request(r)
	}
	if wrong := ledger.BadHistory(r); wrong != "" {
		m.wrongLocked("the conversation is malformed: %s", wrong)
	}
	if l.dead {
		return
	}
	times := map[string]int{}
	for _, msg := range r.Messages {
		for _, p := range msg.Parts {
			if msg.Role == model.RoleUser && p.Kind == model.PartText {
				times[p.Text]++
			}
		}
	}
	for id, text := range m.recorded {
		if text != "" && times[text] != 1 {
			m.wrongLocked("input %s stands %d times in the conversation", id, times[text])
		}
	}
	for text, n := range times {
		if strings.HasPrefix(text, "input ") && n > 1 {
			m.wrongLocked("%q stands %d times in the conversation", text, n)
		}
	}
}

// recovered looks at what a life finds of the ones before: every receipt that the user was told, and the fence of everything that
// happened.
func (m *machine) recovered() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, state := range m.told {
		switch {
		case m.ledger.Admitted[id] == 0:
			m.wrongLocked("input %s was told to be %s and is lost", id, state)
		case ranks[state] == 4 && m.states[id] != state:
			m.wrongLocked("input %s was told to be %s and is %q", id, state, m.states[id])
		}
	}
	started := map[string]bool{}
	for call, n := range m.ledger.Started {
		started[m.tokens[call]] = n > 0
	}
	for token := range m.ran {
		if !started[token] {
			m.wrongLocked("effect %s happened, and its start is not in the journal", token)
		}
	}
}

// always is what holds after each step.
func (m *machine) always() {
	m.mu.Lock()
	for token, n := range m.ran {
		if n > 1 {
			m.wrongLocked("effect %s happened %d times", token, n)
		}
	}
	wrong := m.wrong
	m.mu.Unlock()
	if len(wrong) > 0 {
		m.t.Fatalf("%s", strings.Join(wrong, "\n"))
	}
}

// loaded has the session replayed, and compares what the editor holds with what it held. It is not asked while an editor shows words
// that are not durable yet.
func (m *machine) loaded() {
	before := m.drawn()
	if err := m.load(); err != nil {
		if m.over() {
			return
		}
		m.t.Fatalf("load: %v", err)
	}
	after := m.drawn()
	if after != before && !m.over() {
		m.t.Fatalf("a load draws\n%s\nand live was drawn\n%s", after, before)
	}
}

// resumed opens the session again without its conversation: the editor holds the same as before.
func (m *machine) resumed() {
	before := m.drawn()
	err := m.life.editor.Call(m.ctx(), schema.MethodSessionResume, schema.ResumeSessionRequest{SessionID: m.session, Cwd: m.cwd}, nil)
	if m.over() {
		return
	}
	if err != nil {
		m.t.Fatalf("resume: %v", err)
	}
	m.fence()
	if after := m.drawn(); after != before && !m.over() {
		m.t.Fatalf("after a resume the editor holds\n%s\nand it held\n%s", after, before)
	}
}

// load has the session replayed into an empty editor.
func (m *machine) load() error {
	set := func(on bool) {
		m.mu.Lock()
		m.loading = on
		m.mu.Unlock()
	}
	set(true)
	defer set(false)
	return m.life.editor.Load(m.ctx(), m.session, m.cwd)
}

// drawn is what the editor holds.
func (m *machine) drawn() (text string) {
	m.life.editor.Look(m.session, func(e *client.Editor) { text = e.String() })
	return text
}

// rest lets everything end that runs, and looks at what is left.
func (m *machine) rest() {
	m.mu.Lock()
	m.life.crashIn = 0
	m.mu.Unlock()
	m.settle()
	if m.life.host.Get(m.session) == nil {
		return // nothing was ever sent
	}
	m.prompt(false, "")
	for range 200 {
		if !m.goOn() {
			break
		}
		m.settle()
	}
	if len(m.waiting) > 0 {
		m.t.Fatalf("%d prompts are not answered at rest, the first of them %q", len(m.waiting), m.waiting[0].text)
	}
	if len(m.observers) > 0 {
		m.t.Fatalf("%d messages that were sent again are not answered at rest, the first of them %q", len(m.observers), m.observers[0].text)
	}
	s := m.life.host.Get(m.session)
	var live []byte
	if err := s.Read(func(v *projections.View) {
		live, _ = json.Marshal(v)
		gated := v.Root.Execution.Gate != nil
		for _, in := range v.Root.Inputs.Open {
			if !gated {
				m.t.Errorf("at rest input %s is %s, and nothing holds it", in.ID, in.State)
			}
		}
	}); err != nil {
		m.t.Fatal(err)
	}
	for id := range m.ledger.Admitted {
		if n := m.ledger.Settled[id]; n > 1 || n == 0 && !m.held(id) {
			m.t.Errorf("input %s has %d terminal receipts", id, n)
		}
	}
	m.always()
	m.loaded()
	m.disk(live)
}

func (m *machine) held(id string) (held bool) {
	_ = m.life.host.Get(m.session).Read(func(v *projections.View) {
		held = v.Root.Inputs.Get(id) != nil && v.Root.Execution.Gate != nil
	})
	return held
}

// disk folds the journal anew and decides it again.
func (m *machine) disk(live []byte) {
	dir := filepath.Join(m.base, "copy"+strconv.Itoa(m.count))
	s := m.life.host.Get(m.session)
	if err := s.Read(func(*projections.View) {
		if err := os.CopyFS(dir, os.DirFS(s.Dir())); err != nil {
			m.t.Errorf("%v", err)
		}
	}); err != nil {
		m.t.Fatal(err)
	}
	folder := projections.NewFolder(projections.Options{})
	file, err := journal.OpenRead(dir, func(c *journal.Raw) error { return folder.Commit(c) })
	if err != nil {
		m.t.Fatal(err)
	}
	_ = file.Close()
	if again, _ := json.Marshal(folder.View); string(again) != string(live) {
		m.t.Errorf("the live view is not the fold of the journal:\n%s\n%s", live, again)
	}
	if checked, err := inspect.Check(dir, inspect.CheckOptions{Build: "test", Strict: true}); err != nil {
		m.t.Errorf("decided again: %v %+v", err, checked)
	}
}
