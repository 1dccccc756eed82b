package editortest

import (
	"encoding/json"
	"fmt"
	"slices"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/internal/model"
	"zuno/journal/event"
	"zuno/tools"
)

// say puts what the user types into the editor, which shows it at once.
func (m *machine) say(text string) {
	m.life.editor.Look(m.session, func(e *client.Editor) { e.Say(schema.Text(text)) })
}

// prompt sends a message.
func (m *machine) prompt(queued bool, messageID string) {
	m.count++
	text := fmt.Sprintf("input %d", m.count)
	zuno := map[string]any{}
	if queued {
		zuno["delivery"] = "queue"
	}
	if messageID != "" {
		zuno["messageId"] = messageID
		m.said[messageID] = text
	}
	m.send(text, zuno)
}

func (m *machine) send(text string, zuno map[string]any) {
	meta, _ := json.Marshal(map[string]any{"zuno": zuno})
	m.waiting = append(m.waiting, &sent{m.life.editor.PromptWith(m.session, meta, schema.Text(text)), text})
	m.settle()
}

// retry sends a message again under its id, or something else under it.
func (m *machine) retry(id, text string) {
	m.mu.Lock()
	known := m.clients[id]
	m.mu.Unlock()
	if !known { // the one that died with its process: it is sent as for the first time
		m.send(m.said[id], map[string]any{"messageId": id})
		return
	}
	before := m.admitted()
	turn := m.life.editor.PromptWith(m.session, schema.Meta("zuno", map[string]any{"messageId": id}), schema.Text(text))
	m.life.editor.Look(m.session, func(e *client.Editor) { // which shows it already
		i := len(e.Items) - 1
		for ; e.Items[i].Kind != client.User || e.Items[i].Text != text || e.Items[i].ID != ""; i-- {
		}
		e.Items = slices.Delete(e.Items, i, i+1)
	})
	m.observers = append(m.observers, &sent{turn, text})
	m.settle()
	if after := m.admitted(); after != before {
		m.t.Fatalf("a message that was sent again was admitted again")
	}
}

func (m *machine) admitted() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ledger.Admitted)
}

// active is the turn that runs.
func (m *machine) active() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Turn
}

// steer adds a message to a turn, which may be the wrong one: then nothing is left of it.
func (m *machine) steer(turn string) {
	m.count++
	text := fmt.Sprintf("input %d", m.count)
	before := m.admitted()
	right := turn != "" && turn == m.active()
	if right {
		m.say(text)
	}
	err := m.life.editor.Call(m.ctx(), "session/steer", map[string]any{
		"sessionId": m.session, "expectedTurnId": turn, "prompt": []schema.ContentBlock{schema.Text(text)},
	}, nil)
	died := m.over()
	m.settle()
	if after := m.admitted(); !died && (err == nil) != (after > before) {
		m.t.Fatalf("a steer of %q was answered with %v and %d inputs were admitted", turn, err, after-before)
	}
	if err != nil && right && !died { // a resumed turn takes no steer: what the editor drew is taken back
		m.loadedAnew()
	}
}

func (m *machine) loadedAnew() {
	if err := m.load(); err != nil && !m.over() {
		m.t.Fatalf("load: %v", err)
	}
	m.settle()
}

// cancel stops a turn by name or, without one, what runs. A polite user takes the questions back; others leave that to the agent.
func (m *machine) cancel(turn string, polite bool) {
	var err error
	p := schema.CancelNotification{SessionID: m.session}
	switch {
	case turn != "":
		p.Meta = schema.Meta("zuno", map[string]any{"expectedTurnId": turn})
		err = m.life.editor.Notify(schema.MethodSessionCancel, p)
	case polite:
		err = m.life.editor.Cancel(m.session)
	default:
		err = m.life.editor.Notify(schema.MethodSessionCancel, p)
	}
	if err != nil && !m.over() {
		m.t.Fatal(err)
	}
	m.settle()
}

