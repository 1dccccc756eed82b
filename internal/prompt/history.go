package prompt

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"zuno/internal/model"
	"zuno/journal/event"
)

// History is the conversation as the model sees it: completed attempts only, no notices. It is a fold over events whose
// texts are at hand.
type History struct {
	Messages []model.Message

	inputs   map[string]*event.InputAdmitted // admitted and not yet delivered
	parts    []model.Part                    // of the attempt that is open
	pieces   []string                        // of the last of them, which are joined at its end: a long answer has thousands
	results  map[string]int                  // call → message that its result goes into
	sections []model.Section
	tools    []model.Tool

	discussion bool // the running turn answers in words only
}

// discussionSection tells the model of a discussion what it is in.
const discussionSection = "runtime.discussion"

const discussionText = "The session is held: the effect of an earlier tool call is unknown, and only the user can say what became of it. " +
	"All tools are disabled in this turn. Answer the user's message in words; do not claim to have done or checked anything."

// NewHistory is the history of an empty journal.
func NewHistory() *History {
	return &History{inputs: map[string]*event.InputAdmitted{}, results: map[string]int{}}
}

// Sections are the prompt's sections, in the order in which they first appeared.
func (h *History) Sections() []model.Section { return h.sections }

// Tools is the tool catalogue.
func (h *History) Tools() []model.Tool { return h.tools }

// Apply folds one event.
func (h *History) Apply(p event.Payload) {
	switch e := p.(type) {
	case *event.SectionResolved:
		h.section(e)
	case *event.CatalogueResolved:
		h.tools = make([]model.Tool, len(e.Tools))
		for i, t := range e.Tools {
			h.tools[i] = model.Tool{Name: t.Name, Description: t.Description.String(), Schema: []byte(t.Schema.String())}
		}
	case *event.InputAdmitted:
		if e.Control == nil { // a native command is never sent
			h.inputs[e.ID] = e
		}
	case *event.ControlRequested:
		if !e.Text.IsZero() {
			h.user(e.Text.String())
		}
	case *event.CallInspected:
		h.user("The user looked at what the interrupted call " + e.Call + " did. Their finding: " + found[e.Finding] + ". They say: " + e.Note.String())
	case *event.TurnStarted:
		h.discussion = e.Discussion
	case *event.TurnEnded:
		h.discussion = false
	case *event.InputDeliveryBatch:
		for _, id := range e.Inputs {
			if in := h.inputs[id]; in != nil {
				h.Messages = append(h.Messages, model.Message{Role: model.RoleUser, Parts: inputParts(in)})
				delete(h.inputs, id)
			}
		}
	case *event.InputSettled:
		delete(h.inputs, e.Input)
	case *event.RequestStarted:
		h.parts, h.pieces = nil, nil
	case *event.ResponsePart:
		h.part(e)
	case *event.ResponseCompleted:
		h.join()
		if len(h.parts) > 0 || e.Calls > 0 {
			h.Messages = append(h.Messages, model.Message{Role: model.RoleAssistant, Parts: h.parts})
		}
		h.parts, h.pieces = nil, nil
	case *event.ResponseCut, *event.RequestFailed:
		h.parts, h.pieces = nil, nil
	case *event.CallRequested:
		h.call(e)
	case *event.CallBlocked:
		h.result(e.ID, e.Text.String(), true)
	case *event.CallAbandoned:
		h.result(e.ID, "The turn ended before the user answered whether this may run. Nothing was done.", true)
	case *event.CallSettled:
		h.result(e.ID, e.Text.String(), e.Outcome != event.OutcomeOK)
	}
}

// found are the findings in words.
var found = map[event.Finding]string{
	event.FindingHappened: "it happened", event.FindingDidNotHappen: "it did not happen", event.FindingUnknown: "it is still unknown",
}

// user adds a message that the user did not type.
func (h *History) user(text string) {
	h.Messages = append(h.Messages, model.Message{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: text}}})
}

func (h *History) section(e *event.SectionResolved) {
	for i := range h.sections {
		if h.sections[i].ID == e.ID {
			h.sections[i].Text = e.Text.String()
			return
		}
	}
	h.sections = append(h.sections, model.Section{ID: e.ID, Text: e.Text.String()})
}

