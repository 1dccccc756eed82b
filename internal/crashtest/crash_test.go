package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// story is what the model does. Its entries are used up by what was recorded, so that no command stands in two of them.
const story = `
responses:
  - text: I look and count.
    calls:
      - tool: read
        args: { filePath: "${cwd}/numbers" }
      - tool: shell
        args: { command: "echo one >>ran" }
  - text: I write.
    calls:
      - tool: write
        args: { filePath: "${cwd}/written", content: "written once\n" }
      - tool: shell
        args: { command: "echo two >>ran" }
  - text: The first is done.
  - text: I count again.
    calls:
      - tool: shell
        args: { command: "echo three >>ran" }
  - text: The second is done.
repeat: true
`

const patience = 20 * time.Second

// scenario is a session that is killed at each of its points.
type scenario struct {
	story string // what the model does; "${go}" is a file that a command may wait for
	clock bool   // that of the tests, which jumps over waits
	play  func(t *testing.T, c *client.Client, p *place, w *witness) (id string)
	words []string // commands, each of which runs at most once
	fails int      // how many prompts may fail afterwards, because it is the model's turn to
}

// twoPrompts sends one prompt and, while it runs, another.
var twoPrompts = &scenario{story: story, play: play, words: []string{"one", "two", "three"}}

// place is one worktree with its data folder.
type place struct {
	root, work, data string
	scenario         *scenario
	started          int
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return twoPrompts.place(t)
}

func (s *scenario) place(t *testing.T) *place {
	t.Helper()
	root := t.TempDir()
	p := &place{root: root, work: filepath.Join(root, "w"), data: filepath.Join(root, "data"), scenario: s}
	for _, d := range []string{p.work, filepath.Join(root, "config", "zuno"), filepath.Join(root, "home")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`{ "model": "scripted/story", "permission": { "rules": { "shell": "ask", "edit": "allow" } }, "provider": { "scripted": { "type": "scripted", "options": { "script": %q } } } }`, filepath.Join(root, "story.yaml"))
	for name, text := range map[string]string{"story.yaml": strings.ReplaceAll(s.story, "${go}", filepath.Join(root, "go")), "config/zuno/zuno.json": config, "w/numbers": "1\n2\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *place) start(t *testing.T, binary, fault string, unfenced bool, see func(string, schema.SessionUpdate)) *client.Client {
	t.Helper()
	at := func(name string) string { return filepath.Join(p.root, name) }
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + at("home"), "ZUNO_DATA_DIR=" + p.data, "XDG_CONFIG_HOME=" + at("config"),
		"XDG_STATE_HOME=" + at("state"), "XDG_DATA_HOME=" + at("share"), "XDG_CACHE_HOME=" + at("cache"),
	}
	if fault != "" {
		env = append(env, "ZUNO_TEST_FAULT="+fault)
	}
	if unfenced {
		env = append(env, "ZUNO_TEST_UNFENCED=1")
	}
	args := []string{"acp"}
	if p.started++; p.scenario.clock {
		args = append(args, "--test-clock-seed", strconv.Itoa(p.started)) // the ids of two processes differ
	}
	c, err := client.Start(client.Config{Binary: binary, Args: args, Env: env, Dir: p.work, Permission: client.Allow, OnUpdate: see})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// witness is the editor: what it was told, and could rely on.
type witness struct {
	mu       sync.Mutex
	heads    []client.Head
	inputs   map[string]bool   // of receipts
	terminal map[string]string // receipt → state
	ended    map[string]string // card → status
	running  string            // the turn of the newest update
	seen     atomic.Int64      // updates
}

func newWitness() *witness {
	return &witness{inputs: map[string]bool{}, terminal: map[string]string{}, ended: map[string]string{}}
}

type receipt struct {
	InputID string `json:"inputId"`
	State   string `json:"state"`
}

func (w *witness) meta(raw json.RawMessage) {
	m := client.ReadMeta(raw)
	w.note(m.Head, m.Receipt)
}

func (w *witness) note(head client.Head, raw json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if head.Number > 0 {
		w.heads = append(w.heads, head)
	}
	var r receipt
	if len(raw) == 0 || json.Unmarshal(raw, &r) != nil || r.InputID == "" {
		return
	}
	w.inputs[r.InputID] = true
	if r.State == "completed" || r.State == "failed" || r.State == "cancelled" {
		w.terminal[r.InputID] = r.State
	}
}

// accepted takes an input that was acknowledged without a receipt.
func (w *witness) accepted(input string) {
	w.mu.Lock()
	w.inputs[input] = true
	w.mu.Unlock()
}

// count is how many inputs were acknowledged.
func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.inputs)
}

