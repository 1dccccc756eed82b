package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zuno/journal"
	"zuno/journal/event"
)

// zuno and other are two builds of the command.
var zuno, other string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "inspect-")
	if err == nil {
		zuno, other = filepath.Join(dir, "zuno"), filepath.Join(dir, "other")
		err = errors.Join(build(zuno), build(other, "-ldflags=-buildid=another/build/of/it"))
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func build(to string, flags ...string) error {
	out, err := exec.Command("go", append(append([]string{"build", "-o", to}, flags...), "zuno/cmd/zuno")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build zuno: %w\n%s", err, out)
	}
	return nil
}

// place is a folder to work in, a data folder and a script.
type place struct {
	t                   *testing.T
	binary              string
	dir, cwd, data, env string
}

const script = `responses:
- reasoning: "Look first."
  text: "Let me look."
  calls:
    - tool: shell
      args: {command: "pwd; pwd | sha256sum; echo done"}
    - tool: write
      args: {filePath: "${cwd}/notes.txt", content: "one\ntwo\n"}
    - tool: read
      args: {filePath: "missing.txt"}
  usage: {input: 1200, output: 40}
- text: "Done: notes.txt is there."
  usage: {input: 1400, output: 20}
- text: "Nothing more."
`

// newPlace makes a worktree of that name with a folder below it.
func newPlace(t *testing.T, name string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{t: t, binary: zuno, dir: dir, cwd: filepath.Join(dir, name, "below"), data: filepath.Join(dir, name+"-data")}
	path := filepath.Join(dir, "script.yaml")
	for _, d := range []string{p.cwd, filepath.Join(dir, name, ".git")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = fmt.Sprintf(`{"model":"scripted/any","permission":{"mode":"allow_all"},"provider":{"scripted":{"type":"scripted","options":{"script":%q}}}}`, path)
	return p
}

// zuno runs the command in the folder.
func (p *place) zuno(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// command is one that was not started yet.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, args...)
	cmd.Dir = p.cwd
	cmd.Env = append(os.Environ(), "PWD="+p.cwd, "ZUNO_DATA_DIR="+p.data, "ZUNO_CONFIG_CONTENT="+p.env, "HOME="+p.dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	return cmd
}

// ok runs the command and gives what it prints; it must succeed.
func (p *place) ok(args ...string) string {
	p.t.Helper()
	out, errs, code := p.zuno(args...)
	if code != 0 {
		p.t.Fatalf("zuno %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// fails runs the command and gives what it says; it must exit with 1 and print nothing to standard output.
func (p *place) fails(args ...string) string {
	p.t.Helper()
	out, errs, code := p.zuno(args...)
	if code != 1 || out != "" || !strings.HasPrefix(lastLines(errs), "zuno: ") {
		p.t.Errorf("zuno %s: exit %d, printed %q, said %q", strings.Join(args, " "), code, out, errs)
	}
	return errs
}

// lastLines is what was said after the line that tells which session was taken.
func lastLines(errs string) string {
	if strings.HasPrefix(errs, "session ") {
		_, errs, _ = strings.Cut(errs, "\n")
	}
	return errs
}

// run makes a session and gives its id.
func (p *place) run(prompt, seed string) string {
	p.t.Helper()
	before := map[string]bool{}
	for _, id := range p.sessions() {
		before[id] = true
	}
	args := []string{"run", prompt}
	if seed != "" {
		args = append(args, "--test-clock-seed", seed)
	}
	p.ok(args...)
	for _, id := range p.sessions() {
		if !before[id] {
			return id
		}
	}
	p.t.Fatal("no session was made")
	return ""
}

func (p *place) sessions() []string {
	ids, err := Store{Data: p.data}.ids()
	if err != nil {
		p.t.Fatal(err)
	}
	return ids
}

func (p *place) folder(id string) string { return Store{Data: p.data}.folder(id) }
func (p *place) file(id string) string   { return filepath.Join(p.folder(id), journalName) }

// content is every file below a folder with its bytes.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// extend appends a commit to a journal, past the engine.
func extend(t *testing.T, dir string, events func(texts *journal.Texts) []journal.Event) {
	t.Helper()
	var at int64
	f, err := journal.Open(dir, journal.Options{Started: time.UnixMilli(0)}, func(c *journal.Raw) error {
		at = c.At
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	texts := journal.NewTexts(f.Salt())
	c := &journal.Commit{At: at + 1, Command: journal.Command{ID: "test:1", Type: "test", Version: 1, Actor: "test", Payload: []byte{0x80}}, Events: events(texts), Texts: texts}
	if err := errors.Join(f.Append([]*journal.Commit{c}), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// encoded are payloads as events of the root session.
func encoded(t *testing.T, texts *journal.Texts, payloads ...event.Payload) (out []journal.Event) {
	t.Helper()
	for _, p := range payloads {
		b, err := event.NewEncoder().Encode(p, texts)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, journal.Event{Stream: 1, Type: event.TypeOf(p).Name, Payload: b})
	}
	return out
}
