package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"zuno/internal/model/fake"
)

var update = flag.Bool("update", false, "rewrite what `cmp` compares with in the scripts")

// patience bounds every wait of a script; nothing in them waits for time to pass.
const patience = 30 * time.Second

// TestMain lets scripts run this program as `zuno`: a process of its own, with real pipes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"zuno": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }})
}

// TestScripts plays the stories of testscripts. Each runs in a fresh git worktree, $WORK/w, with an empty home. A file
// story.yaml in a script's archive is the model's script.
//
//	acp new [mcp:NAME…]              open a panel in the current folder; $SESSION is its id
//	acp permission HOW               how questions are answered: allow, session, reject, wait (until it is cancelled), hang (never), unknown (an option that was
//	                                 not offered), hold (by acp decide, whatever else has happened meanwhile)
//	acp decide OPTION                answers a question that is held
//	acp prompt TEXT                  send a prompt and wait; stdout has the stop reason, stderr the error; @FILE for a file's text;
//	                                 before the text as:NAME for the script's name of it, id:MESSAGEID and queue for its _meta
//	acp send TEXT / acp answer NAME  the same in two steps
//	acp pending NAME                 it is not answered yet
//	acp withdraw NAME                take it back with $/cancel_request
//	acp turn / acp callid            $TURN, $CALL are the newest that updates have named
//	acp receipts [REGEXP]            the steps of receipts that updates have told of; with a pattern, wait for it
//	acp wait REGEXP                  until what the editor holds matches
//	acp asked N                      until N questions came; stdout has the reason of the last, its title, places and options
//	acp shows REGEXP                 what the editor holds now
//	acp draw FILE                    write it down, with ids counted and paths below $WORK
//	acp cancel, close, list
//	acp load [SESSION] [mcp:NAME…]   replay into an empty editor
//	acp keep / acp same              remember what the editor holds / it holds exactly that, but for locations that cannot be opened or lie
//	                                 outside, which a load leaves out
//	acp start [terminal] [FLAG…]     start the agent with flags; other steps start it without. From terminal on the editor
//	                                 asks for display-only terminals
//	acp kill                         SIGKILL
//	acp dead                         until the agent has died of something else
//	acp end                          end of input; stdout has the exit status
//	acp restart                      the agent anew, after kill or end
//	acp log REGEXP                   what the agent that has ended wrote to its standard error
//	acp call METHOD JSON             any request; stdout has the result
//	acp notify METHOD JSON           any notification
//	acp updates                      stdout has the kinds of all updates so far
//	acp example SELECTOR…            stdout has messages of the wire as docs/acp.md shows them; the selectors stand at stepExample
//	acp silent                       the agent has no socket open
//	acp pid                          $PID is the agent's process
//	acp @NAME STEP …                 a step of a second editor with an agent of its own
//	raw start [FLAG…]                 start an agent that is spoken to line by line
//	raw send LINE…                  write lines to it, at once
//	raw wait REGEXP                 until a line matches, behind the one found last; stdout has it
//	raw get NAME REGEXP             the same; the variable is the first group
//	raw seen REGEXP                 something that it wrote matches
//	raw end, kill                    end of input, or SIGKILL; then raw stderr prints its standard error
//	waitfile FILE TEXT               until the file contains the text
//	gone FILE                        the process whose number the file holds is no more
//	lastline NAME FILE               the variable is the last line of the file
//	provider NAME SURFACE FILE       start a server that speaks chat, responses or messages and answers as the file says;
//	                                 $NAME_URL is its base
//	provider NAME asked N            it was asked N times
//	provider NAME request N          stdout has the Nth request: its line, its headers, its body
//	config FILE                      the global configuration, with ${VARIABLES} filled in; so are the files of servers
//	forge FILE                       append the file's events to the closed journal of $SESSION: a wire name and JSON a line
//	facts                            $INPUT1 …, $INPUT, $CONTROL, $TURN, $CYCLE, $REVISION and $COMMITS as its journal says
//	page NAME                        play the configurations and commands of a page in docs
//
// A step that fails prints the error's code, message and data on stderr; `!` before it expects that.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("..", "..", "testscripts"), UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: setupScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"acp": cmdACP, "raw": cmdRaw, "waitfile": cmdWaitFile, "gone": cmdGone, "lastline": cmdLastLine,
			"provider": cmdProvider, "config": cmdConfig, "page": cmdPage, "forge": cmdForge, "facts": cmdFacts,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "proc":
				_, err := os.Stat("/proc/self/fd")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// goSettings let the go command find its build cache although the home is another.
var goSettings = sync.OnceValue(func() (vars []string) {
	for _, name := range []string{"GOCACHE", "GOPATH", "GOMODCACHE"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			vars = append(vars, name+"="+strings.TrimSpace(string(out)))
		}
	}
	return append(vars, "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local")
})

func setupScript(e *testscript.Env) error {
	at := func(name string) string { return filepath.Join(e.WorkDir, name) }
	e.Setenv("HOME", at("home"))
	e.Setenv("ZUNO_DATA_DIR", at("data"))
	e.Setenv("XDG_CONFIG_HOME", at("config"))
	e.Setenv("XDG_STATE_HOME", at("state"))
	e.Setenv("XDG_DATA_HOME", at("share"))
	e.Setenv("XDG_CACHE_HOME", at("cache"))
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	e.Setenv("GORACE", "atexit_sleep_ms=0") // a race build waits a second at each exit otherwise
	for _, v := range goSettings() {
		name, value, _ := strings.Cut(v, "=")
		e.Setenv(name, value)
	}
	e.Cd = at("w")
	for _, dir := range []string{e.Cd, at("home"), at("config/zuno")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if out, err := exec.Command("git", "init", "-q", e.Cd).CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w\n%s", err, out)
	}
	if _, err := os.Stat(at("story.yaml")); err == nil {
		config := fmt.Sprintf(`{ "model": "scripted/story", "provider": { "scripted": { "type": "scripted", "options": { "script": %q } } } }`, at("story.yaml"))
		if err := os.WriteFile(at("config/zuno/zuno.json"), []byte(config), 0o644); err != nil {
			return err
		}
	}
	players := map[string]*player{}
	e.Values[playerKey{}] = players
	raw := &rawAgent{}
	e.Values[rawKey{}] = raw
	servers := map[string]*fake.Server{}
	e.Values[serversKey{}] = servers
	e.Defer(func() {
		for _, p := range players {
			p.finish(e.T())
		}
		if raw.cmd != nil { // the script failed
			_ = raw.cmd.Process.Kill()
			_ = raw.cmd.Wait()
		}
		for _, s := range servers {
			s.Close()
		}
	})
	return nil
}

func cmdWaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfile FILE TEXT")
	}
	poll(ts, func() bool {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && strings.Contains(string(b), args[1])
	}, "%s does not contain %q", args[0], args[1])
}

func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	pid := strings.TrimSpace(ts.ReadFile(args[0]))
	if !regexp.MustCompile(`^[0-9]+$`).MatchString(pid) {
		ts.Fatalf("%s holds no process number: %q", args[0], pid)
	}
	poll(ts, func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, "process %s is still there", pid)
}

func cmdLastLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lastline NAME FILE")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n")
	ts.Setenv(args[0], lines[len(lines)-1])
}

// poll looks for what has no event to wait for.
func poll(ts *testscript.TestScript, ok func() bool, format string, a ...any) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			ts.Fatalf("waited long enough: "+format, a...)
		}
	}
}
