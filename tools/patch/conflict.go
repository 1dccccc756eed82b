package patch

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"zuno/tools"
	"zuno/tools/files"
)

// conflict is why one file cannot be changed as the patch wants. Its words hold nothing that stands in a file.
type conflict struct {
	Class    string `json:"class"`
	Resource string `json:"resource"`
	Current  string `json:"current_digest,omitempty"` // SHA-256 of the content, hexadecimal; empty where there is none to be known
	Hunk     int    `json:"hunk,omitempty"`           // from 1
	Title    string `json:"hunk_title,omitempty"`     // as the patch gives it
	Required string `json:"requiredAction"`           // the specification's own word

	says string
}

// shownConflicts bounds the result's text; the typed outcome has all.
const shownConflicts = 10

func newConflict(class string, t tools.Target, s state, says, required string) *conflict {
	c := &conflict{Class: class, Resource: t.Named, says: says, Required: required}
	if s.exists && s.known {
		c.Current = hex.EncodeToString(s.digest[:])
	}
	return c
}

// conflictOf takes over why a file could not be looked at.
func conflictOf(t tools.Target, f *files.Failure) *conflict {
	required := "Name another path, or look at this one with read, and send a corrected patch."
	switch f.Class {
	case tools.ClassNotFound:
		required = "Look for the file with glob and correct the path, or add the file."
	case tools.ClassIsDirectory:
		required = "Name a file in the folder."
	case tools.ClassPathChanged:
		required = "Look at the folder and read the file, then send the patch again."
	}
	return &conflict{Class: f.Class, Resource: t.Named, says: f.Text, Required: required}
}

func (c *conflict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\nresource: %s\n", c.Class, c.says, c.Resource)
	if c.Hunk > 0 {
		fmt.Fprintf(&b, "hunk: %d", c.Hunk)
		if c.Title != "" {
			fmt.Fprintf(&b, " (@@ %s)", clip(c.Title))
		}
		b.WriteByte('\n')
	}
	if c.Current != "" {
		fmt.Fprintf(&b, "current content: SHA-256 %s\n", c.Current)
	}
	fmt.Fprintf(&b, "requiredAction: %s", c.Required)
	return b.String()
}

// refused is the result of a patch with conflicts: nothing was changed.
func refused(operation [32]byte, conflicts []*conflict) tools.Result {
	digest := hex.EncodeToString(operation[:])
	parts := []string{fmt.Sprintf("Nothing was changed: the patch conflicts with %s.\noperation: SHA-256 %s", plural(len(conflicts), "file"), digest)}
	for i, c := range conflicts {
		if i == shownConflicts {
			parts = append(parts, fmt.Sprintf("(and %s)", plural(len(conflicts)-i, "more conflict")))
			break
		}
		parts = append(parts, c.String())
	}
	raw, err := json.Marshal(struct {
		Conflicts []*conflict `json:"conflicts"`
		Operation string      `json:"operation_digest"`
	}{conflicts, digest})
	if err != nil {
		raw = nil // strings and numbers always encode
	}
	return tools.Result{Outcome: tools.Failed, Class: conflicts[0].Class, Text: strings.Join(parts, "\n\n"), Raw: raw}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
