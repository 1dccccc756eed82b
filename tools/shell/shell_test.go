package shell

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"zuno/journal/event"
	"zuno/tools"
)

type session struct {
	t        testing.TB
	registry *tools.Registry
	where    tools.Where
	env      tools.Env
	calls    int
}

func newSession(t testing.TB, options ...Option) *session {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	s := &session{t: t, registry: tools.NewRegistry()}
	Register(s.registry, options...)
	s.where = tools.Where{Cwd: t.TempDir()}
	s.env = tools.Env{Cwd: s.where.Cwd, OutDir: filepath.Join(t.TempDir(), "out"), Environ: os.Environ()}
	return s
}

func (s *session) path(name string) string { return filepath.Join(s.where.Cwd, name) }

func (s *session) prepare(command string, more ...any) tools.Prepared {
	s.t.Helper()
	args := map[string]any{"command": command}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	encoded, err := json.Marshal(args)
	must(s.t, err)
	p, blocked := s.registry.Resolve(s.where, "shell", string(encoded))
	if blocked != nil {
		s.t.Fatalf("%s: %s", encoded, blocked.Message)
	}
	return p
}

func (s *session) runIn(ctx context.Context, command string, more ...any) tools.Result {
	s.t.Helper()
	p := s.prepare(command, more...)
	s.calls++
	env := s.env
	env.CallID = fmt.Sprintf("call_%d", s.calls)
	return p.Run(ctx, env)
}

func (s *session) run(command string, more ...any) tools.Result {
	s.t.Helper()
	return s.runIn(context.Background(), command, more...)
}

// output is what the command wrote, byte for byte.
func (s *session) output(r tools.Result) string {
	s.t.Helper()
	content, err := os.ReadFile(r.Output)
	must(s.t, err)
	if uint64(len(content)) != r.OutputSize {
		s.t.Errorf("%d bytes of output, said to be %d", len(content), r.OutputSize)
	}
	return string(content)
}

func (s *session) fifo(name string) string {
	s.t.Helper()
	must(s.t, unix.Mkfifo(s.path(name), 0o600))
	return s.path(name)
}

// hear waits until the command says something through a fifo.
func hear(t testing.TB, fifo string) string {
	t.Helper()
	f, err := os.Open(fifo)
	must(t, err)
	defer func() { _ = f.Close() }()
	line, err := bufio.NewReader(f).ReadString('\n')
	must(t, err)
	return strings.TrimSpace(line)
}

func alive(t testing.TB, pidFile string) bool {
	t.Helper()
	text, err := os.ReadFile(pidFile)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("no process number in %s: %q", pidFile, text)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return unix.Kill(pid, 0) == nil && runtime.GOOS != "linux"
	}
	return !bytes.Contains(stat, []byte(") Z "))
}

