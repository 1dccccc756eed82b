package editortest

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"zuno/internal/model"
	"zuno/journal/event"
	"zuno/tools"
)

// actions are what users, models, tools and disasters do.
func (m *machine) actions() map[string]func(*rapid.T) {
	if m.life == nil {
		return nil
	}
	must := func(t *rapid.T, did bool) {
		if !did {
			t.Skip("nothing waits for it")
		}
		m.settle()
	}
	turn := func(t *rapid.T) string {
		active := m.active()
		m.mu.Lock()
		turns := slices.Clone(m.turns)
		m.mu.Unlock()
		if active != "" && rapid.IntRange(0, 3).Draw(t, "right") > 0 {
			return active
		}
		return rapid.SampledFrom(append(turns, "turn_none")).Draw(t, "turn")
	}
	answers := func(t *rapid.T) {
		must(t, m.model(finished()))
	}
	calls := func(t *rapid.T) {
		var calls []model.Call
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			calls = append(calls, m.call(rapid.SampledFrom([]string{"never", "asks", "safe", "par", "unknown"}).Draw(t, "tool")))
		}
		must(t, m.model(finished(calls...)))
	}
	ends := func(t *rapid.T) {
		how := rapid.SampledFrom([]string{"ok", "ok", "failed", "uncertain", "panic"}).Draw(t, "how")
		must(t, m.end(func() tools.Result {
			switch how {
			case "failed":
				return tools.Result{Outcome: tools.Failed, Text: "failed"}
			case "uncertain":
				return tools.Result{Outcome: tools.Uncertain, Text: "who knows"}
			case "panic":
				panic("a tool")
			}
			return tools.Result{Outcome: tools.OK, Text: "ok"}
		}))
	}
	permits := func(t *rapid.T) {
		must(t, m.answer(rapid.SampledFrom([]string{event.OptionAllowOnce, event.OptionAllowOnce, "reject_once", "no such option", ""}).Draw(t, "option")))
	}
	prompts := func(t *rapid.T) {
		id := ""
		if rapid.Bool().Draw(t, "with an id") {
			id = fmt.Sprint("message ", m.count)
		}
		m.prompt(rapid.IntRange(0, 4).Draw(t, "queued") == 0, id)
	}
	return map[string]func(*rapid.T){
		"":       func(*rapid.T) { m.always() },
		"prompt": prompts, "prompt again": prompts,
		"the model answers": answers, "the model answers again": answers,
		"the model calls": calls, "the model calls again": calls,
		"a call ends": ends, "a call ends again": ends,
		"the user permits": permits,
		"the model says": func(t *rapid.T) {
			must(t, m.model(func(s *stream) (*model.Response, error, bool) {
				s.said = true
				err := s.emit(model.Chunk{Kind: model.ChunkText, Text: "Some words.\n"})
				return nil, err, err != nil
			}))
		},
		"the model fails": func(t *rapid.T) {
			must(t, m.model(failing(rapid.SampledFrom([]error{
				&model.Cut{Reason: "cut"}, &model.Error{Status: 500, Reason: "broken"}, &model.Error{Status: 400, Reason: "no"},
				&model.Error{Status: 401, Reason: "who?"}, errors.New("something else"),
			}).Draw(t, "with"))))
		},
		"time passes": func(t *rapid.T) { must(t, m.tick()) },
		"retry": func(t *rapid.T) {
			var ids []string
			for id := range m.said {
				ids = append(ids, id)
			}
			if len(ids) == 0 {
				t.Skip("no message has an id")
			}
			slices.Sort(ids)
			id := rapid.SampledFrom(ids).Draw(t, "id")
			text := m.said[id]
			if rapid.IntRange(0, 3).Draw(t, "other content") == 0 {
				text = "something else"
			}
			m.retry(id, text)
		},
		"steer": func(t *rapid.T) { m.steer(turn(t)) },
		"cancel": func(t *rapid.T) {
			named := ""
			if rapid.Bool().Draw(t, "named") {
				named = turn(t)
			}
			m.cancel(named, rapid.Bool().Draw(t, "polite"))
		},
		"stubborn": func(t *rapid.T) { m.life.editor.SetStubborn(rapid.Bool().Draw(t, "on")) },
		"resume": func(t *rapid.T) {
			if m.life.host.Get(m.session) == nil {
				t.Skip("there is no session yet")
			}
			m.resumed()
			m.settle()
		},
		"withdraw": func(t *rapid.T) {
			if len(m.waiting) == 0 {
				t.Skip("no prompt waits")
			}
			m.withdraw(rapid.SampledFrom(m.waiting).Draw(t, "prompt"))
		},
		"command": func(t *rapid.T) {
			text := rapid.SampledFrom([]string{"/resume", "/inspect-outcome", "finding"}).Draw(t, "command")
			if text == "finding" {
				m.mu.Lock()
				unknown := append(slices.Clone(m.unknown), "call_none")
				m.mu.Unlock()
				text = "/inspect-outcome " + rapid.SampledFrom(unknown).Draw(t, "call") + " " + rapid.SampledFrom([]string{"happened", "did_not_happen", "unknown"}).Draw(t, "verdict") + " I looked."
			}
			m.send(text, map[string]any{})
		},
		"crash": func(t *rapid.T) {
			if rapid.IntRange(0, 2).Draw(t, "when") == 0 {
				m.life.kill()
				m.settle()
				return
			}
			m.mu.Lock()
			m.life.crashIn = rapid.IntRange(1, 8).Draw(t, "points")
			m.mu.Unlock()
		},
		"reopen": func(t *rapid.T) {
			if rapid.Bool().Draw(t, "really") {
				m.reopen()
			}
		},
		"close": func(t *rapid.T) {
			if rapid.Bool().Draw(t, "really") {
				m.shut()
			}
		},
		"load": func(t *rapid.T) {
			if m.saying() || m.life.host.Get(m.session) == nil {
				t.Skip("what is shown live is not durable yet")
			}
			m.loaded()
			m.settle()
		},
	}
}
