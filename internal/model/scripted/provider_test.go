package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"zuno/internal/model"
	"zuno/internal/model/scripted"
)

// log is what a stream did, in words; it is the clock as well.
type log struct{ lines []string }

func (l *log) Sleep(ctx context.Context, d time.Duration) error {
	l.lines = append(l.lines, "sleep "+d.String())
	return ctx.Err()
}

func (l *log) emit(c model.Chunk) error {
	name := map[model.ChunkKind]string{
		model.ChunkText: "text", model.ChunkReasoning: "reasoning", model.ChunkCall: "call", model.ChunkArgs: "args",
	}[c.Kind]
	line := fmt.Sprintf("%s %q", name, c.Text)
	if c.Kind == model.ChunkCall || c.Kind == model.ChunkArgs {
		line += fmt.Sprintf(" %d %s %s", c.Index, c.CallID, c.Tool)
	}
	l.lines = append(l.lines, line)
	return nil
}

func parse(t testing.TB, script string) *scripted.Script {
	t.Helper()
	s, err := scripted.Parse("s.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stream(t testing.TB, script string, r *model.Request) (lines []string, response *model.Response, err error) {
	t.Helper()
	var l log
	vars := func() scripted.Vars {
		return scripted.Vars{LastReceipt: "rcp_1", PlanRevision: 3, GoalRevision: 4}
	}
	response, err = scripted.New(parse(t, script), vars, &l).Stream(t.Context(), r, l.emit)
	return l.lines, response, err
}

func says(role model.Role, kind model.PartKind, text string) model.Message {
	return model.Message{Role: role, Parts: []model.Part{{Kind: kind, Text: text}}}
}

func count(n uint64) *uint64 { return &n }

// spec: D111 D112 D114
func TestEveryKey(t *testing.T) {
	for _, tt := range []struct {
		name, entry string
		lines       []string
		want        model.Response
		err         error
	}{
		{"nothing", `{}`, nil, model.Response{}, nil},
		{"empty text", `{text: ""}`, nil, model.Response{}, nil},
		{"text", `{text: Hi.}`, []string{`text "Hi."`}, model.Response{}, nil},
		{"reasoning before text", `{text: Hi., reasoning: Hm.}`, []string{`reasoning "Hm."`, `text "Hi."`}, model.Response{}, nil},
		{"delay", `{delay: 50ms, text: Hi.}`, []string{`sleep 50ms`, `text "Hi."`}, model.Response{}, nil},
		{
			"parts",
			`{text: Hi., parts: [{text: a}, {reasoning: b, after: 1s}, {text: "${cwd}", after: 0s}, {text: ""}]}`,
			[]string{`text "Hi."`, `text "a"`, `sleep 1s`, `reasoning "b"`, `text "/w"`},
			model.Response{},
			nil,
		},
		{
			"calls",
			`{text: Hi., calls: [{tool: read, args: {b: "x", a: 1}}, {tool: write, id: mine}, {tool: glob, raw_arguments: "{broken ${cwd}"}, {tool: z, raw_arguments: ""}]}`,
			[]string{
				`text "Hi."`,
				`call "" 0 call_1 read`, `args "{\"b\":\"x\",\"a\":1}" 0 call_1 read`,
				`call "" 1 mine write`, `args "{}" 1 mine write`,
				`call "" 2 call_1_3 glob`, `args "{broken /w" 2 call_1_3 glob`,
				`call "" 3 call_1_4 z`,
			},
			model.Response{Finish: "tool_calls", Calls: []model.Call{
				{ID: "call_1", Tool: "read", Args: `{"b":"x","a":1}`},
				{ID: "mine", Tool: "write", Args: `{}`},
				{ID: "call_1_3", Tool: "glob", Args: `{broken /w`},
				{ID: "call_1_4", Tool: "z"},
			}},
			nil,
		},
		{
			"usage", `{usage: {input: 120, output: 0, reasoning: 7, cache_read: 1_000, cache_write: 2}}`, nil,
			model.Response{Usage: model.Usage{Input: count(120), Output: count(0), Reasoning: count(7), CacheRead: count(1000), CacheWrite: count(2)}},
			nil,
		},
		{"usage in part", `{usage: {output: 5}}`, nil, model.Response{Usage: model.Usage{Output: count(5)}}, nil},
		{
			"error", `{delay: 1s, error: {status: 429, retry_after: 2s, code: rate_limited, request_id: req_1, message: slow down}}`,
			[]string{`sleep 1s`},
			model.Response{},
			&model.Error{Status: 429, RetryAfter: 2 * time.Second, Code: "rate_limited", RequestID: "req_1", Reason: "slow down", Entry: 1},
		},
		{"bare error", `{error: {}}`, nil, model.Response{}, &model.Error{Reason: "the script says that the request fails", Entry: 1}},
		{"cut", `{text: Hi., cut: true}`, []string{`text "Hi."`}, model.Response{}, &model.Cut{Reason: "entry 1 of the script s.yaml ends here", Entry: 1}},
		{
			"cut in a call", `{cut: true, calls: [{tool: a, args: {x: 1}}, {tool: b, raw_arguments: "123é56"}]}`,
			[]string{
				`call "" 0 call_1 a`, `args "{\"x\":1}" 0 call_1 a`,
				`call "" 1 call_1_2 b`, `args "123" 1 call_1_2 b`,
			},
			model.Response{},
			&model.Cut{Reason: "entry 1 of the script s.yaml ends here", Entry: 1},
		},
		{"no cut", `{cut: false, text: Hi.}`, []string{`text "Hi."`}, model.Response{}, nil},
		{"expect", `{expect: {contains: PASS}, text: Done.}`, []string{`text "Done."`}, model.Response{}, nil},
		{"expect all", `{expect: {contains: [PASS, "1s"]}, text: Done.}`, []string{`text "Done."`}, model.Response{}, nil},
		{
			"expectation fails", `{expect: {contains: [PASS, FAIL]}, delay: 1s, text: Done.}`, nil,
			model.Response{},
			&model.Error{Code: "expectation_failed", Entry: 1, Reason: `entry 1 of the script s.yaml expects "FAIL", which the messages since the last response do not contain`},
		},
		{
			"expect looks behind the last response", `{expect: {contains: earlier}}`, nil,
			model.Response{},
			&model.Error{Code: "expectation_failed", Entry: 1, Reason: `entry 1 of the script s.yaml expects "earlier", which the messages since the last response do not contain`},
		},
		{"when looks anywhere", `{when: earlier, text: Hi.}`, []string{`text "Hi."`}, model.Response{Conditional: true}, nil},
		{
			"variables", `{text: "${cwd}|${last.result}|${last.receipt}|${plan.revision}|${goal.revision}|$$|$${cwd}|$5|$"}`,
			[]string{"text " + fmt.Sprintf("%q", "/w|PASS \"1s\"\n|rcp_1|3|4|$|${cwd}|$5|$")},
			model.Response{},
			nil,
		},
		{
			"variables in JSON", `{calls: [{tool: a, args: {"$k": ["${last.result}", {"d": "$$<&>"}], n: [~, true, False, 1.50, 0x10, 1_000, -7, 1e3, 12345678901234567890, 2024-01-02, "é\u0001\t"]}}]}`,
			[]string{
				`call "" 0 call_1 a`,
				"args " + fmt.Sprintf("%q", `{"$k":["PASS \"1s\"\n",{"d":"$<&>"}],"n":[null,true,false,1.50,16,1000,-7,1e3,12345678901234567890,"2024-01-02","é\u0001\t"]}`) + " 0 call_1 a",
			},
			model.Response{Finish: "tool_calls", Calls: []model.Call{{
				ID: "call_1", Tool: "a",
				Args: `{"$k":["PASS \"1s\"\n",{"d":"$<&>"}],"n":[null,true,false,1.50,16,1000,-7,1e3,12345678901234567890,"2024-01-02","é\u0001\t"]}`,
			}}},
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, got, err := stream(t, "responses:\n  - "+tt.entry+"\n", &model.Request{Cwd: "/w", Messages: []model.Message{
				says(model.RoleUser, model.PartText, "earlier"),
				says(model.RoleAssistant, model.PartCall, "{}"),
				says(model.RoleTool, model.PartResult, "PASS \"1s\"\n"),
				says(model.RoleUser, model.PartText, "go on"),
			}})
			if !reflect.DeepEqual(lines, tt.lines) {
				t.Errorf("got  %q\nwant %q", lines, tt.lines)
			}
			if tt.err != nil {
				if !reflect.DeepEqual(err, tt.err) || got != nil {
					t.Errorf("got %#v, want %#v", err, tt.err)
				}
				return
			}
			tt.want.Entry = 1
			if tt.want.Finish == "" {
				tt.want.Finish = "stop"
			}
			if err != nil || !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
			for _, c := range got.Calls {
				if tt.name != "calls" && !json.Valid([]byte(c.Args)) {
					t.Errorf("no JSON: %s", c.Args)
				}
			}
		})
	}
}

