package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

// packMagic begins a pack of pre-images: a line of JSON for each file, its content behind it.
const packMagic = "zuno pre-images 1\n"

type packed struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
	Size int    `json:"size"`
}

// keepPreImages makes what files were before a change durable: all of one operation in one artifact, with one fsync.
func (s *Session) keepPreImages(_ context.Context, images []tools.PreImage) (name string, err error) {
	if len(images) == 0 {
		return "", nil
	}
	var b bytes.Buffer
	b.WriteString(packMagic)
	for _, i := range images {
		line, err := json.Marshal(packed{i.Path, i.Mode, len(i.Content)})
		if err != nil {
			return "", err
		}
		b.Write(line)
		b.WriteByte('\n')
		b.Write(i.Content)
	}
	name, err = s.journal.WriteArtifact(b.Bytes())
	if err != nil {
		return "", fmt.Errorf("keep what the files are now: %w", err)
	}
	return name, nil
}

// PreImages reads a pack.
func PreImages(pack []byte) (images []tools.PreImage, err error) {
	rest, ok := bytes.CutPrefix(pack, []byte(packMagic))
	if !ok {
		return nil, fmt.Errorf("this is no pack of pre-images")
	}
	for len(rest) > 0 {
		line, content, found := bytes.Cut(rest, []byte("\n"))
		var p packed
		if !found || json.Unmarshal(line, &p) != nil || p.Size < 0 || p.Size > len(content) {
			return nil, fmt.Errorf("the pack of pre-images is cut or malformed")
		}
		images = append(images, tools.PreImage{Path: p.Path, Mode: p.Mode, Content: content[:p.Size:p.Size]})
		rest = content[p.Size:]
	}
	return images, nil
}

// replayed tells whether the session has tried this mutation against these contents before.
func (s *Session) replayed(o tools.Operation) (known bool) {
	_ = s.Read(func(v *projections.View) {
		known = v.Root.Files.Operations[event.Operation{Digest: o.Digest, State: o.State}]
	})
	return known
}
