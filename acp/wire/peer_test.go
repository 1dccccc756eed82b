package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"zuno/acp/wire"
)

// peer is the client's side of a connection over two operating system pipes.
type peer struct {
	t    testing.TB
	conn *wire.Conn
	in   *os.File // the connection's input
	out  *bufio.Reader
	rd   *os.File
}

// funcs is a Handler of two functions; nil ones do nothing.
type funcs struct {
	request func(*wire.Request)
	notify  func(ctx context.Context, method string, params json.RawMessage)
}

func (f funcs) Request(_ context.Context, r *wire.Request) {
	if f.request != nil {
		f.request(r)
	}
}

func (f funcs) Notify(ctx context.Context, m string, p json.RawMessage) {
	if f.notify != nil {
		f.notify(ctx, m, p)
	}
}

func connect(t testing.TB, h wire.Handler, o wire.Options) *peer {
	t.Helper()
	ir, iw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	or, ow, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &peer{t: t, in: iw, rd: or, out: bufio.NewReaderSize(or, 1<<20)}
	p.conn = wire.New(context.Background(), ir, ow, h, o)
	t.Cleanup(func() {
		iw.Close()
		p.conn.Close()
		or.Close()
	})
	// A test that hangs fails with a read error instead of the package's timeout.
	or.SetReadDeadline(time.Now().Add(2 * time.Minute))
	return p
}

// send writes lines to the connection.
func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// recv reads one line from the connection.
func (p *peer) recv() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("read: %v (got %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) want(want string) {
	p.t.Helper()
	if got := p.recv(); got != want {
		p.t.Fatalf("\n got %s\nwant %s", got, want)
	}
}

// echo answers each request with its method.
func echo(r *wire.Request) { r.Reply(r.Method) }
