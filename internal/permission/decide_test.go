package permission_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"zuno/internal/permission"
	"zuno/journal/event"
)

var (
	readInside   = permission.Access{Kind: event.AccessRead, Place: event.PlaceInside, Name: "/w/main.go"}
	writeInside  = permission.Access{Kind: event.AccessWrite, Place: event.PlaceInside, Name: "/w/src/main.go"}
	readOutside  = permission.Access{Kind: event.AccessRead, Place: event.PlaceOutside, Name: "/etc/hosts"}
	writeOutside = permission.Access{Kind: event.AccessWrite, Place: event.PlaceOutside, Name: "/tmp/x"}
	readSecret   = permission.Access{Kind: event.AccessRead, Place: event.PlaceSecret, Name: "/w/.env"}
	writeGit     = permission.Access{Kind: event.AccessWrite, Place: event.PlaceGit, Name: "/w/.git/hooks/pre-commit"}
	reads        = event.Declaration{Effect: event.ReadOnly}
	writes       = event.Declaration{Effect: event.SideEffecting}
)

func command(text string) permission.Access {
	return permission.Access{Kind: event.AccessExecute, Place: event.PlaceNone, Name: text}
}

func rules(lines ...string) []event.Rule {
	var list []event.Rule
	for _, line := range lines {
		f := strings.Split(line, "|")
		list = append(list, event.Rule{Tool: f[0], Pattern: f[1], Action: event.Action(f[2])})
	}
	return list
}

// spec: D121 D012
func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		name     string
		tool     string
		declared event.Declaration
		accesses []permission.Access
		want     event.Action
		rule     string
	}{
		{"read inside", "read", reads, []permission.Access{readInside}, event.Allow, "default: reading inside the worktree runs"},
		{"write inside", "write", writes, []permission.Access{writeInside}, event.Allow, "default: writing inside the worktree runs"},
		{"read outside", "read", reads, []permission.Access{readOutside}, event.Ask, "default: paths outside the worktree ask"},
		{"write outside", "apply_patch", writes, []permission.Access{writeInside, writeOutside}, event.Ask, "default: paths outside the worktree ask"},
		{"secret", "read", reads, []permission.Access{readSecret}, event.Ask, "default: secret files ask"},
		{"shell", "shell", writes, []permission.Access{command("ls")}, event.Ask, "default: shell asks"},
		{"undeclared", "mystery", event.Declaration{}, nil, event.Ask, "default: mystery asks"},
		{"side effect that no access explains", "mystery", writes, []permission.Access{readInside}, event.Ask, "default: mystery asks"},
		{"view", "plan_get", reads, nil, event.Allow, "default: plan_get runs"},
		{"question", "question", event.Declaration{Effect: event.UserMediated}, nil, event.Allow, "default: question runs"},
		{"delegation", "task", event.Declaration{Effect: event.Delegating}, nil, event.Ask, "default: task asks"},
		{"no place", "read", reads, []permission.Access{{Kind: event.AccessRead}}, event.Ask, "default: an unknown resource asks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, mode := range []event.PermissionMode{event.ModeStandard, ""} {
				got := permission.Decide(event.Policy{Mode: mode}, tt.tool, tt.declared, tt.accesses)
				if got.Action != tt.want || got.Rule != tt.rule || got.Reason != "" {
					t.Errorf("mode %q: got %+v, want %s by %q", mode, got, tt.want, tt.rule)
				}
			}
		})
	}
}

