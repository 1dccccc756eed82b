package schema

import (
	"encoding/json"
	"fmt"

	"zuno/acp/schema/rawjson"
)

// Text is a text block.
func Text(s string) ContentBlock {
	return ContentBlock{Kind: BlockText, TextContent: &TextContent{Text: s}}
}

// Link is a block that refers to a resource by its URI.
func Link(uri, name string) ContentBlock {
	return ContentBlock{Kind: BlockResourceLink, ResourceLink: &ResourceLink{URI: uri, Name: name}}
}

// TextItem is tool call content that shows text.
func TextItem(s string) ToolCallContent { return BlockItem(Text(s)) }

// BlockItem is tool call content that shows a block.
func BlockItem(b ContentBlock) ToolCallContent {
	return ToolCallContent{Kind: ToolContent, Content: &Content{Content: b}}
}

// DiffItem is tool call content that shows a change of a file. Path is absolute; old
// is nil for a new file. A deleted file has an empty new text.
func DiffItem(path string, old *string, text string) ToolCallContent {
	return ToolCallContent{Kind: ToolDiff, Diff: &Diff{Path: path, OldText: old, NewText: text}}
}

// TerminalItem is tool call content that shows a terminal of the client.
func TerminalItem(id string) ToolCallContent {
	return ToolCallContent{Kind: ToolTerminal, Terminal: &Terminal{TerminalID: id}}
}

// Meta is a _meta object with one key. It panics on a value that is not JSON, as a
// programmer's error.
func Meta(key string, value any) json.RawMessage {
	b, err := marshal(value)
	if err != nil {
		panic(fmt.Sprintf("schema: _meta %s: %v", key, err))
	}
	out := make([]byte, 0, len(key)+len(b)+len(`{"":}`))
	out = append(rawjson.AppendString(append(out, '{'), key), ':')
	return append(append(out, b...), '}')
}
