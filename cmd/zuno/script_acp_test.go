package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/acp/wire"
)

type playerKey struct{}

// player is an editor of a script. The commands of a script run one after the other.
type player struct {
	number   int
	agent    *client.Client
	last     *client.Client // the one before, for what it said
	started  int
	policy   client.Policy
	session  string
	turns    map[string]*client.Turn // prompts that are not answered yet, by the name that the script gives them
	kept     string
	tap      *tap
	taps     []*tap
	talk     *talk
	masks    *masks
	exampled int         // messages of the talk that examples have gone past
	terminal bool        // it draws terminals in cards
	decided  chan string // answers to questions that are held
}

// tap keeps what an agent wrote to its standard output.
type tap struct {
	mu     sync.Mutex
	b      bytes.Buffer
	killed bool // the last line may be half of one
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *tap) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// impure finds a line that is no message.
func (t *tap) impure() error {
	text := t.String()
	if i := strings.LastIndexByte(text, '\n'); t.killed {
		text = text[:i+1]
	} else if text != "" && i != len(text)-1 {
		return fmt.Errorf("standard output ends in the middle of a line: %q", text[i+1:])
	}
	for line := range strings.Lines(text) {
		var m struct {
			Version string `json:"jsonrpc"`
			Method  string `json:"method"`
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.Version != "2.0" {
			return fmt.Errorf("standard output has a line that is no message: %.200q", line)
		}
		if strings.HasPrefix(m.Method, "fs/") || strings.HasPrefix(m.Method, "terminal/") {
			return fmt.Errorf("the client is asked to do what zuno does itself: %.200q", line)
		}
	}
	return nil
}

// finish ends the agent of a script and looks through everything that its agents wrote.
func (p *player) finish(t testscript.T) {
	if p.agent != nil {
		p.agent.CloseInput()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := p.agent.Wait(ctx); err != nil {
			_ = p.agent.Kill()
			t.Fatal(err)
		}
	}
	for _, tap := range p.taps {
		if err := tap.impure(); err != nil {
			t.Fatal(err)
		}
	}
}

// step is one `acp` command. Its error is what a script may expect with `!`; what cannot be expected is fatal.
type step func(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error

var steps map[string]step

func init() {
	steps = map[string]step{
		"start": stepStart, "restart": stepRestart, "kill": stepKill, "dead": stepDead, "end": stepEnd, "terminate": stepTerminate,
		"new": stepNew, "load": stepLoad, "close": stepClose, "list": stepList,
		"prompt": stepPrompt, "send": stepSend, "answer": stepAnswer, "cancel": stepCancel, "permission": stepPermission, "decide": stepDecide,
		"wait": stepWait, "asked": stepAsked, "shows": stepShows, "draw": stepDraw,
		"keep": stepKeep, "same": stepSame, "log": stepLog, "call": stepCall, "notify": stepNotify, "updates": stepUpdates, "silent": stepSilent, "pid": stepPID,
		"pending": stepPending, "callid": stepCallID, "commands": stepCommands, "withdraw": stepWithdraw, "turn": stepTurn, "receipts": stepReceipts,
	}
}

func cmdACP(ts *testscript.TestScript, neg bool, args []string) {
	name := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "@") {
		name, args = args[0], args[1:]
	}
	if len(args) == 0 || steps[args[0]] == nil {
		ts.Fatalf("usage: acp STEP …")
	}
	players := ts.Value(playerKey{}).(map[string]*player)
	p := players[name]
	if p == nil {
		p = &player{number: len(players), masks: masksOf(players)}
		players[name] = p
	}
	_, _ = ts.Stdout(), ts.Stderr() // those of the step before are over
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if p.agent == nil && args[0] != "start" && args[0] != "restart" && args[0] != "log" {
		ts.Check(stepStart(ctx, ts, p, nil))
	}
	err := steps[args[0]](ctx, ts, p, args[1:])
	if ctx.Err() != nil {
		ts.Fatalf("acp %s: waited long enough: %v\n%s", args[0], err, p.agent.State(p.session))
	}
	var refused *wire.Error
	if errors.As(err, &refused) {
		data, _ := json.Marshal(refused.Data)
		fmt.Fprintf(ts.Stderr(), "%d %s %s\n", refused.Code, refused.Message, data)
	} else if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
	}
	switch {
	case err != nil && !neg:
		ts.Fatalf("acp %s: %v", args[0], err)
	case err == nil && neg:
		ts.Fatalf("acp %s succeeded", args[0])
	}
}

