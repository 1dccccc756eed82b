package httpx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"zuno/internal/model"
	"zuno/internal/model/sse"
)

// Client sends requests of one surface to one provider. It is safe for concurrent use.
type Client struct {
	options Options
	target  Target
}

// New makes a client. It reaches nothing and asks for no key.
func New(o Options, t Target) *Client {
	if o.HeaderTimeout == 0 {
		o.HeaderTimeout = DefaultHeaderTimeout
	}
	if o.ChunkTimeout == 0 {
		o.ChunkTimeout = DefaultChunkTimeout
	}
	if t.MaxEvent == 0 {
		t.MaxEvent = MaxEvent
	}
	return &Client{o, t}
}

// transport is made at the first request. One for all providers: connections are kept by address.
var transport = sync.OnceValue(func() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConns:           8,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // of a stream of small events it would cost time to first text
	}
})

// Decoder turns a surface's events into an answer.
type Decoder interface {
	// Event takes the data of one event, which it may neither change nor keep. After over the rest of the stream is of no interest.
	Event(kind string, data []byte) (over bool, err error)
	// Finished says that the finish marker was seen, though more may come.
	Finished() bool
	// End gives the answer: after the finish marker a response, otherwise a cut.
	End() (*model.Response, error)
}

// Whole is a [Decoder] that also takes an answer that is one JSON document instead of a stream.
type Whole interface {
	Whole(data []byte) error
}

// Stream sends one request and reads its answer, in the calling goroutine. Its error is a [*model.Error] or a [*model.Cut];
// a caller that broke it off finds its own error in the cut's chain.
func (c *Client) Stream(ctx context.Context, payload any, d Decoder) (*model.Response, error) {
	x := exchange{c: c, caller: ctx, secrets: c.secrets()}
	defer x.end()
	err := x.send(payload)
	if err == nil {
		err = x.read(d)
	}
	if err == nil {
		var r *model.Response
		if r, err = d.End(); err == nil {
			r.RequestID, x.done = x.requestID, true
			return r, nil
		}
	}
	return nil, x.typed(err)
}

// Decode reads a stream that is already there, without a connection: what [Client.Stream] does with the body of an answer.
func Decode(r io.Reader, d Decoder, maxEvent int) (*model.Response, error) {
	x := exchange{c: &Client{target: Target{MaxEvent: maxEvent}}, caller: context.Background()}
	err := x.events(r, d)
	if err == nil {
		var response *model.Response
		if response, err = d.End(); err == nil {
			return response, nil
		}
	}
	return nil, x.typed(err)
}

// exchange is one request and its answer.
type exchange struct {
	c         *Client
	caller    context.Context
	cancel    context.CancelCauseFunc
	stops     []func() // timers
	body      *body
	secrets   []string
	requestID string
	status    int
	count     int  // of the events so far
	done      bool // properly: the connection may serve again
}

// expired is why a timer ended a request.
type expired struct {
	kind model.Kind
	what string
}

func (e *expired) Error() string { return e.what }

func (x *exchange) after(d time.Duration, f func()) (stop func()) {
	stop = x.c.options.Clock.AfterFunc(d, f)
	x.stops = append(x.stops, stop)
	return stop
}

func (x *exchange) send(payload any) error {
	o, t := &x.c.options, &x.c.target
	invalid := func(why string) error { return &model.Error{Kind: model.KindRequest, Reason: why} }
	u, err := address(o.Base(t), t.Path)
	if err != nil {
		return invalid(err.Error())
	}
	key := o.key()
	if o.lacks(key) {
		return &model.Error{Kind: model.KindNoKey, Auth: true, Reason: "there is no key for this provider: set " + t.KeyName + ", or options.apiKey in zuno.json"}
	}
	if name := x.unsendable(key); name != "" {
		return &model.Error{Kind: model.KindRequest, Auth: true, Reason: "nothing was sent, because " + name + " holds a control character; set it anew"}
	}
	data, err := encode(payload)
	if err != nil {
		return invalid("nothing was sent, because the request cannot be encoded: " + err.Error())
	}
	ctx, cancel := context.WithCancelCause(x.caller)
	x.cancel = cancel
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(data))
	if err != nil {
		return invalid("nothing was sent, because the baseURL cannot be used; correct options.baseURL")
	}
	x.headers(req.Header, key)
	stop := x.after(o.HeaderTimeout, func() {
		cancel(&expired{model.KindHeaderTimeout, "no answer of the provider began within " + o.HeaderTimeout.String() + "; options.headerTimeout sets how long it may take"})
	})
	if o.Timeout > 0 {
		x.after(o.Timeout, func() {
			cancel(&expired{model.KindTotalTimeout, "the answer was not complete within " + o.Timeout.String() + "; options.timeout sets how long it may take"})
		})
	}
	resp, err := transport().RoundTrip(req)
	stop()
	if err != nil {
		return x.connection(ctx, err)
	}
	x.status, x.requestID = resp.StatusCode, x.clean(firstOf(resp.Header, "X-Request-Id", "Request-Id"), maxID)
	x.body = newBody(resp, o.Clock, o.ChunkTimeout, func() {
		cancel(&expired{model.KindIdleTimeout, "nothing more of the answer came for " + o.ChunkTimeout.String() + "; options.chunkTimeout sets how long that may be"})
	})
	packed := compression(resp.Header)
	switch {
	case resp.StatusCode != http.StatusOK:
		return x.refused(resp, packed)
	case packed != "":
		return &model.Error{Kind: model.KindContent, Status: http.StatusOK, Reason: "the answer is compressed with " + packed + ", which was not asked for"}
	}
	return nil
}

