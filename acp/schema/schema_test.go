package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"zuno/acp/schema/internal/gen"
)

// spec: D134
func TestGeneratedTypesAreCurrent(t *testing.T) {
	schema, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := gen.Generate(schema)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := gen.Generate(schema)
	got, err := os.ReadFile("types_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, again) {
		t.Fatal("the generator is not reproducible")
	}
	if !bytes.Equal(got, want) {
		t.Fatal("types_gen.go is not what schema.json gives: run go generate ./acp/schema")
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(schema)); sum != SHA256 || SHA256Prefix != sum[:8] {
		t.Fatalf("SHA256 = %s, schema.json has %s", SHA256, sum)
	}
}

// spec: D134
func TestRoundTrip(t *testing.T) {
	update := func(u string) string { return `{"sessionId":"s","update":` + u + `}` }
	for _, c := range []struct {
		v    any
		text string
	}{
		{&SessionNotification{}, update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"},"messageId":"m"}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"image","data":"AA==","mimeType":"image/png"},"_meta":{"zuno":{"turnId":"t"}}}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"a","annotations":{"priority":0,"audience":["user"]}}}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","kind":"edit","status":"pending","rawInput":{"b":1,"a":[2]},"locations":[{"path":"/p","line":3}]}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[{"type":"diff","path":"/p","oldText":"","newText":"n"}],"status":"completed"}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[],"locations":[]}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[{"type":"hologram","z":{"k":[1.50]}},{"type":"terminal","terminalId":"w"}]}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"plan","entries":[]}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"future_kind","x":1.0,"deep":{"y":null}}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"session_info_update"}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"session_info_update","title":null,"updatedAt":"2026-01-01T00:00:00Z"}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"session_info_update","title":""}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"usage_update","used":0,"size":10,"cost":{"amount":0,"currency":"USD"}}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"config_option_update","configOptions":[{"id":"m","name":"M","category":"mode","type":"select","currentValue":"a","options":[{"value":"a","name":"A"}]},{"id":"b","name":"B","type":"boolean","currentValue":false}]}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"goal","description":"d","input":{"hint":"h"}}]}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"notice","severity":"warning","title":"t"}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed","summary":[{"type":"text","text":"s"}]}`)},
		{&SessionNotification{}, update(`{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{"type":"text","text":"s"}}`)},
		{&NewSessionRequest{}, `{"cwd":"/","mcpServers":[{"name":"a","command":"/b","args":[],"env":[]},{"type":"http","name":"h","url":"u","headers":[]},{"type":"carrier_pigeon","name":"p"}]}`},
		{&PromptRequest{}, `{"sessionId":"s","prompt":[{"type":"resource","resource":{"uri":"file:///a","text":""}},{"type":"resource","resource":{"uri":"file:///a","blob":"AA=="}},{"type":"new_block","q":1},{"type":"resource_link","uri":"zed:///agent/x","name":"n","size":0}]}`},
		{&InitializeRequest{}, `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true},"session":{"configOptions":{"boolean":{}}},"elicitation":{"form":{}},"_meta":{"terminal_output":true}},"clientInfo":{"name":"n","version":"v"}}`},
		{&InitializeResponse{}, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"list":{},"close":{}},"_meta":{"zuno":{"steer":true}}},"authMethods":[{"id":"a","name":"A"},{"type":"terminal","id":"t","name":"T","args":["login"],"env":{"K":"V"}}]}`},
		{&SetSessionConfigOptionRequest{}, `{"sessionId":"s","configId":"c","type":"boolean","value":true}`},
		{&SetSessionConfigOptionRequest{}, `{"sessionId":"s","configId":"c","value":"on"}`},
		{&RequestPermissionRequest{}, `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"x"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}`},
		{&RequestPermissionResponse{}, `{"outcome":{"outcome":"selected","optionId":"y"}}`},
		{&RequestPermissionResponse{}, `{"outcome":{"outcome":"cancelled"}}`},
		{&RequestPermissionResponse{}, `{"outcome":{"outcome":"postponed","until":"noon"}}`},
		{&CreateElicitationRequest{}, `{"mode":"form","message":"m","sessionId":"s","toolCallId":"t","requestedSchema":{"type":"object","properties":{"a":{"type":"string","default":"","enum":["","x"]},"b":{"type":"array","items":{"anyOf":[{"const":"c","title":"C"}]}},"c":{"type":"integer","minimum":0}},"required":["a"]}}`},
		{&CreateElicitationRequest{}, `{"mode":"url","message":"m","requestId":7,"elicitationId":"e","url":"https://x"}`},
		{&CreateElicitationResponse{}, `{"action":"accept","content":{"a":1,"b":["x"]}}`},
		{&ListSessionsResponse{}, `{"sessions":[{"sessionId":"s","cwd":"/","title":"t"}],"nextCursor":"n"}`},
		{&CancelRequestNotification{}, `{"requestId":"7"}`},
		{&WaitForTerminalExitResponse{}, `{"exitCode":0}`},
		{&TerminalOutputResponse{}, `{"output":"","truncated":false,"exitStatus":{"signal":"KILL"}}`},
		{&SessionConfigOption{}, `{"id":"m","name":"M","type":"select","currentValue":"a","options":[{"group":"g","name":"G","options":[{"value":"a","name":"A"}]}],"_meta":{"x":1}}`},
	} {
		if err := json.Unmarshal([]byte(c.text), c.v); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		out, err := json.Marshal(c.v)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		if got, want := canonical(t, out), canonical(t, []byte(c.text)); got != want {
			t.Errorf("\n  in %s\n out %s", want, got)
		}
	}
}

// canonical sorts members and keeps numbers as written.
func canonical(t *testing.T, b []byte) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// A zero message of every type that is sent has [] for its required lists.
//
// spec: D134
func TestRequiredListsAreNeverNull(t *testing.T) {
	for _, v := range []any{
		Plan{},
		AvailableCommandsUpdate{},
		ConfigOptionUpdate{},
		ListSessionsResponse{},
		RequestPermissionRequest{},
		SetSessionConfigOptionResponse{},
		SessionModeState{},
		SessionConfigSelectGroup{},
		NewSessionRequest{},
		LoadSessionRequest{},
		PromptRequest{},
		McpServerStdio{},
		McpServerHttp{},
		McpServerSse{},
		TitledMultiSelectItems{},
		StringMultiSelectItems{},
		&Plan{},
		struct{ A *Plan }{&Plan{}},
	} {
		out, err := json.Marshal(v)
		if err != nil && !strings.Contains(err.Error(), "no variant") {
			t.Errorf("%T: %v", v, err)
		}
		if strings.Contains(string(out), "null") && !strings.Contains(string(out), "currentValue") {
			t.Errorf("%T: %s", v, out)
		}
	}
	for _, c := range []struct {
		u    SessionUpdate
		want string
	}{
		{PlanUpdate(), `"entries":[]`},
		{CommandsUpdate(), `"availableCommands":[]`},
		{ConfigUpdate(), `"configOptions":[]`},
		{ConfigUpdate(SelectOption("i", "n", CategoryMode, "c")), `"options":[]`},
	} {
		if out, err := json.Marshal(c.u); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s %v, want %s", out, err, c.want)
		}
	}
}

// Whatever the schema lists as a required array is covered by the test above.
//
// spec: D134
func TestNoRequiredListIsForgotten(t *testing.T) {
	raw, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct{ Type any }
			Required   []string
		} `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("types_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, d := range doc.Defs {
		for _, r := range d.Required {
			if reflect.DeepEqual(d.Properties[r].Type, "array") {
				n++
				if !strings.Contains(string(src), "func (v "+name+") MarshalJSON()") {
					t.Errorf("%s.%s may be written as null", name, r)
				}
			}
		}
	}
	if n < 12 {
		t.Fatalf("found only %d required lists", n)
	}
}

