package schema

import (
	"bytes"
	"encoding/json"
	"errors"

	"zuno/acp/schema/rawjson"
)

// A turn sends thousands of updates, nearly all of them a piece of text. These are
// written without reflection; everything else goes through encoding/json.

var errRaw = errors.New("schema: a raw value is not valid JSON")

// AppendJSON appends the notification's params as one line of JSON.
func (n SessionNotification) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"sessionId":`...)
	b = rawjson.AppendString(b, n.SessionID)
	b = append(b, `,"update":`...)
	b, err := n.Update.AppendJSON(b)
	if err != nil {
		return nil, err
	}
	if b, err = appendMeta(b, n.Meta); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

// MarshalJSON implements json.Marshaler.
func (n SessionNotification) MarshalJSON() ([]byte, error) { return n.AppendJSON(nil) }

// AppendJSON appends the update as one line of JSON.
func (u SessionUpdate) AppendJSON(b []byte) ([]byte, error) {
	c := u.ContentChunk
	if c == nil {
		kind, v := u.variant()
		if v == nil {
			raw, err := u.MarshalJSON()
			if err != nil {
				return nil, err
			}
			return appendRaw(b, raw)
		}
		body, err := marshal(v)
		if err != nil {
			return nil, err
		}
		return appendTagged(b, "sessionUpdate", kind, body), nil
	}
	b = append(b, `{"sessionUpdate":`...)
	b = rawjson.AppendString(b, u.Kind)
	b = append(b, `,"content":`...)
	b, err := c.Content.AppendJSON(b)
	if err != nil {
		return nil, err
	}
	if c.MessageID != "" {
		b = append(b, `,"messageId":`...)
		b = rawjson.AppendString(b, c.MessageID)
	}
	if b, err = appendMeta(b, c.Meta); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

// AppendJSON appends the block as one line of JSON.
func (c ContentBlock) AppendJSON(b []byte) ([]byte, error) {
	t := c.TextContent
	if t == nil || t.Annotations != nil {
		raw, err := c.MarshalJSON()
		if err != nil {
			return nil, err
		}
		return appendRaw(b, raw)
	}
	b = append(b, `{"type":"text","text":`...)
	b = rawjson.AppendString(b, t.Text)
	b, err := appendMeta(b, t.Meta)
	if err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

func appendMeta(b []byte, meta json.RawMessage) ([]byte, error) {
	if meta == nil {
		return b, nil
	}
	return appendRaw(append(b, `,"_meta":`...), meta)
}

// appendRaw appends JSON that came from elsewhere, in one line.
func appendRaw(b []byte, raw json.RawMessage) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, errRaw
	}
	if bytes.ContainsAny(raw, "\r\n") {
		var buf bytes.Buffer
		_ = json.Compact(&buf, raw) // valid
		raw = buf.Bytes()
	}
	return append(b, raw...), nil
}