// spec: D109 D110 D115
func TestPosition(t *testing.T) {
	const script = `
responses:
  - text: one
  - { when: magic, text: first }
  - text: two
  - { when: magic, error: { status: 500 } }
  - { when: other, cut: true }
`
	plain := []model.Message{says(model.RoleUser, model.PartText, "hello")}
	magic := append(plain[:1:1], says(model.RoleTool, model.PartResult, "some magic, no other"))
	for _, tt := range []struct {
		name        string
		messages    []model.Message
		position    uint64
		used        []uint64
		entry       uint64
		conditional bool
		failure     string
	}{
		{"first", plain, 0, nil, 1, false, ""},
		{"second, whatever was used", plain, 1, []uint64{2}, 3, false, ""},
		{"condition first", magic, 0, nil, 2, true, ""},
		{"condition at any position", magic, 9, nil, 2, true, ""},
		{"next condition once used", magic, 1, []uint64{2}, 4, true, "provider answered 500"},
		{"third condition, cut", magic, 1, []uint64{4, 2}, 5, true, "cut off"},
		{"back to the order", magic, 1, []uint64{2, 5, 4}, 3, false, ""},
		{"exhausted", plain, 2, nil, 0, false, "script_exhausted: the script s.yaml has no response left: number 3 was asked for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got, err := stream(t, script, &model.Request{Messages: tt.messages, Position: tt.position, Used: tt.used})
			if tt.failure == "" {
				if err != nil || got.Entry != tt.entry || got.Conditional != tt.conditional {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			var failed *model.Error
			var cut *model.Cut
			entry, conditional := uint64(0), false
			switch {
			case errors.As(err, &failed):
				entry, conditional = failed.Entry, failed.Conditional
			case errors.As(err, &cut):
				entry, conditional = cut.Entry, cut.Conditional
			}
			if err == nil || entry != tt.entry || conditional != tt.conditional || !strings.Contains(err.Error(), tt.failure) {
				t.Errorf("got %v of entry %d, %v", err, entry, conditional)
			}
		})
	}
}

// spec: D109
func TestRepeat(t *testing.T) {
	for position, want := range []uint64{1, 2, 2, 2} {
		_, got, err := stream(t, "repeat: true\nresponses: [{text: a}, {text: b}, {when: x}]\n", &model.Request{Position: uint64(position)})
		if err != nil || got.Entry != want {
			t.Errorf("position %d: got %+v, %v", position, got, err)
		}
	}
}

// Two calls of a session never share an id that the script left open.
//
// spec: D109 D110
func TestCallIDsAreUnique(t *testing.T) {
	const script = "repeat: true\nresponses: [{calls: [{tool: a}, {tool: b}]}, {when: x, calls: [{tool: a}, {tool: b}]}]\n"
	seen := map[string]bool{}
	for position := range uint64(20) {
		r := &model.Request{Position: position}
		if position == 0 {
			r.Messages = []model.Message{says(model.RoleUser, model.PartText, "x")}
		}
		_, got, err := stream(t, script, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got.Calls {
			if seen[c.ID] {
				t.Errorf("%s comes twice", c.ID)
			}
			seen[c.ID] = true
		}
	}
}

// spec: D111
func TestLongTextsStreamInPieces(t *testing.T) {
	for name, text := range map[string]string{
		"words":     strings.Repeat("word ", 2000),
		"no spaces": strings.Repeat("é", 3000),
		"odd":       "x" + strings.Repeat("é😀", 3000),
		"lines":     strings.Repeat("a line of text\n", 500),
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("responses: [{text: %s, calls: [{tool: a, args: {x: %s}}]}]", quoted, quoted)
		var words, args strings.Builder
		chunks := 0
		got, err := scripted.New(parse(t, script), nil, nil).Stream(t.Context(), &model.Request{}, func(c model.Chunk) error {
			chunks++
			if len(c.Text) > 4096 || c.Kind == model.ChunkText && len(c.Text) > 128 || strings.ToValidUTF8(c.Text, "") != c.Text {
				t.Errorf("%s: a chunk of %d bytes: %q", name, len(c.Text), c.Text)
			}
			switch c.Kind {
			case model.ChunkText:
				words.WriteString(c.Text)
			case model.ChunkArgs:
				args.WriteString(c.Text)
			}
			return nil
		})
		if err != nil || words.String() != text || args.String() != got.Calls[0].Args || chunks < 40 {
			t.Errorf("%s: %d chunks, %v", name, chunks, err)
		}
	}
}

type stopped struct{ cancel func() }

func (s stopped) Sleep(ctx context.Context, _ time.Duration) error {
	s.cancel()
	return ctx.Err()
}

// spec: D111
func TestStreamsEndEarly(t *testing.T) {
	script := parse(t, `responses: [{delay: 1s, text: a, reasoning: b, calls: [{tool: c}]}, {delay: 1s, error: {status: 500}}, {text: a, parts: [{text: b}]}]`)
	ctx, cancel := context.WithCancel(t.Context())
	silent := func(model.Chunk) error { t.Error("a chunk after the end"); return nil }
	for position := range uint64(2) {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := scripted.New(script, nil, stopped{cancel}).Stream(ctx, &model.Request{Position: position}, silent); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in its sleep: %v", err)
		}
	}
	cancel()
	if _, err := scripted.New(script, nil, nil).Stream(ctx, &model.Request{Position: 2}, silent); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	full := errors.New("full")
	calls := 0
	_, err := scripted.New(script, nil, nil).Stream(t.Context(), &model.Request{Position: 2}, func(model.Chunk) error { calls++; return full })
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("a refused chunk: %v after %d calls", err, calls)
	}
}