func (w *witness) turn() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running
}

// see takes an update.
func (w *witness) see(_ string, u schema.SessionUpdate) {
	w.seen.Add(1)
	b, err := json.Marshal(u)
	if err != nil {
		return
	}
	var x struct {
		Meta   json.RawMessage `json:"_meta"`
		Update string          `json:"sessionUpdate"`
		Call   string          `json:"toolCallId"`
		Status string          `json:"status"`
	}
	if json.Unmarshal(b, &x) != nil {
		return
	}
	w.meta(x.Meta)
	if turn := turnOf(x.Meta); turn != "" {
		w.mu.Lock()
		w.running = turn
		w.mu.Unlock()
	}
	if x.Call != "" && (x.Status == "completed" || x.Status == "failed") {
		w.mu.Lock()
		w.ended[x.Call] = x.Status
		w.mu.Unlock()
	}
}

// answered takes the answer to a prompt.
func (w *witness) answered(r schema.PromptResponse, err error) {
	if err == nil {
		w.meta(r.Meta)
		return
	}
	var e *wire.Error
	if errors.As(err, &e) {
		data, _ := e.Data.(json.RawMessage)
		var d struct {
			Head    client.Head     `json:"head"`
			Receipt json.RawMessage `json:"receipt"`
		}
		if json.Unmarshal(data, &d) == nil {
			w.note(d.Head, d.Receipt)
		}
	}
}

// session is played until the end or the death of the agent. It gives the session's id.
func play(t *testing.T, c *client.Client, p *place, w *witness) (id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := c.Initialize(ctx); err != nil {
		t.Fatalf("initialize: %v\n%s", err, c.Stderr())
	}
	id, err := c.New(ctx, p.work)
	if err != nil {
		t.Fatalf("session/new: %v\n%s", err, c.Stderr())
	}
	first := c.Prompt(id, "first")
	second := c.Prompt(id, "second")
	for _, turn := range []*client.Turn{first, second} {
		r, err := turn.Wait(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a prompt was not answered")
		}
		w.answered(r, err)
	}
	c.CloseInput()
	if _, err := c.Wait(ctx); err != nil {
		t.Error(err)
		_ = c.Kill()
	}
	return id
}

// found is what a journal says.
type found struct {
	hashes   map[uint64]string
	view     *projections.View
	admitted map[string]bool
	settled  map[string][]string
	started  map[string]int
	ended    map[string]bool // calls: settled, blocked, abandoned; and cards of calls that were cut
	commands map[string]bool // arguments of calls that were started
}

func inspect(dir string) (*found, error) {
	f := &found{hashes: map[uint64]string{}, admitted: map[string]bool{}, settled: map[string][]string{}, started: map[string]int{}, ended: map[string]bool{}, commands: map[string]bool{}}
	args := map[string]string{}
	folder := projections.NewFolder(projections.Options{Keep: true})
	file, err := journal.OpenRead(dir, func(r *journal.Raw) error {
		c, err := engine.Decode(r)
		if err != nil {
			return err
		}
		f.hashes[c.Number] = c.Hash.String()
		for i := range c.Events {
			switch e := c.Events[i].Payload.(type) {
			case *event.InputAdmitted:
				f.admitted[e.ID] = true
			case *event.InputSettled:
				f.settled[e.Input] = append(f.settled[e.Input], e.State)
			case *event.CallRequested:
				args[e.ID] = e.Args.String()
			case *event.CallStarted:
				f.started[e.ID]++
				f.commands[args[e.ID]] = true
			case *event.CallSettled:
				f.ended[e.ID] = true
			case *event.CallBlocked:
				f.ended[e.ID] = true
			case *event.CallAbandoned:
				f.ended[e.ID] = true
			case *event.ResponseCut:
				for _, cut := range e.Calls {
					f.ended[cut.ID] = true
				}
			}
		}
		return folder.Commit(r)
	})
	if err != nil {
		return nil, err
	}
	f.view = folder.View
	return f, file.Close()
}

