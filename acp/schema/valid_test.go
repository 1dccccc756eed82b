package schema

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// validator checks objects whose members are named by a definition of the published
// schema and hold a value of it.
func validator(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	raw, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	root := &jsonschema.Schema{Defs: s.Defs, Properties: map[string]*jsonschema.Schema{}}
	for def := range s.Defs {
		root.Properties[def] = &jsonschema.Schema{Ref: "#/$defs/" + def}
	}
	r, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Everything that the constructors make, down to empty lists and absent fields, is
// valid under the published schema.
//
// spec: D134
func TestWhatIsSentIsValid(t *testing.T) {
	old := ""
	line := ToolCallLocation{Path: "/p", Line: 1}
	updates := []SessionUpdate{
		MessageChunk("", ""), MessageChunk("m", "x").WithMeta(Meta("zuno", 1)), ThoughtChunk("m", "x"), UserChunk("m", Link("u", "n")),
		StartTool(ToolCall{ToolCallID: "t", Title: "x"}),
		StartTool(ToolCall{ToolCallID: "t", Title: "x", Name: "n", Kind: KindOther, Status: StatusInProgress, Content: []ToolCallContent{TextItem(""), DiffItem("/p", &old, ""), TerminalItem("w")}, Locations: []ToolCallLocation{line}, RawInput: json.RawMessage(`{"a":1}`), RawOutput: json.RawMessage(`"o"`)}),
		UpdateTool(ToolCallUpdate{ToolCallID: "t"}),
		UpdateTool(ToolCallUpdate{ToolCallID: "t", Title: "x", Status: StatusFailed, Content: []ToolCallContent{DiffItem("/p", nil, "n")}, Locations: []ToolCallLocation{}}),
		PlanUpdate(), PlanUpdate(PlanEntry{Content: "c", Priority: PriorityLow, Status: PlanPending}),
		CommandsUpdate(), CommandsUpdate(Command("a", "b", "c"), Command("d", "e", "")),
		ModeUpdate("m"), ConfigUpdate(),
		ConfigUpdate(SelectOption("i", "n", CategoryMode, "c"), SelectOption("i", "n", "", "c", SessionConfigSelectOption{Value: "v", Name: "n"}),
			GroupedOption("g", "n", CategoryModel, "v", SessionConfigSelectGroup{Group: "g", Name: "n"}), BooleanOption("b", "n", CategoryModelConfig, false)),
		InfoUpdate(Nullable{}, Nullable{}), InfoUpdate(Null(), String("2026-01-01T00:00:00Z")),
		Usage(0, 1, nil), Usage(1, 2, &Cost{Currency: "USD"}), NoticeUpdate(NoticeError, "t", "d"),
	}
	check := validator(t)
	if check.Validate(map[string]any{"Plan": map[string]any{"entries": nil}}) == nil {
		t.Fatal("the validator finds nothing")
	}
	for _, u := range updates {
		validate(t, check, "SessionNotification", SessionNotification{SessionID: "s", Update: u})
	}
	text := ""
	modes := &SessionModeState{CurrentModeID: "m", AvailableModes: []SessionMode{{ID: "m", Name: "M"}}}
	for def, values := range map[string][]any{
		"InitializeResponse": {InitializeResponse{ProtocolVersion: ProtocolVersion}, InitializeResponse{
			ProtocolVersion: 1, AgentInfo: &Implementation{Name: "zuno", Version: "1"}, Meta: Meta("zuno", 1),
			AuthMethods: []AuthMethod{{AuthMethodAgent: &AuthMethodAgent{ID: "a", Name: "A"}}, {AuthMethodTerminal: &AuthMethodTerminal{ID: "t", Name: "T"}}},
			AgentCapabilities: &AgentCapabilities{
				LoadSession: true, PromptCapabilities: &PromptCapabilities{Image: true}, McpCapabilities: &McpCapabilities{},
				SessionCapabilities: &SessionCapabilities{List: &SessionListCapabilities{}, Delete: &SessionDeleteCapabilities{}},
			},
		}},
		"NewSessionResponse":             {NewSessionResponse{SessionID: "s"}, NewSessionResponse{SessionID: "s", Modes: modes, ConfigOptions: []SessionConfigOption{}}},
		"LoadSessionResponse":            {LoadSessionResponse{}, LoadSessionResponse{Modes: &SessionModeState{}}},
		"ResumeSessionResponse":          {ResumeSessionResponse{}},
		"CloseSessionResponse":           {CloseSessionResponse{}},
		"ListSessionsResponse":           {ListSessionsResponse{}, ListSessionsResponse{Sessions: []SessionInfo{{SessionID: "s", Cwd: "/"}}}},
		"SetSessionConfigOptionResponse": {SetSessionConfigOptionResponse{}},
		"PromptResponse":                 {PromptResponse{StopReason: StopCancelled}},
		"RequestPermissionRequest":       {AskPermission("s", ToolCallUpdate{ToolCallID: "t"}), AskPermission("s", ToolCallUpdate{ToolCallID: "t"}, Option("y", "Y", PermissionAllowAlways))},
		"CreateElicitationRequest": {CreateElicitationRequest{Mode: "form", Message: "m", SessionID: "s", RequestedSchema: &ElicitationSchema{
			Properties: map[string]ElicitationPropertySchema{"a": {StringPropertySchema: &StringPropertySchema{Default: &text}}, "b": {BooleanPropertySchema: &BooleanPropertySchema{}}},
		}}},
		"CreateTerminalRequest":     {CreateTerminalRequest{SessionID: "s", Command: "c"}},
		"ReadTextFileRequest":       {ReadTextFileRequest{SessionID: "s", Path: "/p"}},
		"WriteTextFileRequest":      {WriteTextFileRequest{SessionID: "s", Path: "/p"}},
		"CancelRequestNotification": {CancelRequestNotification{RequestID: json.RawMessage(`"zuno-1"`)}},
		"ContentBlock": {
			ContentBlock{EmbeddedResource: &EmbeddedResource{Resource: EmbeddedResourceResource{URI: "u", Text: &text}}},
			ContentBlock{ImageContent: &ImageContent{}},
		},
	} {
		for _, v := range values {
			validate(t, check, def, v)
		}
	}
}

func validate(t *testing.T, check *jsonschema.Resolved, def string, v any) {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%+v: %v", v, err)
		return
	}
	var instance any
	if err := json.Unmarshal(out, &instance); err != nil {
		t.Errorf("%s: %v", out, err)
		return
	}
	if err := check.Validate(map[string]any{def: instance}); err != nil {
		t.Errorf("%s %s: %v", def, out, err)
	}
}