func is(t testing.TB, r tools.Result, outcome tools.Outcome, class string, says ...string) {
	t.Helper()
	if r.Outcome != outcome || r.Class != class {
		t.Errorf("got %s %q, want %s %q: %.300s", r.Outcome, r.Class, outcome, class, r.Text)
	}
	for _, text := range says {
		if !strings.Contains(r.Text, text) {
			t.Errorf("%.500q does not say %q", r.Text, text)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// spec: T242
func TestPipefailAndExit(t *testing.T) {
	s := newSession(t)
	for _, c := range []struct {
		command, text string
		outcome       tools.Outcome
		code          int
	}{
		{"true", "(no output)\nexit 0", tools.OK, 0},
		{"printf 'no newline'", "no newline\nexit 0", tools.OK, 0},
		{"false | true", "(no output)\nexit 1", tools.Failed, 1},
		{"sh -c 'exit 7' | tail -1", "(no output)\nexit 7", tools.Failed, 7},
		{"echo out; echo err >&2; echo out2; exit 3", "out\nerr\nout2\nexit 3", tools.Failed, 3},
		{"echo $0 $#", "bash 0\nexit 0", tools.OK, 0},
		{"cat <<'X'\na $HOME\n  b\nX\necho \"it's\"", "a $HOME\n  b\nit's\nexit 0", tools.OK, 0},
		{"-n", "", tools.Failed, 127},
		{"yes | head -1", "", tools.Failed, 141},
		{"exit 125", "(no output)\nexit 125", tools.Failed, 125},
		{"kill -9 $$", "(no output)\nkilled by SIGKILL, which decides nothing", tools.Failed, 0},
		{"./none", "", tools.Failed, 127},
		{"/", "", tools.Failed, 126},
		{`printf '\xff\0x\n'`, "\uFFFD\uFFFDx\nexit 0", tools.OK, 0},
	} {
		r := s.run(c.command)
		is(t, r, c.outcome, "")
		if c.text != "" && r.Text != c.text {
			t.Errorf("%s: %q", c.command, r.Text)
		}
		if r.Exit == nil || r.Exit.Code != c.code || r.Exit.Exited == (r.Exit.Signal != "") {
			t.Errorf("%s: exit %+v", c.command, r.Exit)
		}
		if last := r.Text[strings.LastIndexByte(r.Text, '\n')+1:]; r.Exit.Exited && !strings.HasPrefix(last, "exit "+strconv.Itoa(c.code)) {
			t.Errorf("%s: last line %q", c.command, last)
		}
	}
	is(t, s.run("nosuchprogram"), tools.Failed, "", "not found and was not started")
	is(t, s.run("/"), tools.Failed, "", "could not be executed")
	is(t, s.run("yes | head -1"), tools.Failed, "", "y\nexit 141", "SIGPIPE")
}

// spec: T242
func TestNoStartUpFileIsRead(t *testing.T) {
	s := newSession(t)
	home := t.TempDir()
	for _, name := range []string{".bashrc", ".bash_profile", ".profile", ".bash_login", "env's", ".zshenv"} {
		must(t, os.WriteFile(filepath.Join(home, name), []byte("echo READ; exit 9\n"), 0o600))
	}
	startup := filepath.Join(home, "env's")
	s.env.Environ = append(s.env.Environ, "HOME="+home, "BASH_ENV="+startup, "ENV="+startup)
	r := s.run("printf '%s\\n' \"$BASH_ENV\" \"$ENV\"\necho line $LINENO")
	is(t, r, tools.OK, "")
	if want := startup + "\n" + startup + "\nline 2\nexit 0"; r.Text != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
}

// spec: D126
func TestInputIsClosedAndTheGroupItsOwn(t *testing.T) {
	s := newSession(t)
	is(t, s.run("cat; echo after"), tools.OK, "", "after\nexit 0")
	is(t, s.run("read x; echo rc=$?"), tools.OK, "", "rc=1")
	r := s.run("ps -o pgid=,sid= -p $$ 2>/dev/null || cut -d' ' -f5,6 /proc/$$/stat; echo $$")
	fields := strings.Fields(s.output(r))
	if len(fields) != 3 || fields[0] != fields[2] || fields[1] != fields[2] || fields[0] == strconv.Itoa(unix.Getpgrp()) {
		t.Errorf("group, session, process: %v; ours is %d", fields, unix.Getpgrp())
	}
	// A descriptor that we were started with ourselves, and that would be inherited.
	fds := make([]int, 2)
	must(t, unix.Pipe(fds))
	defer func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) }()
	if r := s.run("echo /proc/$$/fd/*"); runtime.GOOS == "linux" && len(strings.Fields(s.output(r))) != 4 { // one is the listing's
		t.Errorf("descriptors: %s", r.Text)
	}
}

func environOf(t testing.TB, s *session) map[string]string {
	t.Helper()
	r := s.run("env -0")
	is(t, r, tools.OK, "")
	got := map[string]string{}
	for entry := range strings.SplitSeq(s.output(r), "\x00") {
		if name, value, ok := strings.Cut(entry, "="); ok {
			got[name] = value
		}
	}
	return got
}

// spec: T285 T287 T288 T289 T293
func TestEnvironment(t *testing.T) {
	s := newSession(t)
	given := map[string]string{
		"PATH": os.Getenv("PATH"), "OPENAI_API_KEY": "k", "GH_TOKEN": "t", "AWS_SECRET_ACCESS_KEY": "s", "ZUNOX": "x",
		"MY_ZUNO_": "y", "EMPTY": "", "MULTI": "a\nb=c", "LC_ALL": "C",
	}
	s.env.Environ = []string{
		"ZUNO_X=1", "ZUNO_CONFIG_CONTENT={}", "ZUNO_AUTH_CONTENT=a", "ZUNO_PID=1", "ZUNO_CLIENT=c", "ZUNO_WORKSPACE_ID=w",
		"zuno_server_password=p", "Zuno_Pid=2", "ZUNO_=z",
	}
	for name, value := range given {
		s.env.Environ = append(s.env.Environ, name+"="+value)
	}
	want := maps.Clone(given)
	maps.Copy(want, map[string]string{"ZUNO": "1", "AGENT": "zuno", "PWD": s.where.Cwd})
	got := environOf(t, s)
	for _, name := range []string{"_", "SHLVL", "OLDPWD"} { // bash's own
		delete(got, name)
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}

	s.env.Environ = append(s.env.Environ, "ZUNO=set", "AGENT=other")
	if got := environOf(t, s); got["ZUNO"] != "set" || got["AGENT"] != "other" {
		t.Errorf("marks were overwritten: %s, %s", got["ZUNO"], got["AGENT"])
	}

	hooked := newSession(t, WithEnvironment(func(environ []string) []string {
		if slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, "ZUNO_") }) {
			t.Error("the hook sees what was to be taken out before it")
		}
		return append(environ, "ZUNO_BACK=1")
	}))
	hooked.env.Environ = s.env.Environ
	if got := environOf(t, hooked); got["ZUNO_BACK"] != "1" {
		t.Error("the hook's word is not the last")
	}
}