// spec: D121 D296 D297
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rules    []event.Rule
		tool     string
		accesses []permission.Access
		want     event.Action
		rule     string
	}{
		{"whole tool", rules("shell||allow"), "shell", []permission.Access{command("rm -rf x && ls")}, event.Allow, `rule "shell": allow`},
		{"last wins", rules("shell||allow", "*||ask"), "shell", []permission.Access{command("ls")}, event.Ask, `rule "*": ask`},
		{"last wins, swapped", rules("*||ask", "shell||allow"), "shell", []permission.Access{command("ls")}, event.Allow, `rule "shell": allow`},
		{"catch-all first", rules("*||deny", "read||allow"), "read", []permission.Access{readInside}, event.Allow, `rule "read": allow`},
		{"other tool", rules("read||deny"), "shell", []permission.Access{command("ls")}, event.Ask, "default: shell asks"},
		{"tool wildcard", rules("web*||deny"), "webfetch", []permission.Access{readInside}, event.Deny, `rule "web*": deny`},
		{"pattern allows", rules("shell|git *|allow"), "shell", []permission.Access{command("git status")}, event.Allow, `rule "shell" "git *": allow`},
		{"pattern, bare command", rules("shell|git *|allow"), "shell", []permission.Access{command("git")}, event.Allow, `rule "shell" "git *": allow`},
		{"pattern misses", rules("shell|git *|allow"), "shell", []permission.Access{command("gitk")}, event.Ask, "default: shell asks"},
		{"compound dodges no default", rules("shell|git *|allow"), "shell", []permission.Access{command("git status; rm -rf .")}, event.Ask, "default: shell asks"},
		{"substitution", rules("shell|git *|allow"), "shell", []permission.Access{command("git log $(rm x)")}, event.Ask, "default: shell asks"},
		{"compound may hold a denied part", rules("shell||allow", "shell|git push*|deny"), "shell", []permission.Access{command("cd x && git push")}, event.Ask, `rule "shell" "git push*": deny, which may cover a part of the command`},
		{"catch-all pattern", rules("shell|*|allow"), "shell", []permission.Access{command("a; b")}, event.Allow, `rule "shell" "*": allow`},
		{"narrower deny before a wider allow", rules("shell|git push*|deny", "shell||allow"), "shell", []permission.Access{command("a; b")}, event.Allow, `rule "shell": allow`},
		{"narrower deny", rules("shell||allow", "shell|rm *.txt|deny"), "shell", []permission.Access{command("rm *.txt")}, event.Deny, `rule "shell" "rm *.txt": deny`},
		{"edit covers write", rules("edit||deny"), "write", []permission.Access{writeInside}, event.Deny, `rule "edit": deny`},
		{"edit covers apply_patch", rules("edit||deny"), "apply_patch", []permission.Access{writeInside}, event.Deny, `rule "edit": deny`},
		{"edit covers edit", rules("edit||deny"), "edit", []permission.Access{writeInside}, event.Deny, `rule "edit": deny`},
		{"write never matches", rules("write||deny"), "write", []permission.Access{writeInside}, event.Allow, "default: writing inside the worktree runs"},
		{"one of several accesses", rules("read|/etc/*|deny"), "read", []permission.Access{readInside, readOutside}, event.Deny, `rule "read" "/etc/*": deny`},
		{"relative deny reaches an absolute path", rules("edit|src/*|deny"), "write", []permission.Access{writeInside}, event.Deny, `rule "edit" "src/*": deny`},
		{"relative allow does not", rules("edit||deny", "edit|src/*|allow"), "write", []permission.Access{writeInside}, event.Deny, `rule "edit": deny`},
		{"secret allowed by pattern", rules("read|*/.env|allow"), "read", []permission.Access{readSecret}, event.Allow, `rule "read" "*/.env": allow`},
		{"project asks", rules("shell||allow", "shell||narrow_ask"), "shell", []permission.Access{command("ls")}, event.Ask, `project rule "shell": ask`},
		{"project lifts no deny", rules("shell||deny", "shell||narrow_ask"), "shell", []permission.Access{command("ls")}, event.Deny, `rule "shell": deny`},
		{"project, last of its own wins", rules("shell||narrow_deny", "shell|ls *|narrow_ask"), "shell", []permission.Access{command("ls")}, event.Ask, "default: shell asks"},
		{"a rule above the project settles anew", rules("shell||narrow_deny", "shell||allow"), "shell", []permission.Access{command("ls")}, event.Allow, `rule "shell": allow`},
		{"flag answers a question", rules("shell||ask", "shell||allow_asked"), "shell", []permission.Access{command("ls")}, event.Allow, "--allow shell"},
		{"flag lifts no deny", rules("shell||deny", "shell||allow_asked"), "shell", []permission.Access{command("ls")}, event.Deny, `rule "shell": deny`},
		{"flag by the tool's own name", rules("write||allow_asked"), "write", []permission.Access{writeOutside}, event.Allow, "--allow write"},
		{"flag for another tool", rules("read||allow_asked"), "shell", []permission.Access{command("ls")}, event.Ask, "default: shell asks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := writes
			if tt.tool == "read" || tt.tool == "webfetch" {
				d = reads
			}
			got := permission.Decide(event.Policy{Rules: tt.rules}, tt.tool, d, tt.accesses)
			if got.Action != tt.want || got.Rule != tt.rule {
				t.Errorf("got %+v, want %s by %s", got, tt.want, tt.rule)
			}
		})
	}
}

