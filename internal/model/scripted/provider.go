package scripted

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"zuno/internal/model"
)

// Codes of the failures that the provider adds to those of a script.
const (
	CodeExhausted   = "script_exhausted"   // no entry is left for this position
	CodeExpectation = "expectation_failed" // the request lacks what the entry expects
)

// Sizes of streamed chunks in bytes: what a chunk of text reaches before it ends at a space, what it never exceeds, and
// the same for arguments.
const (
	chunkText = 64
	chunkMost = 128
	chunkArgs = 4096
)

// Vars are the variables that a request does not hold itself.
type Vars struct {
	LastReceipt                string
	PlanRevision, GoalRevision uint64
}

type provider struct {
	script *Script
	vars   func() Vars
	clock  model.Clock
}

// New makes a provider of a script. vars may be nil; it is called once per request, from the streaming goroutine. The
// clock sleeps the delays of the script. The provider is safe for concurrent use as far as these two are.
func New(script *Script, vars func() Vars, clock model.Clock) model.Provider {
	return &provider{script, vars, clock}
}

// Stream answers with the entry that is due: the first unused one whose `when` the request contains, otherwise the one at
// the request's position.
func (p *provider) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e, conditional := p.script.due(r)
	if e == nil {
		return nil, &model.Error{Code: CodeExhausted, Reason: fmt.Sprintf(
			"the script %s has no response left: number %d was asked for", p.script.name, r.Position+1)}
	}
	if missing, miss := e.misses(r.Messages); miss {
		return nil, &model.Error{Code: CodeExpectation, Entry: e.number, Conditional: conditional, Reason: fmt.Sprintf(
			"entry %d of the script %s expects %q, which the messages since the last response do not contain",
			e.number, p.script.name, missing)}
	}
	s := stream{ctx: ctx, emit: emit, clock: p.clock, value: p.values(r), entry: e.number, conditional: conditional}
	s.sleep(e.delay)
	if e.failure != nil && s.err == nil {
		failure := *e.failure
		failure.Entry, failure.Conditional = e.number, conditional
		return nil, &failure
	}
	s.words(e)
	calls := s.calls(e, r.Position, conditional)
	switch {
	case s.err != nil: // broken off by the caller: the entry is used all the same
		return nil, &model.Cut{Reason: s.err.Error(), Entry: e.number, Conditional: conditional, Cause: s.err}
	case e.cut:
		return nil, &model.Cut{
			Reason: fmt.Sprintf("entry %d of the script %s ends here", e.number, p.script.name),
			Entry:  e.number, Conditional: conditional,
		}
	}
	response := &model.Response{Finish: "stop", Calls: calls, Usage: e.counts(), Entry: e.number, Conditional: conditional}
	if len(calls) > 0 {
		response.Finish = "tool_calls"
	}
	return response, nil
}

// due is the entry that answers a request, or nil.
func (s *Script) due(r *model.Request) (e *entry, conditional bool) {
	for _, i := range s.when {
		e := &s.entries[i]
		if !slices.Contains(r.Used, e.number) && contains(r.Messages, e.when) {
			return e, true
		}
	}
	if r.Position < uint64(len(s.plain)) {
		return &s.entries[s.plain[r.Position]], false
	}
	if s.repeat {
		return &s.entries[s.plain[len(s.plain)-1]], false
	}
	return nil, false
}

func contains(messages []model.Message, text string) bool {
	for i := range messages {
		for j := range messages[i].Parts {
			if strings.Contains(messages[i].Parts[j].Text, text) {
				return true
			}
		}
	}
	return false
}

// misses names the first expected text that the messages since the last response lack.
func (e *entry) misses(messages []model.Message) (text string, miss bool) {
	since := messages
	for i := range messages {
		if messages[i].Role == model.RoleAssistant {
			since = messages[i+1:]
		}
	}
	for _, text := range e.expect {
		if !contains(since, text) {
			return text, true
		}
	}
	return "", false
}

// counts copies the usage, so that no caller can change the script.
func (e *entry) counts() model.Usage {
	own := func(tokens *uint64) *uint64 {
		if tokens == nil {
			return nil
		}
		return new(*tokens)
	}
	u := e.usage
	return model.Usage{
		Input: own(u.Input), Output: own(u.Output), Reasoning: own(u.Reasoning),
		CacheRead: own(u.CacheRead), CacheWrite: own(u.CacheWrite),
	}
}

