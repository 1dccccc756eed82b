package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"zuno/tools"
	"zuno/tools/files"
)

const (
	oldest      = 14 // major version
	maxStderr   = 64 << 10
	versionTime = 10 * time.Second
	// checkTime bounds a run on empty input. The costliest pattern is one that is just under rg's own size limit.
	checkTime = 5 * time.Second
	drainTime = 2 * time.Second // for what is left of rg's words after it has ended
)

// ripgrep finds rg and runs it. It is looked for at every call, as PATH and what is there may change; its version is
// asked for until it is told, for each file that was found.
type ripgrep struct {
	mu    sync.Mutex
	known map[fileID]int // major version
}

// fileID is one state of one file.
type fileID struct {
	path     string
	size     int64
	modified int64
}

// find gives the path of a usable rg.
func (r *ripgrep) find(ctx context.Context, environ []string) (string, *files.Failure) {
	path, id := lookPath(environ)
	if path == "" {
		return "", files.Refuse(tools.ClassToolMissing,
			"rg (ripgrep) was not found on PATH, so nothing was searched. Ask the user to install ripgrep %d or newer (https://github.com/BurntSushi/ripgrep#installation); then call again.", oldest)
	}
	r.mu.Lock()
	version, ok := r.known[id]
	r.mu.Unlock()
	if !ok {
		var f *files.Failure
		if version, f = askVersion(ctx, path, environ); f != nil {
			return "", f
		}
		if version > 0 { // one that did not tell may have been killed: it is asked again
			r.mu.Lock()
			if r.known == nil {
				r.known = map[fileID]int{}
			}
			r.known[id] = version
			r.mu.Unlock()
		}
	}
	switch {
	case version == 0:
		return "", files.Refuse(tools.ClassToolMissing,
			"%s does not tell its version as ripgrep does, so nothing was searched. Ask the user to install ripgrep %d or newer; then call again.", path, oldest)
	case version < oldest:
		return "", files.Refuse(tools.ClassToolMissing,
			"%s is ripgrep %d, and %d or newer is needed, so nothing was searched. Ask the user to install a newer ripgrep; then call again.", path, version, oldest)
	}
	return path, nil
}

// lookPath takes the first rg that may be executed. A relative folder on PATH is passed over: what lies in the project
// must not decide what is run.
func lookPath(environ []string) (string, fileID) {
	for _, dir := range filepath.SplitList(variable(environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, "rg")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, fileID{path: path, size: info.Size(), modified: info.ModTime().UnixNano()}
		}
	}
	return "", fileID{}
}

