package scripted_test

import (
	"errors"
	"strings"
	"testing"

	"zuno/internal/model"
	"zuno/internal/model/scripted"
)

// Whatever a file holds, loading it ends in a script or in a typed error of one line, and a script that loads answers
// every position.
//
// spec: D111 D150
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scripted.Parse("s.yaml", data)
		if err != nil {
			if e := (*scripted.LoadError)(nil); !errors.As(err, &e) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %#v", err)
			}
			return
		}
		p := scripted.New(s, nil, &log{})
		r := &model.Request{Cwd: "\"/\xff", Messages: []model.Message{says(model.RoleUser, model.PartText, string(data))}}
		for range 20 {
			streamed := map[int]string{}
			got, err := p.Stream(t.Context(), r, func(c model.Chunk) error {
				if c.Kind == model.ChunkArgs {
					streamed[c.Index] += c.Text
				}
				return nil
			})
			var failed *model.Error
			var cut *model.Cut
			switch {
			case errors.As(err, &failed) || errors.As(err, &cut):
			case err != nil:
				t.Fatal(err)
			default:
				for i, c := range got.Calls {
					if streamed[i] != c.Args {
						t.Fatalf("call %d streamed %q and is %q", i, streamed[i], c.Args)
					}
				}
			}
			if got != nil && got.Conditional {
				r.Used = append(r.Used, got.Entry)
			} else {
				r.Position++
			}
		}
	})
}