// spec: T287 T289 T290 T293
func TestWithholdingProperty(t *testing.T) {
	name := rapid.OneOf(
		rapid.StringMatching(`(ZUNO|zuno|ZuNo|zUNO)_[A-Za-z0-9_]{0,6}`),
		rapid.StringMatching(`(ZUNO|AGENT|ZUN|_ZUNO_|XZUNO_|ZUNO-)?[A-Z]{0,4}(_API_KEY|_TOKEN)?`),
		rapid.StringMatching(`[\p{L}_]{1,8}`),
	)
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SliceOf(name).Draw(r, "names")
		environ := make([]string, len(names))
		for i, name := range names {
			environ[i] = fmt.Sprintf("%s=%d", name, i)
		}
		kept := map[string]bool{}
		for _, entry := range Inherit(environ) {
			kept[entry] = true
		}
		for i, name := range names {
			exact := strings.HasPrefix(name, "ZUNO_")
			folded := strings.HasPrefix(strings.ToUpper(name), "ZUNO_")
			switch {
			case exact && kept[environ[i]]:
				r.Fatalf("%s was let through", name)
			case folded == kept[environ[i]]:
				r.Fatalf("%s: folded into the namespace %v, inherited %v", name, folded, kept[environ[i]])
			}
		}
	})
}

// A settled shell ends the call, whatever still holds its output; what it left behind is killed.
func TestBackgroundChildrenEndWithTheShell(t *testing.T) {
	s := newSession(t)
	r := s.run(`
(while :; do echo tick; sleep 0.2; done) & echo $! > one
setsid bash -c 'echo $$ > two; exec sleep 1000' >/dev/null 2>&1 &
(setsid bash -c 'trap "" TERM HUP; echo $$ > three; while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 3>&- &)
nohup sleep 1000 >/dev/null 2>&1 & echo $! > four
while [ ! -s two ] || [ ! -s three ]; do :; done
echo foreground-done`)
	is(t, r, tools.OK, "", "foreground-done")
	for _, name := range []string{"one", "two", "three", "four"} {
		if alive(t, s.path(name)) {
			t.Errorf("process %s is alive", name)
		}
	}
}

