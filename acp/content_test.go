package acp

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"zuno/acp/schema"
	"zuno/acp/wire"
)

// spec: D263
func TestContentAtItsBounds(t *testing.T) {
	image := func(mime string, size int) schema.ContentBlock {
		return schema.ContentBlock{Kind: schema.BlockImage, ImageContent: &schema.ImageContent{MimeType: mime, Data: base64.StdEncoding.EncodeToString(make([]byte, size))}}
	}
	embedded := func(text string) schema.ContentBlock {
		return schema.ContentBlock{Kind: schema.BlockResource, EmbeddedResource: &schema.EmbeddedResource{Resource: schema.EmbeddedResourceResource{URI: "file:///x", Text: &text}}}
	}
	blob := func(mime string, size int) schema.ContentBlock {
		data := base64.StdEncoding.EncodeToString(make([]byte, size))
		return schema.ContentBlock{Kind: schema.BlockResource, EmbeddedResource: &schema.EmbeddedResource{Resource: schema.EmbeddedResourceResource{URI: "file:///x", Blob: &data, MimeType: mime}}}
	}
	const mib = 1 << 20
	for _, c := range []struct {
		name  string
		block schema.ContentBlock
		bad   string // what a refusal says; empty: it is taken
	}{
		{"text", schema.Text("x"), ""},
		{"long text", schema.Text(strings.Repeat("x", 3*mib)), ""},
		{"link", schema.Link("zed:///agent/x", "x"), ""},
		{"png", image("image/png", 5*mib), ""},
		{"png + 1", image("image/png", 5*mib+1), "1 to 5242880 bytes, this one has 5242881"},
		{"jpeg", image("image/jpeg", 5*mib), ""},
		{"jpeg + 1", image("image/jpeg", 5*mib+1), "1 to 5242880 bytes, this one has 5242881"},
		{"gif", image("image/gif", 5*mib), ""},
		{"gif + 1", image("image/gif", 5*mib+1), "1 to 5242880 bytes, this one has 5242881"},
		{"webp", image("image/webp", 5*mib), ""},
		{"webp + 1", image("image/webp", 5*mib+1), "1 to 5242880 bytes, this one has 5242881"},
		{"far too large", image("image/png", 6*mib), "at most 5242880 are taken"},
		{"no image", image("image/png", 0), "1 to 5242880 bytes"},
		{"svg", image("image/svg+xml", 10), "image/png, image/jpeg, image/gif, image/webp"},
		{"embedded bytes", embedded(strings.Repeat("x", 50<<10)), ""},
		{"embedded bytes + 1", embedded(strings.Repeat("x", 50<<10+1)), "51201 bytes; at most 51200"},
		{"embedded lines", embedded(strings.Repeat("x\n", 2000)), ""},
		{"embedded lines, open end", embedded(strings.Repeat("x\n", 1999) + "x"), ""},
		{"embedded lines + 1", embedded(strings.Repeat("x\n", 2000) + "x"), "2001 lines; at most 2000"},
		{"embedded lines + 1 empty", embedded(strings.Repeat("\n", 2001)), "2001 lines; at most 2000"},
		{"embedded image", blob("image/png", 10), ""},
		{"embedded image + 1", blob("image/png", 5*mib+1), "1 to 5242880 bytes, this one has 5242881"},
		{"embedded binary", blob("application/zip", 10), "5 MiB, embedded text of up to 50 KiB and 2000 lines"},
		{"audio", schema.ContentBlock{Kind: "audio", AudioContent: &schema.AudioContent{MimeType: "audio/wav", Data: "AAAA"}}, `type "audio" is not taken: send text, a PNG, JPEG, GIF or WebP image of up to 5 MiB`},
		{"unknown", schema.ContentBlock{Kind: "video"}, `type "video" is not taken`},
	} {
		_, _, bad := inputBlocks([]schema.ContentBlock{schema.Text("look"), c.block})
		switch {
		case c.bad == "" && bad != nil:
			t.Errorf("%s: %v", c.name, bad)
		case c.bad != "" && bad == nil:
			t.Errorf("%s is taken", c.name)
		case bad != nil && (bad.Code != wire.CodeInvalidParams || !strings.Contains(bad.Message, c.bad)):
			t.Errorf("%s: %d %s", c.name, bad.Code, bad.Message)
		}
	}
	many := func(n int) (all []schema.ContentBlock) {
		for i := range n {
			all = append(all, schema.Text(fmt.Sprint(i)))
		}
		return all
	}
	if _, _, bad := inputBlocks(many(1024)); bad != nil {
		t.Error(bad)
	}
	if _, _, bad := inputBlocks(many(1025)); bad == nil || !strings.Contains(bad.Message, "at most 1024 blocks") {
		t.Error(bad)
	}
}
