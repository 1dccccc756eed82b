package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"zuno/internal/engine"
	"zuno/internal/model"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/tools"
)

const patience = 20 * time.Second

type wallClock struct{}

func (wallClock) Now() int64 { return time.Now().UnixMilli() }
func (wallClock) Committed() {}
func (wallClock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// countedIDs differ from each other, and that is all.
type countedIDs struct {
	mu sync.Mutex
	n  uint64
}

func (c *countedIDs) ULID(string) (id journal.RunID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	id[0] = 1
	for i := range 8 {
		id[15-i] = byte(c.n >> (8 * i))
	}
	return id
}

func (c *countedIDs) Salt(string) []byte { return []byte("0123456789abcdef") }

// stopMe is a prompt whose turn runs until it is stopped.
const stopMe = "go on until I stop you"

// echo answers with the model and the level that it was asked for.
type echo struct{}

func (echo) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) (*model.Response, error) {
	if err := emit(model.Chunk{Kind: model.ChunkText, Text: "answered by " + r.Model + " " + r.Params.Reasoning}); err != nil {
		return nil, err
	}
	if m := r.Messages[len(r.Messages)-1]; strings.Contains(fmt.Sprint(m), stopMe) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &model.Response{Finish: model.FinishStop}, nil
}

// peer is a client that writes lines and looks at those that come, in order.
type peer struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string
	done  chan error
	id    int
	seen  []string
}

// serve begins a server over pipes. What settings does not say is a model p/m with two levels.
func serve(t *testing.T, fault func(journal.Point) error, before func(cwd string)) *peer {
	t.Helper()
	ids := &countedIDs{}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	host := engine.NewHost(engine.Options{
		Data: t.TempDir(), Build: func() string { return "test" }, Clock: wallClock{}, IDs: ids, Tools: tools.NewRegistry(), Log: log, Fault: fault,
		Settings: func(cwd string, c engine.Choice) (*engine.Settings, error) {
			if before != nil {
				before(cwd)
			}
			name := strings.TrimPrefix(c.Model, "p/")
			if name == "" {
				name = "m"
			}
			return &engine.Settings{
				Worktree: cwd, Provider: echo{}, Models: []string{"p/m", "p/n"}, Levels: []string{"low", "high"},
				Policy: event.Policy{
					Agent: "build", Mode: event.ModeStandard, Concurrency: 1, Chosen: c.Model != "",
					Model: event.ModelChoice{Provider: "p", Name: name, Reasoning: c.Reasoning},
				},
			}, nil
		},
	})
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	p := &peer{t: t, in: in, lines: make(chan string, 100_000), done: make(chan error, 1)}
	go func() {
		p.done <- NewServer(host, ids, log, io.Discard, "test").Serve(context.Background(), toServer, fromServer)
	}()
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		in.Close()
		select {
		case err := <-p.done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("the server does not end")
		}
	})
	p.must("initialize", `{"protocolVersion":1}`)
	return p
}

// line is a request, and the id under which its answer comes.
func (p *peer) line(method, params string) (line, id string) {
	p.id++
	id = fmt.Sprintf("q%d", p.id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`+"\n", id, method, params), id
}

func (p *peer) send(method, params string) (id string) {
	p.t.Helper()
	line, id := p.line(method, params)
	p.write(line)
	return id
}

func (p *peer) write(lines string) {
	p.t.Helper()
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(p.in, lines)
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			p.t.Fatal(err)
		}
	case <-time.After(patience):
		p.t.Fatal("the server does not read")
	}
}

type message struct {
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// until takes lines until one is wanted.
func (p *peer) until(what string, wanted func(*message) bool) *message {
	p.t.Helper()
	late := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the connection ended before %s", what)
			}
			p.seen = append(p.seen, line)
			var m message
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				p.t.Fatal(err, line)
			}
			if wanted(&m) {
				return &m
			}
		case <-late:
			p.t.Fatalf("%s does not come; the last were\n%s", what, strings.Join(p.seen[max(0, len(p.seen)-10):], "\n"))
		}
	}
}

func (p *peer) answer(id string) *message {
	p.t.Helper()
	return p.until("the answer to "+id, func(m *message) bool { return m.ID == id && m.Method == "" })
}

func (p *peer) must(method, params string) json.RawMessage {
	p.t.Helper()
	m := p.answer(p.send(method, params))
	if m.Error != nil {
		p.t.Fatalf("%s: %d %s", method, m.Error.Code, m.Error.Message)
	}
	return m.Result
}

// open makes a panel in a folder.
func (p *peer) open(cwd string) (session string) {
	p.t.Helper()
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(p.must("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, cwd)), &r); err != nil {
		p.t.Fatal(err)
	}
	return r.SessionID
}

func promptOf(session, text string) string {
	return fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text)
}
