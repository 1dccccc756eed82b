package bench

import (
	"fmt"
	"strings"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// Mix makes a session of the agreed mixture: of its events 40 % are parts of 200 bytes, 30 % belong to calls, 20 % to inputs
// and turns, 10 % are results of 1 KB. Every commit is decided by the real rules.
type Mix struct {
	log     journal.Log
	folder  *projections.Folder
	encoder *event.Encoder
	salt    []byte
	run     journal.RunID
	at      int64
	n       int
	pending []*journal.Commit
	Events  int
	Kinds   map[string]int // events by group
}

// NewMix writes to an empty log.
func NewMix(log journal.Log) (*Mix, error) {
	m := &Mix{
		log: log, folder: projections.NewFolder(projections.Options{}), encoder: event.NewEncoder(), salt: []byte("0123456789abcdef"),
		at: 1893456000000, Kinds: map[string]int{},
	}
	copy(m.run[:], "0123456789abcdef")
	m.do(&commands.OpenSession{
		Salt: event.NewText(string(m.salt)), Run: m.run.String(), Build: "bench", Session: "ses_bench", Installation: "ins_bench",
		Cwd: event.NewText("/work"), Worktree: event.NewText("/work"),
	})
	m.do(&commands.ResolvePolicy{Policy: event.Policy{Agent: "build", Mode: event.ModeAllowAll, Model: event.ModelChoice{Provider: "scripted", Name: "mix", Context: 200000}, Concurrency: 8}})
	return m, m.flush()
}

// do decides a command and queues its commit. A refusal is a defect of the mixture.
func (m *Mix) do(c commands.Command) []event.Payload {
	m.n++
	r := commands.RuleOf(c)
	texts := journal.NewTexts(m.salt)
	body, err := m.encoder.Encode(c, texts)
	if err != nil {
		panic(err)
	}
	m.at += 7
	id := fmt.Sprintf("engine:request:turn_abcdefghijkl/2/1:1:part%d", m.n)
	number := m.folder.View.Number + 1
	d := commands.Decide(m.folder.View, r.Type, body, texts.Entries, commands.Stamp{At: m.at, Command: id, Actor: "engine", Commit: number})
	if d.Refusal != nil {
		panic(d.Refusal)
	}
	commit := &journal.Commit{
		Number: number, Run: m.run, At: m.at, Cause: number - 1, Texts: texts,
		Command: journal.Command{ID: id, Type: r.Type, Version: r.Version, Actor: "engine", Payload: body},
	}
	for _, p := range d.Events {
		payload, err := m.encoder.Encode(p, texts)
		if err != nil {
			panic(err)
		}
		name := event.TypeOf(p).Name
		commit.Events = append(commit.Events, journal.Event{Stream: 1, Type: name, Payload: payload})
		m.count(name)
	}
	if err := m.folder.Apply(commit); err != nil {
		panic(err)
	}
	if m.folder.View.Corrupt != nil {
		panic(m.folder.View.Corrupt)
	}
	m.pending = append(m.pending, commit)
	return d.Events
}

func (m *Mix) count(name string) {
	m.Events++
	switch {
	case strings.HasPrefix(name, "session.response.part"):
		m.Kinds["parts"]++
	case strings.HasPrefix(name, "session.call.settled"):
		m.Kinds["results"]++
	case strings.HasPrefix(name, "session.call.") || strings.HasPrefix(name, "session.response.") || strings.HasPrefix(name, "session.request."):
		m.Kinds["calls"]++
	default:
		m.Kinds["inputs and turns"]++
	}
}

func (m *Mix) flush() error {
	if len(m.pending) == 0 {
		return nil
	}
	err := m.log.Append(m.pending)
	m.pending = m.pending[:0]
	return err
}

func words(n, seed int) event.Text {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "word%d ", (seed*31+i*7)%9973)
	}
	return event.NewText(b.String()[:n])
}

// Fill appends turns until the session has this many events.
func (m *Mix) Fill(events int) error {
	for turn := 0; m.Events < events; turn++ {
		m.turn(turn)
		if len(m.pending) >= 512 {
			if err := m.flush(); err != nil {
				return err
			}
		}
	}
	return m.flush()
}

// turn is a prompt and two responses of eight parts: one that calls a tool four times, and a final one. Of the parts of a
// response four are commits of their own, as a part is that took its second, and four end with it.
func (m *Mix) turn(n int) {
	in := find[*event.InputAdmitted](m.do(&commands.AdmitInput{Delivery: event.DeliverSteer, Blocks: []event.Block{{Type: event.BlockText, Text: words(120, n)}}}))
	out := m.do(&commands.StartRequest{Input: in.ID, Number: 1, Attempt: 1})
	t, r := find[*event.TurnStarted](out), find[*event.RequestStarted](out)
	last := m.parts(r.ID, n)
	var calls []commands.ResolvedCall
	for i := range 4 {
		args := fmt.Sprintf(`{"filePath":"/work/src/file%d.go","offset":%d}`, n%100, i)
		calls = append(calls, commands.ResolvedCall{
			ID: commands.DeriveID("call", r.ID, fmt.Sprint(i)), Tool: "read", Provider: fmt.Sprintf("toolu_%d_%d", n, i), Args: event.NewText(args),
			Declaration: event.Declaration{Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe},
			Title:       event.NewText("file.go"), Kind: "read", Paths: []event.Text{event.NewText("/work/src/file.go")}, Permission: event.Allow, Rule: event.NewText("mode allow_all"),
		})
	}
	one := uint64(100)
	m.do(&commands.CompleteResponse{Request: r.ID, Attempt: 1, Finish: "tool_calls", Usage: event.Usage{Input: &one, Output: &one}, Calls: calls, Parts: last})
	for i := range calls {
		m.do(&commands.StartCall{ID: calls[i].ID, Attempt: 1})
		m.do(&commands.SettleCall{ID: calls[i].ID, Attempt: 1, Outcome: event.OutcomeOK, Text: words(1024, n*4+i), Millis: 3})
	}
	r = find[*event.RequestStarted](m.do(&commands.StartRequest{Turn: t.ID, Number: 2, Attempt: 1}))
	m.do(&commands.CompleteResponse{Request: r.ID, Attempt: 1, Finish: "stop", Parts: m.parts(r.ID, n+7)})
}

func (m *Mix) parts(request string, n int) []commands.Part {
	for i := range 4 {
		kind := event.PartText
		if i == 0 {
			kind = event.PartReasoning
		}
		m.do(&commands.RecordPart{Request: request, Attempt: 1, Kind: kind, Text: words(200, n+i)})
	}
	var last []commands.Part
	for i := range 4 {
		last = append(last, commands.Part{Kind: event.PartText, Text: words(200, n+4+i)})
	}
	return last
}

func find[T event.Payload](events []event.Payload) (found T) {
	for _, e := range events {
		if t, ok := e.(T); ok {
			return t
		}
	}
	return found
}
