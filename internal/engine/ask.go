package engine

import (
	"context"

	"zuno/commands"
	"zuno/journal/event"
	"zuno/projections"
)

// SetAsker names who puts permission requests to the user; nil for nobody, in which case they wait. Questions that a
// dead process has left are put to a new asker, once, as soon as it is named; so it is to be named when the user can
// answer.
func (s *Session) SetAsker(a Asker) {
	s.mu.Lock()
	s.asker = a
	clear(s.presented)
	if s.askerSet != nil {
		close(s.askerSet)
		s.askerSet = nil
	}
	s.mu.Unlock()
	_ = s.enqueue(context.Background(), &request{call: func() {}, done: make(chan answer, 1)}) // what can be asked now is looked for
}

// someone waits for an asker; nil when ctx ends first.
func (s *Session) someone(ctx context.Context) Asker {
	for {
		s.mu.Lock()
		a := s.asker
		if a == nil && s.askerSet == nil {
			s.askerSet = make(chan struct{})
		}
		set := s.askerSet
		s.mu.Unlock()
		if a != nil {
			return a
		}
		select {
		case <-set:
		case <-ctx.Done():
			return nil
		}
	}
}

// present says whether a left question is to be put now: to somebody who was not asked it already. A question that could
// not be delivered is not repeated with every commit.
func (s *Session) present(st Step) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asker == nil || s.presented[st.Permission] || s.draining {
		return false
	}
	if s.presented == nil {
		s.presented = map[string]bool{}
	}
	s.presented[st.Permission] = true
	return true
}

// performAsk puts a permission request to the user.
func (s *Session) performAsk(e *effect) {
	o, fresh, _ := s.fence(e, &commands.AskPermission{Call: e.step.Call})
	if !fresh {
		return
	}
	asked := find[*event.PermissionAsked](o.Events)
	asker := s.someone(e.ctx)
	if asker == nil {
		return
	}
	r := PermissionRequest{ID: asked.ID, Call: asked.Call}
	if err := s.Read(func(v *projections.View) {
		if p := v.Root.Permissions.Get(asked.ID); p != nil {
			r.Reusable = p.Reusable
		}
	}); err != nil {
		return
	}
	s.at(PointQuestionFenced)
	verdict, option := asker.AskPermission(e.ctx, r)
	s.at(PointQuestionEnded)
	if e.ctx.Err() != nil {
		return // the question is settled: the turn is being stopped
	}
	_ = s.report(e, "answer", o.Commit, &commands.AnswerPermission{Permission: asked.ID, Verdict: verdict, Option: option})
}

// performPresent puts a question again that a dead process has left. Its answer runs nothing, so nothing has to fence it;
// one that does not come, or cannot be asked for, leaves the question pending.
func (s *Session) performPresent(e *effect) {
	asker := s.someone(e.ctx)
	if asker == nil {
		return
	}
	st := e.step
	verdict, option := asker.AskPermission(e.ctx, PermissionRequest{ID: st.Permission, Call: st.Call, Reusable: st.Reusable, Over: true})
	if e.ctx.Err() != nil || verdict == event.VerdictUndeliverable {
		return
	}
	_ = s.report(e, "answer", e.cause, &commands.AnswerPermission{Permission: st.Permission, Verdict: verdict, Option: option})
}
