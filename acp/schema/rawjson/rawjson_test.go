package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzAppendString checks the encoder of strings against encoding/json.
func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\n\x00\x7f\u2028\u2029€\xff\xe2\x80<>&")
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendString(nil, s)
		var got, want string
		q, _ := json.Marshal(s)
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		json.Unmarshal(q, &want)
		if got != want || bytes.Contains(b, []byte("\xe2\x80\xa8")) || bytes.ContainsAny(b, "\r\n") {
			t.Fatalf("%q: %q", s, b)
		}
	})
}
