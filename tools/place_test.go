package tools

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"zuno/journal/event"
)

// The target of a link counts, of what does not exist its deepest existing ancestor, and environment files wherever
// they lie.
//
// spec: D121
func TestPlaces(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "a"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(root, ".env"), nil, 0o644))
	for name, target := range map[string]string{
		"in": "a", "out": filepath.Join(outside, "x"), "outdir": outside, "self": ".", "dangling": "sub/new",
		"loop": "loop", "secret": ".env", "far": "/dev/zero", "up": "../../../../../../../etc/passwd",
	} {
		must(t, os.Symlink(target, filepath.Join(root, name)))
	}
	must(t, unix.Mkfifo(filepath.Join(root, "p"), 0o600))
	alias := filepath.Join(t.TempDir(), "alias")
	must(t, os.Symlink(root, alias))

	for _, w := range []Where{{Cwd: root}, {Cwd: filepath.Join(root, "sub"), Worktree: root}, {Cwd: alias, Worktree: alias}} {
		for _, c := range []struct {
			path  string
			place event.Place
		}{
			{filepath.Join(root, "a"), event.PlaceInside},
			{filepath.Join(alias, "a"), event.PlaceInside},
			{root, event.PlaceInside},
			{filepath.Join(root, "new/deep/file"), event.PlaceInside},
			{filepath.Join(root, "a/below-a-file"), event.PlaceInside},
			{filepath.Join(root, "in"), event.PlaceInside},
			{filepath.Join(root, "self/self/a"), event.PlaceInside},
			{filepath.Join(root, "dangling"), event.PlaceInside},
			{filepath.Join(root, "p"), event.PlaceInside},
			{filepath.Join(root, "out"), event.PlaceOutside},
			{filepath.Join(root, "outdir"), event.PlaceOutside},
			{filepath.Join(root, "outdir/new/file"), event.PlaceOutside},
			{filepath.Join(root, "far"), event.PlaceOutside},
			{filepath.Join(root, "up"), event.PlaceOutside},
			{filepath.Join(root, "loop"), event.PlaceOutside},
			{root + "-beside", event.PlaceOutside},
			{filepath.Join(root, "../x"), event.PlaceOutside},
			{outside, event.PlaceOutside},
			{filepath.Join(root, ".env"), event.PlaceSecret},
			{filepath.Join(root, ".ENV.local"), event.PlaceSecret},
			{filepath.Join(root, "secret"), event.PlaceSecret},
			{filepath.Join(outside, ".env.prod"), event.PlaceSecret},
			{"/proc/self/environ", event.PlaceSecret},
		} {
			if got := w.Locate(c.path); got.Place != c.place {
				t.Errorf("cwd %s: %s is %s (%s), want %s", w.Cwd, c.path, got.Place, got.Real, c.place)
			}
		}
	}
	if got := (Where{Cwd: root}).Locate("sub/../a"); got.Named != filepath.Join(root, "a") || !got.Exists {
		t.Errorf("relative: %+v", got)
	}
	if got := (Where{Cwd: root}).Locate("dangling"); got.Exists || filepath.Base(got.Real) != "new" {
		t.Errorf("dangling: %+v", got)
	}
	if got := (Where{Cwd: root}).Locate("loop"); got.Err == nil {
		t.Errorf("loop: %+v", got)
	}
}

// What git keeps is known by name, by where a link leads, and by what the worktree's own .git leads to; what merely looks
// like it is not.
//
// spec: D121
func TestGitIsKnown(t *testing.T) {
	base := t.TempDir()
	root, other := filepath.Join(base, ".git/worktrees/tree"), filepath.Join(base, "other") // a worktree that lies in a .git itself
	for _, dir := range []string{"sub/.git/hooks", "src", "meta/hooks"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	must(t, os.MkdirAll(filepath.Join(other, ".git"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, ".git"), nil, 0o644)) // of a linked worktree
	for name, target := range map[string]string{
		"hooks": "sub/.git/hooks", "file": ".git", "far": filepath.Join(other, ".git"), "new": "sub/.git/new/deep", "twice": "hooks", "out": "../../config",
	} {
		must(t, os.Symlink(target, filepath.Join(root, name)))
	}
	alias := filepath.Join(t.TempDir(), "alias")
	must(t, os.Symlink(root, alias))
	check := func(git bool, paths ...string) {
		t.Helper()
		for _, w := range []Where{{Cwd: root}, {Cwd: filepath.Join(root, "src"), Worktree: root}, {Cwd: alias, Worktree: alias}} {
			for _, path := range paths {
				if !filepath.IsAbs(path) {
					path = filepath.Join(w.root(), path)
				}
				got := w.Locate(path)
				if got.Git != git || (got.WritePlace() == event.PlaceGit) != git || got.Place == event.PlaceGit {
					t.Errorf("root %s: %s (%s): %t, place %s, for a write %s", w.root(), path, got.Real, got.Git, got.Place, got.WritePlace())
				}
			}
		}
	}
	check(true, ".git", ".git/config", ".GIT/hooks/x", ".Git", "sub/.git/hooks/pre-commit", "deep/er/.git", ".git./config", ".git /config", "GIT~1/config",
		".g\u200cit/config", "hooks/x", "hooks", "file", "far/config", "new", "twice/x", "src/../.git", filepath.Join(other, ".git/config"), "out")
	check(false, "src/a", ".gitignore", ".github/workflows/x", ".gitmodules", "git", "x.git/config", ".git2", "..git", "src/.gitattributes", "meta/hooks/x",
		filepath.Join(other, "a"), "git~2")

	must(t, os.Remove(filepath.Join(root, ".git")))
	must(t, os.Symlink("meta", filepath.Join(root, ".git")))
	check(true, "meta/hooks/x", "meta", ".git/hooks/x")
	check(false, "src/a", "metal")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
