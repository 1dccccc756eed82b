package schema

import "encoding/json"

// MarshalJSON says of each kind of server whether it is taken, also where it is not: a client need not know what an absent
// member stands for.
func (c McpCapabilities) MarshalJSON() ([]byte, error) {
	return marshal(struct {
		HTTP bool            `json:"http"`
		SSE  bool            `json:"sse"`
		Meta json.RawMessage `json:"_meta,omitzero"`
	}{c.Http, c.Sse, c.Meta})
}