func (m *machine) withdraw(p *sent) {
	if err := m.life.editor.Withdraw(p.turn); err == nil {
		if _, err := p.turn.Wait(m.ctx()); err == nil && !m.over() {
			m.t.Fatalf("a withdrawn prompt was answered with a result")
		}
	}
	m.settle()
}

// model has the model go on. It gives false when it is not asked for anything.
func (m *machine) model(f func(s *stream) (*model.Response, error, bool)) bool {
	m.mu.Lock()
	l := m.life
	if len(l.streams) == 0 {
		m.mu.Unlock()
		return false
	}
	s := l.streams[0]
	l.streams = l.streams[1:]
	m.mu.Unlock()
	s.do <- func() (*model.Response, error, bool) { return f(s) }
	return true
}

func finished(calls ...model.Call) func(*stream) (*model.Response, error, bool) {
	resp := &model.Response{Finish: model.FinishStop, Calls: calls}
	if len(calls) > 0 {
		resp.Finish = model.FinishCalls
	}
	return func(s *stream) (*model.Response, error, bool) {
		for i, c := range calls {
			if err := s.emit(model.Chunk{Kind: model.ChunkCall, Index: i, CallID: c.ID, Tool: c.Tool}); err != nil {
				return nil, err, true
			}
		}
		return resp, nil, true
	}
}

func failing(err error) func(*stream) (*model.Response, error, bool) {
	return func(*stream) (*model.Response, error, bool) { return nil, err, true }
}

func (m *machine) call(tool string) model.Call {
	m.count++
	return model.Call{ID: fmt.Sprint("c", m.count), Tool: tool, Args: fmt.Sprintf(`{"n":"%d"}`, m.count)}
}

// end has the first tool that runs end.
func (m *machine) end(f func() tools.Result) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.life
	if len(l.runs) == 0 {
		return false
	}
	l.ended[l.runs[0].call] = true
	l.runs[0].end <- f
	l.runs = slices.Clone(l.runs[1:])
	return true
}

func (m *machine) answer(option string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.life
	if len(l.questions) == 0 {
		return false
	}
	l.questions[0].answer <- option
	l.questions = slices.Clone(l.questions[1:])
	return true
}

// tick lets the time pass that is waited for.
func (m *machine) tick() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.life.sleepers) == 0 {
		return false
	}
	for over, until := range m.life.sleepers {
		m.now = max(m.now, until)
		close(over)
	}
	clear(m.life.sleepers)
	return true
}

// goOn lets whatever waits for the machine end in the simplest way. It gives false when nothing waits.
func (m *machine) goOn() bool {
	return m.answer(event.OptionAllowOnce) || m.end(func() tools.Result { return tools.Result{Outcome: tools.OK, Text: "ok"} }) || m.model(finished()) || m.tick()
}

// reopen ends the process in good order and begins another.
func (m *machine) reopen() {
	l := m.life
	l.end()
	m.mu.Lock()
	dead := l.dead
	if !dead {
		l.dead, m.next = true, l.dir
	}
	m.mu.Unlock()
	m.waiting, m.observers = nil, nil
	m.begin(m.next)
	m.open()
	m.recovered()
	m.settle()
}

// shut closes the session and opens it again, in the same process. Everything that waits for an answer gets one.
func (m *machine) shut() {
	err := m.life.editor.Call(m.ctx(), schema.MethodSessionClose, schema.CloseSessionRequest{SessionID: m.session}, nil)
	if m.over() {
		m.settle()
		return
	}
	if err != nil {
		m.t.Fatalf("close: %v", err)
	}
	m.answered()
	if len(m.waiting) > 0 {
		m.t.Fatalf("%d prompts are not answered by a close, the first of them %q", len(m.waiting), m.waiting[0].text)
	}
	m.life.followed = false
	m.enter()
	m.settle()
}

// saying says that the editor shows words that are not durable.
func (m *machine) saying() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.life.streams, func(s *stream) bool { return s.said })
}