// A caller that changes what it got does not change the script.
//
// spec: D109
func TestTheScriptIsImmutable(t *testing.T) {
	p := scripted.New(parse(t, `responses: [{usage: {input: 1}}, {error: {status: 500}}]`), nil, nil)
	for range 2 {
		got, err := p.Stream(t.Context(), &model.Request{}, nil)
		if err != nil || *got.Usage.Input != 1 {
			t.Fatalf("got %+v, %v", got, err)
		}
		*got.Usage.Input = 2
		_, err = p.Stream(t.Context(), &model.Request{Position: 1}, nil)
		failed := (*model.Error)(nil)
		if !errors.As(err, &failed) || failed.Status != 500 {
			t.Fatal(err)
		}
		failed.Status = 1
	}
}

// A text of 2,000 words has to cost less than 3 ms of CPU.
//
// spec: D111
func BenchmarkStream(b *testing.B) {
	s := parse(b, `responses: [{text: "`+strings.Repeat("word ", 2000)+`", calls: [{tool: a, args: {x: "${cwd}"}}]}]`)
	p := scripted.New(s, nil, nil)
	r := &model.Request{Cwd: "/w"}
	emit := func(model.Chunk) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Stream(b.Context(), r, emit); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	script := []byte("responses:\n" + strings.Repeat("  - text: I read ${cwd}.\n    calls: [{tool: read, args: {filePath: '${cwd}/a'}}]\n", 100))
	for b.Loop() {
		if _, err := scripted.Parse("s.yaml", script); err != nil {
			b.Fatal(err)
		}
	}
}
