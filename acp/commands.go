package acp

import (
	"zuno/acp/schema"
	"zuno/commands"
)

// available are the commands that a client can offer, in the order in which they are shown.
func available() []schema.AvailableCommand {
	out := make([]schema.AvailableCommand, 0, len(commands.Natives))
	for _, n := range commands.Natives {
		out = append(out, schema.Command(n.Name, n.Description, n.Hint))
	}
	return out
}
