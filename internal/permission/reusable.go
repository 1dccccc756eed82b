package permission

import (
	"strings"

	"zuno/journal/event"
)

// Reusable says whether one answer to the question about a call may stand for all later calls of the same tool that touch
// exactly the same resources. That needs a resource that has an exact name: a file, a folder, the text of a command. What
// is secret, and what git runs or keeps, is asked about each time, and so is everything in strict mode, which means
// a fresh question for every side effect.
func Reusable(p event.Policy, accesses []Access) bool {
	if p.Mode != event.ModeStandard && p.Mode != "" || len(accesses) == 0 {
		return false
	}
	for i := range accesses {
		if !accesses[i].nameable() {
			return false
		}
	}
	return true
}

func (a *Access) nameable() bool {
	switch {
	case a.Name == "":
		return false
	case a.Kind == event.AccessExecute:
		return a.Place == event.PlaceNone
	case a.Kind != event.AccessRead && a.Kind != event.AccessWrite:
		return false
	case a.Place != event.PlaceInside && a.Place != event.PlaceOutside:
		return false
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(a.Name, `\`, "/"), "/") {
		if strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}
