package model_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"zuno/internal/model"
	"zuno/internal/model/anthropic"
	"zuno/internal/model/fake"
	"zuno/internal/model/httpx"
	"zuno/internal/model/openai"
)

// surfaces are all of them, with the provider that speaks each.
var surfaces = []struct {
	surface fake.Surface
	make    func(httpx.Options) model.Provider
	key     string
}{
	{fake.Chat, openai.Chat, openai.KeyName},
	{fake.Responses, openai.Responses, openai.KeyName},
	{fake.Messages, anthropic.New, anthropic.KeyName},
}

// onEach runs a test for each surface.
func onEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for _, s := range surfaces {
		t.Run(string(s.surface), func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, surface: s.surface, make: s.make, keyName: s.key, clock: &manual{}}
			test(t, w)
		})
	}
}

// world is a server and a provider of one surface.
type world struct {
	t       *testing.T
	surface fake.Surface
	make    func(httpx.Options) model.Provider
	keyName string
	clock   *manual
	server  *fake.Server
}

const marker = "sk-marker-KEY-0123456789"

func (w *world) serve(answers ...fake.Answer) *fake.Server {
	w.server = fake.Start(w.surface, answers...)
	w.t.Cleanup(w.server.Close)
	return w.server
}

func (w *world) options() httpx.Options {
	o := httpx.Options{Key: func() string { return marker }, Clock: w.clock}
	if w.server != nil {
		o.BaseURL = w.server.BaseURL()
	}
	return o
}

// answer is what came of one request.
type answer struct {
	chunks   []model.Chunk
	response *model.Response
	err      error
}

func (w *world) ask(answers ...fake.Answer) answer {
	w.t.Helper()
	w.serve(answers...)
	return ask(w.t.Context(), w.make(w.options()), hello())
}

func ask(ctx context.Context, p model.Provider, r *model.Request) (a answer) {
	a.response, a.err = p.Stream(ctx, r, func(c model.Chunk) error {
		a.chunks = append(a.chunks, c)
		return nil
	})
	return a
}

func hello() *model.Request {
	return &model.Request{Model: "m", Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "hello"}}}}}
}

// words joins the text or the thoughts of an answer.
func (a *answer) words(kind model.ChunkKind) string {
	var b strings.Builder
	for _, c := range a.chunks {
		if c.Kind == kind {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

func (a *answer) failure(t *testing.T) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(a.err, &e) {
		t.Fatalf("got %v, want an error", a.err)
	}
	return e
}

func (a *answer) cut(t *testing.T) *model.Cut {
	t.Helper()
	var c *model.Cut
	if !errors.As(a.err, &c) {
		t.Fatalf("got %v and %+v, want a cut", a.err, a.response)
	}
	return c
}

func (a *answer) whole(t *testing.T) *model.Response {
	t.Helper()
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.response
}

// manual is a clock that a test moves.
type manual struct {
	mu     sync.Mutex
	now    int64
	timers []*timer
}

type timer struct {
	at int64
	f  func()
}

func (m *manual) Now() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) AfterFunc(d time.Duration, f func()) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &timer{m.now + d.Milliseconds(), f}
	m.timers = append(m.timers, t)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		t.f = nil
	}
}

// advance moves the clock and runs what falls due, outside the lock.
func (m *manual) advance(d time.Duration) {
	m.mu.Lock()
	m.now += d.Milliseconds()
	var due []func()
	keep := m.timers[:0]
	for _, t := range m.timers {
		switch {
		case t.f == nil:
		case t.at <= m.now:
			due = append(due, t.f)
		default:
			keep = append(keep, t)
		}
	}
	m.timers = keep
	m.mu.Unlock()
	for _, f := range due {
		f()
	}
}

func count(n uint64) *uint64 { return &n }
