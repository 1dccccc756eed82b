package demo

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What outlives the agent is found, named and ended, and nothing else is.
func TestSurvivorsAreEnded(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	family, ok := descendants(os.Getpid())
	if !ok {
		t.Skip("the system does not list processes")
	}
	var mine []process
	for _, p := range family {
		if p.pid == cmd.Process.Pid {
			mine = append(mine, p)
		}
	}
	if len(mine) != 1 || !strings.HasPrefix(names(mine), "sleep (") {
		t.Fatalf("found %s", names(family))
	}
	if other := []process{{pid: mine[0].pid, started: "another time"}}; len(end(context.Background(), other)) != 0 {
		t.Error("a process with a number that was given away again is taken for the one that had it")
	}
	if left := end(context.Background(), mine); len(left) != 0 {
		t.Errorf("still there: %s", names(left))
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended by itself")
	}
}

func TestUnfenced(t *testing.T) {
	for in, want := range map[string]string{"```\na\nb\n```": "a\nb", "````\n```\n````": "```", "plain\n": "plain", "": ""} {
		if got := unfenced(in); got != want {
			t.Errorf("unfenced(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"/tmp/a-b_1.x": "/tmp/a-b_1.x", "/a b": "'/a b'", "/it's": `'/it'\''s'`} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
