package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"zuno/internal/config"
	"zuno/internal/permission"
	"zuno/journal/event"
)

// world is a home folder and a worktree with a folder below.
type world struct {
	t                 *testing.T
	home, root, below string
	env               map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, home: filepath.Join(dir, "home"), root: filepath.Join(dir, "repo"),
		below: filepath.Join(dir, "repo", "a", "b"), env: map[string]string{},
	}
	for _, d := range []string{w.global(), filepath.Join(w.root, ".git"), w.below} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) global() string { return filepath.Join(w.home, ".config", "zuno") }

func (w *world) write(dir, text string) string {
	w.t.Helper()
	path := filepath.Join(dir, "zuno.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) options() config.Options {
	return config.Options{Cwd: w.below, Home: w.home, Getenv: func(name string) string { return w.env[name] }}
}

func (w *world) load() *config.Config {
	w.t.Helper()
	c, err := config.Load(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// refused loads and returns the error, which has a code and at most three lines.
func (w *world) refused(code config.Code) *config.Error {
	w.t.Helper()
	_, err := config.Load(w.options())
	var e *config.Error
	if !errors.As(err, &e) {
		w.t.Fatalf("got %v, want an error with code %s", err, code)
	}
	if e.Code != code || strings.Count(e.Error(), "\n") > 2 {
		w.t.Errorf("got code %s, want %s:\n%v", e.Code, code, e)
	}
	return e
}

// spec: D107 D116
func TestNothingConfigured(t *testing.T) {
	w := newWorld(t)
	c := w.load()
	want := event.ModelChoice{Provider: "scripted", Name: "demo", Surface: "scripted", Context: 200_000}
	if c.Model != want || c.Provider.Options.Script != "" || c.Worktree != w.root || len(c.Files) != 0 {
		t.Errorf("got %+v", c)
	}
	p := c.Policy(config.Flags{Agent: "build"})
	if p.Mode != event.ModeStandard || p.Agent != "build" || p.Concurrency != 8 || p.Shell.HardCeilingMS != 1_800_000 || p.Headless {
		t.Errorf("got %+v", p)
	}
}

// spec: D117 D108 D116
func TestLayers(t *testing.T) {
	w := newWorld(t)
	layers := []struct{ dir, name string }{
		{w.global(), "global"}, {w.root, "root"}, {filepath.Dir(w.below), "middle"}, {w.below, "below"},
	}
	for i, l := range layers {
		w.write(l.dir, fmt.Sprintf(`{
			// nearest wins, objects merge
			"model": "scripted/%[1]s",
			"provider": { "scripted": { "type": "scripted", "options": { "script": "%[1]s.yaml" },
				"models": { "m%[2]d": { "limit": { "context": 1000, "output": 10, }, }, "below": { "limit": { "context": 1%[2]d } } }, }, },
			"shell": { "hard_ceiling_ms": 5%[2]d }, /* the end */
		}`, l.name, i))
		c := w.load()
		if c.Model.Name != l.name || c.Provider.Options.Script != filepath.Join(l.dir, l.name+".yaml") {
			t.Errorf("%s: got %+v of %+v", l.name, c.Model, c.Provider)
		}
		if len(c.Provider.Models) != i+2 || c.Shell.HardCeilingMS != uint64(50+i) || len(c.Files) != i+1 {
			t.Errorf("%s: got %+v", l.name, c)
		}
	}
	if c := w.load(); c.Model.Context != 13 || c.Model.Output != 0 {
		t.Errorf("limits: %+v", c.Model)
	}
	w.env["ZUNO_CONFIG_CONTENT"] = `{"model": "scripted/inline", "provider": {"scripted": {"options": {"script": "inline.yaml"}}}}`
	if c := w.load(); c.Model.Name != "inline" || c.Provider.Options.Script != filepath.Join(w.below, "inline.yaml") || c.Shell.HardCeilingMS != 53 {
		t.Errorf("inline: %+v", c)
	}
	o := w.options()
	o.Override = config.Override{Model: "scripted/m0", Mode: event.ModeAllowAll}
	c, err := config.Load(o)
	if err != nil || c.Model.Name != "m0" || c.Model.Context != 1000 || c.Model.Output != 10 || c.Mode != event.ModeAllowAll {
		t.Errorf("flags: %+v, %v", c, err)
	}
}

// spec: D117
func TestNullSaysNothing(t *testing.T) {
	w := newWorld(t)
	w.write(w.global(), `{"model": "scripted/demo", "permission": {"mode": "strict", "rules": {"shell": "deny"}}, "shell": {"hard_ceiling_ms": 9}}`)
	w.write(w.root, `{"model": null, "permission": {"mode": null, "rules": {"shell": null, "read": {"*": null}}}, "shell": null, "provider": {"x": null}}`)
	if c := w.load(); c.Mode != event.ModeStrict || c.Shell.HardCeilingMS != 9 || len(c.Rules) != 1 {
		t.Errorf("got %+v", c)
	}
}

// spec: D117
func TestOnlyTheFolderOutsideOfAWorktree(t *testing.T) {
	w := newWorld(t)
	if err := os.Remove(filepath.Join(w.root, ".git")); err != nil {
		t.Fatal(err)
	}
	w.write(w.root, `{"shell": {"hard_ceiling_ms": 1}}`)
	w.write(w.below, `{"permission": {"mode": "strict"}}`)
	c := w.load()
	if c.Worktree != w.below || c.Mode != event.ModeStrict || c.Shell.HardCeilingMS != config.DefaultHardCeilingMS {
		t.Errorf("got %+v", c)
	}
}

// A worktree that git made has a file named .git, and a link into one is followed as git does.
//
// spec: D117
func TestWorktree(t *testing.T) {
	w := newWorld(t)
	linked := filepath.Join(w.below, ".git")
	if err := os.WriteFile(linked, []byte("gitdir: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := config.Worktree(filepath.Join(w.below, "c", "d")); got != w.below {
		t.Errorf("a file .git: got %s", got)
	}
	link := filepath.Join(w.home, "link")
	if err := os.Symlink(filepath.Dir(w.below), link); err != nil {
		t.Fatal(err)
	}
	if got := config.Worktree(link); got != w.root {
		t.Errorf("through a link: got %s", got)
	}
	if got := config.Worktree(w.home); got != w.home {
		t.Errorf("outside: got %s", got)
	}
}

// The folder of the global file may be a session's folder; its file is then no project file.
//
// spec: D119
func TestTheGlobalFileIsNoProjectFile(t *testing.T) {
	w := newWorld(t)
	w.write(w.global(), `{"permission": {"mode": "allow_all"}}`)
	w.below = w.global()
	if c := w.load(); c.Mode != event.ModeAllowAll || len(c.Files) != 1 {
		t.Errorf("got %+v", c)
	}
}

// spec: D118
func TestUnknownKeysAreNamedAllAtOnce(t *testing.T) {
	w := newWorld(t)
	global := w.write(w.global(), "{\n  \"theme\": \"dark\",\n  \"permission\": { \"colour\": 1 }\n}")
	project := w.write(w.root, `{"provider": {"scripted": {"surface": 3, "options": {"apiKey": "hunter2"}, "models": {"gpt-4.1": {"limit": {"in": 1}, "x y": 2}}}}}`)
	w.env["ZUNO_CONFIG_CONTENT"] = `{"shell": {"path": "/bin/sh"}, "theme": 1, "a\nb": 1}`
	text := w.refused(config.UnknownKey).Error()
	for _, part := range []string{
		global + ":2: theme", global + ":3: permission.colour",
		project + ":1: provider.scripted.surface", "provider.scripted.options.apiKey",
		`provider.scripted.models."gpt-4.1".limit.in`, `provider.scripted.models."gpt-4.1"."x y"`,
		"ZUNO_CONFIG_CONTENT:1: shell.path", "ZUNO_CONFIG_CONTENT:1: theme", `"a\nb"`,
		"model, permission, provider and shell",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Error("the error shows a value")
	}
}

// spec: D118 D150
func TestInvalidValues(t *testing.T) {
	for _, tt := range []struct{ text, what string }{
		{`{"model": 3}`, "model must be a string, not a number"},
		{`{"model": ""}`, "model must not be empty"},
		{`{"model": "demo"}`, `model must be "provider/model", not "demo"`},
		{`{"model": "/demo"}`, `model must be "provider/model", not "/demo"`},
		{`{"permission": "allow"}`, "permission must be an object, not a string"},
		{`{"permission": {"mode": "open"}}`, `permission.mode must be "standard", "strict" or "allow_all", not "open"`},
		{`{"permission": {"mode": true}}`, `permission.mode must be "standard", "strict" or "allow_all", not a boolean`},
		{`{"permission": {"rules": ["shell"]}}`, "permission.rules must be an object, not a list"},
		{`{"permission": {"rules": "allow"}}`, "permission.rules must be an object, not a string"},
		{`{"permission": {"rules": {"shell": "yes"}}}`, `permission.rules.shell must be "allow", "ask" or "deny", not "yes"`},
		{`{"permission": {"rules": {"shell": {"git *": true}}}}`, `permission.rules.shell."git *" must be "allow", "ask" or "deny", not a boolean`},
		{`{"permission": {"rules": {"shell": {"": "deny"}}}}`, "permission.rules.shell has an empty key"},
		{`{"permission": {"rules": {"": "deny"}}}`, "permission.rules has an empty key"},
		{`{"provider": []}`, "provider must be an object, not a list"},
		{`{"provider": {"scripted": {"type": ""}}}`, "provider.scripted.type must not be empty"},
		{`{"provider": {"mine": {}}}`, "provider.mine names no type"},
		{`{"provider": {"scripted": {"options": {"script": 1}}}}`, "provider.scripted.options.script must be a string, not a number"},
		{`{"provider": {"scripted": {"models": {"m": {"limit": {"context": 0}}}}}}`, "provider.scripted.models.m.limit.context must be a whole number from 1 to 1000000000"},
		{`{"shell": {"hard_ceiling_ms": "5"}}`, "shell.hard_ceiling_ms must be a whole number from 1 to 86400000"},
		{`{"shell": {"hard_ceiling_ms": 1.5}}`, "shell.hard_ceiling_ms must be a whole number from 1 to 86400000"},
	} {
		w := newWorld(t)
		file := w.write(w.root, tt.text)
		if e := w.refused(config.InvalidValue); e.What != tt.what || len(e.Places) != 1 || e.Places[0].File != file || e.Places[0].Line != 1 {
			t.Errorf("%s: got\n%v", tt.text, e)
		}
	}
}

// spec: D150
func TestMalformed(t *testing.T) {
	for _, tt := range []struct {
		text, what string
		line       int
	}{
		{"", "empty", 1},
		{"// nothing\n", "empty", 1},
		{"{\n  \"model\": \"scripted/demo\",\n", "unexpected end of JSON input", 2},
		{"{\n\n  model: 1\n}", "invalid character 'm'", 3},
		{"{\"a\": [,]}", "invalid character ','", 1},
		{"{,}", "invalid character ','", 1},
		{"{\"a\": 1,,}", "invalid character ','", 1},
		{"{}\n{}", "after top-level value", 2},
		{"[]", "must be an object, not a list", 1},
		{"{\n/* open\n", "never closed", 2},
		{"{\n\"model\": \"\xff\"}", "not UTF-8", 2},
		{"{\n\"model\": \"a/b\",\n\"model\": \"c/d\"}", `"model" is given twice`, 3},
		{"{\"shell\": " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}", "nested deeper", 1},
	} {
		w := newWorld(t)
		file := w.write(w.global(), tt.text)
		e := w.refused(config.Malformed)
		if !strings.Contains(e.What, tt.what) || e.Places[0] != (config.Place{File: file, Line: tt.line}) {
			t.Errorf("%q: got\n%v", tt.text, e)
		}
	}
}

// spec: D117
func TestCommentsInStringsStay(t *testing.T) {
	w := newWorld(t)
	w.write(w.global(), "\uFEFF"+`{"model": "scripted/a//b/*c*/,}\"", "provider": {"scripted": {"options": {"script": "/x,]"}}}, /**/ }`)
	if c := w.load(); c.Model.Name != `a//b/*c*/,}"` || c.Provider.Options.Script != "/x,]" {
		t.Errorf("got %+v", c)
	}
}

// spec: D119 D311
func TestAProjectMayOnlyNarrow(t *testing.T) {
	for _, text := range []string{
		`{"permission": {"mode": "allow_all"}}`, `{"permission": {"mode": "standard"}}`,
	} {
		for _, where := range []string{"root", "below"} {
			w := newWorld(t)
			dir := map[string]string{"root": w.root, "below": w.below}[where]
			file := w.write(dir, text)
			if e := w.refused(config.ProjectWidens); e.Places[0].File != file || e.Places[0].Key != "permission.mode" {
				t.Errorf("%s in %s: got\n%v", text, where, e)
			}
		}
	}
	w := newWorld(t)
	w.write(w.root, `{"permission": {"rules": {"shell": {"git *": "allow", "rm *": "deny"}, "read": "allow"}}}`)
	e := w.refused(config.ProjectWidens)
	if len(e.Places) != 2 || e.Places[0].Key != `permission.rules.shell."git *"` || e.Places[1].Key != "permission.rules.read" {
		t.Errorf("got\n%v", e)
	}

	w = newWorld(t)
	w.write(w.root, `{"permission": {"mode": "strict"}}`)
	if c := w.load(); c.Mode != event.ModeStrict {
		t.Errorf("got %s", c.Mode)
	}
	w.env["ZUNO_CONFIG_CONTENT"] = `{"permission": {"mode": "allow_all"}}`
	if c := w.load(); c.Mode != event.ModeAllowAll {
		t.Errorf("got %s", c.Mode)
	}
}

func shell(p event.Policy) permission.Verdict {
	return permission.Decide(p, "shell", event.Declaration{Effect: event.SideEffecting},
		[]permission.Access{{Kind: event.AccessExecute, Place: event.PlaceNone, Name: "git push"}})
}

// The names of a policy's own actions are shared with the package that reads them by these cases alone.
//
// spec: D012 D117 D119 D311
func TestRulesAcrossLayers(t *testing.T) {
	for _, tt := range []struct {
		name, global, project, below, inline string
		allow                                []string
		want                                 event.Action
	}{
		{name: "nothing", want: event.Ask},
		{name: "global", global: `"shell": "allow"`, want: event.Allow},
		{name: "order", global: `"shell": "allow", "*": "ask"`, want: event.Ask},
		{name: "a higher layer's key comes last", global: `"shell": "deny", "*": "ask"`, inline: `"shell": "allow"`, want: event.Allow},
		{name: "objects merge", global: `"shell": {"*": "allow", "git *": "deny"}`, inline: `"shell": {"git *": "ask"}`, want: event.Ask},
		{name: "a text replaces an object", global: `"shell": {"git *": "deny"}`, inline: `"shell": "allow"`, want: event.Allow},
		{name: "an object replaces a text", global: `"shell": "allow"`, inline: `"shell": {"rm *": "deny"}`, want: event.Ask},
		{name: "project denies", global: `"shell": "allow"`, project: `"shell": "deny"`, want: event.Deny},
		{name: "project asks", global: `"shell": "allow"`, project: `"*": "ask"`, want: event.Ask},
		{name: "project lifts no denial", global: `"shell": "deny"`, project: `"shell": "ask"`, want: event.Deny},
		{name: "project replaces no denial", global: `"shell": "deny"`, project: `"shell": {"ls": "ask"}`, want: event.Deny},
		{name: "nearer project file wins", global: `"shell": "allow"`, project: `"shell": "deny"`, below: `"shell": "ask"`, want: event.Ask},
		{name: "inline above project", project: `"shell": "deny"`, inline: `"shell": "allow"`, want: event.Allow},
		{name: "flag", allow: []string{"read", "", "shell"}, want: event.Allow},
		{name: "flag lifts no denial", project: `"shell": "deny"`, allow: []string{"shell"}, want: event.Deny},
		{name: "flag over asking rules", global: `"shell": {"git *": "ask"}`, project: `"shell": "ask"`, allow: []string{"shell"}, want: event.Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			document := func(rules string) string { return `{"permission": {"rules": {` + rules + `}}}` }
			w.write(w.global(), document(tt.global))
			w.write(w.root, document(tt.project))
			w.write(w.below, document(tt.below))
			w.env["ZUNO_CONFIG_CONTENT"] = document(tt.inline)
			c := w.load()
			if got := shell(c.Policy(config.Flags{Allow: tt.allow})); got.Action != tt.want {
				t.Errorf("got %+v, want %s, rules %v", got, tt.want, c.Rules)
			}
		})
	}
}

// What a headless refusal prints is put where it says, and the call runs.
//
// spec: D012
func TestThePrintedLineApplied(t *testing.T) {
	for _, project := range []string{`{}`, `{"permission": {"rules": {"shell": "ask"}}}`, `{"permission": {"mode": "strict"}}`} {
		for _, where := range []string{"the global zuno.json", "ZUNO_CONFIG_CONTENT"} {
			w := newWorld(t)
			w.write(w.root, project)
			refused := shell(w.load().Policy(config.Flags{Headless: true}))
			if refused.Action != event.Deny {
				t.Fatalf("got %+v", refused)
			}
			if !strings.Contains(refused.Reason, where) {
				continue
			}
			_, line, _ := strings.Cut(refused.Reason, "allows it: ")
			line, _, _ = strings.Cut(line, "; for this run")
			if where == "ZUNO_CONFIG_CONTENT" {
				w.env[where] = "{" + line + "}"
			} else {
				w.write(w.global(), "{"+line+"}")
			}
			if got := shell(w.load().Policy(config.Flags{Headless: true})); got.Action != event.Allow {
				t.Errorf("project %s, line %s in %s: %+v", project, line, where, got)
			}
		}
	}
}

// spec: D117
func TestRulesKeepTheirOrderAndKnowHome(t *testing.T) {
	w := newWorld(t)
	w.write(w.global(), `{"permission": {"rules": {"*": "ask", "read": {"~/notes/*": "allow", "$HOME/x": "deny", "~user": "ask"}, "shell": {"~/bin/*": "allow"}, "edit": "deny"}}}`)
	want := []event.Rule{
		{Tool: "*", Action: event.Ask},
		{Tool: "read", Pattern: w.home + "/notes/*", Action: event.Allow},
		{Tool: "read", Pattern: w.home + "/x", Action: event.Deny},
		{Tool: "read", Pattern: "~user", Action: event.Ask},
		{Tool: "shell", Pattern: "~/bin/*", Action: event.Allow},
		{Tool: "edit", Action: event.Deny},
	}
	if c := w.load(); !reflect.DeepEqual(c.Rules, want) {
		t.Errorf("got %v", c.Rules)
	}
}

// spec: D108
func TestModelsAndProviders(t *testing.T) {
	for _, tt := range []struct {
		text string
		code config.Code
		part string
	}{
		{`{"model": "scripted/other"}`, config.ScriptMissing, `"scripted/other" has no script`},
		{`{"model": "mine/x", "provider": {"mine": {"type": "scripted"}}}`, config.ScriptMissing, "provider.mine.options.script"},
		{`{"model": "openai/gpt"}`, config.ProviderMissing, `not configured: "openai"`},
		{`{"provider": {"google": {"type": "google", "options": {"x": "hunter2"}}}}`, config.ProviderUnavailable, `"google" is not available in this build`},
		{`{"provider": {"a": {"type": "bedrock"}}}`, config.ProviderUnavailable, ":1: provider.a.type"},
	} {
		w := newWorld(t)
		file := w.write(w.root, tt.text)
		e := w.refused(tt.code)
		if text := e.Error(); !strings.Contains(text, tt.part) || !strings.Contains(text, file+":1: ") || strings.Contains(text, "hunter2") {
			t.Errorf("%s: got\n%v", tt.text, e)
		}
	}
	w := newWorld(t)
	w.write(w.root, `{"model": "mine/any/name", "provider": {"mine": {"type": "scripted", "options": {"script": "/s.yaml"}}}}`)
	c := w.load()
	if c.Model != (event.ModelChoice{Provider: "mine", Name: "any/name", Surface: "scripted", Context: 200_000}) {
		t.Errorf("got %+v", c.Model)
	}
	if choice, p, err := c.Choose("scripted/demo"); err != nil || choice.Name != "demo" || p.Options.Script != "" {
		t.Errorf("got %+v %+v %v", choice, p, err)
	}
	for _, name := range []string{"scripted/x", "no/x", "x"} {
		if _, _, err := c.Choose(name); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// spec: D119
func TestInvalidFlags(t *testing.T) {
	w := newWorld(t)
	for _, o := range []config.Override{{Mode: "open"}, {Model: "demo"}, {Model: "no/x"}} {
		options := w.options()
		options.Override = o
		_, err := config.Load(options)
		if e := (*config.Error)(nil); !errors.As(err, &e) || !strings.Contains(e.Error(), "the flag") {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	if _, err := config.Load(config.Options{Cwd: "relative"}); err == nil {
		t.Error("a relative folder is accepted")
	}
}

// spec: D150
func TestUnreadableFiles(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"pipe":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
		"device":        func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		w := newWorld(t)
		path := filepath.Join(w.root, "zuno.json")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if e := w.refused(config.Unreadable); e.Places[0].File != path {
			t.Errorf("%s: got\n%v", name, e)
		}
	}
	w := newWorld(t)
	w.write(w.root, strings.Repeat(" ", config.MaxFile)+"{}")
	w.refused(config.TooLarge)
	w = newWorld(t)
	w.write(w.root, strings.Repeat(" ", config.MaxFile-2)+"{}")
	w.load()
	w.env["ZUNO_CONFIG_CONTENT"] = strings.Repeat(" ", config.MaxFile+1)
	w.refused(config.TooLarge)
}

// spec: D120
func TestDirs(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		env  map[string]string
		want config.Dirs
	}{
		{map[string]string{"HOME": "/h"}, config.Dirs{Config: "/h/.config/zuno", Data: "/h/.local/share/zuno", State: "/h/.local/state/zuno"}},
		{
			map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_STATE_HOME": "/s"},
			config.Dirs{Config: "/c/zuno", Data: "/d/zuno", State: "/s/zuno"},
		},
		{
			map[string]string{"HOME": "/h", "XDG_DATA_HOME": "relative"},
			config.Dirs{Config: "/h/.config/zuno", Data: "/h/.local/share/zuno", State: "/h/.local/state/zuno"},
		},
		{map[string]string{"ZUNO_DATA_DIR": "/z/", "ZUNO_DB": "/y"}, config.Dirs{Data: "/z"}},
		{map[string]string{"ZUNO_DB": "/y"}, config.Dirs{Data: "/y"}},
		{map[string]string{"ZUNO_DB": "y"}, config.Dirs{Data: filepath.Join(here, "y")}},
	} {
		got, err := config.FindDirs(config.Options{Getenv: func(name string) string { return tt.env[name] }})
		if err != nil || got != tt.want {
			t.Errorf("%v: got %+v, %v", tt.env, got, err)
		}
	}
	for _, env := range []map[string]string{{}, {"HOME": "relative"}, {"HOME": "/h", "ZUNO_DB": ":memory:"}} {
		if _, err := config.FindDirs(config.Options{Getenv: func(name string) string { return env[name] }}); err == nil {
			t.Errorf("%v is accepted", env)
		}
	}
	if c, err := config.Load(config.Options{Cwd: "/"}); err != nil || c.Model.Name != "demo" {
		t.Errorf("without an environment: %+v, %v", c, err)
	}
}

// spec: D031
func TestSecretsAreNeverPrinted(t *testing.T) {
	type holder struct {
		Exported config.ProviderOptions
		private  config.Secret
	}
	s := config.NewSecret("hunter2")
	h := holder{config.ProviderOptions{APIKey: s, Headers: []config.Header{{Name: "x", Value: s}}}, s}
	c := &config.Config{Provider: config.Provider{Options: h.Exported}, Providers: []config.Provider{{Options: h.Exported}}}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb+verb+verb, s, h, c, *c)
	}
	for _, v := range []any{s, h, c} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
	}
	if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), fmt.Sprintf("%x", "hunter2")) {
		t.Errorf("a secret is printed: %s", out.String())
	}
	if s.Reveal() != "hunter2" || (config.Secret{}).Reveal() != "" || !(config.Secret{}).IsZero() || fmt.Sprint(config.Secret{}) != "" {
		t.Error("Reveal does not")
	}
}

// spec: D150
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"model": "scripted/demo",}`, "{/* */}", "{// \n}", `{"permission": {"rules": {"shell": {"a": "deny"}}}}`, `[[,`, `"\`, `{"a":"\u`,
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		o := config.Options{Cwd: dir, Getenv: func(name string) string {
			if name == "ZUNO_CONFIG_CONTENT" {
				return text
			}
			return ""
		}}
		c, err := config.Load(o)
		if e := (*config.Error)(nil); err != nil && (!errors.As(err, &e) || strings.Count(e.Error(), "\n") > 2 || len(e.Places) == 0) {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && c.Model.Name == "" {
			t.Errorf("%q: no model", text)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	o := config.Options{Cwd: dir, Getenv: func(name string) string {
		if name == "ZUNO_CONFIG_CONTENT" {
			return `{"model": "scripted/x", "provider": {"scripted": {"type": "scripted", "options": {"script": "s.yaml"}}}, "permission": {"rules": {"shell": "allow"}}}`
		}
		return ""
	}}
	for b.Loop() {
		if _, err := config.Load(o); err != nil {
			b.Fatal(err)
		}
	}
}