// spec: D119 D121 D304
func TestModes(t *testing.T) {
	for _, tt := range []struct {
		mode   event.PermissionMode
		rules  []event.Rule
		tool   string
		access permission.Access
		want   event.Action
		rule   string
	}{
		{event.ModeStrict, nil, "write", writeInside, event.Ask, "mode strict: every side effect asks"},
		{event.ModeStrict, rules("*||allow"), "shell", command("ls"), event.Ask, "mode strict: every side effect asks"},
		{event.ModeStrict, rules("shell||allow_asked"), "shell", command("ls"), event.Ask, "mode strict: every side effect asks"},
		{event.ModeStrict, rules("shell||deny"), "shell", command("ls"), event.Deny, `rule "shell": deny`},
		{event.ModeStrict, nil, "read", readInside, event.Allow, "default: reading inside the worktree runs"},
		{event.ModeStrict, rules("read||allow"), "read", readOutside, event.Allow, `rule "read": allow`},
		{"unheard of", rules("*||allow"), "write", writeInside, event.Ask, "mode strict: every side effect asks"},
		{event.ModeAllowAll, nil, "shell", command("ls"), event.Allow, "mode allow_all"},
		{event.ModeAllowAll, rules("shell||ask"), "shell", command("ls"), event.Allow, "mode allow_all"},
		{event.ModeAllowAll, rules("shell||deny"), "shell", command("ls"), event.Deny, `rule "shell": deny`},
		{event.ModeAllowAll, rules("shell||narrow_deny"), "shell", command("ls"), event.Deny, `project rule "shell": deny`},
		{event.ModeAllowAll, rules("shell||deny", "shell||narrow_ask"), "shell", command("ls"), event.Deny, `rule "shell": deny`},
	} {
		d := writes
		if tt.tool == "read" {
			d = reads
		}
		got := permission.Decide(event.Policy{Mode: tt.mode, Rules: tt.rules}, tt.tool, d, []permission.Access{tt.access})
		if got.Action != tt.want || got.Rule != tt.rule {
			t.Errorf("%s %v %s: got %+v, want %s by %s", tt.mode, tt.rules, tt.tool, got, tt.want, tt.rule)
		}
	}
}

