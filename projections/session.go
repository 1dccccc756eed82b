package projections

import "zuno/journal/event"

var sessionFolds = folds{
	on(func(v *View, s *Session, m Meta, e *event.Opened) error {
		s.Execution.Left = ""
		if s.Execution.Woken {
			s.Execution.Left = v.Run.ID
		}
		s.Execution.Woken = false
		v.Run = Run{ID: e.Run, Build: e.Build, Commit: m.Commit, Count: v.Run.Count + 1}
		s.Turns.Boundary = m.Sequence
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.Created) error {
		if v.ID != "" {
			return impossible("session created twice")
		}
		v.ID = e.Session
		v.Created = Origin{Installation: e.Installation, Cwd: e.Cwd, Worktree: e.Worktree, At: m.At}
		s.Updated = m.At
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.Titled) error {
		s.Title = e.Title
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.PolicyResolved) error {
		v.Policy, v.PolicySet = e.Policy, true
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.SectionResolved) error {
		for i := range v.Sections {
			if v.Sections[i].ID == e.ID {
				v.Sections[i].Text, v.Sections[i].Place = e.Text, m.place()
				return nil
			}
		}
		v.Sections = append(v.Sections, SectionState{e.ID, e.Text, m.place()})
		return nil
	}),
	on(func(v *View, s *Session, m Meta, e *event.CatalogueResolved) error {
		v.Catalogue = e.Tools
		return nil
	}),
}