// values answers what a variable holds for one request.
func (p *provider) values(r *model.Request) func(variable) string {
	var vars Vars
	if p.vars != nil {
		vars = p.vars()
	}
	return func(v variable) string {
		switch v {
		case cwd:
			return r.Cwd
		case lastResult:
			return result(r.Messages)
		case lastReceipt:
			return vars.LastReceipt
		case planRevision:
			return strconv.FormatUint(vars.PlanRevision, 10)
		case goalRevision:
			return strconv.FormatUint(vars.GoalRevision, 10)
		}
		return ""
	}
}

// result is the text of the last result of a request.
func result(messages []model.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		for j := len(messages[i].Parts) - 1; j >= 0; j-- {
			if messages[i].Parts[j].Kind == model.PartResult {
				return messages[i].Parts[j].Text
			}
		}
	}
	return ""
}

// stream is one answer under way. After an error it emits nothing more.
type stream struct {
	ctx   context.Context
	emit  func(model.Chunk) error
	clock model.Clock
	value func(variable) string
	err   error

	entry       uint64
	conditional bool
}

func (s *stream) sleep(d time.Duration) {
	if s.err == nil && d > 0 {
		s.err = s.clock.Sleep(s.ctx, d)
	}
}

func (s *stream) send(c model.Chunk) {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err == nil {
		c.Entry, c.Conditional = s.entry, s.conditional
		s.err = s.emit(c)
	}
}

func (s *stream) words(e *entry) {
	s.pieces(model.ChunkReasoning, e.reasoning)
	s.pieces(model.ChunkText, e.text)
	for i := range e.parts {
		s.sleep(e.parts[i].after)
		if text := e.parts[i].text.expand(s.value); text != "" {
			s.send(model.Chunk{Kind: e.parts[i].kind, Text: text})
		}
	}
}

// pieces streams a text the way models do, a few words at a time.
func (s *stream) pieces(kind model.ChunkKind, t template) {
	for text := t.expand(s.value); text != "" && s.err == nil; {
		end := wordEnd(text)
		s.send(model.Chunk{Kind: kind, Text: text[:end]})
		text = text[end:]
	}
}

// wordEnd is where the first chunk of a text ends: behind a space, or between two characters where there is none.
func wordEnd(text string) int {
	if len(text) <= chunkMost {
		return len(text)
	}
	if space := strings.IndexByte(text[chunkText:chunkMost], ' '); space >= 0 {
		return chunkText + space + 1
	}
	return runeEnd(text, chunkMost)
}

// runeEnd is the last boundary between characters at or before most.
func runeEnd(text string, most int) int {
	if most >= len(text) {
		return len(text)
	}
	for end := most; end > most-utf8.UTFMax && end > 0; end-- {
		if utf8.RuneStart(text[end]) {
			return end
		}
	}
	return most
}

// calls streams the calls of an entry. Of a response that is cut the last call loses the second half of its arguments.
func (s *stream) calls(e *entry, position uint64, conditional bool) []model.Call {
	var made []model.Call
	for i := range e.calls {
		c := &e.calls[i]
		call := model.Call{ID: c.id, Tool: c.tool, Args: c.args.expand(s.value)}
		if call.ID == "" {
			call.ID = callID(e.number, position, i, conditional)
		}
		if e.cut && i == len(e.calls)-1 {
			call.Args = call.Args[:runeEnd(call.Args, len(call.Args)/2)]
		}
		s.send(model.Chunk{Kind: model.ChunkCall, Index: i, CallID: call.ID, Tool: call.Tool})
		for rest := call.Args; rest != "" && s.err == nil; {
			end := runeEnd(rest, chunkArgs)
			s.send(model.Chunk{Kind: model.ChunkArgs, Index: i, CallID: call.ID, Tool: call.Tool, Text: rest[:end]})
			rest = rest[end:]
		}
		made = append(made, call)
	}
	return made
}

// callID is unique in a session: by position, or by entry for one with `when`, which answers once.
func callID(number, position uint64, index int, conditional bool) string {
	id := "call_" + strconv.FormatUint(position+1, 10)
	if conditional {
		id = "call_when_" + strconv.FormatUint(number, 10)
	}
	if index > 0 {
		id += "_" + strconv.Itoa(index+1)
	}
	return id
}
