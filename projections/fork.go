package projections

import "zuno/journal/event"

var forkFolds = folds{
	on(func(v *View, s *Session, m Meta, e *event.Forked) error {
		if v.Created.Fork != nil || s != v.Root {
			return impossible("forked twice, or as a part of another session")
		}
		fork := *e
		v.Created.Fork = &fork
		return nil
	}),
}