// spec: D127 T335
func TestHardCeilingKillsTheTree(t *testing.T) {
	s := newSession(t)
	s.env.Shell.HardCeilingMS = 1000
	begun := time.Now()
	r := s.run(`trap '' TERM
(setsid bash -c 'trap "" TERM; echo $$ > deep; env -i sleep 1000; touch late' </dev/null >/dev/null 2>&1 &)
sh -c 'echo $$ > child; sleep 1000; touch late' &
while [ ! -s deep ] || [ ! -s child ]; do :; done
echo before; wait; touch late`)
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("took %v", took)
	}
	is(t, r, tools.Uncertain, tools.ClassCeiling, "hard ceiling", "Inspect", "before\n")
	if r.Exit == nil || r.Exit.Exited || !r.Exit.Ceiling {
		t.Errorf("exit %+v", r.Exit)
	}
	for _, name := range []string{"deep", "child"} {
		if alive(t, s.path(name)) {
			t.Errorf("process %s is alive", name)
		}
	}
	if _, err := os.Stat(s.path("late")); err == nil {
		t.Error("something ran on")
	}
}

// spec: T271 T272
func TestCancelling(t *testing.T) {
	for _, c := range []struct {
		name, command, last string
		exited              bool
	}{
		{"obeys", `echo before; echo > ready; exec sleep 1000`, "killed by SIGTERM", false},
		{"says goodbye", `trap 'echo bye; exit 0' TERM; echo before; echo > ready; while :; do sleep 0.05; done`, "exit 0 (after it was told to stop; it decides nothing)", true},
		{"deaf", `trap '' TERM; (trap '' TERM; echo $BASHPID > pid; exec sleep 1000) & while [ ! -s pid ]; do :; done; echo before; echo > ready; wait`, "killed by SIGKILL", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSession(t)
			ready := s.fifo("ready")
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				hear(t, ready)
				cancel()
			}()
			begun := time.Now()
			r := s.runIn(ctx, c.command)
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			is(t, r, tools.Uncertain, tools.ClassCancelled, "before\n", c.last)
			first, _, _ := strings.Cut(r.Text, "\n")
			if !strings.HasPrefix(first, "Uncertain: the command was cancelled") || !strings.Contains(first, "Inspect the state") {
				t.Errorf("first line %q", first)
			}
			if !strings.HasPrefix(s.output(r), "before\n") || c.exited && !strings.HasSuffix(s.output(r), "bye\n") {
				t.Errorf("output %q", s.output(r))
			}
			if r.Exit.Exited != c.exited {
				t.Errorf("exit %+v", r.Exit)
			}
			if c.name == "deaf" && alive(t, s.path("pid")) {
				t.Error("a child is alive")
			}
		})
	}
}

// A command that was gone before it was told to stop keeps the outcome that it earned.
//
// spec: T271
func TestCancelledAfterItExited(t *testing.T) {
	s := newSession(t)
	for command, outcome := range map[string]tools.Outcome{"echo x": tools.OK, "exit 4": tools.Failed} {
		out, err := create(s.env.OutDir, "late")
		must(t, err)
		p, blocked := (&runner{}).start(s.env, command, s.where.Cwd, out)
		if blocked != nil {
			t.Fatal(blocked.Text)
		}
		<-p.ended
		late := *p
		late.ended = make(chan struct{}) // the news has not arrived yet
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		end := wait(ctx, &late, time.Hour)
		survived := p.killRest()
		written, err := os.Open(out.Name())
		must(t, err)
		r := report(written, end, p.reap(), survived)
		is(t, r, outcome, "", "already exited by itself", "\nexit ")
		if !strings.Contains(string(r.Raw), `"cancelled":"after_exit"`) {
			t.Errorf("raw %s", r.Raw)
		}
		_, _ = written.Close(), out.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	is(t, s.runIn(ctx, "touch ran"), tools.Cancelled, tools.ClassCancelled, "nothing was run")
	if _, err := os.Stat(s.path("ran")); err == nil {
		t.Error("it ran")
	}
}

// spec: D128
func TestHugeOutput(t *testing.T) {
	s := newSession(t)
	const size = 200_000_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := s.run(fmt.Sprintf("yes 0123456789abcdef | head -c %d; echo LAST >&2; exit 3", size))
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes allocated", grown)
	}
	is(t, r, tools.Failed, "", "0123456789abcdef\n", "LAST\nexit 3", "[… left out here: ", strconv.Itoa(size+5)+" bytes, are in "+r.Output)
	if r.OutputSize != size+5 || len(r.Text) > maxBytes || strings.Count(r.Text, "\n")+1 > maxLines {
		t.Errorf("output %d, text %d bytes, %d lines", r.OutputSize, len(r.Text), strings.Count(r.Text, "\n")+1)
	}
	if info, err := os.Stat(r.Output); err != nil || info.Size() != size+5 || info.Mode().Perm() != 0o600 {
		t.Errorf("file %v %v", info, err)
	}
	must(t, os.Remove(r.Output))
}

