package permission

import (
	"encoding/json"
	"strconv"
	"strings"

	"zuno/journal/event"
)

// String names what decided.
func (f finding) String() string {
	if f.rule == nil {
		return f.text
	}
	r := f.rule
	if r.Action == AllowAsked {
		return "--allow " + r.Tool
	}
	words := "rule "
	if r.Action == NarrowAsk || r.Action == NarrowDeny {
		words = "project rule "
	}
	words += strconv.Quote(r.Tool)
	if r.Pattern != "" {
		words += " " + strconv.Quote(r.Pattern)
	}
	words += ": " + string(plainAction(r.Action))
	if f.doubtful {
		words += ", which may cover a part of the command"
	}
	return words
}

// unanswered is the sentence for a question that nobody is there to answer. The line that it prints stands for the
// layer above the one that asks: a project narrows what the global file allows, and the inline document comes last.
func (c *call) unanswered(why string, strict bool, standard event.Action) string {
	key := strconv.Quote(c.key)
	allowed := `"allow"`
	if c.git {
		var each []string
		for _, name := range c.asking {
			text, _ := json.Marshal(name) // a string always encodes
			each = append(each, string(text)+`: "allow"`)
		}
		allowed = "{ " + strings.Join(each, ", ") + " }"
	}
	line := `"permission": { "rules": { ` + key + `: ` + allowed + ` } }`
	where := "the global zuno.json or ZUNO_CONFIG_CONTENT"
	if c.narrowed {
		where = "ZUNO_CONFIG_CONTENT"
	}
	flag := "; for this run alone: --allow " + c.key
	if strict {
		where, flag = "ZUNO_CONFIG_CONTENT", ""
		line = `"permission": { "mode": "standard", "rules": { ` + key + `: ` + allowed + ` } }`
		if standard == event.Allow {
			line = `"permission": { "mode": "standard" }`
		}
	}
	return c.tool + " would ask (" + why + ") and nobody is here to answer. This line in " + where + " allows it: " + line + flag
}
