package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"zuno/tools"
)

const (
	defaultCeiling = 30 * time.Minute
	// cooperation is how long a cancelled command may take to end in its own way.
	cooperation = 2 * time.Second
)

type runner struct {
	hook func([]string) []string
}

// ending is why a call stopped waiting for its command.
type ending int

const (
	byItself ending = iota
	byItselfThenCancelled
	cancelled
	ceiling
)

func (r *runner) run(ctx context.Context, env tools.Env, command, folder string) tools.Result {
	if ctx.Err() != nil {
		return tools.Result{Outcome: tools.Cancelled, Class: tools.ClassCancelled, Text: "Cancelled before the command was started; nothing was run."}
	}
	out, err := create(env.OutDir, env.CallID)
	if err != nil {
		return notStarted(tools.ClassIO, "The file for the command's output could not be created (%v), so nothing was run.", err)
	}
	path := out.Name()
	written, err := os.Open(path) // ours to read, even if the command takes the name away
	if err != nil {
		_ = out.Close()
		return notStarted(tools.ClassIO, "The file for the command's output could not be opened (%v), so nothing was run.", err)
	}
	defer func() { _ = written.Close() }()
	process, blocked := r.start(env, command, folder, out)
	_ = out.Close() // the command's own now
	if blocked != nil {
		_ = os.Remove(path)
		return *blocked
	}
	stop := follow(written, env.Progress)
	end := wait(ctx, process, limit(env))
	survived := process.killRest()
	status := process.reap()
	stop()
	return report(written, end, status, survived)
}

func limit(env tools.Env) time.Duration {
	if ms := env.Shell.HardCeilingMS; ms > 0 && ms <= uint64(365*24*time.Hour/time.Millisecond) {
		return time.Duration(ms) * time.Millisecond
	}
	return defaultCeiling
}

// create opens the file that a command writes its output to. A name that is taken belongs to an earlier attempt and is
// left alone. Appending is what keeps a command's two streams, and its children, from writing over one another.
func create(folder, call string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	base := filepath.Join(folder, fileName(call))
	for n := 1; ; n++ {
		name := base + ".out"
		if n > 1 {
			name = base + "." + strconv.Itoa(n) + ".out"
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
		if !errors.Is(err, fs.ErrExist) || n == 1000 {
			return f, err
		}
	}
}

// fileName keeps a call id from being anything but a name.
func fileName(call string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, call)
	if name == "" {
		name = "call"
	}
	return name[:min(len(name), 120)]
}

func (r *runner) start(env tools.Env, command, folder string, out *os.File) (*process, *tools.Result) {
	refuse := func(class, format string, values ...any) (*process, *tools.Result) {
		result := notStarted(class, format, values...)
		return nil, &result
	}
	environ := Inherit(env.Environ)
	if r.hook != nil {
		environ = r.hook(environ)
	}
	bash := find(environ)
	if bash == "" {
		return refuse(tools.ClassNotStarted, "There is no bash on PATH, in /bin or in /usr/bin, so nothing was run. Commands need it.")
	}
	// The name that the folder was given, so that a command sees the path that the user knows.
	environ = append(without(environ, "PWD"), "PWD="+folder)
	null, err := os.Open(os.DevNull)
	if err != nil {
		return refuse(tools.ClassNotStarted, "%s cannot be opened (%v), so nothing was run.", os.DevNull, err)
	}
	defer func() { _ = null.Close() }()
	p, err := startProcess(bash, []string{"bash", "--noprofile", "--norc", "-o", "pipefail", "-c", "--", command}, &os.ProcAttr{
		Dir: folder, Env: environ, Files: []*os.File{null, out, out},
	})
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, unix.E2BIG):
		return refuse(tools.ClassTooLarge, "The command and its environment are too large to be passed (%d bytes of command), so nothing was run. Write the command to a file and run that.", len(command))
	}
	if _, gone := os.Stat(folder); errors.Is(gone, fs.ErrNotExist) {
		return refuse(tools.ClassNotFound, "The working folder %s does not exist, so nothing was run. Create it, or name another one as workdir.", folder)
	}
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOMEM) {
		return refuse(tools.ClassNotStarted, "The system has no room for another process (%v), so nothing was run. Try again when something has ended.", err)
	}
	return refuse(tools.ClassNotStarted, "The command could not be started (%v), so nothing was run.", err)
}