func (f *found) startedWith(part string) bool {
	for a := range f.commands {
		if strings.Contains(a, part) {
			return true
		}
	}
	return false
}

// judge compares a journal with what the witness was told and with what happened in the worktree. It gives what is wrong.
func (f *found) judge(p *place, w *witness) (wrong []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	bad := func(format string, a ...any) { wrong = append(wrong, fmt.Sprintf(format, a...)) }
	if f.view.Corrupt != nil {
		bad("the view is corrupt: %v", f.view.Corrupt)
	}
	for _, h := range w.heads {
		if f.hashes[h.Number] != h.Hash {
			bad("commit %d was acknowledged as %.8s and is %.8s", h.Number, h.Hash, f.hashes[h.Number])
		}
	}
	for id := range w.inputs {
		if !f.admitted[id] {
			bad("input %s was accepted and is lost", id)
		}
	}
	for id, state := range w.terminal {
		if len(f.settled[id]) != 1 || f.settled[id][0] != state {
			bad("input %s was told to be %s and is %v", id, state, f.settled[id])
		}
	}
	for id := range w.ended {
		if !f.ended[id] {
			bad("call %s was shown as ended and is not", id)
		}
	}
	for id, states := range f.settled {
		if len(states) > 1 {
			bad("input %s has receipts %v", id, states)
		}
	}
	for id, n := range f.started {
		if n > 1 {
			bad("call %s was started %d times", id, n)
		}
	}
	ran, _ := os.ReadFile(filepath.Join(p.work, "ran"))
	for _, word := range p.scenario.words {
		n := strings.Count(string(ran), word+"\n")
		if n > 1 {
			bad("command %s ran %d times", word, n)
		}
		if n > 0 && !f.startedWith("echo "+word) {
			bad("command %s ran and its start is not in the journal", word)
		}
	}
	if _, err := os.Stat(filepath.Join(p.work, "written")); err == nil && !f.startedWith("written once") {
		bad("a file was written and the start of its call is not in the journal")
	}
	sort.Strings(wrong)
	return wrong
}

// sessionDir is the folder of the only session; empty when there is none.
func (p *place) sessionDir(t *testing.T) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(p.data, "sessions", "ses_*"))
	if err != nil || len(dirs) > 1 {
		t.Fatalf("sessions %v (%v)", dirs, err)
	}
	if len(dirs) == 0 {
		return ""
	}
	return dirs[0]
}

// trial plays the session with a kill at a point, and gives what was wrong afterwards. over says that the session ended
// before the point came.
func (s *scenario) trial(t *testing.T, binary, fault string, unfenced bool) (wrong []string, over bool) {
	p, w := s.place(t), newWitness()
	c := p.start(t, binary, fault, unfenced, w.see)
	id := s.play(t, c, p, w)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	status, err := c.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	over = status == 0
	if !over && status != -1 {
		return []string{fmt.Sprintf("the agent ended with %d: %s", status, c.Stderr())}, false
	}
	dir := p.sessionDir(t)
	if dir != "" {
		f, err := inspect(dir)
		if err != nil {
			return []string{fmt.Sprintf("the journal cannot be read: %v", err)}, over
		}
		wrong = append(wrong, f.judge(p, w)...)
	} else if len(w.heads) > 0 || len(w.inputs) > 0 {
		wrong = append(wrong, "everything that was acknowledged is lost")
	}
	// Open it again and go on: what was left is settled, what waits runs, and nothing is done twice.
	again := p.start(t, binary, "", false, w.see)
	if _, err := again.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	if dir == "" || again.Load(ctx, id, p.work) != nil {
		if f := w; len(f.heads) > 0 || len(f.inputs) > 0 {
			wrong = append(wrong, "a session with accepted inputs cannot be loaded")
		}
		if id, err = again.New(ctx, p.work); err != nil {
			t.Fatal(err)
		}
	} else {
		dir2 := p.sessionDir(t)
		if dir2 != dir {
			wrong = append(wrong, "loading made another session")
		}
	}
	var r schema.PromptResponse
	for tries := 0; tries <= s.fails; tries++ {
		r, err = again.Prompt(id, "and now?").Wait(ctx)
		w.answered(r, err)
		if err == nil {
			break
		}
	}
	if err != nil {
		wrong = append(wrong, fmt.Sprintf("the next prompt fails: %v", err))
	}
	again.CloseInput()
	if status, err := again.Wait(ctx); err != nil || status != 0 {
		wrong = append(wrong, fmt.Sprintf("afterwards the agent ended with %d (%v): %s", status, err, again.Stderr()))
	}
	f, err := inspect(filepath.Join(p.data, "sessions", id))
	if err != nil {
		return append(wrong, fmt.Sprintf("afterwards the journal cannot be read: %v", err)), over
	}
	for _, s := range f.judge(p, w) {
		wrong = append(wrong, "afterwards "+s)
	}
	root := f.view.Root
	pending := slices.DeleteFunc(slices.Clone(root.Permissions.Pending), func(p *projections.Permission) bool { return p.Abandoned })
	if len(root.Inputs.Open) != 0 || root.Turns.Active != nil || len(root.Calls.Open) != 0 || len(pending) != 0 {
		wrong = append(wrong, fmt.Sprintf("afterwards %d inputs and %d calls are open", len(root.Inputs.Open), len(root.Calls.Open)))
	}
	return wrong, over
}