// spec: D012
func TestHeadlessDeniesWhatAsks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy event.Policy
		tool   string
		access permission.Access
		want   string
	}{
		{
			"shell",
			event.Policy{},
			"shell", command("ls"),
			`shell would ask (default: shell asks) and nobody is here to answer. This line in the global zuno.json or ZUNO_CONFIG_CONTENT allows it: "permission": { "rules": { "shell": "allow" } }; for this run alone: --allow shell`,
		},
		{
			"write outside",
			event.Policy{},
			"write", writeOutside,
			`write would ask (default: paths outside the worktree ask) and nobody is here to answer. This line in the global zuno.json or ZUNO_CONFIG_CONTENT allows it: "permission": { "rules": { "edit": "allow" } }; for this run alone: --allow edit`,
		},
		{
			"asked by a project",
			event.Policy{Rules: rules("shell||allow", "shell||narrow_ask")},
			"shell", command("ls"),
			`shell would ask (project rule "shell": ask) and nobody is here to answer. This line in ZUNO_CONFIG_CONTENT allows it: "permission": { "rules": { "shell": "allow" } }; for this run alone: --allow shell`,
		},
		{
			"strict",
			event.Policy{Mode: event.ModeStrict},
			"shell", command("ls"),
			`shell would ask (mode strict: every side effect asks) and nobody is here to answer. This line in ZUNO_CONFIG_CONTENT allows it: "permission": { "mode": "standard", "rules": { "shell": "allow" } }`,
		},
		{
			"strict, of a call that standard mode runs",
			event.Policy{Mode: event.ModeStrict},
			"write", writeInside,
			`write would ask (mode strict: every side effect asks) and nobody is here to answer. This line in ZUNO_CONFIG_CONTENT allows it: "permission": { "mode": "standard" }`,
		},
		{
			"denied",
			event.Policy{Rules: rules("shell||deny")},
			"shell", command("ls"),
			`shell is denied by rule "shell": deny`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.policy.Headless = true
			got := permission.Decide(tt.policy, tt.tool, writes, []permission.Access{tt.access})
			if got.Action != event.Deny || got.Reason != tt.want {
				t.Errorf("got %s: %s\nwant %s", got.Action, got.Reason, tt.want)
			}
		})
	}
}

const gitAsks = "default: writing to .git asks, as git runs what is configured there"

// Whoever writes to .git says what git runs next, so that no rule for edits at large lets it through in silence.
//
// spec: D121
func TestWritingToGitAsks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		mode  event.PermissionMode
		rules []event.Rule
		want  event.Action
		rule  string
	}{
		{"standard", event.ModeStandard, nil, event.Ask, gitAsks},
		{"no mode", "", nil, event.Ask, gitAsks},
		{"strict", event.ModeStrict, nil, event.Ask, "mode strict: every side effect asks"},
		{"full access", event.ModeAllowAll, nil, event.Allow, "mode allow_all"},
		{"all edits", "", rules("edit||allow"), event.Ask, gitAsks},
		{"all edits of all", "", rules("*|*|allow"), event.Ask, gitAsks},
		{"all edits below a folder", "", rules("edit|/w/*|allow"), event.Ask, gitAsks},
		{"what speaks of it", "", rules("edit|*/.git/hooks/*|allow"), event.Allow, `rule "edit" "*/.git/hooks/*": allow`},
		{"the path itself", "", rules("edit|/w/.git/hooks/pre-commit|allow"), event.Allow, `rule "edit" "/w/.git/hooks/pre-commit": allow`},
		{"all edits after what speaks of it", "", rules("edit|*/.git/*|allow", "edit||allow"), event.Allow, `rule "edit" "*/.git/*": allow`},
		{"all edits after a denial", "", rules("edit||deny", "edit||allow"), event.Ask, gitAsks},
		{"denied", "", rules("edit||allow", "edit|*/.git/*|deny"), event.Deny, `rule "edit" "*/.git/*": deny`},
		{"denied with full access", event.ModeAllowAll, rules("edit|.git/*|deny"), event.Deny, `rule "edit" ".git/*": deny`},
		{"a project narrows what speaks of it", "", rules("edit|*/.git/*|allow", "edit||narrow_ask"), event.Ask, `project rule "edit": ask`},
		{"all edits above a project", "", rules("edit||narrow_deny", "edit||allow"), event.Ask, gitAsks},
		{"the flag of a run", "", rules("edit||allow_asked"), event.Allow, "--allow edit"},
	} {
		if permission.Reusable(event.Policy{Mode: tt.mode, Rules: tt.rules}, []permission.Access{writeInside, {Kind: event.AccessWrite, Place: event.PlaceGit, Name: "/w/meta/config"}}) {
			t.Errorf("%s: one answer stands for later calls", tt.name)
		}
		for _, tool := range []string{"write", "apply_patch"} {
			got := permission.Decide(event.Policy{Mode: tt.mode, Rules: tt.rules}, tool, writes, []permission.Access{writeGit, writeInside})
			if got.Action != tt.want || got.Rule != tt.rule {
				t.Errorf("%s, %s: %+v, want %s by %s", tt.name, tool, got, tt.want, tt.rule)
			}
		}
	}
}

