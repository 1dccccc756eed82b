package prooftest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/commands"
	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

var zuno string

func TestMain(m *testing.M) {
	zuno = os.Getenv("ZUNO_BIN")
	if zuno == "" {
		dir, err := os.MkdirTemp("", "zuno-proof-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		zuno = filepath.Join(dir, "zuno")
		if out, err := exec.Command("go", "build", "-o", zuno, "zuno/cmd/zuno").CombinedOutput(); err != nil {
			panic(string(out))
		}
	}
	os.Exit(m.Run())
}

// place is a folder to work in, with a data folder of its own and a scripted model.
type place struct {
	t         *testing.T
	dir, data string
	env       []string
}

func newPlace(t *testing.T, script string) *place {
	t.Helper()
	root := t.TempDir()
	p := &place{t: t, dir: filepath.Join(root, "work"), data: filepath.Join(root, "data")}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "script.yaml")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	config, _ := json.Marshal(map[string]any{"model": "scripted/story", "provider": map[string]any{"scripted": map[string]any{"options": map[string]any{"script": file}}}})
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "XDG_STATE_HOME=" + filepath.Join(root, "state"), "XDG_RUNTIME_DIR=" + root, "ZUNO_DATA_DIR=" + p.data, "ZUNO_CONFIG_CONTENT=" + string(config)}
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) start(args ...string) *client.Client {
	p.t.Helper()
	c, err := client.Start(client.Config{Binary: zuno, Args: append([]string{"acp"}, args...), Env: p.env, Dir: p.dir, Permission: client.Allow})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Kill() })
	if _, err := c.Initialize(p.ctx()); err != nil {
		p.t.Fatal(err, c.Stderr())
	}
	return c
}

func (p *place) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p.t.Cleanup(cancel)
	return ctx
}

func (p *place) prompt(c *client.Client, session string) schema.PromptResponse {
	p.t.Helper()
	r, err := c.Prompt(session, "go on").Wait(p.ctx())
	if err != nil {
		p.t.Fatal(err, c.Stderr())
	}
	return r
}

func (p *place) stop(c *client.Client) {
	p.t.Helper()
	c.CloseInput()
	if code, err := c.Wait(p.ctx()); err != nil || code != 0 {
		p.t.Fatal(code, err, c.Stderr())
	}
}

func (p *place) folder(session string) string { return filepath.Join(p.data, "sessions", session) }

