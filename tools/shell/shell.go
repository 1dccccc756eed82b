package shell

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"zuno/journal/event"
	"zuno/tools"
)

const (
	titleRunes = 160
	// maxCommand is what Linux takes as one argument of a program, its closing NUL excluded.
	maxCommand = 128<<10 - 1
)

type args struct {
	Command string `json:"command" jsonschema:"The command, as one would type it to bash. It may have several lines."`
	Timeout int    `json:"timeout,omitempty" jsonschema:"How many milliseconds the call is expected to take. The command is not stopped when they are over." minimum:"1"`
	Workdir string `json:"workdir,omitempty" jsonschema:"The folder to run in. Default: the session's folder. A relative one starts there."`
}

const description = `Runs a command with bash and returns its output and how it exited.
No start-up file is read; pipefail is set, so a pipeline fails when any stage does. Standard input is closed: nothing can be asked. Environment variables are inherited, except zuno's own.
The call ends when the shell does. Processes that the command left behind are killed then, so do not start a server with "&" and return.
Output over 2,000 lines or 51,200 bytes is shown by its beginning and end; all of it is in a file that the result names.`

// Option changes how commands are run.
type Option func(*runner)

// WithEnvironment lets the host decide last what a command inherits: it is given the environment after zuno's own
// variables were taken out and returns the one to use. Whatever it puts back, a command can read.
func WithEnvironment(hook func(environ []string) []string) Option {
	return func(r *runner) { r.hook = hook }
}

// Register enters shell.
func Register(r *tools.Registry, options ...Option) {
	run := &runner{}
	for _, option := range options {
		option(run)
	}
	tools.Register(r, tools.Spec[args]{
		Name:        "shell",
		Description: description,
		Declaration: event.Declaration{Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive},
		Prepare:     run.prepare,
	})
}

func (r *runner) prepare(w tools.Where, a args) (tools.Prepared, *tools.Blocked) {
	switch {
	case strings.TrimSpace(a.Command) == "":
		return tools.Prepared{}, tools.Invalid("field \"command\" is empty. Send the command to run; nothing was run.")
	case strings.ContainsRune(a.Command, 0):
		return tools.Prepared{}, tools.Invalid("field \"command\" holds a NUL character, which no command can. Nothing was run.")
	case len(a.Command) > maxCommand:
		return tools.Prepared{}, tools.Invalid("field \"command\" has %d bytes; at most %d can be passed. Write it to a file and run that; nothing was run.", len(a.Command), maxCommand)
	case strings.ContainsRune(a.Workdir, 0):
		return tools.Prepared{}, tools.Invalid("field \"workdir\" holds a NUL character. Name a folder; nothing was run.")
	}
	accesses := []tools.Access{{Kind: event.AccessExecute, Place: event.PlaceNone, Name: a.Command}}
	folder := w.Locate(w.Cwd)
	if a.Workdir != "" {
		folder = w.Locate(a.Workdir)
		if folder.Place != event.PlaceInside {
			accesses = append(accesses, tools.Access{Kind: event.AccessWrite, Place: folder.Place, Name: folder.Real})
		}
	}
	return tools.Prepared{
		Title:    title(a.Command),
		Kind:     "execute",
		Accesses: accesses,
		Inexact:  folder.Place == event.PlaceInside && folder.Real != w.Locate(w.Cwd).Real,
		Run: func(ctx context.Context, env tools.Env) tools.Result {
			now := w.Locate(folder.Named)
			switch {
			case now.Err != nil || !now.Exists:
				return notStarted(tools.ClassNotFound, "The working folder %s does not exist, so nothing was run. Create it, or name another one as workdir.", folder.Named)
			case now.Mode.Type() != fs.ModeDir:
				return notStarted(tools.ClassNotDirectory, "The working folder %s is no folder, so nothing was run. Name another one as workdir.", folder.Named)
			case a.Workdir != "" && now.Place != folder.Place || now.Place != event.PlaceInside && now.Real != folder.Real:
				return notStarted(tools.ClassPathChanged, "The working folder %s leads elsewhere than when the call was permitted, so nothing was run. Look at it, then call again.", folder.Named)
			}
			return r.run(ctx, env, a.Command, folder.Named)
		},
	}, nil
}

func notStarted(class, format string, values ...any) tools.Result {
	return tools.Result{Outcome: tools.Failed, Class: class, Text: fmt.Sprintf(format, values...)}
}

// title is the first line of a command.
func title(command string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(command), "\n")
	line = strings.TrimSpace(line)
	if utf8.RuneCountInString(line) > titleRunes {
		line = string([]rune(line)[:titleRunes])
	}
	return line
}