// find looks for bash where the command itself would.
func find(environ []string) string {
	path, _ := lookup(environ, "PATH")
	for _, folder := range append(filepath.SplitList(path), "/bin", "/usr/bin") {
		if !filepath.IsAbs(folder) {
			continue // a folder of the session must not stand in for the shell
		}
		name := filepath.Join(folder, "bash")
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && unix.Access(name, unix.X_OK) == nil {
			return name
		}
	}
	return ""
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// wait returns when the command has ended or has to be ended by force.
func wait(ctx context.Context, p *process, limit time.Duration) ending {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.ended:
		if ctx.Err() != nil {
			return byItselfThenCancelled
		}
		return byItself
	case <-timer.C:
		if p.hasEnded() {
			return byItself
		}
		return ceiling
	case <-ctx.Done():
	}
	if p.hasEnded() { // before anyone told it to
		return byItselfThenCancelled
	}
	p.ask()
	grace := time.NewTimer(cooperation)
	defer grace.Stop()
	select {
	case <-p.ended:
	case <-grace.C:
	case <-timer.C:
	}
	return cancelled
}

// summary is the typed result.
type summary struct {
	Exit      *int   `json:"exit_code,omitempty"`
	Signal    string `json:"signal,omitempty"`
	Ceiling   bool   `json:"hard_ceiling,omitempty"`
	Cancelled string `json:"cancelled,omitempty"` // after_exit: the status is the command's own; before_exit: it is not
	Output    string `json:"output_path,omitempty"`
	Bytes     int64  `json:"output_bytes"`
	Lines     int64  `json:"output_lines"`
	Withheld  int64  `json:"withheld_bytes,omitempty"`
}

func report(written *os.File, end ending, status syscall.WaitStatus, survived int) tools.Result {
	exit := &tools.Exit{Exited: status.Exited(), Ceiling: end == ceiling}
	raw := summary{Ceiling: exit.Ceiling, Output: written.Name()}
	if exit.Exited {
		exit.Code = status.ExitStatus()
		raw.Exit = &exit.Code
	} else {
		exit.Signal = unix.SignalName(status.Signal())
		raw.Signal = exit.Signal
	}
	result := tools.Result{Outcome: tools.Failed, Exit: exit, Output: written.Name()}
	if exit.Exited && exit.Code == 0 {
		result.Outcome = tools.OK
	}
	var head string
	switch end {
	case byItselfThenCancelled:
		raw.Cancelled = "after_exit"
		head = "Cancelled after the command had already exited by itself: the status below is its own and stands.\n"
	case cancelled:
		raw.Cancelled = "before_exit"
		result.Outcome, result.Class = tools.Uncertain, tools.ClassCancelled
		head = "Uncertain: the command was cancelled before it had exited by itself, so it decided nothing, and what it had already changed cannot be read off this result. Inspect the state that it would have changed before anything is retried.\n"
	case ceiling:
		result.Outcome, result.Class = tools.Uncertain, tools.ClassCeiling
		head = "Uncertain: the command was killed at its hard ceiling, so it decided nothing, and what it had already changed cannot be read off this result. Inspect the state that it would have changed before anything is retried.\n"
	case byItself:
	}
	tail := statusLine(end, exit, survived)
	shown := show(written, maxBytes-len(head)-len(tail), maxLines-strings.Count(head+tail, "\n")-1)
	result.Text = head + shown.text + tail
	result.OutputSize = uint64(shown.bytes)
	raw.Bytes, raw.Lines, raw.Withheld = shown.bytes, shown.lines, shown.withheld
	result.Raw, _ = json.Marshal(raw) // numbers and a path always encode
	return result
}

// statusLine is the last line of a result.
func statusLine(end ending, exit *tools.Exit, survived int) string {
	var line string
	switch {
	case end == ceiling:
		line = "killed at the hard ceiling"
	case !exit.Exited:
		line = "killed by " + exit.Signal + ", which decides nothing"
	default:
		line = fmt.Sprintf("exit %d", exit.Code)
		switch {
		case end == cancelled:
			line += " (after it was told to stop; it decides nothing)"
		case exit.Code == 126:
			line += " (a program could not be executed and was not started)"
		case exit.Code == 127:
			line += " (a program was not found and was not started)"
		case exit.Code > 128 && exit.Code <= 128+64:
			if name := unix.SignalName(syscall.Signal(exit.Code - 128)); name != "" {
				line += fmt.Sprintf(" (what bash reports when %s ends a program or a stage of a pipeline)", name)
			}
		}
	}
	if survived > 0 {
		line += fmt.Sprintf("; %d of its processes could not be ended", survived)
	}
	return line
}
