//go:build linux

package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"zuno/journal"
)

// spec: D186 D188
func TestThroughItsOwner(t *testing.T) {
	dir, folder := places(t)
	o := startOwner(t, dir, folder)
	o.append(40)
	o.tell("artifact")
	head, _ := o.append(1)
	expect(t, dir, Socket, o.pid(), head)
	expect(t, filepath.Join(dir, "journal.zuno"), Socket, o.pid(), head)
	s, err := inspect(t, dir)
	if want := "session " + filepath.Base(dir) + " is in use by pid " + strconv.Itoa(o.pid()) + "; read through its owner at commit 42"; s.String() != want || err != nil {
		t.Errorf("%s (%v)", s, err)
	}
	st, err := os.Stat(folder)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Error(st, err)
	}
	sockets := entries(t, folder)
	if len(sockets) != 1 || len(sockets[0]) > 20 {
		t.Errorf("sockets %q", sockets)
	}
	o.leave()
	expect(t, dir, Free, 0, head)
	if left := entries(t, folder); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// spec: D187
func TestPastAStoppedOwner(t *testing.T) {
	dir, folder := places(t)
	o := startOwner(t, dir, folder)
	head, _ := o.append(40)
	o.stop()
	began := time.Now()
	expect(t, dir, Copied, o.pid(), head)
	if took := time.Since(began); took < answerWait || took > 10*answerWait {
		t.Errorf("it took %v", took)
	}
	s, err := inspect(t, dir)
	if want := "the owner (pid " + strconv.Itoa(o.pid()) + ") does not answer; read from a verified copy at commit 40"; !strings.Contains(s.String(), want) || err != nil {
		t.Errorf("%s (%v)", s, err)
	}
	o.signal(syscall.SIGCONT)
	expect(t, dir, Socket, o.pid(), head)
}

