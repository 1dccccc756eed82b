package inspect

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"zuno/journal"
)

// The results of a verification.
const (
	ResultConsistent = "self-consistent"
	ResultMatches    = "matches the head"
	ResultOther      = "head not in this history"
	ResultDamaged    = "damaged"
	ResultUnknown    = "unknown" // it could not be read
)

// Verification is what a verification of a journal found.
type Verification struct {
	Result   string       `json:"result"`
	Commit   uint64       `json:"commit"` // the last one; of a damaged journal, the last good one
	Head     journal.Head `json:"-"`
	Hash     string       `json:"head,omitempty"` // of the last commit
	Events   uint64       `json:"events"`
	Texts    uint64       `json:"texts"`
	Dropped  uint64       `json:"dropped"`         // texts of which only digest and size are left
	Match    uint64       `json:"match,omitempty"` // the commit that has the expected hash
	Expected string       `json:"expected,omitempty"`
	Parent   string       `json:"forked_from,omitempty"` // the commit of another session that its first one names
	FirstBad uint64       `json:"first_bad,omitempty"`   // commit of a damaged journal
	Reason   string       `json:"reason,omitempty"`      // why it is damaged or could not be read
}

// ParseHead reads a head as it is printed: the hex digits of a commit's hash. Its error is [*BadHead].
func ParseHead(s string) (h journal.Hash, err error) {
	b, err := hex.DecodeString(strings.ToLower(strings.TrimSpace(s)))
	if err != nil || len(b) != len(h) {
		return h, &BadHead{s}
	}
	copy(h[:], b)
	return h, nil
}

// Verify checks the whole journal at path and, unless expected is "", that one of its commits has that hash. What it
// returns is complete also with an error: [*OtherHistory], [*journal.Damaged] and so on.
func Verify(path, expected string) (Verification, error) {
	v := Verification{Result: ResultUnknown, Expected: expected}
	var want journal.Hash
	if expected != "" {
		var err error
		if want, err = ParseHead(expected); err != nil {
			return v, err
		}
		v.Expected = want.String()
	}
	r, err := journal.VerifyBy(read, path, want)
	v.Commit, v.Events, v.Texts, v.Dropped, v.Match = r.Commits, r.Events, r.Texts, r.Redacted, r.Match
	if err != nil {
		var d *journal.Damaged
		if errors.As(err, &d) {
			v.Result, v.FirstBad, err = ResultDamaged, d.Commit, d
		}
		v.Reason = err.Error()
		return v, err
	}
	v.Head, v.Hash = r.Head, r.Head.Hash.String()
	if r.Parent != (journal.Hash{}) {
		v.Parent = r.Parent.String()
	}
	switch {
	case expected == "":
		v.Result = ResultConsistent
	case r.Match == 0: // also for the hash of nothing, which no commit has
		v.Result = ResultOther
		return v, &OtherHistory{v.Expected, r.Head.Number}
	default:
		v.Result = ResultMatches
	}
	return v, nil
}

// Tell writes the verification for people. What went wrong is the error's to say.
func (v *Verification) Tell(w io.Writer) error {
	if v.Hash == "" {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "commit %d\nhead %s\n", v.Commit, v.Hash)
	fmt.Fprintf(&b, "%s, %s, %s", plural(v.Commit, "commit"), plural(v.Events, "event"), plural(v.Texts, "text"))
	if v.Dropped > 0 {
		fmt.Fprintf(&b, ", %d of them dropped", v.Dropped)
	}
	b.WriteByte('\n')
	if v.Parent != "" {
		fmt.Fprintf(&b, "forked from %s\n", v.Parent)
	}
	switch {
	case v.Match == 0:
		fmt.Fprintf(&b, "self-consistent up to commit %d\n", v.Commit)
	case v.Match == v.Commit:
		fmt.Fprintf(&b, "matches the head at commit %d\n", v.Match)
	default:
		fmt.Fprintf(&b, "matches the head at commit %d; %s followed\n", v.Match, plural(v.Commit-v.Match, "commit"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON is the verification in one line.
func (v *Verification) JSON() ([]byte, error) {
	n, err := toNode(v)
	if err != nil {
		return nil, err
	}
	return append(n.compact(nil), '\n'), nil
}
