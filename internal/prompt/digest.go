package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"zuno/internal/model"
	"zuno/journal"
)

// Digests identify the neutral request, before any surface's own form: as a whole, and by its parts. They are salted with the
// session's salt, as those of texts are. The whole covers the model's name beside the parts.
type Digests struct {
	Request, Sections, Messages, Tools journal.Hash
}

// Digest computes the digests of a request. The scripted model's place in its script is no part of it.
func Digest(salt []byte, r *model.Request) (d Digests) {
	d.Sections = sum(salt, func(w *writer) {
		for _, s := range r.Sections {
			w.text(s.ID, s.Text)
		}
	})
	d.Messages = sum(salt, func(w *writer) {
		for _, m := range r.Messages {
			w.text("message", string(m.Role))
			for _, p := range m.Parts {
				failed := "ok"
				if p.Failed {
					failed = "failed"
				}
				w.text(string(p.Kind), p.Text, p.CallID, p.Tool, failed)
			}
		}
	})
	d.Tools = sum(salt, func(w *writer) {
		for _, t := range r.Tools {
			w.text(t.Name, t.Description, string(t.Schema))
		}
	})
	d.Request = sum(salt, func(w *writer) {
		w.text(r.Model, string(d.Sections[:]), string(d.Messages[:]), string(d.Tools[:]))
	})
	return d
}

// writer feeds a hash so that no two sequences of texts give the same bytes.
type writer struct {
	h    hash.Hash
	size [8]byte
}

func sum(salt []byte, fill func(*writer)) (out journal.Hash) {
	w := &writer{h: sha256.New()}
	w.h.Write(salt)
	fill(w)
	w.h.Sum(out[:0])
	return out
}

func (w *writer) text(texts ...string) {
	for _, t := range texts {
		binary.BigEndian.PutUint64(w.size[:], uint64(len(t)))
		w.h.Write(w.size[:])
		w.h.Write([]byte(t))
	}
}
