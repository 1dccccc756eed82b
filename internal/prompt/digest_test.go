package prompt

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"zuno/internal/model"
)

// What a digester remembers may never show: its digests are those of a fresh one, whatever was asked before.
//
// spec: D220
func TestDigesterRemembersNothingWrong(t *testing.T) {
	words := rapid.StringMatching(`[ab]{0,2}`)
	parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.Part {
		return model.Part{
			Kind: rapid.SampledFrom([]model.PartKind{model.PartText, model.PartResult}).Draw(t, "kind"), Text: words.Draw(t, "text"),
			CallID: words.Draw(t, "call"), Failed: rapid.Bool().Draw(t, "failed"), Data: []byte(words.Draw(t, "data")),
		}
	}), 0, 2)
	message := rapid.Custom(func(t *rapid.T) model.Message {
		return model.Message{Role: rapid.SampledFrom([]model.Role{model.RoleUser, model.RoleTool}).Draw(t, "role"), Parts: parts.Draw(t, "parts")}
	})
	rapid.Check(t, func(t *rapid.T) {
		d := NewDigester([]byte("salt"))
		var all []model.Message
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			all = slices.Clone(all[:rapid.IntRange(0, len(all)).Draw(t, "kept")])
			all = append(all, rapid.SliceOfN(message, 0, 3).Draw(t, "more")...)
			if n := len(all); n > 0 && rapid.Bool().Draw(t, "grows") {
				all[n-1].Parts = append(all[n-1].Parts, parts.Draw(t, "grown")...)
			}
			r := &model.Request{Model: "m", Messages: all}
			if got, want := d.Digest(r), Digest([]byte("salt"), r); got != want {
				t.Fatalf("%x, not %x, of %v", got.Messages, want.Messages, all)
			}
		}
	})
}

// spec: D220
func TestDigestCoversAllOfARequest(t *testing.T) {
	warm := 0.5
	request := func() *model.Request {
		return &model.Request{
			Model: "m", Sections: []model.Section{{ID: "a", Text: "b"}}, Tools: []model.Tool{{Name: "t", Description: "d", Schema: []byte("{}")}},
			Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "ab"}, {Kind: model.PartText, Text: "c"}}}},
		}
	}
	seen := map[Digests]string{}
	for name, change := range map[string]func(*model.Request){
		"nothing":         func(*model.Request) {},
		"model":           func(r *model.Request) { r.Model = "n" },
		"output":          func(r *model.Request) { r.Params.MaxOutput = 1 },
		"temperature":     func(r *model.Request) { r.Params.Temperature = &warm },
		"top p":           func(r *model.Request) { r.Params.TopP = &warm },
		"reasoning":       func(r *model.Request) { r.Params.Reasoning = "high" },
		"section":         func(r *model.Request) { r.Sections[0].Text = "c" },
		"tool":            func(r *model.Request) { r.Tools[0].Schema = []byte("[]") },
		"where it breaks": func(r *model.Request) { r.Messages[0].Parts[0].Text, r.Messages[0].Parts[1].Text = "a", "bc" },
		"role":            func(r *model.Request) { r.Messages[0].Role = model.RoleAssistant },
		"image":           func(r *model.Request) { r.Messages[0].Parts[0].Data = []byte{1} },
		"media":           func(r *model.Request) { r.Messages[0].Parts[0].Media = "image/png" },
		"outcome":         func(r *model.Request) { r.Messages[0].Parts[0].Failed = true },
	} {
		r := request()
		change(r)
		d := Digest([]byte("salt"), r)
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
	r := request()
	r.Position, r.Used, r.Cwd = 7, []uint64{1}, "/w"
	if seen[Digest([]byte("salt"), r)] != "nothing" {
		t.Error("the place in the script is part of the digest")
	}
}