func stepStart(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	if p.agent != nil {
		ts.Fatalf("the agent runs already")
	}
	p.started++
	if i := slices.Index(args, "terminal"); i >= 0 {
		p.terminal, args = true, slices.Delete(slices.Clone(args), i, i+1)
	}
	// Two processes with one seed would make the same ids, so each gets its own.
	args = append([]string{"--test-clock-seed", strconv.Itoa(100*p.number + p.started), "acp"}, args...)
	p.tap, p.talk, p.exampled = &tap{}, newTalk(), 0
	p.taps = append(p.taps, p.tap)
	agent, err := client.Start(client.Config{Binary: find(ts, "zuno"), Args: args, Env: environ(ts), Dir: ts.MkAbs("."), Permission: p.policy, Terminal: p.terminal, Tap: io.MultiWriter(p.tap, side{p.talk, "<"}), Sent: side{p.talk, ">"}})
	ts.Check(err)
	p.agent = agent
	_, err = agent.Initialize(ctx)
	return err
}

// passed are the variables that an agent gets where the script has them.
var passed = []string{
	"HOME", "PATH", "TMPDIR", "WORK", "ZUNO_DATA_DIR", "ZUNO_DB", "ZUNO_CONFIG_CONTENT", "ZUNO_PID", "zuno_secret", "TEST_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
	"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "GIT_CONFIG_NOSYSTEM", "GOCACHE", "GOPATH", "GOMODCACHE", "GOFLAGS", "GOWORK", "GOTOOLCHAIN",
}

func environ(ts *testscript.TestScript) (env []string) {
	for _, name := range passed {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func find(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path
		}
	}
	ts.Fatalf("%s is not on PATH", name)
	return ""
}

func stepRestart(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	return stepStart(ctx, ts, p, args)
}

func stepKill(_ context.Context, _ *testscript.TestScript, p *player, _ []string) error {
	p.tap.killed = true
	err := p.agent.Kill()
	p.agent, p.last, p.turns = nil, p.agent, nil
	return err
}

// stepDead waits for the end of an agent that something else killed.
func stepDead(ctx context.Context, _ *testscript.TestScript, p *player, _ []string) error {
	p.tap.killed = true
	status, err := p.agent.Wait(ctx)
	if err == nil && status != -1 {
		err = fmt.Errorf("it ended by itself, with %d", status)
	}
	p.agent, p.last, p.turns = nil, p.agent, nil
	return err
}

func stepEnd(ctx context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	p.agent.CloseInput()
	status, err := p.agent.Wait(ctx)
	if err == nil {
		fmt.Fprintf(ts.Stdout(), "exit %d\n", status)
	}
	p.agent, p.last, p.turns = nil, p.agent, nil
	return err
}

// stepTerminate asks the agent's process to end, and leaves its input open.
func stepTerminate(ctx context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	if err := syscall.Kill(p.agent.PID(), syscall.SIGTERM); err != nil {
		return err
	}
	status, err := p.agent.Wait(ctx)
	if err == nil {
		fmt.Fprintf(ts.Stdout(), "exit %d\n", status)
	}
	p.agent, p.last, p.turns = nil, p.agent, nil
	return err
}

// servers takes mcp:NAME out of the arguments.
func servers(args []string) (rest []string, servers []schema.McpServer) {
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "mcp:"); ok {
			servers = append(servers, schema.McpServer{McpServerStdio: &schema.McpServerStdio{Name: name, Command: "/bin/false", Args: []string{}, Env: []schema.EnvVariable{}}})
			continue
		}
		rest = append(rest, a)
	}
	return rest, servers
}