// trials goes through the points until the session outlives its fault, two at a time.
func (s *scenario) trials(t *testing.T, unfenced bool) (points int64, wrong map[int64][]string) {
	binary := build(t)
	wrong = map[int64][]string{}
	var mu sync.Mutex
	var next, last atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !t.Failed() && last.Load() == 0 {
				n := next.Add(1)
				found, over := s.trial(t, binary, fmt.Sprintf("any:%d", n), unfenced)
				mu.Lock()
				if len(found) > 0 {
					wrong[n] = found
				}
				mu.Unlock()
				if over {
					last.Store(n)
				}
			}
		})
	}
	wg.Wait()
	return last.Load() - 1, wrong
}

var built struct {
	sync.Once
	path string
	err  error
}

func build(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "zuno-crash-")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "zuno")
		// Looking at the sources makes the result of this test depend on them: the go command caches it otherwise.
		for _, part := range []string{"acp", "cmd", "commands", "internal", "journal", "projections", "tools"} {
			if built.err = fs.WalkDir(os.DirFS("../.."), part, func(name string, d fs.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
					_, err = os.Stat(filepath.Join("../..", name))
				}
				return err
			}); built.err != nil {
				return
			}
		}
		if out, err := exec.Command("go", "build", "-o", built.path, "zuno/cmd/zuno").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}

// The real binary is killed at every pass of every point: around each append and inside each effect. Whatever it had
// acknowledged is found, nothing was done twice or without its fence, and the session goes on.
//
// spec: D041 D042 D045 D047 D048 D079 D175
func TestKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("kills the binary some hundred times")
	}
	points, wrong := twoPrompts.trials(t, false)
	if points < 60 {
		t.Errorf("only %d points", points)
	}
	for n, found := range wrong {
		for _, s := range found {
			t.Errorf("point %d: %s", n, s)
		}
	}
	t.Logf("%d points", points)
}

// Each kind of point is passed in that session, and a kill there is survived: the enumeration leaves none out.
//
// spec: D175
func TestEveryKindOfPointIsPassed(t *testing.T) {
	binary := build(t)
	for _, p := range []journal.Point{
		journal.PointBeforeAppend, journal.PointBeforeSync, journal.PointAfterSync, engine.PointRequestFenced, engine.PointResponseEnded,
		engine.PointQuestionFenced, engine.PointQuestionEnded, engine.PointCallFenced, engine.PointCallEnded,
	} {
		found, over := twoPrompts.trial(t, binary, string(p)+":1", false)
		if over {
			t.Errorf("%s was not passed", p)
		}
		for _, s := range found {
			t.Errorf("%s: %s", p, s)
		}
	}
}

// The mutant that runs a tool before its start is durable is caught by the same checks.
//
// spec: D176 D043
func TestUnfencedMutantIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("kills the binary some hundred times")
	}
	binary := build(t)
	for n := int64(1); ; n++ {
		found, over := twoPrompts.trial(t, binary, fmt.Sprintf("any:%d", n), true)
		for _, s := range found {
			if strings.Contains(s, "its start is not in the journal") || strings.Contains(s, "times") {
				t.Logf("point %d: %s", n, s)
				return
			}
		}
		if over {
			t.Fatalf("%d points, and nothing was noticed", n-1)
		}
	}
}
