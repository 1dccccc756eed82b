package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"zuno/acp/schema/rawjson"
)

func readAll(t testing.TB, r io.Reader, max int) (lines [][]byte, long int) {
	t.Helper()
	l := newLineReader(r, max)
	for {
		line, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return lines, long
		case errors.Is(err, errTooLong):
			long++
		case err != nil:
			t.Fatal(err)
		default:
			lines = append(lines, line)
		}
	}
}

// Lines around every border of the buffers come out as they went in.
func TestLinesAroundBufferBorders(t *testing.T) {
	const max = 5 << 20
	var in bytes.Buffer
	var want []int
	long := 0
	for _, size := range []int{0, 1, readBuffer - 1, readBuffer, readBuffer + 1, 2*readBuffer - 1, 2 * readBuffer, 2*readBuffer + 1, 3 * readBuffer, 6*readBuffer + 1, 1 << 20, max - 1, max, max + 1, 2 * max} {
		in.WriteString(strings.Repeat("l", size) + "\n")
		if size > max {
			long++
			continue
		}
		want = append(want, size)
	}
	in.WriteString("last")
	for name, r := range map[string]io.Reader{"whole": bytes.NewReader(in.Bytes()), "halves": iotest.HalfReader(bytes.NewReader(in.Bytes())), "data with EOF": iotest.DataErrReader(bytes.NewReader(in.Bytes()))} {
		lines, tooLong := readAll(t, r, max)
		if len(lines) != len(want)+1 || tooLong != long || string(lines[len(want)]) != "last" {
			t.Fatalf("%s: %d lines, %d too long", name, len(lines), tooLong)
		}
		for i, n := range want {
			if len(lines[i]) != n {
				t.Errorf("%s: line %d has %d bytes, want %d", name, i, len(lines[i]), n)
			}
		}
	}
}

// A long line without an end is refused as well.
func TestALongLastLine(t *testing.T) {
	if lines, long := readAll(t, strings.NewReader(strings.Repeat("x", 200_000)), 100_000); len(lines) != 0 || long != 1 {
		t.Errorf("%d lines, %d too long", len(lines), long)
	}
}

// FuzzLines feeds a stream to the reader. Whatever it is made of, the lines are
// those that bytes.Split finds, each is taken for what it is or refused, and
// what parse finds in a message is what encoding/json finds.
//
// spec: D178
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":["}",{"b":"\\\""}]}}` + "\n",
		`{"id":"\u0061","method":"m"}` + "\r\n\n" + `{"id":null,"error":{"code":1,"message":"x"}}`,
		`[{"id":1,"method":"m"}]` + "\n" + `7` + "\n" + `{bad`,
		"{\"method\":\"\xff\"}\n", `{ "\u006dethod" : "a" , "method" : "b" }`,
		`{"id":1e400,"method":"m","params":[[[]],{},"",-0.0e-1,true,null]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const max = 1 << 10
		lines, long := readAll(t, bytes.NewReader(data), max)
		parts := bytes.Split(data, []byte{'\n'})
		if len(parts[len(parts)-1]) == 0 {
			parts = parts[:len(parts)-1] // the end of the last line
		}
		i := 0
		for _, part := range parts {
			if len(part) > max {
				long--
				continue
			}
			if i >= len(lines) || !bytes.Equal(lines[i], part) {
				t.Fatalf("line %d differs", i)
			}
			i++
		}
		if long != 0 || i != len(lines) {
			t.Fatalf("%d lines too many, %d refusals too many", len(lines)-i, long)
		}
		for _, line := range lines {
			if len(rawjson.Trim(line)) > 0 {
				checkParse(t, line)
			}
		}
	})
}

// checkParse compares parse with encoding/json.
func checkParse(t *testing.T, line []byte) {
	e, k, err := parse(line)
	if valid := json.Valid(line) && utf8.Valid(line); valid == errors.Is(err, errParse) {
		t.Fatalf("%q: valid is %v, got %v", line, valid, err)
	}
	if errors.Is(err, errParse) {
		return
	}
	var want map[string]json.RawMessage
	if json.Unmarshal(line, &want) != nil || want == nil {
		if !errors.Is(err, errInvalid) {
			t.Fatalf("%q: not an object, got %v", line, err)
		}
		return
	}
	for name, got := range map[string]json.RawMessage{"id": e.id, "method": e.method, "params": e.params, "result": e.result, "error": e.err} {
		if !bytes.Equal(got, want[name]) {
			t.Fatalf("%q: %s is %q, want %q", line, name, got, want[name])
		}
	}
	if err != nil {
		return
	}
	if isMethod := want["method"] != nil; isMethod == (k == isAnswer) {
		t.Fatalf("%q: taken for %v", line, k)
	}
	if k == isRequest {
		line := appendAnswer(nil, string(e.id), "result", []byte("null"))
		back, _, err := parse(line)
		if err != nil || !bytes.Equal(back.id, e.id) || idKey(back.id) != idKey(e.id) {
			t.Fatalf("id %q comes back as %q (%v)", e.id, back.id, err)
		}
	}
}
