package editortest

import (
	"bytes"
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	"zuno/acp/schema"
	"zuno/commands"
	"zuno/internal/model"
	"zuno/internal/seeded"
	"zuno/journal/event"
	"zuno/projections"
)

type decideFunc = func(v *projections.View, typ string, payload []byte, texts event.Table, at commands.Stamp) commands.Decision

// altered is the rules with another outcome of one command.
func altered(command string, change func(v *projections.View, d commands.Decision) commands.Decision) decideFunc {
	return func(v *projections.View, typ string, payload []byte, texts event.Table, at commands.Stamp) commands.Decision {
		d := commands.Decide(v, typ, payload, texts, at)
		if typ == command {
			return change(v, d)
		}
		return d
	}
}

// lacking is a decision that lacks one type of events.
func lacking[E event.Payload](_ *projections.View, d commands.Decision) commands.Decision {
	d.Events = slices.DeleteFunc(slices.Clone(d.Events), func(p event.Payload) bool { _, is := p.(E); return is })
	return d
}

// each changes what the agent says, line by line.
func each(change func(line []byte) []byte) func() func([]byte) []byte {
	return func() func([]byte) []byte { return lines(change) }
}

func lines(change func(line []byte) []byte) func([]byte) []byte {
	return func(p []byte) (out []byte) {
		for line := range bytes.Lines(p) {
			out = append(out, change(line)...)
		}
		return out
	}
}

func answers(line []byte, what string) bool {
	return bytes.Contains(line, []byte(`"result"`)) && bytes.Contains(line, []byte(what))
}

// For each invariant, a defect that breaks it – in a rule, in the projector, in the adapter, in the driver or in the prompt – is
// found, and found for that reason. A second receipt of one input is none of them: no fold takes its event, so that the owner writes
// nothing, and the turn ends otherwise.
//
// spec: D271
func TestSeededDefectsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some thousand sessions")
	}
	for name, value := range map[string]string{"rapid.checks": "40", "rapid.shrinktime": "0s"} { // the reason counts, not the length of the story
		before := flag.Lookup(name).Value.String()
		_ = flag.Set(name, value)
		defer flag.Set(name, before)
	}
	for _, c := range []struct {
		name   string
		defect defect
		says   []string // one of these
	}{
		{
			"a cut turn leaves its input without a receipt",
			defect{hangs: true, decide: altered("response.cut", lacking[*event.InputSettled])},
			[]string{"terminal receipts", "is over, and has 0 receipts", "not answered at rest", "does not come to rest"},
		},
		{
			"what is steered stays deliverable",
			defect{hangs: true, decide: altered("request.start", lacking[*event.InputApplied])},
			[]string{"does not come to rest", "terminal receipts", "stands 2 times", "nothing holds it", "not answered"},
		},
		{
			"an effect happens twice",
			defect{twice: true},
			[]string{"happened 2 times"},
		},
		{
			"a tool runs before its start is durable",
			defect{unfenced: true},
			[]string{"its start is not in the journal"},
		},
		{
			"a receipt goes back",
			defect{says: each(func(line []byte) []byte {
				return bytes.Replace(line, []byte(`"state":"applied"`), []byte(`"state":"admitted"`), 1)
			})},
			[]string{"the receipt of"},
		},
		{
			"a receipt that was told is not kept",
			defect{says: each(func(line []byte) []byte {
				return bytes.Replace(line, []byte(`"state":"completed"`), []byte(`"state":"cancelled"`), 1)
			})},
			[]string{"was told to be cancelled and is", "the receipt of"},
		},
		{
			"a prompt is not answered",
			defect{says: each(func(line []byte) []byte {
				if answers(line, `"stopReason":"end_turn"`) {
					return nil
				}
				return line
			})},
			[]string{"not answered at rest"},
		},
		{
			"a prompt is answered twice",
			defect{says: each(func(line []byte) []byte {
				if answers(line, `"stopReason"`) {
					return append(slices.Clone(line), line...)
				}
				return line
			})},
			[]string{"was answered 2 times"},
		},
		{
			"something of a turn follows its answer",
			defect{says: after},
			[]string{"comes after the answer of its prompt"},
		},
		{
			"the end of a card is drawn on load alone",
			defect{says: once},
			[]string{"a load draws"},
		},
		{
			"the user's own prompt is echoed",
			defect{says: echo},
			[]string{"a load draws"},
		},
		{
			"a result is not sent to the model",
			defect{request: func(r *model.Request) {
				for i := range r.Messages {
					r.Messages[i].Parts = slices.DeleteFunc(slices.Clone(r.Messages[i].Parts), func(p model.Part) bool { return p.Kind == model.PartResult })
				}
			}},
			[]string{"the conversation is malformed"},
		},
		{
			"an input is sent to the model twice",
			defect{request: func(r *model.Request) {
				for i, m := range r.Messages {
					if m.Role == model.RoleUser && len(m.Parts) > 0 && strings.HasPrefix(m.Parts[0].Text, "input") {
						r.Messages = append(r.Messages, r.Messages[i])
						return
					}
				}
			}},
			[]string{"times in the conversation"},
		},
		{
			"a decision changes the view",
			defect{decide: altered("turn.cancel", func(v *projections.View, d commands.Decision) commands.Decision {
				v.Root.Notices.Count++
				return d
			})},
			[]string{"the live view is not the fold"},
		},
		{
			"a rule decides otherwise than this build's",
			defect{decide: altered("input.admit", func(_ *projections.View, d commands.Decision) commands.Decision {
				if len(d.Events) > 0 {
					d.Events = append(slices.Clone(d.Events), &event.NoticeRaised{ID: "note_seeded", Severity: "info", Code: "seeded", Text: event.NewText("seeded")})
				}
				return d
			})},
			[]string{"decided again"},
		},
		{
			"a refused steer leaves its input behind",
			defect{decide: altered("input.steer", func(_ *projections.View, d commands.Decision) commands.Decision {
				if d.Refusal != nil && d.Refusal.Code == commands.CodeTurnMismatch {
					d.Events = []event.Payload{&event.InputAdmitted{ID: "inp_seeded", Trigger: event.TriggerUser, Delivery: event.DeliverSteer, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("seeded")}}}}
				}
				return d
			})},
			[]string{"inputs were admitted", "seeded"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, story := seeded.Find(20, property(c.defect))
			if !found {
				t.Fatal("it was not found")
			}
			if !slices.ContainsFunc(c.says, func(s string) bool { return strings.Contains(story, s) }) {
				t.Errorf("it was found for another reason:\n%s", story)
			}
		})
	}
}