// What is shown and what is said to be left out add up to the whole, within the bounds.
//
// spec: D128
func TestShownAndLeftOutAddUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	rapid.Check(t, func(r *rapid.T) {
		piece := rapid.SampledFrom([]string{"x\n", "\n", "é", strings.Repeat("y", 700) + "\n", strings.Repeat("z", 60_000), "\xff\x00", "日本\n"})
		var content []byte
		for range rapid.IntRange(1, 4).Draw(r, "runs") {
			content = append(content, bytes.Repeat([]byte(piece.Draw(r, "piece")), rapid.IntRange(0, 1200).Draw(r, "times"))...)
		}
		must(t, os.WriteFile(file, content, 0o600))
		f, err := os.Open(file)
		must(t, err)
		defer func() { _ = f.Close() }()
		s := show(f, maxBytes, maxLines)
		if len(s.text) > maxBytes || strings.Count(s.text, "\n") > maxLines {
			r.Fatalf("%d bytes, %d lines", len(s.text), strings.Count(s.text, "\n"))
		}
		if s.bytes != int64(len(content)) {
			r.Fatalf("%d bytes, said %d", len(content), s.bytes)
		}
		if len(content) == 0 {
			if s.text != "(no output)\n" {
				r.Fatalf("%q", s.text)
			}
			return
		}
		if s.withheld == 0 {
			if s.text != ended(clean(content)) {
				r.Fatal("not the whole output")
			}
			return
		}
		head, rest, _ := strings.Cut(s.text, "[… left out here: ")
		note, tail, _ := strings.Cut(rest, " …]\n")
		if head != ended(clean(content[:s.first])) || tail != ended(clean(content[s.first+s.withheld:])) {
			r.Fatalf("head (%d) and tail (%d) do not stand around %d withheld bytes of %d: %s", len(head), len(tail), s.withheld, len(content), note)
		}
	})
}

// spec: D128
func TestProgressWhileItRuns(t *testing.T) {
	s := newSession(t)
	gate := s.fifo("gate")
	chunks := make(chan string, 100)
	s.env.Progress = func(chunk []byte) { chunks <- string(chunk) }
	done := make(chan tools.Result)
	go func() { done <- s.run("printf 'one é\\n'; read x < gate; echo two $x") }()
	got := ""
	for !strings.Contains(got, "one é\n") {
		got += <-chunks
	}
	must(t, os.WriteFile(gate, []byte("go\n"), 0))
	r := <-done
	close(chunks)
	for chunk := range chunks {
		got += chunk
	}
	if got != "one é\ntwo go\n" || got != s.output(r) {
		t.Errorf("shown %q", got)
	}
}