func stepNew(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	_, mcp := servers(args)
	session, err := p.agent.New(ctx, ts.MkAbs("."), mcp...)
	if err == nil {
		p.session = session
		ts.Setenv("SESSION", session)
		fmt.Fprintln(ts.Stdout(), session)
	}
	return err
}

func stepLoad(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	rest, mcp := servers(args)
	session := p.session
	if len(rest) > 0 {
		session = rest[0]
	}
	err := p.agent.Load(ctx, session, ts.MkAbs("."), mcp...)
	if err == nil {
		p.session = session
	}
	return err
}

func stepClose(ctx context.Context, _ *testscript.TestScript, p *player, _ []string) error {
	return p.agent.Close(ctx, p.session)
}

func stepList(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	cwd := ""
	if len(args) > 0 {
		cwd = ts.MkAbs(args[0])
	}
	all, err := p.agent.List(ctx, cwd)
	for i := range all {
		fmt.Fprintln(ts.Stdout(), all[i].Title)
	}
	return err
}

// promptOptions takes what stands before a prompt's text: as:NAME for the script's own name of it, id:MESSAGEID and queue for its _meta.
func promptOptions(args []string) (name string, meta json.RawMessage, rest []string) {
	zuno := map[string]string{}
	for len(args) > 0 {
		key, value, _ := strings.Cut(args[0], ":")
		switch {
		case key == "as" && value != "":
			name = value
		case key == "id":
			zuno["messageId"] = value
		case args[0] == "queue":
			zuno["delivery"] = "queue"
		default:
			if len(zuno) > 0 {
				meta = schema.Meta("zuno", zuno)
			}
			return name, meta, args
		}
		args = args[1:]
	}
	return name, meta, nil
}

func stepSend(_ context.Context, ts *testscript.TestScript, p *player, args []string) error {
	name, meta, args := promptOptions(args)
	text := strings.Join(args, " ")
	if file, ok := strings.CutPrefix(text, "@"); ok {
		text = ts.ReadFile(file)
	}
	if p.turns == nil {
		p.turns = map[string]*client.Turn{}
	}
	p.turns[name] = p.agent.PromptWith(p.session, meta, schema.Text(text))
	return nil
}

// sent is the prompt of a name that is not answered yet.
func sent(ts *testscript.TestScript, p *player, args []string) (name string, t *client.Turn) {
	name = strings.Join(args, " ")
	if t = p.turns[name]; t == nil {
		ts.Fatalf("no prompt %q was sent", name)
	}
	return name, t
}

func stepAnswer(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	name, turn := sent(ts, p, args)
	r, err := turn.Wait(ctx)
	delete(p.turns, name)
	if err != nil {
		return err
	}
	meta := client.ReadMeta(r.Meta)
	ts.Setenv("HEAD", meta.Head.Hash)
	fmt.Fprintf(ts.Stdout(), "%s\nreceipt %s\n", r.StopReason, meta.Receipt)
	return nil
}

// stepPending says that a prompt is not answered yet.
func stepPending(_ context.Context, ts *testscript.TestScript, p *player, args []string) error {
	_, turn := sent(ts, p, args)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := turn.Wait(over); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("it is answered already (%v)", err)
	}
	return nil
}

func stepWithdraw(_ context.Context, ts *testscript.TestScript, p *player, args []string) error {
	_, turn := sent(ts, p, args)
	return p.agent.Withdraw(turn)
}

// stepTurn sets TURN to the id of the newest turn that updates have named.
func stepTurn(_ context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	turn := ""
	for _, u := range p.agent.Updates() {
		var m struct{ Zuno struct{ TurnID string } }
		if raw := u.MetaOf(); len(raw) > 0 && json.Unmarshal(raw, &m) == nil && m.Zuno.TurnID != "" {
			turn = m.Zuno.TurnID
		}
	}
	if turn == "" {
		return errors.New("no update has named a turn")
	}
	ts.Setenv("TURN", turn)
	return nil
}