// key is the key of a request that is sent now.
func (o *Options) key() string {
	if o.Key == nil || o.Keyless {
		return ""
	}
	return strings.TrimSpace(o.Key())
}

// lacks says that a request with this key would have none where one is needed.
func (o *Options) lacks(key string) bool { return key == "" && !o.Keyless && !o.authorizes() }

// Keyless says that a key is needed and there is none now: nothing would be sent.
func (c *Client) Keyless() bool { return c.options.lacks(c.options.key()) }

// unsendable names what no header can hold, the key or a configured header; empty is nothing.
func (x *exchange) unsendable(key string) string {
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if strings.ContainsFunc(key, control) {
		return "the key (" + x.c.target.KeyName + " or options.apiKey)"
	}
	for _, h := range x.c.options.Headers {
		if strings.ContainsFunc(h.Value(), control) {
			return "the header " + h.Name
		}
	}
	return ""
}

// authorizes says that the configured headers stand for a key.
func (o *Options) authorizes() bool {
	for _, h := range o.Headers {
		switch http.CanonicalHeaderKey(h.Name) {
		case "Authorization", "X-Api-Key", "Api-Key":
			return true
		}
	}
	return false
}

func (x *exchange) headers(h http.Header, key string) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set("User-Agent", "zuno")
	for _, own := range x.c.target.Headers {
		h.Set(own[0], own[1])
	}
	if key != "" {
		h.Set(x.c.target.KeyHeader, x.c.target.KeyPrefix+key)
	}
	for _, own := range x.c.options.Headers {
		h.Set(own.Name, own.Value())
	}
}

// encode is JSON without HTML escapes: the model reads what the user wrote, in fewer bytes.
func encode(payload any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(payload); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// read takes a successful answer, whatever it turns out to be.
func (x *exchange) read(d Decoder) error {
	first, err := x.body.first()
	switch {
	case err != nil:
		return x.broken(err)
	case first == '<':
		return x.page()
	case first == '{' || first == '[':
		return x.document(d)
	}
	begins := x.body.beginning()
	if err := x.events(x.body, d); err != nil || x.count > 0 || isStream(begins) {
		return err
	}
	return &model.Error{Kind: model.KindContent, Status: http.StatusOK, Retryable: true, Reason: "the answer is no stream of events: " + begins}
}

// isStream says that a text is the beginning of a stream of events, or may be one that is cut in its first word.
func isStream(s string) bool {
	for _, field := range [...]string{"data", "event", "id", "retry", ":"} {
		if strings.HasPrefix(s, field) || strings.HasPrefix(field, s) {
			return true
		}
	}
	return false
}

func (x *exchange) events(r io.Reader, d Decoder) error {
	for e, err := range sse.Read(r, x.c.target.MaxEvent) {
		switch {
		case err != nil && d.Finished():
			return nil // what was to come could only have been usage, or nothing
		case errors.Is(err, sse.ErrTooLarge):
			return limit("the answer holds an event that is too large")
		case err != nil:
			return x.broken(err)
		}
		x.count++
		before := d.Finished()
		if e.Type == "error" { // on any surface, whatever it holds
			if before {
				return nil
			}
			return Fault(e.Bytes())
		}
		over, err := d.Event(e.Type, e.Bytes())
		if over || err != nil {
			return err
		}
		if x.body != nil && !before && d.Finished() {
			x.shortly()
		}
	}
	return nil
}

// shortly bounds what is still read: it is no part of the answer, and may drip.
func (x *exchange) shortly() {
	x.body.hurry(after)
	x.after(after, func() { x.cancel(&expired{model.KindIdleTimeout, "nothing more of the answer came"}) })
}

// broken types the end of a stream by its reader.
func (x *exchange) broken(err error) error {
	if x.body != nil {
		if cause := context.Cause(x.body.ctx); cause != nil {
			return cause
		}
	}
	if errors.Is(err, errTooMuch) {
		return &model.Error{Kind: model.KindLimit, Reason: err.Error()}
	}
	if errors.Is(err, io.EOF) {
		return &model.Cut{Reason: "the answer is empty", Retryable: true}
	}
	return &model.Cut{Reason: "the connection broke: " + err.Error(), Retryable: true}
}

// end lets go of the connection: at once, unless the answer is complete. Then what is left of it is read elsewhere, shortly,
// because only a connection whose answer was read to its end can serve again.
func (x *exchange) end() {
	for _, stop := range x.stops {
		stop()
	}
	if x.body != nil {
		x.body.stop()
	}
	switch {
	case x.cancel == nil:
	case x.done && x.body != nil:
		stop := x.c.options.Clock.AfterFunc(time.Second, func() { x.cancel(nil) })
		go func() {
			_, _ = io.CopyN(io.Discard, x.body.resp.Body, MaxErrorBody)
			stop()
			_ = x.body.resp.Body.Close()
			x.cancel(nil)
		}()
	default:
		x.cancel(nil)
		if x.body != nil {
			_ = x.body.resp.Body.Close()
		}
	}
}

func firstOf(h http.Header, names ...string) string {
	for _, n := range names {
		if v := h.Get(n); v != "" {
			return v
		}
	}
	return ""
}

// secrets are the texts that no error may show.
func (c *Client) secrets() []string {
	var all []string
	if c.options.Key != nil {
		all = append(all, c.options.Key())
	}
	for _, h := range c.options.Headers {
		all = append(all, h.Value())
	}
	if u, err := url.Parse(c.options.BaseURL); err == nil {
		for _, values := range u.Query() {
			all = append(all, values...)
		}
		if password, ok := u.User.Password(); ok {
			all = append(all, password)
		}
	}
	return variants(all)
}
