package prompt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"

	"zuno/internal/model"
	"zuno/journal"
)

// Digests identify the neutral request, before any surface's own form: as a whole, and by its parts. They are salted with the
// session's salt, as those of texts are. The whole covers the model's name and the parameters beside the parts.
type Digests struct {
	Request, Sections, Messages, Tools journal.Hash
}

// Digest computes the digests of a request. The scripted model's place in its script is no part of it.
func Digest(salt []byte, r *model.Request) Digests { return NewDigester(salt).Digest(r) }

// Digester computes the digests of a session's requests, and is safe for concurrent use. The digest of the messages is a chain, of which it
// keeps what the next request begins with: a long conversation is hashed once, not at each request.
type Digester struct {
	mu   sync.Mutex
	salt []byte
	seen []model.Message
	at   []journal.Hash // of the chain, after each of seen
	buf  []byte
}

// NewDigester is the digester of the session with this salt.
func NewDigester(salt []byte) *Digester { return &Digester{salt: salt} }

// Digest is [Digest] of a request, which may have any messages.
func (d *Digester) Digest(r *model.Request) (out Digests) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out.Sections = d.sum(func() {
		for _, s := range r.Sections {
			d.text(s.ID, s.Text)
		}
	})
	out.Messages = d.messages(r.Messages)
	out.Tools = d.sum(func() {
		for _, t := range r.Tools {
			d.text(t.Name, t.Description, string(t.Schema))
		}
	})
	out.Request = d.sum(func() {
		d.text(r.Model, string(out.Sections[:]), string(out.Messages[:]), string(out.Tools[:]))
		d.text(strconv.FormatUint(r.Params.MaxOutput, 10), number(r.Params.Temperature), number(r.Params.TopP))
		if r.Params.Reasoning != "" { // requests of before there were levels keep their digest
			d.text("reasoning", r.Params.Reasoning)
		}
	})
	return out
}

func number(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'g', -1, 64)
}

func (d *Digester) messages(all []model.Message) (last journal.Hash) {
	same := 0
	for same < len(d.seen) && same < len(all) && sameMessage(&d.seen[same], &all[same]) {
		same++
	}
	d.seen, d.at = d.seen[:same], d.at[:same]
	if same > 0 {
		last = d.at[same-1]
	}
	for _, m := range all[same:] {
		last = d.sum(func() {
			d.text(string(last[:]), string(m.Role))
			for _, p := range m.Parts {
				failed := "ok"
				if p.Failed {
					failed = "failed"
				}
				d.text(string(p.Kind), p.Text, p.CallID, p.Tool, failed, p.Media, string(p.Data))
			}
		})
		m.Parts = slices.Clone(m.Parts)
		d.seen, d.at = append(d.seen, m), append(d.at, last)
	}
	return last
}

// sameMessage is cheap for messages that were made of the same texts: those are not looked at.
func sameMessage(a, b *model.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Parts, b.Parts, func(a, b model.Part) bool {
		return a.Kind == b.Kind && a.CallID == b.CallID && a.Tool == b.Tool && a.Failed == b.Failed && a.Media == b.Media && a.Text == b.Text && bytes.Equal(a.Data, b.Data)
	})
}

// sum hashes what fill gives to text, such that no two sequences of texts give the same bytes.
func (d *Digester) sum(fill func()) journal.Hash {
	d.buf = append(d.buf[:0], d.salt...)
	fill()
	h := sha256.Sum256(d.buf)
	if cap(d.buf) > 1<<20 { // one large file is no reason to keep its size
		d.buf = nil
	}
	return h
}

func (d *Digester) text(texts ...string) {
	for _, t := range texts {
		d.buf = append(binary.BigEndian.AppendUint64(d.buf, uint64(len(t))), t...)
	}
}
