package client

import (
	"context"
	"encoding/json"
	"slices"

	"zuno/acp/schema"
)

// Initialize is the first request of a connection.
func (c *Client) Initialize(ctx context.Context) (r schema.InitializeResponse, err error) {
	request := schema.InitializeRequest{
		ProtocolVersion: schema.ProtocolVersion,
		ClientInfo:      &schema.Implementation{Name: "zuno-client", Version: "1"},
	}
	if c.terminal {
		request.ClientCapabilities = &schema.ClientCapabilities{Meta: schema.Meta("terminal_output", true)}
	}
	err = c.Call(ctx, schema.MethodInitialize, request, &r)
	return r, err
}

// Call sends any request. An error of the agent is a *wire.Error in the chain.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.conn.Call(ctx, method, params, result)
}

// Notify sends any notification.
func (c *Client) Notify(method string, params any) error { return c.conn.Notify(method, params) }

// New opens a panel in a folder.
func (c *Client) New(ctx context.Context, cwd string, servers ...schema.McpServer) (session string, err error) {
	var r schema.NewSessionResponse
	err = c.Call(ctx, schema.MethodSessionNew, schema.NewSessionRequest{Cwd: cwd, McpServers: servers}, &r)
	return r.SessionID, err
}

// Load has a session replayed into an empty editor.
func (c *Client) Load(ctx context.Context, session, cwd string, servers ...schema.McpServer) error {
	c.mu.Lock()
	c.editors[session] = NewEditor()
	c.mu.Unlock()
	return c.Call(ctx, schema.MethodSessionLoad, schema.LoadSessionRequest{SessionID: session, Cwd: cwd, McpServers: servers}, nil)
}

// List lists all sessions, of one folder if cwd is given.
func (c *Client) List(ctx context.Context, cwd string) (all []schema.SessionInfo, err error) {
	for cursor := ""; ; {
		var r schema.ListSessionsResponse
		if err := c.Call(ctx, schema.MethodSessionList, schema.ListSessionsRequest{Cwd: cwd, Cursor: cursor}, &r); err != nil {
			return nil, err
		}
		all = append(all, r.Sessions...)
		if cursor = r.NextCursor; cursor == "" {
			return all, nil
		}
	}
}

// Close gives a session up.
func (c *Client) Close(ctx context.Context, session string) error {
	return c.Call(ctx, schema.MethodSessionClose, schema.CloseSessionRequest{SessionID: session}, nil)
}

// Turn is a prompt that is not answered yet, or the answer.
type Turn struct {
	// ID is the request's id as its raw JSON text.
	ID string

	done chan struct{}
	resp schema.PromptResponse
	err  error
}

// Wait waits for the answer. An error of the agent is a *wire.Error in the chain.
func (t *Turn) Wait(ctx context.Context) (schema.PromptResponse, error) {
	select {
	case <-t.done:
		return t.resp, t.err
	case <-ctx.Done():
		return schema.PromptResponse{}, ctx.Err()
	}
}

// Prompt sends a text, which the editor shows at once, and returns when it is on its way: what is sent next arrives
// after it.
func (c *Client) Prompt(session, text string) *Turn {
	return c.PromptBlocks(session, schema.Text(text))
}

// PromptBlocks is Prompt for any content.
func (c *Client) PromptBlocks(session string, blocks ...schema.ContentBlock) *Turn {
	return c.PromptWith(session, nil, blocks...)
}

// PromptWith is PromptBlocks with a _meta, which may be nil.
func (c *Client) PromptWith(session string, meta json.RawMessage, blocks ...schema.ContentBlock) *Turn {
	c.prompting.Lock()
	defer c.prompting.Unlock()
	c.mu.Lock()
	c.editor(session).Say(blocks...)
	c.mu.Unlock()
	t := &Turn{done: make(chan struct{})}
	n := c.in.sent(schema.MethodSessionPrompt)
	go func() {
		defer close(t.done)
		t.err = c.Call(context.Background(), schema.MethodSessionPrompt, schema.PromptRequest{SessionID: session, Prompt: blocks, Meta: meta}, &t.resp)
	}()
	c.in.await(schema.MethodSessionPrompt, n+1, t.done)
	t.ID = c.in.newest(schema.MethodSessionPrompt)
	return t
}

// Withdraw takes a prompt back.
func (c *Client) Withdraw(t *Turn) error {
	return c.Notify("$/cancel_request", map[string]json.RawMessage{"requestId": json.RawMessage(t.ID)})
}

// Cancel stops the turn that is live. Open questions of the session are answered as cancelled, as the protocol wants it.
func (c *Client) Cancel(session string) error {
	err := c.Notify(schema.MethodSessionCancel, schema.CancelNotification{SessionID: session})
	c.mu.Lock()
	defer c.mu.Unlock()
	for q := range c.asking {
		if q.session == session {
			q.cancel()
		}
	}
	return err
}

// Updates are all updates so far, in the order of the wire.
func (c *Client) Updates() []Update {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.updates)
}

// Look gives fn what an editor holds of a session now. fn must not keep it.
func (c *Client) Look(session string, fn func(*Editor)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(c.editor(session))
}

// State is the printable form of what an editor holds of a session.
func (c *Client) State(session string) (text string) {
	c.Look(session, func(e *Editor) { text = e.String() })
	return text
}

// Until waits until the editor of a session is as wanted. It looks after each update and at nothing in between.
func (c *Client) Until(ctx context.Context, session string, wanted func(*Editor) bool) error {
	for {
		c.mu.Lock()
		ok, changed := wanted(c.editor(session)), c.changed
		c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-c.conn.Done():
			c.mu.Lock()
			ok := wanted(c.editor(session))
			c.mu.Unlock()
			if ok {
				return nil
			}
			return errEnded
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Head is a commit of a session's journal, which whoever has noted it can have the journal checked against.
type Head struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

// AgentMeta is what stands in an answer's _meta.zuno.
type AgentMeta struct {
	Head    Head            `json:"head"`
	Receipt json.RawMessage `json:"receipt"`
}

// ReadMeta reads _meta.zuno; what is not there is zero.
func ReadMeta(meta json.RawMessage) AgentMeta {
	var m struct {
		Zuno AgentMeta `json:"zuno"`
	}
	_ = json.Unmarshal(meta, &m)
	return m.Zuno
}