// part joins pieces of one kind: where a response was cut into parts is an accident of time.
func (h *History) part(e *event.ResponsePart) {
	kind := model.PartText
	if e.Kind == event.PartReasoning {
		kind = model.PartReasoning
	}
	if n := len(h.parts); n == 0 || h.parts[n-1].Kind != kind {
		h.join()
		h.parts = append(h.parts, model.Part{Kind: kind})
	}
	h.pieces = append(h.pieces, e.Text.String())
}

// join gives the last part its text.
func (h *History) join() {
	if n := len(h.parts); n > 0 && len(h.pieces) > 0 {
		h.parts[n-1].Text = strings.Join(h.pieces, "")
	}
	h.pieces = nil
}

func (h *History) call(e *event.CallRequested) {
	last := len(h.Messages) - 1
	if last < 0 || h.Messages[last].Role != model.RoleAssistant && h.Messages[last].Role != model.RoleTool {
		return
	}
	at := last
	for h.Messages[at].Role == model.RoleTool {
		at--
	}
	h.Messages[at].Parts = append(h.Messages[at].Parts, model.Part{Kind: model.PartCall, CallID: e.ID, Tool: e.Tool, Text: e.Args.String()})
	h.results[e.ID] = at + 1
}

// result puts a call's result into the tool message that follows its response.
func (h *History) result(call, text string, failed bool) {
	at, ok := h.results[call]
	if !ok {
		return
	}
	delete(h.results, call)
	if at == len(h.Messages) {
		h.Messages = append(h.Messages, model.Message{Role: model.RoleTool})
	}
	m := &h.Messages[at]
	m.Parts = append(m.Parts, model.Part{Kind: model.PartResult, CallID: call, Text: text, Failed: failed})
}

func inputParts(in *event.InputAdmitted) (parts []model.Part) {
	for _, b := range in.Blocks {
		var text string
		switch b.Type {
		case event.BlockImage:
			if data, err := base64.StdEncoding.DecodeString(b.Text.String()); err == nil { // it fails where the journal has lost it
				parts = append(parts, model.Part{Kind: model.PartImage, Media: b.Mime, Data: data})
				continue
			}
			text = "[an image that is not there any more]"
		case event.BlockText:
			text = b.Text.String()
		case event.BlockLink:
			text = link(b)
		case event.BlockResource:
			text = "<resource uri=" + quote(b.URI.String()) + ">\n" + b.Text.String() + "\n</resource>"
		}
		parts = append(parts, model.Part{Kind: model.PartText, Text: text})
	}
	return parts
}

func link(b event.Block) string {
	name := b.Name.String()
	if name == "" {
		name = b.URI.String()
	}
	return "[" + name + "](" + b.URI.String() + ")"
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, "%22") + `"` }

// Request is what the provider is asked now. It shares nothing with the history that later changes.
func (h *History) Request(m event.ModelChoice, cwd string, position uint64, used []uint64) *model.Request {
	messages := make([]model.Message, len(h.Messages))
	copy(messages, h.Messages)
	if n := len(messages); n > 0 {
		messages[n-1].Parts = append([]model.Part(nil), messages[n-1].Parts...)
	}
	sections, tools := append([]model.Section(nil), h.sections...), h.tools
	if h.discussion {
		sections, tools = append(sections, model.Section{ID: discussionSection, Text: discussionText}), nil
	}
	return &model.Request{
		Model: m.Name, Params: model.Params{MaxOutput: m.Output, Reasoning: m.Reasoning}, Cwd: cwd, Sections: sections, Tools: tools,
		Messages: messages, Position: position, Used: append([]uint64(nil), used...),
	}
}

// Clone is a history that can go its own way: what is applied to it leaves h as it is.
func (h *History) Clone() *History {
	c := &History{
		Messages: slices.Clip(h.Messages), inputs: maps.Clone(h.inputs), parts: slices.Clone(h.parts), pieces: slices.Clip(h.pieces), results: maps.Clone(h.results),
		sections: slices.Clone(h.sections), tools: h.tools, discussion: h.discussion,
	}
	if n := len(c.Messages); n > 0 { // the last message may still grow
		c.Messages = append(c.Messages[:n-1:n-1], c.Messages[n-1])
		c.Messages[n-1].Parts = slices.Clip(c.Messages[n-1].Parts)
	}
	return c
}