func TestUnfinishedCharacters(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 0, "é": 0, "\xc3": 1, "a\xe6\x97": 2, "\xf0\x9f\x98": 3, "\xff": 0, "\x80\x80\x80": 0, "日": 0} {
		if got := unfinished([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestWorkingFolder(t *testing.T) {
	s := newSession(t)
	must(t, os.Mkdir(s.path("sub"), 0o755))
	is(t, s.run("pwd", "workdir", "sub"), tools.OK, "", s.path("sub")+"\n")
	is(t, s.run("pwd", "workdir", "none"), tools.Failed, tools.ClassNotFound, s.path("none"), "nothing was run")
	must(t, os.WriteFile(s.path("file"), nil, 0o600))
	is(t, s.run("pwd", "workdir", "file"), tools.Failed, tools.ClassNotDirectory)
	if p := s.prepare("pwd", "workdir", "/"); len(p.Accesses) != 2 || p.Accesses[1].Place != event.PlaceOutside {
		t.Errorf("%+v", p.Accesses)
	}
	p := s.prepare("touch here", "workdir", "sub")
	must(t, os.Remove(s.path("sub")))
	must(t, os.Symlink(t.TempDir(), s.path("sub")))
	is(t, p.Run(context.Background(), s.env), tools.Failed, tools.ClassPathChanged)

	is(t, s.run(`rm -rf "$PWD"`), tools.OK, "")
	r := s.run("echo hi")
	is(t, r, tools.Failed, tools.ClassNotFound, s.where.Cwd)
	if strings.Contains(r.Text, "bash") {
		t.Error(r.Text)
	}
	must(t, os.Mkdir(s.where.Cwd, 0o755))
	is(t, s.run("pwd"), tools.OK, "", s.where.Cwd+"\nexit 0")
}

func TestRefusals(t *testing.T) {
	s := newSession(t)
	for _, args := range []string{`{"command":" \n"}`, `{"command":"a\u0000b"}`, `{"command":"x","timeout":0}`, `{"command":"x","background":true}`, `{}`} {
		if _, blocked := s.registry.Resolve(s.where, "shell", args); blocked == nil || blocked.Kind != tools.InvalidArguments {
			t.Errorf("%s: %+v", args, blocked)
		}
	}
	long := "# " + strings.Repeat("x", maxCommand-2)
	is(t, s.run(long), tools.OK, "")
	encoded, _ := json.Marshal(map[string]string{"command": long + "x"})
	if _, blocked := s.registry.Resolve(s.where, "shell", string(encoded)); blocked == nil || len(blocked.Message) > 400 {
		t.Errorf("%+v", blocked)
	}
	s.env.Environ = append(s.env.Environ, "BIG="+strings.Repeat("x", 200_000))
	is(t, s.run("true"), tools.Failed, tools.ClassTooLarge, "nothing was run")
	s.env.Environ = os.Environ()
	s.env.OutDir = "/proc/none"
	is(t, s.run("true"), tools.Failed, tools.ClassIO, "nothing was run")
}

func TestPrepared(t *testing.T) {
	s := newSession(t)
	p := s.prepare("\n  echo "+strings.Repeat("é", 300)+"\nsecond", "timeout", 900_000)
	if p.Kind != "execute" || len([]rune(p.Title)) != 160 || !strings.HasPrefix(p.Title, "echo é") {
		t.Errorf("%s %q", p.Kind, p.Title)
	}
	want := event.Declaration{Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive}
	if p.Declaration != want || p.Accesses[0].Kind != event.AccessExecute || !strings.HasSuffix(p.Accesses[0].Name, "second") {
		t.Errorf("%+v", p)
	}
}

// Call ids name files, and never anything else.
func TestOutputFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	for _, id := range []string{"../../x", "a/b", "", ".", strings.Repeat("n", 400), "call_1"} {
		for range 2 {
			f, err := create(folder, id)
			must(t, err)
			if filepath.Dir(f.Name()) != folder {
				t.Errorf("%q: %s", id, f.Name())
			}
			_ = f.Close()
		}
	}
}

func BenchmarkShell(b *testing.B) {
	s := newSession(b)
	b.Run("tool", func(b *testing.B) {
		for b.Loop() {
			if r := s.run("true"); r.Outcome != tools.OK {
				b.Fatal(r.Text)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		bash, err := exec.LookPath("bash")
		must(b, err)
		for b.Loop() {
			command := exec.Command(bash, "-c", "true")
			must(b, command.Run())
		}
	})
}
