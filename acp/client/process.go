package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"zuno/acp/schema"
	"zuno/acp/wire"
)

// Config says which agent to start and how to behave towards it.
type Config struct {
	Binary string
	Args   []string
	Env    []string // the whole environment; nil for this process's own
	Dir    string

	Permission Policy // answers questions; nil never answers
	// OnUpdate is called for each update, in the order of the wire and before anything after it is read. It must not
	// wait for an answer of the agent.
	OnUpdate func(session string, u schema.SessionUpdate)
	Terminal bool      // ask for display-only terminals in the cards of commands
	Tap      io.Writer // is given what the agent writes on its standard output, byte for byte
	Sent     io.Writer // is given what is written to its standard input, whole lines at a time, before the agent can read them
}

// Client is one agent process. Its methods may be called from any goroutine.
type Client struct {
	cmd    *exec.Cmd
	conn   *wire.Conn
	in     *input
	stderr buffer
	exited chan struct{} // closed when the process is reaped

	prompting sync.Mutex // prompts are sent one by one

	mu       sync.Mutex
	policy   Policy
	stubborn bool
	terminal bool
	onUpdate func(string, schema.SessionUpdate)
	updates  []Update
	editors  map[string]*Editor
	asking   map[*question]struct{}
	changed  chan struct{} // closed at the next update or question, and then made anew
}

// Update is one session/update, as it was received.
type Update struct {
	Session string
	schema.SessionUpdate
}

// Start starts the agent in a process group of its own, so that a signal to this process's group does not reach it.
func Start(c Config) (*Client, error) {
	x := newClient(c)
	x.cmd = exec.Command(c.Binary, c.Args...)
	x.cmd.Env, x.cmd.Dir, x.cmd.Stderr = c.Env, c.Dir, &x.stderr
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Pipes of our own: those of the command are closed by its Wait, before the last answers are read.
	stdin, toAgent, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	fromAgent, stdout, err := os.Pipe()
	if err != nil {
		_, _ = stdin.Close(), toAgent.Close()
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	x.cmd.Stdin, x.cmd.Stdout = stdin, stdout
	err = x.cmd.Start()
	_, _ = stdin.Close(), stdout.Close() // the agent's own now
	if err != nil {
		_, _ = toAgent.Close(), fromAgent.Close()
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	x.connect(c, fromAgent, toAgent)
	go func() {
		_ = x.cmd.Wait()
		close(x.exited)
	}()
	return x, nil
}

// Over speaks to an agent that runs in this process, at the other ends of two pipes. Such a client has no process to name, to kill
// or to wait for.
func Over(c Config, fromAgent io.ReadCloser, toAgent io.WriteCloser) *Client {
	x := newClient(c)
	x.connect(c, fromAgent, toAgent)
	return x
}

func newClient(c Config) *Client {
	return &Client{
		policy: c.Permission, terminal: c.Terminal, onUpdate: c.OnUpdate, editors: map[string]*Editor{}, asking: map[*question]struct{}{},
		changed: make(chan struct{}), exited: make(chan struct{}),
	}
}

func (c *Client) connect(config Config, fromAgent io.ReadCloser, toAgent io.WriteCloser) {
	c.in = newInput(toAgent)
	c.in.tap = config.Sent
	var out io.Reader = fromAgent
	if config.Tap != nil {
		out = io.TeeReader(fromAgent, config.Tap)
	}
	c.conn = wire.New(context.Background(), out, c.in, receiver{c}, wire.Options{Logger: slog.New(slog.DiscardHandler)})
	go func() {
		<-c.conn.Done()
		_ = fromAgent.Close()
		c.signal()
	}()
}

// PID is the number of the agent's process.
func (c *Client) PID() int { return c.cmd.Process.Pid }

// Stderr is what the agent has written to its standard error so far.
func (c *Client) Stderr() string { return c.stderr.String() }

// Kill ends exactly the agent's process, by SIGKILL, and waits until it is gone and everything that it wrote is read.
func (c *Client) Kill() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the agent: %w", err)
	}
	<-c.exited
	<-c.conn.Done()
	return nil
}

// CloseInput ends the agent's input after everything that was sent before.
func (c *Client) CloseInput() {
	if c.conn.Notify(methodEnd, nil) != nil {
		_ = c.in.Close()
	}
}

// Wait waits for the agent's exit and tells its status: 0 for an orderly one, -1 for a signal.
func (c *Client) Wait(ctx context.Context) (status int, err error) {
	select {
	case <-c.exited:
		<-c.conn.Done()
		return c.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("the agent has not ended: %w", ctx.Err())
	}
}

// methodEnd is never sent: where it stands in the order of messages, the agent's input ends.
const methodEnd = "client/end"

// input is the agent's standard input. It sees each message on its way and knows therefore what was sent.
type input struct {
	mu    sync.Mutex
	cond  sync.Cond
	w     io.WriteCloser
	tap   io.Writer
	count map[string]int    // messages by method
	last  map[string]string // id of the newest request of a method, as its raw JSON text
}

func newInput(w io.WriteCloser) *input {
	in := &input{w: w, count: map[string]int{}, last: map[string]string{}}
	in.cond.L = &in.mu
	return in
}

// Write takes whole lines.
func (in *input) Write(p []byte) (int, error) {
	in.mu.Lock()
	n := len(p)
	end := false
	for rest := p; len(rest) > 0 && !end; {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		method := methodOf(line)
		in.count[method]++
		in.last[method] = idOf(line)
		if end = method == methodEnd; end {
			p = p[:len(p)-len(rest)]
		}
		rest = after
	}
	in.cond.Broadcast()
	in.mu.Unlock()
	if in.tap != nil {
		_, _ = in.tap.Write(p)
	}
	if _, err := in.w.Write(p); err != nil {
		return 0, err
	}
	if end {
		return n, in.w.Close()
	}
	return n, nil
}

func (in *input) Close() error {
	err := in.w.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// methodOf reads the method of a line that package wire wrote, where it stands before anything that is free text.
func methodOf(line []byte) string {
	const key = `"method":"`
	head := line[:min(len(line), 128)]
	i := bytes.Index(head, []byte(key))
	if i < 0 {
		return ""
	}
	method, _, _ := bytes.Cut(head[i+len(key):], []byte{'"'})
	return string(method)
}

func idOf(line []byte) string {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(line, &m) // a notification has none
	return string(m.ID)
}

func (in *input) newest(method string) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.last[method]
}

func (in *input) sent(method string) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.count[method]
}

// await waits until n messages of the method are on their way, or over is closed.
func (in *input) await(method string, n int, over <-chan struct{}) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-over:
			in.mu.Lock()
			in.cond.Broadcast()
			in.mu.Unlock()
		case <-stop:
		}
	}()
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.count[method] < n {
		select {
		case <-over:
			return
		default:
		}
		in.cond.Wait()
	}
}

// buffer is a bytes.Buffer for two goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
