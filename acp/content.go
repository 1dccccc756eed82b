package acp

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/journal/event"
)

// Bounds on a prompt.
const (
	maxBlocks   = 1024
	maxResource = 50 << 10 // bytes of an embedded text
	maxLines    = 2000     // lines of an embedded text
	maxImage    = 5 << 20  // bytes of an image, which is the least that a provider takes
)

// imageTypes are the formats of images that every surface takes.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// inputBlocks checks the blocks of a prompt and gives them in our form, with the text that a title can be made of.
func inputBlocks(blocks []schema.ContentBlock) (out []event.Block, title string, bad *wire.Error) {
	if len(blocks) > maxBlocks {
		return nil, "", invalid("a prompt has at most %d blocks, this one has %d", maxBlocks, len(blocks))
	}
	said := false
	for i := range blocks {
		b, text, bad := inputBlock(&blocks[i])
		if bad != nil {
			return nil, "", bad
		}
		said = said || strings.TrimSpace(text) != "" || b.Type != event.BlockText
		if title == "" && b.Type == event.BlockText {
			title = text
		}
		out = append(out, b)
	}
	if !said {
		return nil, "", invalid("the prompt is empty").With(map[string]any{"reason": "emptyInput"})
	}
	return out, title, nil
}

func inputBlock(b *schema.ContentBlock) (out event.Block, text string, bad *wire.Error) {
	switch {
	case b.TextContent != nil:
		t := b.TextContent.Text
		return event.Block{Type: event.BlockText, Text: event.NewText(t)}, t, nil
	case b.ResourceLink != nil:
		l := b.ResourceLink
		return event.Block{Type: event.BlockLink, URI: event.NewText(l.URI), Name: event.OptionalText(l.Name), Mime: l.MimeType}, "", nil
	case b.EmbeddedResource != nil && b.EmbeddedResource.Resource.Text != nil:
		r := &b.EmbeddedResource.Resource
		if len(*r.Text) > maxResource {
			return out, "", invalid("the embedded text %s has %d bytes; at most %d are taken. Send a resource link instead", short(r.URI), len(*r.Text), maxResource)
		}
		if n := lineCount(*r.Text); n > maxLines {
			return out, "", invalid("the embedded text %s has %d lines; at most %d are taken. Send a resource link instead", short(r.URI), n, maxLines)
		}
		return event.Block{Type: event.BlockResource, URI: event.NewText(r.URI), Text: event.NewText(*r.Text), Mime: r.MimeType}, "", nil
	case b.ImageContent != nil:
		out, bad = imageBlock(b.ImageContent)
		return out, "", bad
	case b.EmbeddedResource != nil && b.EmbeddedResource.Resource.Blob != nil:
		r := &b.EmbeddedResource.Resource
		if !slices.Contains(imageTypes, r.MimeType) {
			return out, "", invalid("the embedded resource %s is no text and no image: %s", short(r.URI), taken)
		}
		out, bad = imageBlock(&schema.ImageContent{Data: *r.Blob, MimeType: r.MimeType, URI: r.URI})
		return out, "", bad
	case b.EmbeddedResource != nil:
		return out, "", invalid("an embedded resource must hold text: %s", taken)
	}
	return out, "", invalid("a content block of type %q is not taken: %s", short(b.Kind), taken)
}

// taken says what a prompt may hold.
const taken = "send text, a PNG, JPEG, GIF or WebP image of up to 5 MiB, embedded text of up to 50 KiB and 2000 lines, or a resource link"

// lineCount counts a last line that does not end, too.
func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// imageBlock keeps an image as canonical base64: a text of a journal is text, so that an export holds it whole.
func imageBlock(i *schema.ImageContent) (out event.Block, bad *wire.Error) {
	if !slices.Contains(imageTypes, i.MimeType) {
		return out, invalid("images of type %q are not taken; send one of %s", short(i.MimeType), strings.Join(imageTypes, ", "))
	}
	if n := base64.StdEncoding.DecodedLen(len(i.Data)); n > maxImage+2 {
		return out, invalid("the image has about %d bytes; at most %d are taken. Send a smaller one", n, maxImage)
	}
	data, err := base64.StdEncoding.DecodeString(i.Data)
	switch {
	case err != nil:
		return out, invalid("the image's data is not base64: %v", err)
	case len(data) == 0 || len(data) > maxImage:
		return out, invalid("an image has 1 to %d bytes, this one has %d", maxImage, len(data))
	}
	return event.Block{Type: event.BlockImage, URI: event.OptionalText(i.URI), Text: event.NewText(base64.StdEncoding.EncodeToString(data)), Mime: i.MimeType}, nil
}

// mcpNames checks a list of MCP servers and gives their names. This build starts none of them.
func mcpNames(servers []schema.McpServer) (names []string, bad *wire.Error) {
	for i, s := range servers {
		var name, problem string
		switch {
		case s.McpServerStdio != nil:
			name = s.McpServerStdio.Name
			if !strings.HasPrefix(s.McpServerStdio.Command, "/") {
				problem = "its command must be an absolute path"
			}
		case s.McpServerHttp != nil:
			name = s.McpServerHttp.Name
			problem = "HTTP is not offered"
		case s.McpServerSse != nil:
			name = s.McpServerSse.Name
			problem = "SSE is not offered"
		default:
			problem = fmt.Sprintf("its type %q is unknown", short(s.Kind))
		}
		if name == "" && problem == "" {
			problem = "it has no name"
		}
		if problem != "" {
			return nil, invalid("mcpServers[%d] %s: %s", i, short(name), problem)
		}
		names = append(names, oneLine(short(name)))
	}
	return names, nil
}