// stepCallID sets CALL to the id of the newest card.
func stepCallID(_ context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	for _, u := range p.agent.Updates() {
		if u.ToolCall != nil {
			ts.Setenv("CALL", string(u.ToolCall.ToolCallID))
		}
	}
	return nil
}

// stepCommands prints what the agent offers, when it has said it.
func stepCommands(ctx context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	return p.agent.Until(ctx, p.session, func(e *client.Editor) bool {
		for i := range e.Commands {
			fmt.Fprintf(ts.Stdout(), "/%s\n", e.Commands[i].Name)
		}
		return len(e.Commands) > 0
	})
}

// stepReceipts prints the receipts that updates have told of, in the order of the wire: its input's ordinal and its state. With a
// pattern it waits until what it prints matches.
func stepReceipts(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	re := pattern(ts, args)
	return p.agent.Until(ctx, p.session, func(e *client.Editor) bool {
		seen, text := map[string]int{}, ""
		for _, r := range e.Told {
			if seen[r.Input] == 0 {
				seen[r.Input] = len(seen) + 1
			}
			text += fmt.Sprintf("%d %s\n", seen[r.Input], r.State)
		}
		ok := re.MatchString(text)
		if ok {
			fmt.Fprint(ts.Stdout(), text)
		}
		return ok
	})
}

func stepPrompt(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	if err := stepSend(ctx, ts, p, args); err != nil {
		return err
	}
	name, _, _ := promptOptions(args)
	return stepAnswer(ctx, ts, p, []string{name})
}

func stepCancel(_ context.Context, _ *testscript.TestScript, p *player, _ []string) error {
	return p.agent.Cancel(p.session)
}

func stepPermission(_ context.Context, ts *testscript.TestScript, p *player, args []string) error {
	how := strings.Join(args, " ")
	if p.decided == nil {
		p.decided = make(chan string)
	}
	policies := map[string]client.Policy{
		"allow": client.Allow, "session": client.AllowSession, "reject": client.Reject, "hang": nil,
		"wait": func(ctx context.Context, _ *schema.RequestPermissionRequest) (string, bool) {
			<-ctx.Done()
			return "", false
		},
		"unknown": func(context.Context, *schema.RequestPermissionRequest) (string, bool) { return "yes", true },
		"hold":    func(context.Context, *schema.RequestPermissionRequest) (string, bool) { return <-p.decided, true },
	}
	policy, ok := policies[how]
	if !ok {
		ts.Fatalf("usage: acp permission allow|session|reject|wait|hang|unknown|hold")
	}
	p.policy = policy
	p.agent.SetPermission(policy)
	p.agent.SetStubborn(how == "hold")
	return nil
}

