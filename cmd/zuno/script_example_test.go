package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"zuno/acp/schema"
)

func init() { steps["example"] = stepExample }

// talk is what a script's client and agent have said to each other, line by line in the order of the wire.
type talk struct {
	mu    sync.Mutex
	lines []spoken
	rest  map[string][]byte // a line that is not whole yet, by who writes it
	news  chan struct{}     // closed when there is more, and then made anew
}

// spoken is one message: from is > for the client and < for the agent.
type spoken struct {
	from string
	raw  []byte
	msg  message
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Update struct {
			Kind string `json:"sessionUpdate"`
		} `json:"update"`
	} `json:"params"`
}

func newTalk() *talk { return &talk{rest: map[string][]byte{}, news: make(chan struct{})} }

// side is the pen of one of the two.
type side struct {
	t    *talk
	from string
}

func (s side) Write(p []byte) (int, error) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	text := append(s.t.rest[s.from], p...)
	for {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			break
		}
		said := spoken{from: s.from, raw: bytes.Clone(line)}
		_ = json.Unmarshal(line, &said.msg) // what is no message matches nothing
		s.t.lines, text = append(s.t.lines, said), rest
	}
	s.t.rest[s.from] = bytes.Clone(text)
	close(s.t.news)
	s.t.news = make(chan struct{})
	return len(p), nil
}

// stepExample prints messages as a page shows them: pretty, with ids counted, places and times replaced. Each selector finds the
// first message that matches behind the one before it, and waits for it:
//
//	>METHOD[ TEXT]         a request or notification of the client, holding the text
//	<METHOD[ TEXT]         one of the agent
//	<update KIND[ TEXT]    a session/update
//	<answer[ METHOD]       the agent's answer to the newest selected request, or to the newest of that method
//	>answer                the client's answer to the newest selected request of the agent
//	-KEY                   what stands under KEY is left out
//	?…                     finds it and does not print it
//	(0                     whatever follows is looked for from the beginning of the connection on
func stepExample(ctx context.Context, ts *testscript.TestScript, p *player, args []string) error {
	var leave []string
	var out strings.Builder
	at := p.exampled
	asked := map[string]json.RawMessage{}
	for _, a := range args {
		if key, ok := strings.CutPrefix(a, "-"); ok {
			leave = append(leave, key)
			continue
		}
		if a == "(0" {
			at = 0
			continue
		}
		a, aside := strings.CutPrefix(a, "?")
		found, next, err := p.talk.find(ctx, a, at, asked)
		if err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
		if found.msg.Method != "" && len(found.msg.ID) > 0 {
			asked[found.from], asked[found.from+found.msg.Method] = found.msg.ID, found.msg.ID
		}
		if at = next; aside {
			continue
		}
		out.WriteString(p.masks.page(found, leave, ts.Getenv("WORK")))
	}
	p.exampled = at
	_, err := ts.Stdout().Write([]byte(out.String()))
	return err
}

