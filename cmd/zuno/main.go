// Command zuno is a coding agent that editors drive over the Agent Client Protocol. Each of its commands has a file here,
// which reads flags, connects things and prints; the logic is in the packages that it connects.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"zuno/internal/inspect"
)

// version of the zuno package.
const version = "0.1.0"

type cli struct {
	Help       helpFlag    `short:"h" help:"Show help: all options and values, or a summary with -h."`
	HelpHidden helpFlag    `hidden:"" help:"Show help with hidden options."`
	Version    versionFlag `short:"v" help:"Show the version of zuno."`

	globals `embed:""`

	Acp     acpCmd     `cmd:"" help:"Serve the Agent Client Protocol on standard input and output. An editor launches this."`
	Run     runCmd     `cmd:"" help:"Run one prompt in the current folder, without an editor."`
	Demo    demoCmd    `cmd:"" help:"Show the agent at work, killed and started again, in a temporary folder."`
	Session sessionCmd `cmd:"" help:"List and show sessions."`
	Journal journalCmd `cmd:"" help:"Show, verify and export journals."`
	Replay  replayCmd  `cmd:"" help:"Fold a session's journal again and print what was true."`
	Explain explainCmd `cmd:"" help:"Explain in plain words how a call, an input, a turn or the gate came about."`
	Models  modelsCmd  `cmd:"" help:"List the configured models: what they speak, their limits, whether a key is found."`
}

// globals are the options of every command.
type globals struct {
	PrintLogs     bool   `help:"Copy log records to standard error."`
	LogLevel      string `help:"Least level that is logged: ${enum}." enum:"TRACE,DEBUG,INFO,WARN,ERROR" default:"INFO" placeholder:"LEVEL"`
	TestClockSeed uint64 `hidden:"" placeholder:"N" help:"Take time and ids from a test clock with this seed."`

	stdin          *os.File
	stdout, stderr io.Writer
}

type versionFlag bool

// BeforeReset prints the version before anything else is looked at.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, version)
	app.Exit(0)
	return nil
}

type helpFlag bool

// BeforeReset prints help: a summary for -h, everything for --help, hidden options too for --help-hidden.
func (helpFlag) BeforeReset(ctx *kong.Context) error {
	if slices.Contains(ctx.Args, "--help-hidden") {
		for _, f := range ctx.Model.Flags {
			f.Hidden = false
		}
	}
	if err := ctx.PrintUsage(slices.Contains(ctx.Args, "-h")); err != nil {
		return err
	}
	ctx.Exit(0)
	return nil
}

// exit is a failure that has been told already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin *os.File, stdout, stderr io.Writer) (code int) {
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v") { // answered at once, without the parser
		fmt.Fprintln(stdout, version)
		return 0
	}
	if len(args) == 1 && args[0] == "acp" { // as an editor launches it: the parser would take a sixth of the start-up
		g := &globals{LogLevel: "INFO", stdin: stdin, stdout: stdout, stderr: stderr}
		return status((&acpCmd{}).Run(g), stderr)
	}
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("zuno"), kong.Description("A coding agent for editors, with a journal that proves what it did."),
		kong.NoDefaultHelp(), kong.Writers(stdout, stderr), kong.Exit(func(code int) { exited = code; panic(exit(code)) }))
	if err != nil {
		fmt.Fprintln(stderr, "zuno:", err)
		return 2
	}
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(exit); !ok || exited < 0 {
				panic(p)
			} else {
				code = int(e)
			}
		}
	}()
	ctx, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "zuno: %v\nRun `zuno --help` for what it takes.\n", err)
		return 2
	}
	c.stdin, c.stdout, c.stderr = stdin, stdout, stderr
	inspect.InUse = tellInUse(stderr)
	return status(ctx.Run(&c.globals), stderr)
}

// status tells an error and gives the exit code that it stands for.
func status(err error, stderr io.Writer) int {
	var told exit
	switch {
	case errors.As(err, &told):
		return int(told)
	case err != nil:
		fmt.Fprintln(stderr, "zuno:", err)
		return 1
	}
	return 0
}
