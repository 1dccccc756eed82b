package wire

import (
	"bytes"
	"encoding/json"
	"sync"

	"zuno/acp/schema/rawjson"
)

// Appender is implemented by values that append their own JSON, for messages that
// are sent often. The JSON is one line, unescaped for HTML.
type Appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// scratch holds the buffers in which params and results are encoded before they
// are queued. Large ones are left to the collector.
var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const maxScratch = 256 << 10

func putScratch(b *bytes.Buffer) {
	if b.Cap() <= maxScratch {
		b.Reset()
		scratch.Put(b)
	}
}

// encode writes v into buf as one line of JSON, without a newline and without
// HTML escaping.
func encode(buf *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case nil:
		buf.WriteString("null")
	case json.RawMessage:
		if len(v) == 0 {
			buf.WriteString("null")
		} else if err := json.Compact(buf, v); err != nil { // checks it, too
			return err
		}
	case Appender:
		b, err := v.AppendJSON(buf.AvailableBuffer())
		if err != nil {
			return err
		}
		if bytes.IndexByte(b, '\n') >= 0 {
			return json.Compact(buf, b)
		}
		buf.Write(b)
	default:
		enc := json.NewEncoder(buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return err
		}
		buf.Truncate(buf.Len() - 1)
	}
	return nil
}

// encodeError encodes the error member. Data that cannot be encoded is left out:
// an answer without it is better than none.
func encodeError(buf *bytes.Buffer, e *Error) {
	mark := buf.Len()
	w := wireError{Code: e.Code, Message: e.Message, Data: e.Data}
	if encode(buf, w) != nil {
		buf.Truncate(mark)
		w.Data = nil
		_ = encode(buf, w) // a number and a string
	}
}

type wireError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// appendAnswer appends an answer line; member is "result" or "error".
func appendAnswer(b []byte, id, member string, payload []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"`...)
	b = append(b, member...)
	b = append(b, `":`...)
	b = appendPayload(b, payload)
	return append(b, '}', '\n')
}

// appendRequest appends a call, or a notification where id is empty. Params that
// are nil are left out.
func appendRequest(b []byte, id, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0",`...)
	if id != "" {
		b = append(b, `"id":`...)
		b = rawjson.AppendString(b, id)
		b = append(b, ',')
	}
	b = append(b, `"method":`...)
	b = rawjson.AppendString(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = appendPayload(b, params)
	}
	return append(b, '}', '\n')
}

// appendPayload escapes the two line separators of Unicode. JSON allows them
// raw, but readers that split lines the JavaScript way (Node's readline) break a
// message at them. In valid JSON they occur inside strings only.
func appendPayload(b, payload []byte) []byte {
	for {
		i := bytes.Index(payload, []byte("\xe2\x80"))
		if i < 0 || i+2 >= len(payload) {
			return append(b, payload...)
		}
		b = append(b, payload[:i]...)
		switch payload[i+2] {
		case 0xa8:
			b = append(b, `\u2028`...)
		case 0xa9:
			b = append(b, `\u2029`...)
		default:
			b = append(b, payload[i:i+3]...)
		}
		payload = payload[i+3:]
	}
}