// variable is the last value of a variable of the environment that commands inherit, or of the process's where a call
// knows of no other.
func variable(environ []string, name string) string {
	if environ == nil {
		return os.Getenv(name)
	}
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

var versionLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ripgrep (\d{1,4})\.`) })

func askVersion(ctx context.Context, path string, environ []string) (int, *files.Failure) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := command(ctx, path, environ, "--version")
	var out head
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return 0, stopped(ctx)
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return 0, notStarted(err)
		}
	}
	match := versionLine().FindSubmatch(out.text)
	if match == nil {
		return 0, nil
	}
	version, _ := strconv.Atoi(string(match[1])) // four digits at most
	return version, nil
}

// command is rg as it is always started: with a group of its own that is killed as a whole, nothing to read, and little
// of the environment.
func command(ctx context.Context, path string, environ []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "LANG", "LC_ALL", "TMPDIR"} { // HOME: the user's ignore file of git
		if value := variable(environ, name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.WaitDelay = drainTime
	group(cmd)
	return cmd
}

// run is rg at work.
type run struct {
	cmd    *exec.Cmd
	out    *os.File
	errors head
	stop   context.CancelFunc
	unhook func() bool
}

// site is where rg is run: in an open folder, or on an open file as its standard input.
type site struct {
	rg      string // its path
	environ []string
	folder  *os.File
	real    string // the folder's resolved path
	input   *os.File
}

func (s site) start(ctx context.Context, args []string) (*run, *files.Failure) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, notStarted(err)
	}
	defer func() { _ = in.Close() }()
	widen(in)
	inner, stop := context.WithCancel(ctx)
	r := &run{cmd: command(inner, s.rg, s.environ, args...), out: out, stop: stop}
	r.cmd.Stdout, r.cmd.Stderr = in, &r.errors
	if s.input != nil {
		r.cmd.Stdin, r.cmd.Dir = s.input, "/"
	} else {
		r.cmd.Dir = folderPath(s.folder, s.real)
	}
	if err := r.cmd.Start(); err != nil {
		stop()
		_ = out.Close()
		if ctx.Err() != nil {
			return nil, stopped(ctx)
		}
		if s.folder != nil && errors.Is(err, os.ErrPermission) {
			return nil, files.FailureOf("enter", s.folder.Name(), os.ErrPermission)
		}
		return nil, notStarted(err)
	}
	r.unhook = context.AfterFunc(inner, func() { _ = out.Close() }) // whoever else holds the pipe, the reader is not held up
	return r, nil
}

// end kills what still runs, and tells how rg ended by itself: 0 something was found, 1 nothing, 2 an error.
func (r *run) end() (code int) {
	r.unhook()
	r.stop()
	_ = r.out.Close()
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

// finish waits for rg after its output has ended.
func (r *run) finish() (code int) {
	_ = r.cmd.Wait()
	r.unhook()
	r.stop()
	_ = r.out.Close()
	return r.cmd.ProcessState.ExitCode()
}

// pour hands rg's output on piece by piece, as much as maxOutput, and ends rg. A piece is valid until the next.
func (r *run) pour(ctx context.Context, take func(piece []byte)) (code int, f *files.Failure) {
	buffer := pieces.Get().(*[]byte)
	defer pieces.Put(buffer)
	total := 0
	for {
		n, err := r.out.Read(*buffer)
		if total += n; total > maxOutput {
			r.end()
			return 0, files.Refuse(tools.ClassTooLarge,
				"rg had more than 64 MiB to say, and a stable order cannot be decided from a part of it. Nothing is shown. Narrow the pattern, the path or the include.")
		}
		take((*buffer)[:n])
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			r.end()
			return 0, stopped(ctx)
		case !errors.Is(err, io.EOF):
			r.end()
			return 0, files.Refuse(tools.ClassIO, "The output of rg could not be read: %v. Nothing was searched to the end.", err)
		}
		code = r.finish()
		if ctx.Err() != nil {
			return 0, stopped(ctx)
		}
		if code < 0 || code > 2 {
			return 0, files.Refuse(tools.ClassIO, "rg ended with %v%s. Nothing is shown, as the search may not be complete.", r.cmd.ProcessState, said(r.errors.text))
		}
		return code, nil
	}
}

const pieceSize = 256 << 10

var pieces = sync.Pool{New: func() any { b := make([]byte, pieceSize); return &b }}

func stopped(ctx context.Context) *files.Failure {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return files.Refuse(tools.ClassIO, "rg did not answer in time, so nothing was searched.")
	}
	return files.Refuse(tools.ClassCancelled, "Cancelled while searching; nothing was changed.")
}

func notStarted(err error) *files.Failure {
	return files.Refuse(tools.ClassNotStarted, "rg could not be started: %v. Nothing was searched.", err)
}

// head keeps the beginning of a text, maxStderr bytes of it.
type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), maxStderr-len(h.text))]...)
	return len(p), nil
}

func said(words []byte) string {
	if words = bytes.TrimSpace(words); len(words) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", shorten(string(bytes.ToValidUTF8(words, []byte("\uFFFD"))), 300))
}

// shorten takes out of the middle: rg quotes first and gives its reason last.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most/2], "") + " … " + strings.ToValidUTF8(text[len(text)-most/2:], "")
}
