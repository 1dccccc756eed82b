package wire

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"zuno/acp/schema/rawjson"
)

// paramsField carries encoded params through jsonrpc2 to the stream untouched;
// the field that jsonrpc2 has for them would decode and escape them once more.
const paramsField = "wire.params"

// call is one of our calls until its answer is read.
type call struct {
	result, err json.RawMessage
	lost        error // set instead when no answer can come any more
}

// inbound is the message that ReadObject handed out last. The handler runs in
// the goroutine that reads, so it finds its message here.
type inbound struct {
	method string
	params json.RawMessage
	req    *Request // nil for a notification
}

// stream is the jsonrpc2.ObjectStream of a Conn.
//
// jsonrpc2 decodes what it is given several times over. It gets a skeleton, the
// id and the method name; params, results and errors stay here as raw JSON, and
// the Conn fetches them. In the other direction jsonrpc2's OnSend hook shows the
// message under the lock under which WriteObject is then called with it.
type stream struct {
	lines   *lineReader
	out     *queue
	closers []io.Closer
	drain   time.Duration
	log     *slog.Logger
	atEOF   func() // called when the input has ended and running requests had their time

	in      inbound           // reader's goroutine only
	sendReq *jsonrpc2.Request // under jsonrpc2's sending lock
	sendRes *jsonrpc2.Response

	mu      sync.Mutex
	running map[string]*Request // requests without an answer, by idKey
	calls   map[string]*call    // our calls without an answer, by id
	gone    []string            // calls that were given up and that jsonrpc2 still holds
	eof     bool
	idle    chan struct{} // closed when eof is set and running is empty

	once sync.Once
	done chan struct{} // closed when everything is closed
}

var _ jsonrpc2.ObjectStream = (*stream)(nil)

// onSend is jsonrpc2's hook.
func (s *stream) onSend(req *jsonrpc2.Request, res *jsonrpc2.Response) {
	s.sendReq, s.sendRes = req, res
}

// ReadObject gives v the next message. Bad lines are answered here.
func (s *stream) ReadObject(v any) error {
	u, ok := v.(json.Unmarshaler)
	if !ok {
		return errors.New("wire: not a message of jsonrpc2")
	}
	s.in = inbound{}
	for {
		if id, ok := s.nextGone(); ok {
			return u.UnmarshalJSON(answerSkeleton(id))
		}
		line, err := s.lines.next()
		switch {
		case errors.Is(err, errTooLong):
			s.refuse(Errorf(CodeInvalidRequest, "message is longer than %d bytes", s.lines.max))
			continue
		case err != nil:
			if s.loseCalls() {
				continue
			}
			s.wait()
			if errors.Is(err, io.EOF) {
				err = io.EOF
			}
			s.atEOF()
			return err
		case len(rawjson.Trim(line)) == 0:
			continue
		}
		if skel := s.accept(line); skel != nil {
			return u.UnmarshalJSON(skel)
		}
	}
}

// accept takes one line and returns the skeleton for jsonrpc2, or nil when there
// is nothing to deliver.
func (s *stream) accept(line []byte) []byte {
	e, k, err := parse(line)
	switch {
	case errors.Is(err, errParse):
		s.refuse(Errorf(CodeParseError, "parse error: not a line of JSON in UTF-8"))
		return nil
	case err != nil:
		s.refuse(Errorf(CodeInvalidRequest, "invalid request: not a single request, notification or answer"))
		return nil
	}
	if k == isAnswer {
		return s.answer(e)
	}
	s.in = inbound{params: e.params}
	_ = json.Unmarshal(e.method, &s.in.method) // a valid string
	skel := append(make([]byte, 0, 64), `{"method":`...)
	skel = append(skel, e.method...)
	if k == isRequest {
		key := idKey(e.id)
		req := &Request{ID: string(e.id), Method: s.in.method, Params: e.params, key: key}
		s.mu.Lock()
		_, dup := s.running[key]
		if !dup {
			s.running[key] = req
		}
		s.mu.Unlock()
		if dup {
			s.refuseInUse(req)
			return nil
		}
		s.in.req = req
		skel = append(skel, `,"id":`...)
		skel = rawjson.AppendString(skel, key)
	}
	return append(skel, '}')
}

// answer hands an answer to the call it names. Everything else is dropped: an id
// that is null or not ours, a call that was given up.
func (s *stream) answer(e envelope) []byte {
	var id string
	if e.id != nil && e.id[0] == '"' {
		_ = json.Unmarshal(e.id, &id)
	}
	s.mu.Lock()
	c := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	if c == nil {
		s.log.Warn("dropped an answer to no call of ours", "id", clip(e.id), "error", clip(e.err))
		return nil
	}
	if c.result = e.result; e.err != nil && !isNull(e.err) {
		c.err = e.err
	}
	return answerSkeleton(id)
}