// A copy that does not verify is not taken, whoever owns the file.
//
// spec: D187
func TestDamagedCopyOfAStoppedOwner(t *testing.T) {
	dir, folder := places(t)
	o := startOwner(t, dir, folder)
	o.append(40)
	o.stop()
	path := filepath.Join(dir, "journal.zuno")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(b, []byte("test:20"), []byte("Test:20")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = inspect(t, dir)
	var d *journal.Damaged
	if !errors.As(err, &d) || d.File != path {
		t.Error(err)
	}
}

// An owner without a socket is read from a copy, and works.
//
// spec: D187
func TestOwnerWithoutASocket(t *testing.T) {
	dir, _ := places(t)
	o := startOwner(t, dir)
	head, _ := o.append(10)
	expect(t, dir, Copied, o.pid(), head)
	head, _ = o.append(10)
	expect(t, dir, Copied, o.pid(), head)
}

// What a dead owner leaves blocks neither its successor nor an inspector.
//
// spec: D188
func TestStaleSocket(t *testing.T) {
	dir, folder := places(t)
	o := startOwner(t, dir, folder)
	head, _ := o.append(10)
	o.kill()
	stale := entries(t, folder)
	if len(stale) != 1 {
		t.Fatal(stale)
	}
	expect(t, dir, Free, 0, head)
	o = startOwner(t, dir, folder)
	if now := entries(t, folder); len(now) != 1 || now[0] != stale[0] {
		t.Errorf("%q after %q", now, stale)
	}
	head, _ = o.append(10)
	expect(t, dir, Socket, o.pid(), head)
	o.leave()

	// One without a socket after one that left a socket: owner.json names none, so nothing is asked.
	o = startOwner(t, dir, folder)
	o.kill()
	o = startOwner(t, dir)
	head, _ = o.append(1)
	expect(t, dir, Copied, o.pid(), head)
}

// spec: D188
func TestLongPaths(t *testing.T) {
	dir, folder := places(t)
	long := filepath.Join(filepath.Dir(dir), strings.Repeat("d", 150), strings.Repeat("e", 150), filepath.Base(dir))
	longFolder := filepath.Join(filepath.Dir(folder), strings.Repeat("f", 200), "zuno")
	for _, d := range []string{filepath.Dir(long), filepath.Dir(longFolder)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{folder, longFolder} {
		o := startOwner(t, long, f)
		head, _ := o.append(10)
		expect(t, long, Socket, o.pid(), head)
		o.leave()
	}
}

// spec: D188
func TestFolders(t *testing.T) {
	for _, c := range []struct{ runtime, tmp, want string }{
		{"/run/user/7", "/var/tmp", "/run/user/7/zuno /var/tmp/zuno-"},
		{"", "/var/tmp", "/var/tmp/zuno-"},
		{"", "", "/tmp/zuno-"},
		{"relative", "relative", "/tmp/zuno-"},
	} {
		env := map[string]string{"XDG_RUNTIME_DIR": c.runtime, "TMPDIR": c.tmp}
		got := strings.Join(Folders(func(name string) string { return env[name] }), " ")
		if got != c.want+strconv.Itoa(os.Geteuid()) {
			t.Errorf("%q and %q: %s", c.runtime, c.tmp, got)
		}
	}
	for _, c := range []struct {
		mode  fs.FileMode
		owner int
		ok    bool
	}{
		{fs.ModeDir | 0o700, 7, true},
		{fs.ModeDir | 0o700, 8, false},
		{fs.ModeDir | 0o700, 0, false},
		{fs.ModeDir | 0o755, 7, false},
		{fs.ModeDir | 0o770, 7, false},
		{fs.ModeSymlink | 0o700, 7, false},
		{0o700, 7, false},
	} {
		if err := private("f", c.mode, c.owner, 7); (err == nil) != c.ok {
			t.Errorf("%v of %d: %v", c.mode, c.owner, err)
		}
	}
	for peer, ok := range map[int]bool{7: true, 0: true, 8: false, -1: false} {
		if allowed(peer, 7) != ok {
			t.Errorf("peer %d", peer)
		}
	}
}

// A folder that others could reach is not used; the next one is.
//
// spec: D188
func TestUnfitFolders(t *testing.T) {
	dir, folder := places(t)
	root := filepath.Dir(folder)
	at := func(name string) string { return filepath.Join(root, name) }
	if err := errors.Join(os.Mkdir(at("open"), 0o700), os.Chmod(at("open"), 0o755), os.Mkdir(at("target"), 0o700), os.Symlink(at("target"), at("link")), os.WriteFile(at("file"), nil, 0o700)); err != nil {
		t.Fatal(err)
	}
	s, err := newSession(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	unfit := []string{at("open"), at("link"), at("file"), at("no/such"), at("file/below")}
	if server, err := Serve(s.file, unfit); err == nil {
		server.Close()
		t.Error("it listens in an unfit folder")
	} else if len(strings.Split(err.Error(), "\n")) != 1+len(unfit) {
		t.Error(err)
	}
	if o, err := journal.ReadOwner(dir); err != nil || o.Socket != "" {
		t.Error(o, err)
	}
	server, err := Serve(s.file, append(unfit, folder))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if o, err := journal.ReadOwner(dir); err != nil || filepath.Dir(o.Socket) != folder {
		t.Error(o, err)
	}
}

// served is an owned session in this process.
func served(t *testing.T, o journal.Options) (*session, *Server, string) {
	t.Helper()
	dir, folder := places(t)
	f, err := journal.Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{file: f, salt: []byte("0123456789abcdef")}
	server, err := Serve(f, []string{folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		f.Close()
	})
	return s, server, server.path
}

// spec: D186
func TestRequests(t *testing.T) {
	s, _, path := served(t, journal.Options{})
	for range 3 {
		if err := s.append(nil); err != nil {
			t.Fatal(err)
		}
	}
	for request, want := range map[string]string{
		version + wordHead:              version + headMessage(s.file.Head()),
		version + "dance":               version + "error unknown request",
		"zuno 2 head":                   version + "error this owner speaks " + version,
		"":                              "",
		strings.Repeat("x", 100_000):    version + "error this owner speaks " + version,
		version + wordHead + " further": version + headMessage(s.file.Head()),
	} {
		c, err := dial(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.pid != os.Getpid() || c.uid != os.Geteuid() {
			t.Errorf("the other end is pid %d of user %d", c.pid, c.uid)
		}
		if _, err := c.f.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		got, file, err := c.receive(10 * answerWait)
		if file != nil || got != want || (err == nil) != (want != "") {
			t.Errorf("%.30q is answered %q (%v)", request, got, err)
		}
		c.close()
	}
}

// A peer that sends descriptors along, as many as fit and more, leaves none of them with the owner.
//
// spec: D189
func TestDescriptorsFromAPeer(t *testing.T) {
	_, _, path := served(t, journal.Options{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, request := range []string{wordHead, "dance"} {
		for n := 1; n < 5; n++ {
			c, err := dial(path)
			if err != nil {
				t.Fatal(err)
			}
			fds := make([]int, n)
			for i := range fds {
				fds[i] = int(w.Fd())
			}
			if err := unix.Sendmsg(int(c.f.Fd()), []byte(version+request), unix.UnixRights(fds...), nil, 0); err != nil {
				t.Fatal(err)
			}
			for err == nil { // to the end, when the owner has done with it
				_, _, err = c.receive(10 * answerWait)
			}
			c.close()
		}
	}
	w.Close()
	if err := r.SetReadDeadline(time.Now().Add(5 * answerWait)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("a descriptor is still open: %d bytes, %v", n, err)
	}
}

// A snapshot that caught a commit before its sync is given when the sync is done, and not before.
//
// spec: D186
func TestSnapshotIsDurable(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	armed := false
	s, _, path := served(t, journal.Options{Fault: func(p journal.Point) error {
		if p == journal.PointAfterSync && armed {
			close(reached)
			<-release
		}
		return nil
	}})
	if err := s.append(nil); err != nil {
		t.Fatal(err)
	}
	armed = true
	done := make(chan error)
	go func() { done <- s.append(nil) }()
	<-reached
	c, err := dial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.send(wordBackup, nil, answerWait); err != nil {
		t.Fatal(err)
	}
	if m, _, err := c.receive(10 * answerWait); m != version+wordWait || err != nil {
		t.Fatalf("%q %v", m, err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for {
		m, file, err := c.receive(10 * answerWait)
		if err != nil {
			t.Fatal(err)
		}
		if m == version+wordWait {
			continue
		}
		if m != version+headMessage(s.file.Head()) || s.file.Head().Number != 2 || file == nil {
			t.Errorf("%q for commit %d", m, s.file.Head().Number)
		}
		file.Close()
		break
	}
}

// Inspectors that say nothing, or never read, hold up neither the owner nor, after a second, each other.
//
// spec: D189
func TestInspectorsThatNeverRead(t *testing.T) {
	dir, folder := places(t)
	o := startOwner(t, dir, folder)
	o.append(100)
	owned, err := journal.ReadOwner(dir)
	if err != nil {
		t.Fatal(err)
	}
	var idle []*socket
	defer func() {
		for _, c := range idle {
			c.close()
		}
	}()
	connect := func(request string) {
		c, err := dial(owned.Socket)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
		if request != "" {
			if err := c.send(request, nil, answerWait); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		connect(wordFollow)
		connect(wordBackup)
		connect("")
	}
	head, worst := o.append(1000)
	if head.Number != 1100 {
		t.Errorf("%d commits", head.Number)
	}
	if worst > 5*answerWait {
		t.Errorf("an append took %v", worst)
	}
	// Those that said nothing are gone by now or within a second, and there is room again.
	for {
		s, err := inspect(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		if s.Head != head {
			t.Errorf("head %d", s.Head.Number)
		}
		if s.Way == Socket {
			break
		}
	}
	// So many that the rest are turned away.
	for range 4 * maxRequests {
		c, err := dial(owned.Socket)
		if err != nil {
			break
		}
		idle = append(idle, c)
	}
	head, _ = o.append(100)
	if s, err := inspect(t, dir); err != nil || s.Head != head || s.PID != o.pid() {
		t.Error(s, err)
	}
	o.leave()
}

// Who answers in an owner's place with what is no answer, is read past, and the journal is not blamed for it.
//
// spec: D187
func TestPastAStrangeOwner(t *testing.T) {
	dir, folder := places(t)
	o := startOwner(t, dir)
	head, _ := o.append(10)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "strange")
	owned := fmt.Sprintf(`{"pid":%d,"socket":%q}`, o.pid(), path)
	if err := os.WriteFile(filepath.Join(dir, "owner.json"), []byte(owned), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(folder, "other")
	if err := os.WriteFile(other, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(path string) func(c *socket) {
		return func(c *socket) {
			f, err := os.Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			_ = c.send(headMessage(head), f, answerWait)
		}
	}
	for name, answer := range map[string]func(c *socket){
		"no descriptor": func(c *socket) { _ = c.send(headMessage(head), nil, answerWait) },
		"another file":  file(other),
		"a device":      file("/dev/zero"),
		"a folder":      file(folder),
		"no words":      func(c *socket) { _ = c.send("\x00\xff", nil, answerWait) },
		"wait for ever": func(c *socket) {
			for c.send(wordWait, nil, answerWait) == nil {
			}
		},
	} {
		l, err := listen(path)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.accept()
			if err != nil {
				return
			}
			defer c.close()
			if _, _, err := c.receive(answerWait); err == nil {
				answer(c)
			}
		}()
		t.Log(name)
		expect(t, dir, Copied, o.pid(), head)
		l.close()
		<-done
	}
}

// While a snapshot is held open the file grows past it.
//
// spec: D189
func TestSnapshotStaysAsItWas(t *testing.T) {
	dir, folder := places(t)
	o := startOwner(t, dir, folder)
	before, _ := o.append(100)
	f, source, err := Open(journal.Inspection{Path: dir, Fold: func(*journal.Raw) error { return nil }})
	if err != nil || source.Way != Socket {
		t.Fatal(source, err)
	}
	defer f.Close()
	o.append(1000)
	n := uint64(0)
	if err := f.Scan(1, func(c *journal.Raw) error { n = c.Number; return nil }); err != nil || n != before.Number || f.Head() != before {
		t.Error(n, err)
	}
	o.leave()
}

// spec: D186
func TestFollow(t *testing.T) {
	dir, folder := places(t)
	o := startOwner(t, dir, folder)
	first, _ := o.append(3)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	heads, done := make(chan journal.Head), make(chan error, 1)
	go func() { done <- Follow(ctx, dir, func(h journal.Head) { heads <- h }) }()
	until := func(want journal.Head) {
		t.Helper()
		for last := uint64(0); ; {
			select {
			case h := <-heads:
				if h.Number <= last || h.Number > want.Number {
					t.Fatalf("head %d after %d", h.Number, last)
				}
				if last = h.Number; h == want {
					return
				}
			case err := <-done:
				t.Fatal("it ended:", err)
			}
		}
	}
	until(first)
	for range 20 {
		h, _ := o.append(1)
		until(h)
	}
	h, _ := o.append(500) // faster than they are taken
	until(h)
	// It outlives its owner, and one that is killed, one without a socket, and one that is stopped meanwhile.
	o.leave()
	o = startOwner(t, dir, folder)
	h, _ = o.append(1)
	until(h)
	o.kill()
	o = startOwner(t, dir)
	h, _ = o.append(1)
	until(h)
	o.leave()
	o = startOwner(t, dir, folder)
	h, _ = o.append(1)
	until(h)
	o.stop()
	o.signal(syscall.SIGCONT)
	h, _ = o.append(1)
	until(h)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	o.leave()
	if err := Follow(context.Background(), filepath.Join(dir, "none"), func(journal.Head) {}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// While nobody inspects there is one goroutine, which waits; afterwards there is none.
//
// spec: D189
func TestIdle(t *testing.T) {
	// waiting counts the goroutines that a server started; one that was just made may have no frame of its own yet.
	waiting := func() int {
		b := make([]byte, 1<<20)
		return strings.Count(string(b[:runtime.Stack(b, true)]), "created by sync.(*WaitGroup).Go")
	}
	before := waiting()
	_, server, path := served(t, journal.Options{})
	if n := waiting(); n != before+1 {
		t.Errorf("%d goroutines after %d", n, before)
	}
	c, _, _, err := ask(path, wordFollow)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	server.Close()
	if _, _, err := c.receive(10 * answerWait); err != io.EOF {
		t.Error(err)
	}
	for n := 0; waiting() > before; n++ { // one that is done may still be on its way out
		if n == 10_000 {
			t.Fatalf("%d goroutines are left of %d", waiting(), before)
		}
		runtime.Gosched()
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := dial(path); !deserted(err) {
		t.Error(err)
	}
	var none *Server
	none.Committed(journal.Head{})
	none.Close()
}

func FuzzAnswer(f *testing.F) {
	f.Add(version + headMessage(journal.Head{Number: 7}))
	f.Add(version + wordWait)
	f.Add(version + wordBusy)
	f.Add(version + wordError + " no")
	f.Add("zuno 2 head 1")
	f.Fuzz(func(t *testing.T, m string) {
		h, wait, err := answered(m)
		if err == nil && !wait {
			if again, _, err := answered(version + headMessage(h)); err != nil || again != h {
				t.Errorf("%q: %v", m, err)
			}
		}
	})
}