// spec: D134
func TestConstructorsWriteWhatTheSchemaAsks(t *testing.T) {
	old := "a"
	for _, c := range []struct {
		v    any
		want string
	}{
		{SessionNotification{SessionID: "s", Update: MessageChunk("m", "<a> & \u2028 \"\n")}, `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"<a> & \u2028 \"\n"},"messageId":"m"}}`},
		{ThoughtChunk("", "t").WithMeta(Meta("zuno", map[string]int{"n": 1})), `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"t"},"_meta":{"zuno":{"n":1}}}`},
		{UserChunk("m", Link("file:///a", "a")), `{"sessionUpdate":"user_message_chunk","content":{"type":"resource_link","name":"a","uri":"file:///a"},"messageId":"m"}`},
		{StartTool(ToolCall{ToolCallID: "t", Title: "Run <x>", Kind: KindExecute, Status: StatusPending}), `{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run <x>","kind":"execute","status":"pending"}`},
		{UpdateTool(ToolCallUpdate{ToolCallID: "t", Content: []ToolCallContent{DiffItem("/p", &old, ""), TextItem("x")}}), `{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[{"type":"diff","path":"/p","oldText":"a","newText":""},{"type":"content","content":{"type":"text","text":"x"}}]}`},
		{DiffItem("/p", nil, "n"), `{"type":"diff","path":"/p","newText":"n"}`},
		{TerminalItem("w"), `{"type":"terminal","terminalId":"w"}`},
		{PlanUpdate(PlanEntry{Content: "c", Priority: PriorityLow, Status: "cancelled"}), `{"sessionUpdate":"plan","entries":[{"content":"c","priority":"low","status":"completed"}]}`},
		{PlanUpdate(PlanEntry{Content: "c", Priority: PriorityHigh, Status: PlanInProgress}), `{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"in_progress"}]}`},
		{CommandsUpdate(Command("goal", "d", "text"), Command("stop", "e", "")), `{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"goal","description":"d","input":{"hint":"text"}},{"name":"stop","description":"e"}]}`},
		{ModeUpdate("plan"), `{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`},
		{InfoUpdate(Null(), Nullable{}), `{"sessionUpdate":"session_info_update","title":null}`},
		{InfoUpdate(Nullable{}, String("x")), `{"sessionUpdate":"session_info_update","updatedAt":"x"}`},
		{Usage(1, 2, nil), `{"sessionUpdate":"usage_update","used":1,"size":2}`},
		{NoticeUpdate(NoticeWarning, "t", ""), `{"sessionUpdate":"notice","severity":"warning","title":"t"}`},
		{BooleanOption("b", "B", "", true), `{"id":"b","name":"B","currentValue":true,"type":"boolean"}`},
		{AskPermission("s", ToolCallUpdate{ToolCallID: "t"}, Option("y", "Yes", PermissionAllowOnce)), `{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}`},
		{PromptResponse{StopReason: StopEndTurn}, `{"stopReason":"end_turn"}`},
		{CloseSessionResponse{}, `{}`},
	} {
		out, err := marshal(c.v)
		if err != nil || string(out) != c.want {
			t.Errorf("\n got %s %v\nwant %s", out, err, c.want)
		}
	}
}