// stepDecide answers a question that is held. What is sent next may overtake the answer.
func stepDecide(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	select {
	case p.decided <- strings.Join(args, " "):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func pattern(ts *testscript.TestScript, args []string) *regexp.Regexp {
	re, err := regexp.Compile("(?m)" + strings.Join(args, " "))
	ts.Check(err)
	return re
}

func stepWait(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	re := pattern(ts, args)
	return p.agent.Until(ctx, p.session, func(e *client.Editor) bool { return re.MatchString(e.String()) })
}

func stepAsked(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	n, err := strconv.Atoi(strings.Join(args, " "))
	ts.Check(err)
	var text strings.Builder
	err = p.agent.Until(ctx, p.session, func(e *client.Editor) bool {
		text.Reset()
		fmt.Fprintln(&text, e.Reason)
		if q := e.Question; q != nil {
			fmt.Fprintf(&text, "title: %s\n", q.ToolCall.Title)
			for _, l := range q.ToolCall.Locations {
				fmt.Fprintf(&text, "at: %s\n", l.Path)
			}
			for _, o := range q.Options {
				fmt.Fprintf(&text, "option: %s %s\n", o.OptionID, o.Kind)
			}
		}
		return e.Asked >= n
	})
	fmt.Fprint(ts.Stdout(), text.String())
	return err
}

func stepShows(_ context.Context, ts *testscript.TestScript, p *player, args []string) error {
	if state := p.agent.State(p.session); !pattern(ts, args).MatchString(state) {
		return fmt.Errorf("the editor does not show that, but\n%s", state)
	}
	return nil
}

// derived are ids, which say nothing to a reader. In what is drawn they are counted.
var derived = regexp.MustCompile(`\b(req|call|note|ses)_[0-9a-z]{8,}`)

// placed are digests over contents and absolute names, and the name of a place differs from run to run.
var placed = regexp.MustCompile(`("pre_images":"|"operation_digest":"|operation: SHA-256 )[0-9a-f]{64}`)

func stepDraw(_ context.Context, ts *testscript.TestScript, p *player, args []string) error {
	text := strings.ReplaceAll(p.agent.State(p.session), ts.Getenv("WORK"), "$WORK")
	text = placed.ReplaceAllString(text, "${1}$$PLACED")
	seen, count := map[string]string{}, map[string]int{}
	text = derived.ReplaceAllStringFunc(text, func(id string) string {
		if seen[id] == "" {
			kind, _, _ := strings.Cut(id, "_")
			count[kind]++
			seen[id] = kind + "_" + strconv.Itoa(count[kind])
		}
		return seen[id]
	})
	return os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644)
}

func stepKeep(_ context.Context, _ *testscript.TestScript, p *player, _ []string) error {
	p.kept = p.agent.State(p.session)
	return nil
}

func stepSame(_ context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	now := p.agent.State(p.session)
	if now == p.kept {
		return nil
	}
	work, err := filepath.EvalSymlinks(ts.MkAbs("."))
	ts.Check(err)
	// A load drops, of the locations, those that an editor could not open or that lie outside.
	var kept strings.Builder
	for line := range strings.Lines(p.kept) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "    at: "); ok {
			real, err := filepath.EvalSymlinks(path)
			if err != nil || real != work && !strings.HasPrefix(real, work+"/") {
				continue
			}
		}
		kept.WriteString(line)
	}
	if now != kept.String() {
		return fmt.Errorf("the editor held\n%.4000s\nand holds\n%.4000s", kept.String(), now)
	}
	return nil
}

// stepLog looks at the standard error of the agent that has ended, when all of it has arrived.
func stepLog(_ context.Context, ts *testscript.TestScript, p *player, args []string) error {
	if text := p.last.Stderr(); !pattern(ts, args).MatchString(text) {
		return fmt.Errorf("standard error is\n%s", text)
	}
	return nil
}

func stepCall(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	if len(args) != 2 || !json.Valid([]byte(args[1])) {
		ts.Fatalf("usage: acp call METHOD JSON")
	}
	var result json.RawMessage
	err := p.agent.Call(ctx, args[0], json.RawMessage(args[1]), &result)
	fmt.Fprintf(ts.Stdout(), "%s\n", result)
	return err
}

func stepNotify(_ context.Context, ts *testscript.TestScript, p *player, args []string) error {
	if len(args) != 2 || !json.Valid([]byte(args[1])) {
		ts.Fatalf("usage: acp notify METHOD JSON")
	}
	return p.agent.Notify(args[0], json.RawMessage(args[1]))
}

func stepUpdates(_ context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	for _, u := range p.agent.Updates() {
		fmt.Fprintln(ts.Stdout(), u.Kind)
	}
	return nil
}

// stepSilent looks for sockets among what the agent has open.
func stepSilent(_ context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	dir := fmt.Sprintf("/proc/%d/fd", p.agent.PID())
	fds, err := os.ReadDir(dir)
	ts.Check(err)
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			return fmt.Errorf("descriptor %s is a socket", fd.Name())
		}
	}
	return nil
}

func stepPID(_ context.Context, ts *testscript.TestScript, p *player, _ []string) error {
	ts.Setenv("PID", strconv.Itoa(p.agent.PID()))
	return nil
}