func (t *talk) find(ctx context.Context, selector string, at int, asked map[string]json.RawMessage) (found spoken, next int, err error) {
	from, what := selector[:1], selector[1:]
	word, text, _ := strings.Cut(what, " ")
	matches := func(s spoken) bool {
		switch {
		case s.from != from:
			return false
		case word == "answer":
			id := asked[map[string]string{">": "<", "<": ">"}[from]+text]
			return s.msg.Method == "" && len(id) > 0 && bytes.Equal(s.msg.ID, id)
		case word == "update":
			kind, text, _ := strings.Cut(text, " ")
			return s.msg.Method == schema.MethodSessionUpdate && s.msg.Params.Update.Kind == kind && bytes.Contains(s.raw, []byte(text))
		}
		return s.msg.Method == word && bytes.Contains(s.raw, []byte(text))
	}
	for {
		t.mu.Lock()
		lines, news := t.lines, t.news
		t.mu.Unlock()
		for ; at < len(lines); at++ {
			if matches(lines[at]) {
				return lines[at], at + 1, nil
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
			return found, at, ctx.Err()
		}
	}
}

// masks replace what differs from run to run and says nothing to a reader.
type masks struct {
	seen  map[string]string
	count map[string]int
}

var (
	pageIDs   = regexp.MustCompile(`\b(ses|turn|inp|req|call|note|cycle|perm)_[0-9a-z]{8,}`)
	pageTimes = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	pageHash  = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	pagePID   = regexp.MustCompile(`("pid":|\bpid |\bprocess )\d+`)
	// An estimate counts the names of places, too.
	pageEstimate = regexp.MustCompile(`("requestEstimateTokens":)\d+`)
	pageWire     = regexp.MustCompile(`("id":|"requestId":)("zuno-\d+")`)
)

// masksOf are those of a script: all of its editors count alike.
func masksOf(players map[string]*player) *masks {
	for _, p := range players {
		return p.masks
	}
	return &masks{seen: map[string]string{}, count: map[string]int{}}
}

func (m *masks) number(kind, id string) string {
	if m.seen[kind+id] == "" {
		m.count[kind]++
		m.seen[kind+id] = strconv.Itoa(m.count[kind])
	}
	return m.seen[kind+id]
}

// page is a message as a page shows it: who sends it and its envelope in a comment, then its params, its update, its result or its
// error.
func (m *masks) page(s spoken, leave []string, work string) string {
	// The client of the scripts names its requests as the agent does; a client's own are numbers as a rule.
	asks := (s.from == "<") == (s.msg.Method != "")
	text := pageWire.ReplaceAllStringFunc(string(s.raw), func(s string) string {
		g := pageWire.FindStringSubmatch(s)
		if asks {
			return g[1] + `"zuno-` + m.number("asked", g[2]) + `"`
		}
		return g[1] + m.number("wire", g[2])
	})
	text = pageIDs.ReplaceAllStringFunc(text, func(id string) string {
		kind, _, _ := strings.Cut(id, "_")
		return kind + "_" + m.number(kind, id)
	})
	text = pageTimes.ReplaceAllString(text, "2030-01-01T00:00:00.000Z")
	text = pageHash.ReplaceAllStringFunc(text, func(h string) string { return "sha256_" + m.number("hash", h) })
	text = pagePID.ReplaceAllString(text, "${1}4242")
	text = pageEstimate.ReplaceAllString(text, "${1}1800")
	text = strings.ReplaceAll(text, filepath.Join(work, "w"), "/home/you/project")
	text = strings.ReplaceAll(text, work, "/home/you")
	var e struct {
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	var update struct {
		Update json.RawMessage `json:"update"`
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err.Error() + "\n"
	}
	head, body := map[string]string{">": "// client: ", "<": "// agent: "}[s.from], e.Params
	switch {
	case s.msg.Method == schema.MethodSessionUpdate && json.Unmarshal(e.Params, &update) == nil:
		head, body = head+s.msg.Method, update.Update
	case s.msg.Method != "" && len(e.ID) > 0:
		head += s.msg.Method + ", id " + string(e.ID)
	case s.msg.Method != "":
		head += s.msg.Method
	case len(e.Error) > 0:
		head, body = head+"error, id "+string(e.ID), e.Error
	default:
		head, body = head+"result, id "+string(e.ID), e.Result
	}
	var b strings.Builder
	b.WriteString(head + "\n")
	pretty(&b, body, leave, 0)
	b.WriteString("\n")
	return b.String()
}

// width is how long a line of an example gets, as far as its values allow.
const width = 120

type member struct {
	key   string
	value json.RawMessage
}

// members are those of an object or an array, in their order; key is empty in an array.
func members(raw json.RawMessage) (all []member) {
	d := json.NewDecoder(bytes.NewReader(raw))
	open, _ := d.Token()
	for d.More() {
		var m member
		if open == json.Delim('{') {
			key, _ := d.Token()
			m.key, _ = key.(string)
		}
		if d.Decode(&m.value) != nil {
			return all
		}
		all = append(all, m)
	}
	return all
}

// pretty writes a value: on one line where it fits, else with as many small members on a line as fit.
func pretty(b *strings.Builder, raw json.RawMessage, leave []string, indent int) {
	if one := oneline(raw, leave); len(one)+indent <= width || raw[0] != '{' && raw[0] != '[' {
		b.WriteString(one)
		return
	}
	pad := strings.Repeat(" ", indent+2)
	b.WriteByte(raw[0])
	room := 0
	all := members(raw)
	for i, m := range all {
		one := label(m.key) + oneline(value(m, leave), leave)
		switch {
		case room >= len(one)+2:
			b.WriteByte(' ')
		default:
			b.WriteString("\n" + pad)
			room = width - len(pad)
		}
		if len(one) <= width-len(pad) {
			b.WriteString(one)
			room -= len(one) + 2
		} else {
			b.WriteString(label(m.key))
			pretty(b, value(m, leave), leave, indent+2)
			room = 0
		}
		if i < len(all)-1 {
			b.WriteByte(',')
		}
	}
	b.WriteString("\n" + strings.Repeat(" ", indent) + map[byte]string{'{': "}", '[': "]"}[raw[0]])
}

func label(key string) string {
	if key == "" {
		return ""
	}
	return strconv.Quote(key) + ": "
}

// value is a member's, or what stands in its place where it is left out.
func value(m member, leave []string) json.RawMessage {
	for _, key := range leave {
		if m.key == key && len(m.value) > 0 && (m.value[0] == '[' || m.value[0] == '{') {
			return json.RawMessage(map[byte]string{'[': "[/* … */]", '{': "{/* … */}"}[m.value[0]])
		}
	}
	return m.value
}

func oneline(raw json.RawMessage, leave []string) string {
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' || bytes.HasPrefix(raw[1:], []byte("/*")) {
		return string(raw)
	}
	var parts []string
	for _, m := range members(raw) {
		parts = append(parts, label(m.key)+oneline(value(m, leave), leave))
	}
	inner := strings.Join(parts, ", ")
	if raw[0] == '[' {
		return "[" + inner + "]"
	}
	return "{" + inner + "}"
}