func answerSkeleton(id string) []byte {
	b := append(make([]byte, 0, 48), `{"id":`...)
	b = rawjson.AppendString(b, id)
	return append(b, `,"result":null}`...)
}

// clip bounds what is logged of a peer's text.
func clip(raw []byte) string {
	if len(raw) > 256 {
		return string(raw[:256]) + "…"
	}
	return string(raw)
}

// refuse answers a line that names no request.
func (s *stream) refuse(e *Error) {
	s.log.Warn("refused a line", "code", e.Code, "reason", e.Message)
	buf := newScratch()
	defer putScratch(buf)
	encodeError(buf, e)
	_ = s.out.put(func(b []byte) []byte { return appendAnswer(b, "null", "error", buf.Bytes()) })
}

// refuseInUse refuses a second request under a running one's id. The answer
// carries id null: under the id itself the peer would take it for the answer to
// the first request, which will have its own.
func (s *stream) refuseInUse(req *Request) {
	e := Errorf(CodeInvalidRequest, "invalid request: id %s is in use by a request that is not answered yet", clip([]byte(req.ID)))
	if len(req.ID) <= 256 {
		e.Data = map[string]any{"requestId": json.RawMessage(req.ID), "method": clip([]byte(req.Method))}
	}
	s.refuse(e)
}

// register makes id a call whose answer is awaited; it is nil when none can come any more. What is known of the call later is read
// only once its waiting is over.
func (s *stream) register(id string) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.eof {
		return nil
	}
	c := new(call)
	s.calls[id] = c
	return c
}

// forget gives a call up; its answer will be dropped. It reports false when the
// answer has been read already.
func (s *stream) forget(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.calls[id]; !ok {
		return false
	}
	delete(s.calls, id)
	s.gone = append(s.gone, id)
	return true
}

// nextGone names a call that jsonrpc2 is to be told of, so that it forgets it too.
func (s *stream) nextGone() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gone) == 0 {
		return "", false
	}
	id := s.gone[0]
	if s.gone = s.gone[1:]; len(s.gone) == 0 {
		s.gone = nil
	}
	return id, true
}

// loseCalls ends the calls that can have no answer once the input has ended. It
// reports whether there were any.
func (s *stream) loseCalls() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eof = true
	for id, c := range s.calls {
		c.lost = ErrClosed
		delete(s.calls, id)
		s.gone = append(s.gone, id)
	}
	return len(s.gone) > 0
}

// wait gives running requests the drain time to be answered.
func (s *stream) wait() {
	s.mu.Lock()
	s.eof = true
	s.checkIdle()
	s.mu.Unlock()
	t := time.NewTimer(s.drain)
	defer t.Stop()
	select {
	case <-s.idle:
	case <-t.C:
	case <-s.done:
	}
}

// checkIdle closes idle when there is nothing left to wait for. The lock is held.
func (s *stream) checkIdle() {
	if s.eof && len(s.running) == 0 {
		select {
		case <-s.idle:
		default:
			close(s.idle)
		}
	}
}

// find returns the running request that raw names.
func (s *stream) find(raw json.RawMessage) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[idKey(raw)]
}

// WriteObject queues the message that onSend was shown last.
func (s *stream) WriteObject(any) error {
	req, res := s.sendReq, s.sendRes
	s.sendReq, s.sendRes = nil, nil
	if res != nil {
		return s.writeAnswer(res)
	}
	if req == nil {
		return errors.New("wire: nothing to send")
	}
	var params []byte
	for _, f := range req.ExtraFields {
		if f.Name == paramsField {
			params, _ = f.Value.([]byte)
		}
	}
	id := ""
	if !req.Notif {
		id = req.ID.Str
	}
	req.ExtraFields = nil // jsonrpc2 keeps the request until its answer
	return s.out.put(func(b []byte) []byte { return appendRequest(b, id, req.Method, params) })
}

// writeAnswer queues an answer and frees its id in one step: whoever has read the
// answer may use the id again, and the end of input waits for answers in flight.
func (s *stream) writeAnswer(res *jsonrpc2.Response) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := s.running[res.ID.Str]
	if req == nil {
		return ErrAnswered
	}
	delete(s.running, res.ID.Str)
	member, payload := "result", []byte("null")
	if res.Error != nil {
		member, payload = "error", *res.Error.Data
	} else if res.Result != nil {
		payload = *res.Result
	}
	err := s.out.put(func(b []byte) []byte { return appendAnswer(b, req.ID, member, payload) })
	s.checkIdle()
	return err
}

// Close writes what is queued, waiting up to the drain time, and closes both ends.
func (s *stream) Close() error {
	s.once.Do(func() {
		s.out.close(s.drain)
		for _, c := range s.closers {
			if err := c.Close(); err != nil {
				s.log.Debug("close", "error", err)
			}
		}
		close(s.done)
	})
	return nil
}

// drop removes a call that was never sent.
func (s *stream) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}
