package permission_test

import (
	"testing"

	"zuno/internal/permission"
	"zuno/journal/event"
)

// TestReusable: one answer may stand for later calls only where what it allows has an exact and harmless name, and never in
// a mode that wants to be asked each time.
//
// spec: D265
func TestReusable(t *testing.T) {
	at := func(kind event.AccessKind, place event.Place, name string) []permission.Access {
		return []permission.Access{{Kind: kind, Place: place, Name: name}}
	}
	outside := at(event.AccessWrite, event.PlaceOutside, "/srv/notes.txt")
	ls := at(event.AccessExecute, event.PlaceNone, "ls -l; date")
	for name, c := range map[string]struct {
		mode     event.PermissionMode
		accesses []permission.Access
		want     bool
	}{
		"a command":                   {event.ModeStandard, ls, true},
		"a command, default mode":     {"", ls, true},
		"a file outside":              {event.ModeStandard, outside, true},
		"a command in a named folder": {event.ModeStandard, append(at(event.AccessRead, event.PlaceInside, "/w/sub"), ls...), true},
		"strict":                      {event.ModeStrict, ls, false},
		"a mode unheard of":           {"careful", ls, false},
		"no resource":                 {event.ModeStandard, nil, false},
		"a resource without a name":   {event.ModeStandard, at(event.AccessWrite, event.PlaceOutside, ""), false},
		"a kind unheard of":           {event.ModeStandard, at("connect", event.PlaceNone, "host:1"), false},
		"a place unheard of":          {event.ModeStandard, at(event.AccessWrite, "elsewhere", "/x"), false},
		"a secret":                    {event.ModeStandard, at(event.AccessRead, event.PlaceSecret, "/w/.env"), false},
		"a secret beside a command":   {event.ModeStandard, append(at(event.AccessRead, event.PlaceSecret, "/w/.env"), ls...), false},
		"what git runs":               {event.ModeStandard, at(event.AccessWrite, event.PlaceGit, "/w/.git/hooks/pre-commit"), false},
		"reading in .git":             {event.ModeStandard, at(event.AccessRead, event.PlaceOutside, "/other/.GIT/config"), false},
		"a name that begins so":       {event.ModeStandard, at(event.AccessWrite, event.PlaceOutside, "/other/.gitignore"), true},
	} {
		if got := permission.Reusable(event.Policy{Mode: c.mode}, c.accesses); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
