package wire_test

import (
	"testing"

	"zuno/acp/schema"
	"zuno/acp/wire"
)

// What is wrong with params is said in the words of the protocol.
//
// spec: D129
func TestDecodeSaysWhatIsWrong(t *testing.T) {
	for params, want := range map[string]string{
		`[1]`:                                   "invalid params: they must be an object, not a JSON array",
		`"x"`:                                   "invalid params: they must be an object, not a JSON string",
		`{"sessionId":5}`:                       "invalid params: sessionId must be a string, not a JSON number",
		`{"sessionId":"s","prompt":{}}`:         "invalid params: prompt must be an array, not a JSON object",
		`{"prompt":[{"type":"text","text":5}]}`: "invalid params: prompt.text must be a string, not a JSON number",
	} {
		var p schema.PromptRequest
		if err := wire.Decode([]byte(params), &p); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", params, err, want)
		}
	}
	var p schema.InitializeRequest
	if err := wire.Decode([]byte(`{"protocolVersion":"x"}`), &p); err == nil || err.Error() != "invalid params: protocolVersion must be a whole number, not a JSON string" {
		t.Error(err)
	}
}
