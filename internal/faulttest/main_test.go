package faulttest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zuno/acp"
	"zuno/acp/client"
	"zuno/commands"
	"zuno/internal/engine"
	"zuno/internal/model/scripted"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/tools"
)

// roleVar makes the test binary play another process: a role and its arguments.
const roleVar = "FAULTTEST_ROLE"

// patience bounds every wait.
const patience = 20 * time.Second

var roles = map[string]func(args []string) error{"acp": serve}

func TestMain(m *testing.M) {
	role := strings.Split(os.Getenv(roleVar), "|")
	if role[0] == "" {
		os.Exit(m.Run())
	}
	if err := roles[role[0]](role[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func process(t *testing.T, role ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVar+"="+strings.Join(role, "|"))
	return cmd
}

// clock is the machine's, moved by as much as a test wants.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() int64 { return time.Now().UnixMilli() + c.ahead.Load() }
func (c *clock) Committed() {}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

type ids struct{}

func (ids) ULID(string) (id journal.RunID) {
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().UnixMilli())<<16)
	_, _ = rand.Read(id[6:])
	return id
}

func (ids) Salt(string) []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return b
}

const story = "responses:\n  - text: Answered.\nrepeat: true\n"

// newHost is a host with a model that answers everything at once.
func newHost(data string, c *clock, fault func(journal.Point) error) (*engine.Host, error) {
	script, err := scripted.Parse("story", []byte(story))
	if err != nil {
		return nil, err
	}
	settings := &engine.Settings{
		Provider: scripted.New(script, nil, c),
		Policy:   event.Policy{Agent: "build", Mode: event.ModeStandard, Concurrency: 1, Model: event.ModelChoice{Provider: "scripted", Name: "story", Surface: "scripted"}},
	}
	return engine.NewHost(engine.Options{
		Data: data, Build: func() string { return "test" }, Clock: c, IDs: ids{}, Tools: tools.NewRegistry(), Fault: fault,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Settings: func(string, engine.Choice) (*engine.Settings, error) { return settings, nil },
	}), nil
}

// failure is what a fault hook gives, set by a test while the session's owner asks for it.
type failure struct{ v atomic.Pointer[error] }

func (f *failure) set(err error) { f.v.Store(&err) }

func (f *failure) get() error {
	if p := f.v.Load(); p != nil {
		return *p
	}
	return nil
}

func admission(text string) *commands.AdmitInput {
	return &commands.AdmitInput{Delivery: event.DeliverSteer, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText(text)}}, Title: event.OptionalText("title")}
}

// begin makes a session with a first prompt, and waits until that is answered.
func begin(h *engine.Host, cwd string) (*engine.Session, error) {
	id, set, err := h.Reserve(cwd)
	if err != nil {
		return nil, err
	}
	s, _, err := h.Create(id, cwd, set, nil, "test:first", "user", admission("first"))
	if err != nil {
		return nil, err
	}
	return s, idle(s)
}

func idle(s *engine.Session) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.Idle(ctx)
}

func closed(h *engine.Host) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return h.Shutdown(ctx, "shutdown")
}

// holds checks that a session's journal is whole and has the head.
func holds(dir string, head journal.Head) error {
	r, err := journal.Verify(dir, head.Hash)
	if err == nil && r.Match != head.Number {
		err = fmt.Errorf("commit %d was acknowledged and is not in the journal, which ends with commit %d", head.Number, r.Head.Number)
	}
	return err
}

// serve is an agent. Its arguments are the data folder, a point of the journal, and which pass of that point fails; 0 for none.
func serve(args []string) error {
	nth, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	var passed atomic.Int64
	h, err := newHost(args[0], &clock{}, func(p journal.Point) error {
		if string(p) == args[1] && passed.Add(1) == int64(nth) {
			return errors.New("input/output error")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return acp.NewServer(h, ids{}, slog.New(slog.NewTextHandler(io.Discard, nil)), io.Discard, "test").Serve(context.Background(), os.Stdin, os.Stdout)
}

// agent starts one in a process of its own.
func agent(t *testing.T, data string, point journal.Point, nth int) (*client.Client, context.Context) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c, err := client.Start(client.Config{
		Binary: self, Dir: t.TempDir(),
		Env: append(os.Environ(), roleVar+"="+strings.Join([]string{"acp", data, string(point), strconv.Itoa(nth)}, "|")),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Kill() })
	if _, err := c.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	return c, ctx
}

// end lets the agent go in good order.
func end(t *testing.T, ctx context.Context, c *client.Client) {
	t.Helper()
	c.CloseInput()
	if status, err := c.Wait(ctx); err != nil || status != 0 {
		t.Errorf("the agent ended with %d, %v: %s", status, err, c.Stderr())
	}
}

func sessionDir(data, id string) string { return filepath.Join(data, "sessions", id) }
