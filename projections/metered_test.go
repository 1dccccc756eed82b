package projections

import (
	"reflect"
	"testing"

	"zuno/journal/event"
)

// TestOnlyMeteredEventsMoveUsage: the fold of a view leaves out the types that usage does not read, and a projector gives it all.
//
// spec: A121
func TestOnlyMeteredEventsMoveUsage(t *testing.T) {
	metering := 0
	for _, typ := range event.Types() {
		p := typ.New()
		u := NewUsage()
		u.Apply(&event.RequestStarted{ID: "req_1"}, 1)
		u.Apply(&event.ResponsePart{Text: event.NewText("spoken")}, 1)
		u.Apply(&event.InputAdmitted{Blocks: []event.Block{{Text: event.NewText("said")}}}, 1)
		before := *u
		u.Apply(p, 2)
		if metered(p) {
			metering++
		} else if !reflect.DeepEqual(before, *u) {
			t.Errorf("%s changes usage and is not metered", typ.Name)
		}
	}
	if metering < 15 {
		t.Errorf("%d types are metered", metering)
	}
}