// The line that a headless run prints names what asks, and works, whatever asked.
//
// spec: D012
func TestAdviceOnGitWorks(t *testing.T) {
	odd := permission.Access{Kind: event.AccessWrite, Place: event.PlaceGit, Name: `/w/"odd" *?\name/config`}
	for _, above := range [][]event.Rule{nil, rules("edit||ask"), rules("edit||narrow_ask"), rules("*||ask", "edit||allow")} {
		accesses := []permission.Access{writeInside, writeGit, odd, writeOutside}
		got := permission.Decide(event.Policy{Headless: true, Rules: above}, "apply_patch", writes, accesses)
		at := strings.Index(got.Reason, `"edit": {`)
		if got.Action != event.Deny || at < 0 {
			t.Fatalf("%v: %+v", above, got)
		}
		var line map[string]event.Action
		if err := json.NewDecoder(strings.NewReader(got.Reason[at+len(`"edit": `):])).Decode(&line); err != nil {
			t.Fatalf("%v: %s: %v", above, got.Reason, err)
		}
		p := event.Policy{Headless: true, Rules: above}
		for pattern, action := range line {
			p.Rules = append(p.Rules, event.Rule{Tool: "edit", Pattern: pattern, Action: action})
		}
		if got := permission.Decide(p, "apply_patch", writes, accesses); got.Action != event.Allow {
			t.Errorf("%v with %v: %+v", above, line, got)
		}
	}
}

// The printed advice is the flag of the run and the line of a file, so both have to work.
//
// spec: D012
func TestAdviceWorks(t *testing.T) {
	for _, tool := range []string{"shell", "write", "read"} {
		access := map[string]permission.Access{"shell": command("a; b"), "write": writeOutside, "read": readSecret}[tool]
		for _, action := range []event.Action{event.Allow, permission.AllowAsked} {
			p := event.Policy{Headless: true, Rules: []event.Rule{
				{Tool: "*", Action: event.Ask},
				{Tool: permission.Key(tool), Action: action},
			}}
			if got := permission.Decide(p, tool, writes, []permission.Access{access}); got.Action != event.Allow {
				t.Errorf("%s with %s: %+v", tool, action, got)
			}
		}
	}
}

// spec: D298 D299
func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true},
		{"*", "a/b\nc", true},
		{"", "", true},
		{"", "a", false},
		{"a", "a", true},
		{"a", "A", false},
		{"a*c", "a/b/c", true},
		{"a*c", "a/b/d", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b", "xxaxxbxx", false},
		{"?", "a", true},
		{"?", "", false},
		{"?", "é", true},
		{"?", "😀", false},
		{"??", "😀", true},
		{"é*", "éa", true},
		{"a[b]", "a[b]", true},
		{"a[b]", "ab", false},
		{`a\b`, "a/b", true},
		{"a/b", `a\b`, true},
		{`é\b`, "é/b", true},
		{"git push *", "git push", true},
		{"git push *", "git push origin", true},
		{"git push *", "git pushy", false},
		{"? *", "é", true},
		{"rm *.txt", "rm *.txt", true},
		{"rm ?.txt", "rm *.txt", true},
		{"a", "a*", false},
	} {
		if got := permission.Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

// A pattern of many stars must not blow up: the work is bounded by the product of the lengths.
//
// spec: D298
func FuzzMatch(f *testing.F) {
	f.Add("*a*a*a*a*b", strings.Repeat("a", 200))
	f.Add("git *", "git")
	f.Add("é?", "é😀")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		permission.Match(pattern, name)
		if !permission.Match("*", name) {
			t.Error("a star misses")
		}
	})
}

// spec: D322
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{0, 10, 1000} {
		var list []event.Rule
		for i := range n {
			list = append(list, event.Rule{Tool: "shell", Pattern: fmt.Sprintf("command%d *", i), Action: event.Deny})
		}
		p := event.Policy{Rules: list}
		accesses := []permission.Access{command("go test ./internal/permission")}
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				permission.Decide(p, "shell", writes, accesses)
			}
		})
	}
}