// once drops what says of a card, the first time, that it is completed: it is not drawn live, and drawn on load.
func once() func([]byte) []byte {
	seen := map[string]bool{}
	return lines(func(line []byte) []byte {
		var x struct {
			Params struct {
				Update struct{ ToolCallID, Status string }
			}
		}
		if json.Unmarshal(line, &x) != nil || x.Params.Update.Status != "completed" || seen[x.Params.Update.ToolCallID] {
			return line
		}
		seen[x.Params.Update.ToolCallID] = true
		return nil
	})
}

// answered is the receipt that a prompt's answer carries.
type answered struct {
	Result struct {
		Meta struct {
			Zuno struct {
				Receipt struct{ SessionID, TurnID string }
			}
		} `json:"_meta"`
	}
}

func update(session string, u schema.SessionUpdate) []byte {
	line, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": schema.MethodSessionUpdate, "params": schema.SessionNotification{SessionID: session, Update: u}})
	return append(line, '\n')
}

// after says something more of a turn, that draws nothing, behind the answer.
func after() func([]byte) []byte {
	return lines(func(line []byte) []byte {
		var x answered
		if !answers(line, `"stopReason":"end_turn"`) || json.Unmarshal(line, &x) != nil || x.Result.Meta.Zuno.Receipt.TurnID == "" {
			return line
		}
		r := x.Result.Meta.Zuno.Receipt
		return append(slices.Clone(line), update(r.SessionID, schema.InfoUpdate(schema.Nullable{}, schema.Nullable{}).WithMeta(schema.Meta("zuno", map[string]string{"turnId": r.TurnID})))...)
	})
}

// echo repeats the user's words before a prompt is answered.
func echo() func([]byte) []byte {
	return lines(func(line []byte) []byte {
		var x answered
		if !answers(line, `"stopReason"`) || json.Unmarshal(line, &x) != nil {
			return line
		}
		return append(update(x.Result.Meta.Zuno.Receipt.SessionID, schema.UserChunk("echo", schema.Text("input"))), line...)
	})
}
