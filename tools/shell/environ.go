package shell

import "strings"

// namespace is what names of zuno's own variables begin with. None of them reaches a command, whatever it holds.
const namespace = "ZUNO_"

// Inherit gives what a command inherits of an environment: all of it except the namespace, whose names are compared
// without regard to case, and with the marks ZUNO=1 and AGENT=zuno where these are not set. Comparing so can only
// withhold more; nothing is let through because of how it is spelled.
func Inherit(environ []string) []string {
	kept := make([]string, 0, len(environ)+2)
	var zuno, agent bool
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if withheld(name) {
			continue
		}
		zuno = zuno || name == "ZUNO"
		agent = agent || name == "AGENT"
		kept = append(kept, entry)
	}
	if !zuno {
		kept = append(kept, "ZUNO=1")
	}
	if !agent {
		kept = append(kept, "AGENT=zuno")
	}
	return kept
}

func withheld(name string) bool {
	return len(name) >= len(namespace) && strings.EqualFold(name[:len(namespace)], namespace)
}

// lookup gives the value of a variable; the last entry counts.
func lookup(environ []string, name string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if key, value, _ := strings.Cut(environ[i], "="); key == name {
			return value, true
		}
	}
	return "", false
}

// without takes a variable out.
func without(environ []string, name string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		if key, _, _ := strings.Cut(entry, "="); key != name {
			kept = append(kept, entry)
		}
	}
	return kept
}