// commits are all commits of a session, decoded, with their raw form's run.
func (p *place) commits(session string) (all []*engine.Committed) {
	p.t.Helper()
	f, err := journal.OpenRead(p.folder(session), func(c *journal.Raw) error {
		d, err := engine.Decode(c)
		all = append(all, d)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	f.Close()
	return all
}

const story = `
responses:
  - text: I look, then write, then run.
    calls:
      - { tool: read, args: { filePath: "${cwd}/a.txt" } }
      - { tool: shell, args: { command: "exit 3" } }
      - { tool: nope, args: {} }
    usage: { input: 120, output: 30 }
  - calls: [{ tool: write, args: { filePath: "${cwd}/a.txt", content: "two\n" } }]
  - text: Done.
`

func played(t *testing.T) (*place, string, []*engine.Committed) {
	t.Helper()
	p := newPlace(t, story)
	p.write("a.txt", "one\n")
	c := p.start()
	session, err := c.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	p.prompt(c, session)
	p.stop(c)
	return p, session, p.commits(session)
}

// TestCallsCarryTheirDeclaration: nobody has to ask today's registry about yesterday's call.
//
// spec: D033 D034
func TestCallsCarryTheirDeclaration(t *testing.T) {
	_, _, all := played(t)
	seen := map[string]*event.CallRequested{}
	for _, c := range all {
		for _, e := range c.Events {
			if r, ok := e.Payload.(*event.CallRequested); ok {
				seen[r.Tool] = r
				d := r.Declaration
				if d.Effect == "" || d.Replay == "" || d.Concurrency == "" || r.ArgsDigest == (journal.Hash{}) || r.ArgsDigest != r.Args.Digest && r.Args.Known() && r.ArgsDigest == (journal.Hash{}) {
					t.Errorf("call of %s: %+v", r.Tool, r)
				}
				if known := r.Tool != "nope"; known != (r.SchemaDigest != journal.Hash{}) {
					t.Errorf("call of %s has the schema digest %s", r.Tool, r.SchemaDigest)
				}
			}
		}
	}
	for tool, want := range map[string]event.Declaration{
		"read":  {Effect: event.ReadOnly, Replay: event.ReplaySafe, Concurrency: event.ParallelSafe},
		"write": {Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive},
		"shell": {Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive},
		"nope":  {Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive},
	} {
		if r := seen[tool]; r == nil || r.Declaration != want {
			t.Errorf("call of %s: %+v, want %+v", tool, r, want)
		}
	}
}

// TestOutcomesAreToldApart: a command that fails is an error, not a refusal; a call that was refused never started.
//
// spec: T355 T354 T351 T352
func TestOutcomesAreToldApart(t *testing.T) {
	_, _, all := played(t)
	var order []string
	for _, c := range all {
		for _, e := range c.Events {
			switch e := e.Payload.(type) {
			case *event.CallBlocked:
				order = append(order, "blocked "+string(e.Kind))
			case *event.CallSettled:
				order = append(order, "settled "+string(e.Outcome))
			}
		}
	}
	if got, want := strings.Join(order, ", "), "blocked unavailable, settled ok, settled error, settled ok"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCauses: each commit names the one that led to it, which came before; what came from outside names none.
//
// spec: D076
func TestCauses(t *testing.T) {
	_, _, all := played(t)
	causes := map[string]uint64{}
	byType := map[string]*engine.Committed{}
	for _, c := range all {
		if c.Cause >= c.Number {
			t.Errorf("commit %d was caused by commit %d", c.Number, c.Cause)
		}
		if outside := strings.HasPrefix(c.Command, "acp:"); outside != (c.Actor == "user") || outside && c.Cause != 0 {
			t.Errorf("commit %d (%s by %s) has the cause %d", c.Number, c.Command, c.Actor, c.Cause)
		}
		if byType[c.Type] == nil {
			byType[c.Type], causes[c.Type] = c, c.Cause
		}
	}
	for typ, cause := range map[string]string{"request.start": "input.admit", "response.complete": "request.start", "permission.ask": "response.complete", "permission.answer": "permission.ask", "call.settle": "call.start"} {
		if byType[typ] == nil || causes[typ] != byType[cause].Number {
			t.Errorf("%s was caused by commit %d, want that of %s", typ, causes[typ], cause)
		}
	}
}

// TestDecisionsReadNoText: every command is decided again from its body with all texts dropped, on a view folded without texts,
// and causes the same events.
//
// spec: D075 D022
func TestDecisionsReadNoText(t *testing.T) {
	p, session, _ := played(t)
	folder := projections.NewFolder(projections.Options{})
	decided := 0
	f, err := journal.OpenRead(p.folder(session), func(c *journal.Raw) error {
		c.Body = func(int) ([]byte, error) { return nil, journal.ErrRedacted }
		d := commands.Decide(folder.View, string(c.Command.Type), c.Command.Payload, c.Texts, commands.Stamp{At: c.At, Command: string(c.Command.ID), Actor: string(c.Command.Actor), Commit: c.Number})
		if d.Refusal != nil || len(d.Events) != len(c.Events) {
			t.Errorf("commit %d: %v, %d events, recorded %d", c.Number, d.Refusal, len(d.Events), len(c.Events))
			return folder.Commit(c)
		}
		table := &journal.Texts{Entries: append([]journal.TextEntry(nil), c.Texts...), Bodies: make([][]byte, len(c.Texts))}
		for i, e := range d.Events {
			payload, err := event.NewEncoder().Encode(e, table)
			if err != nil {
				return err
			}
			if event.TypeOf(e).Name != string(c.Events[i].Type) || !bytes.Equal(payload, c.Events[i].Payload) && len(table.Entries) == len(c.Texts) {
				t.Errorf("commit %d event %d differs: %s", c.Number, i, event.TypeOf(e).Name)
			}
			decided++
		}
		return folder.Commit(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if decided < 20 {
		t.Errorf("only %d events were decided again", decided)
	}
}

// TestTheFirstCommitBinds: the installation's id is made with the first session, and its first commit names it.
//
// spec: D080 D070
func TestTheFirstCommitBinds(t *testing.T) {
	p := newPlace(t, "repeat: true\nresponses: [{ text: Done. }]\n")
	file := filepath.Join(p.data, "installation")
	c := p.start()
	session, err := c.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is an installation before there is a session")
	}
	p.prompt(c, session)
	p.stop(c)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	created, ok := p.commits(session)[0].Events[1].Payload.(*event.Created)
	if !ok || created.Installation != strings.TrimSpace(string(b)) || created.Session != session {
		t.Errorf("commit 1 says %+v, the file %q", created, b)
	}
}

// TestTheSameProcessServes: the process that was launched serves, from the first prompt to the hundredth.
//
// spec: A006
func TestTheSameProcessServes(t *testing.T) {
	p := newPlace(t, "repeat: true\nresponses: [{ text: Done. }]\n")
	c := p.start()
	session, err := c.New(p.ctx(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		p.prompt(c, session)
		if o, err := journal.ReadOwner(p.folder(session)); err != nil || o.PID != c.PID() {
			t.Fatalf("the owner is process %d, the launched one %d: %v", o.PID, c.PID(), err)
		}
	}
	p.stop(c)
}

// TestOpeningRewritesNothing: another build opens the journal of an older one, and each record stays as it was.
//
// spec: A221 D093
func TestOpeningRewritesNothing(t *testing.T) {
	p, session, _ := played(t)
	records := func() (all [][]byte) {
		f, err := journal.OpenRead(p.folder(session), func(c *journal.Raw) error {
			all = append(all, bytes.Clone(c.Record))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		return all
	}
	before := records()
	c := p.start("--test-clock-seed", "7") // whose build is "test": not the one that wrote the journal
	if err := c.Load(p.ctx(), session, p.dir); err != nil {
		t.Fatal(err)
	}
	p.stop(c)
	after := records()
	if len(after) != len(before)+1 { // session.opened of the new run, and nothing else
		t.Fatalf("%d records, then %d", len(before), len(after))
	}
	for i := range before {
		if !bytes.Equal(before[i], after[i]) {
			t.Errorf("record %d was rewritten", i+1)
		}
	}
}

// TestOfferedTools: with default configuration the model is offered what is built of the default surface, and nothing else.
//
// spec: T002
func TestOfferedTools(t *testing.T) {
	allowed := strings.Fields("read glob grep write report_write apply_patch shell bg task session_message job webfetch web_search skill question question_async plan_exit plan_get plan_update todo_get todo_update goal_get goal_update memory_read memory_update council_run task_context tool_search history notes")
	_, _, all := played(t)
	offered := 0
	for _, c := range all {
		for _, e := range c.Events {
			if cat, ok := e.Payload.(*event.CatalogueResolved); ok {
				for _, tool := range cat.Tools {
					offered++
					if !contains(allowed, tool.Name) {
						t.Errorf("the model is offered %q", tool.Name)
					}
				}
			}
		}
	}
	if offered < 3 {
		t.Errorf("only %d tools are offered", offered)
	}
}

func contains(all []string, s string) bool {
	for _, x := range all {
		if x == s {
			return true
		}
	}
	return false
}

// TestTheSummaryIsACache: deleted, damaged or out of date, the list stays the same.
//
// spec: D071
func TestTheSummaryIsACache(t *testing.T) {
	p, session, _ := played(t)
	list := func() string {
		cmd := exec.Command(zuno, "session", "list", "--json")
		cmd.Env, cmd.Dir = p.env, p.dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err, string(out))
		}
		return string(out)
	}
	want := list()
	if !strings.Contains(want, session) {
		t.Fatal(want)
	}
	file := filepath.Join(p.folder(session), "summary.json")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"deleted": func() error { return os.Remove(file) },
		"damaged": func() error { return os.WriteFile(file, []byte("{"), 0o600) },
		"of another journal": func() error {
			return os.WriteFile(file, bytes.Replace(old, []byte(`"title":"go on"`), []byte(`"title":"lies"`), 1)[:len(old)-20], 0o600)
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if got := list(); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
}

// TestReplayDiagnosticsAreLogged: what is to be said of a replay itself goes to the log, and no thought shows it.
//
// spec: A116
func TestReplayDiagnosticsAreLogged(t *testing.T) {
	p, session, _ := played(t)
	c := p.start()
	if err := c.Load(p.ctx(), session, p.dir); err != nil {
		t.Fatal(err)
	}
	for _, u := range c.Updates() {
		if u.Kind == schema.UpdateAgentThoughtChunk {
			t.Errorf("a thought: %+v", u.ContentChunk)
		}
	}
	p.stop(c)
	log, err := os.ReadFile(filepath.Join(filepath.Dir(p.dir), "state", "zuno", "log", "zuno.log"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "audience=diagnostic") || !strings.Contains(string(log), session) {
		t.Errorf("log:\n%s", log)
	}
}
