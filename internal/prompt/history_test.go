package prompt

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"zuno/internal/model"
	"zuno/journal/event"
)

func text(s string) event.Text { return event.NewText(s) }

func input(id string, blocks ...event.Block) event.Payload {
	return &event.InputAdmitted{ID: id, Blocks: blocks}
}

func said(s string) event.Block { return event.Block{Type: event.BlockText, Text: text(s)} }

func delivered(ids ...string) event.Payload { return &event.InputDeliveryBatch{Inputs: ids} }

func part(kind event.PartKind, s string) event.Payload {
	return &event.ResponsePart{Kind: kind, Text: text(s)}
}

// show writes a conversation the way a reader tells it.
func show(h *History) string {
	var b strings.Builder
	for _, m := range h.Request(event.ModelChoice{Name: "m"}, "/w", 0, nil).Messages {
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, p := range m.Parts {
			switch p.Kind {
			case model.PartCall:
				fmt.Fprintf(&b, " call %s %s(%s)", p.CallID, p.Tool, p.Text)
			case model.PartResult:
				failed := ""
				if p.Failed {
					failed = " failed"
				}
				fmt.Fprintf(&b, " result %s%s %q", p.CallID, failed, p.Text)
			default:
				fmt.Fprintf(&b, " %s %q", p.Kind, p.Text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// spec: D029 D051 D057
func TestHistoryTellsWhatHappened(t *testing.T) {
	call := func(id string) event.Payload {
		return &event.CallRequested{ID: id, Tool: "shell", Args: text("{}")}
	}
	for name, c := range map[string]struct {
		events []event.Payload
		want   string
	}{
		"an input is told when it is delivered, not when it is admitted": {
			[]event.Payload{input("a", said("one")), input("b", said("two")), delivered("b")}, "user: text \"two\"\n",
		},
		"an input that ended before it was delivered is never told": {
			[]event.Payload{input("a", said("one")), &event.InputSettled{Input: "a", State: "cancelled"}, delivered("a")}, "",
		},
		"an input is told once": {
			[]event.Payload{input("a", said("one")), delivered("a"), delivered("a")}, "user: text \"one\"\n",
		},
		"links and resources": {
			[]event.Payload{input("a",
				event.Block{Type: event.BlockLink, URI: text("file:///x"), Name: text("x")}, event.Block{Type: event.BlockLink, URI: text("file:///y")},
				event.Block{Type: event.BlockResource, URI: text(`file:///"z`), Text: text("body")}), delivered("a")},
			"user: text \"[x](file:///x)\" text \"[file:///y](file:///y)\" text \"<resource uri=\\\"file:///%22z\\\">\\nbody\\n</resource>\"\n",
		},
		"parts of one kind are joined, and only a completed attempt counts": {
			[]event.Payload{
				&event.RequestStarted{}, part(event.PartText, "lost"), &event.ResponseCut{},
				&event.RequestStarted{}, part(event.PartText, "lost"), &event.RequestFailed{},
				&event.RequestStarted{}, part(event.PartReasoning, "th"), part(event.PartReasoning, "ought"), part(event.PartText, "wo"), part(event.PartText, "rds"), &event.ResponseCompleted{},
			}, "assistant: reasoning \"thought\" text \"words\"\n",
		},
		"a response without anything is no message": {
			[]event.Payload{&event.RequestStarted{}, &event.ResponseCompleted{}}, "",
		},
		"calls stand in their response and results in one message after it": {
			[]event.Payload{
				&event.RequestStarted{}, &event.ResponseCompleted{Calls: 4}, call("1"), &event.CallBlocked{ID: "1", Text: text("no")}, call("2"), call("3"), call("4"),
				&event.CallAbandoned{ID: "3"}, &event.CallSettled{ID: "2", Outcome: event.OutcomeOK, Text: text("yes")}, &event.CallSettled{ID: "4", Outcome: event.OutcomeUncertain, Text: text("unknown")},
				&event.RequestStarted{}, part(event.PartText, "next"), &event.ResponseCompleted{Calls: 1}, call("5"), &event.CallSettled{ID: "5", Outcome: event.OutcomeCancelled, Text: text("stopped")},
			},
			"assistant: call 1 shell({}) call 2 shell({}) call 3 shell({}) call 4 shell({})\n" +
				"tool: result 1 failed \"no\" result 3 failed \"The turn ended before the user answered whether this may run. Nothing was done.\" result 2 \"yes\" result 4 failed \"unknown\"\n" +
				"assistant: text \"next\" call 5 shell({})\ntool: result 5 failed \"stopped\"\n",
		},
		"a result is told once, and one without its call not at all": {
			[]event.Payload{
				&event.RequestStarted{}, &event.ResponseCompleted{Calls: 1}, call("1"), &event.CallSettled{ID: "1", Outcome: event.OutcomeOK, Text: text("a")},
				&event.CallSettled{ID: "1", Outcome: event.OutcomeOK, Text: text("b")}, &event.CallSettled{ID: "9", Outcome: event.OutcomeOK, Text: text("c")},
			}, "assistant: call 1 shell({})\ntool: result 1 \"a\"\n",
		},
		"what is for people is not told": {
			[]event.Payload{&event.NoticeRaised{Text: text("a notice")}, &event.Titled{Title: text("a title")}, &event.ControlRequested{}, &event.TurnStarted{}, &event.TurnEnded{}}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHistory()
			for _, e := range c.events {
				h.Apply(e)
			}
			if got := show(h); got != c.want {
				t.Errorf("told\n%swant\n%s", got, c.want)
			}
		})
	}
}

// A request is made of the journal alone – sections and catalogue too, the last text of each – and what happens later does
// not change one that was handed out.
//
// spec: D029 D032
func TestRequestIsAValue(t *testing.T) {
	h := NewHistory()
	for _, e := range []event.Payload{
		&event.SectionResolved{ID: "kernel", Text: text("old")}, &event.SectionResolved{ID: "other", Text: text("other")}, &event.SectionResolved{ID: "kernel", Text: text("new")},
		&event.CatalogueResolved{Tools: []event.ToolEntry{{Name: "gone"}}}, &event.CatalogueResolved{Tools: []event.ToolEntry{{Name: "read", Description: text("reads"), Schema: text("{}")}}},
		input("a", said("one")), delivered("a"), &event.RequestStarted{}, part(event.PartText, "words"), &event.ResponseCompleted{Calls: 2},
		&event.CallRequested{ID: "1", Tool: "read", Args: text("{}")}, &event.CallRequested{ID: "2", Tool: "read", Args: text("{}")}, &event.CallSettled{ID: "1", Outcome: event.OutcomeOK, Text: text("r1")},
	} {
		h.Apply(e)
	}
	used := []uint64{3}
	r := h.Request(event.ModelChoice{Name: "m"}, "/w", 7, used)
	if len(r.Sections) != 2 || r.Sections[0] != (model.Section{ID: "kernel", Text: "new"}) || len(r.Tools) != 1 || r.Tools[0].Name != "read" || r.Position != 7 || r.Cwd != "/w" {
		t.Errorf("request %+v", r)
	}
	before := fmt.Sprintf("%+v", *r)
	again := h.Request(event.ModelChoice{Name: "m"}, "/w", 7, used)
	if !reflect.DeepEqual(r, again) {
		t.Error("asked twice, two requests")
	}
	used[0] = 9
	for _, e := range []event.Payload{
		&event.SectionResolved{ID: "kernel", Text: text("newest")}, &event.CatalogueResolved{}, &event.CallSettled{ID: "2", Outcome: event.OutcomeOK, Text: text("r2")},
		&event.RequestStarted{}, part(event.PartText, "more"), &event.ResponseCompleted{},
	} {
		h.Apply(e)
	}
	if after := fmt.Sprintf("%+v", *r); after != before {
		t.Errorf("a request that was handed out changed from\n%s\nto\n%s", before, after)
	}
}
