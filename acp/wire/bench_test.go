package wire_test

import (
	"io"
	"strings"
	"testing"

	"zuno/acp/wire"
)

// BenchmarkRequest is a request and its answer over two pipes.
func BenchmarkRequest(b *testing.B) {
	p := connect(b, funcs{request: echo}, wire.Options{})
	line := `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"cwd":"/x"}}` + "\n"
	b.ReportAllocs()
	for b.Loop() {
		io.WriteString(p.in, line)
		if _, err := p.out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

type update struct{ text string }

func (u update) AppendJSON(b []byte) ([]byte, error) {
	return append(append(append(b, `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`...), u.text...), `"}}}`...), nil
}

// BenchmarkNotify is a notification as it is sent for a piece of text, with a
// client that reads all the time.
func BenchmarkNotify(b *testing.B) {
	p := connect(b, funcs{}, wire.Options{MaxQueue: 1 << 40})
	go io.Copy(io.Discard, p.rd)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.conn.Notify("session/update", update{"hello world"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNotification is a notification that is read and delivered.
func BenchmarkNotification(b *testing.B) {
	p := connect(b, funcs{request: echo}, wire.Options{})
	line := strings.Repeat(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`+"\n", 100)
	b.ReportAllocs()
	for b.Loop() {
		io.WriteString(p.in, line)
	}
	p.send(`{"id":1,"method":"m"}`)
	p.recv()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/notification")
}

// BenchmarkLargePrompt is a request of 10 MB.
func BenchmarkLargePrompt(b *testing.B) {
	p := connect(b, funcs{request: echo}, wire.Options{})
	line := []byte(`{"id":1,"method":"m","params":{"text":"` + strings.Repeat("z", 10<<20) + `"}}` + "\n")
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.in.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := p.out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}