func TestDecodingIsForgivingWhereClientsDiffer(t *testing.T) {
	var n NewSessionRequest
	if err := json.Unmarshal([]byte(`{"cwd":"/","mcpServers":[{"type":"stdio","name":"a","command":"/b"}]}`), &n); err != nil {
		t.Fatal(err)
	}
	if s := n.McpServers[0].McpServerStdio; s == nil || s.Command != "/b" {
		t.Errorf("a stdio server that says so: %+v", n.McpServers[0])
	}
	var u SessionUpdate
	if err := json.Unmarshal([]byte(`{"sessionUpdate":7}`), &u); err == nil {
		t.Error("a tag that is no string was accepted")
	}
	if _, err := json.Marshal(ContentBlock{}); err == nil {
		t.Error("an empty block was written")
	}
	if _, err := marshal(MessageChunk("", "x").WithMeta(json.RawMessage(`{`))); err == nil {
		t.Error("broken _meta was written")
	}
	r := SetSessionConfigOptionRequest{Value: json.RawMessage(`false`)}
	if s, ok := r.Text(); s != "false" || !ok {
		t.Error(s, ok)
	}
}

// An update with a line break in raw JSON still takes one line.
func TestUpdatesAreOneLine(t *testing.T) {
	u := SessionNotification{SessionID: "s", Update: MessageChunk("", "a").WithMeta(json.RawMessage("{\n\"a\": 1\r\n}"))}
	out, err := u.AppendJSON(nil)
	if err != nil || bytes.ContainsAny(out, "\r\n") {
		t.Fatalf("%s %v", out, err)
	}
}

// appendAgrees checks the hand-written encoding against encoding/json.
func TestAppendAgreesWithReflection(t *testing.T) {
	for _, u := range []SessionUpdate{
		MessageChunk("m", "x\x00\x1f\u2029\xff€"), ThoughtChunk("", ""), UserChunk("i", Link("u", "n")),
		MessageChunk("m", "a").WithMeta(Meta("k", "v")), Usage(1, 2, nil),
		{Kind: "x", Raw: json.RawMessage(`{"sessionUpdate":"x"}`)},
	} {
		fast, err := u.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		slow, err := marshalUnion("sessionUpdate", u.Kind, second(u.variant()), u.Raw)
		if err != nil || canonical(t, fast) != canonical(t, slow) {
			t.Errorf("\nfast %s\nslow %s %v", fast, slow, err)
		}
	}
}

func second(_ string, v any) any { return v }

func BenchmarkEncodeTextChunk(b *testing.B) {
	n := SessionNotification{SessionID: "ses_01jx2f3g4h5j6k7m8n9p", Update: MessageChunk("msg_01jx2f3g4h5j6k7m8n9p", strings.Repeat("word ", 8)).WithMeta(Meta("zuno", map[string]string{"turnId": "trn_1"}))}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = n.AppendJSON(buf[:0])
	}
}

func BenchmarkEncodeToolUpdate(b *testing.B) {
	n := SessionNotification{SessionID: "ses_01jx2f3g4h5j6k7m8n9p", Update: UpdateTool(ToolCallUpdate{ToolCallID: "t", Status: StatusCompleted, Content: []ToolCallContent{TextItem(strings.Repeat("word ", 100))}})}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = n.AppendJSON(buf[:0])
	}
}

func BenchmarkDecodePrompt(b *testing.B) {
	line := []byte(`{"sessionId":"s","prompt":[{"type":"text","text":"` + strings.Repeat("some words of a prompt ", 40) + `"},{"type":"resource_link","uri":"file:///a","name":"a"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		var p PromptRequest
		if err := json.Unmarshal(line, &p); err != nil {
			b.Fatal(err)
		}
	}
}
