package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"zuno/internal/model/scripted"
)

// prepare makes the worktree with its failing test, and an environment in which nothing of the user's own decides.
func (s *show) prepare(ctx context.Context) (err error) {
	for _, name := range []string{"go", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("the demo needs %s on PATH: %w", name, err)
		}
	}
	if s.folder, err = os.MkdirTemp("", "zuno-demo-"); err != nil {
		return err
	}
	if s.folder, err = filepath.EvalSymlinks(s.folder); err != nil {
		return err
	}
	s.tree, s.data = filepath.Join(s.folder, "calc"), filepath.Join(s.folder, "data")
	s.p.tree = s.tree
	s.environ, err = environment(ctx, s.folder, s.data)
	if err != nil {
		return err
	}
	if err := os.Mkdir(s.tree, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"go.mod": scripted.DemoGoMod, "calc.go": scripted.DemoCalc, "calc_test.go": scripted.DemoCalcTest} {
		if err := os.WriteFile(filepath.Join(s.tree, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "A package that cannot add"}} {
		git := exec.CommandContext(ctx, "git", args...)
		git.Dir = s.tree
		git.Env = append(s.environ, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=demo", "GIT_AUTHOR_EMAIL=demo@localhost",
			"GIT_COMMITTER_NAME=demo", "GIT_COMMITTER_EMAIL=demo@localhost")
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
	}
	s.p.say("zuno %s, driven as an editor drives it: `zuno acp` over pipes. Everything happens in\n%s and is kept.", s.o.Version, s.folder)
	return nil
}

// environment is the user's, without what configures zuno or git, or makes Go look elsewhere than into the worktree. The
// settings of `go env -w` stay: they may say where the build cache is.
func environment(ctx context.Context, folder, data string) ([]string, error) {
	goenv, err := exec.CommandContext(ctx, "go", "env", "GOENV").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var kept []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(strings.ToUpper(name), "ZUNO_"), strings.HasPrefix(name, "GIT_"):
		case name == "XDG_CONFIG_HOME", name == "XDG_STATE_HOME", name == "GOFLAGS", name == "GOWORK", name == "GOENV", name == "PWD":
		default:
			kept = append(kept, entry)
		}
	}
	return append(kept, "ZUNO_DATA_DIR="+data, "XDG_CONFIG_HOME="+filepath.Join(folder, "config"), "XDG_STATE_HOME="+filepath.Join(folder, "state"),
		"GOFLAGS=", "GOWORK=off", "GOENV="+strings.TrimSpace(string(goenv))), nil
}

// quote makes a path one word of a shell.
func quote(path string) string {
	if strings.IndexFunc(path, func(r rune) bool {
		return r != '/' && r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
