package lifecycle

import (
	"errors"
	"slices"
	"testing"

	"github.com/looplab/fsm"
)

// edge looks a step up in the table itself, by none of the ways that the machine uses.
func edge(m *Machine, s State, t Trigger) (to string, ok bool) {
	for _, e := range m.Table {
		if e.Name == string(t) && slices.Contains(e.Src, s.String()) {
			return e.Dst, true
		}
	}
	return "", false
}

// allTriggers are those of all machines and one that no machine has: each machine must refuse those of others too.
func allTriggers() (out []Trigger) {
	for _, m := range Machines() {
		for _, t := range m.Triggers() {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return append(out, "nothing that exists")
}

// The whole product of states and triggers: Fire and Fold go where the table says, and nowhere else.
//
// spec: D060 D061 D062 D063 D064
func TestFireAndFoldAgreeWithTheTable(t *testing.T) {
	if len(Machines()) < 4 {
		t.Fatalf("only %d machines", len(Machines()))
	}
	for _, m := range Machines() {
		edges := 0
		for _, s := range m.States() {
			for _, trigger := range allTriggers() {
				want, ok := edge(m, s, trigger)
				folded, can := m.Fold(s, trigger)
				fired, err := m.Fire(s, trigger)
				if can != ok || m.Can(s, trigger) != ok || (err == nil) != ok {
					t.Errorf("%s: %s in %s: table %v, Fold %v, Fire %v", m.Name, trigger, s, ok, can, err)
					continue
				}
				if !ok {
					if folded != s || fired != s || !errors.Is(err, ErrImpossible) {
						t.Errorf("%s: refused %s in %s moved to %s and %s (%v)", m.Name, trigger, s, folded, fired, err)
					}
					continue
				}
				edges++
				if folded.String() != want || fired != folded || m.State(want) != folded {
					t.Errorf("%s: %s in %s: table %s, Fold %s, Fire %s", m.Name, trigger, s, want, folded, fired)
				}
			}
		}
		if edges == 0 {
			t.Errorf("%s has no edge", m.Name)
		}
	}
}

// The machines are those of the specification: names of states and edges, written down a second time.
//
// spec: D060 D061 D062 D063
func TestTablesAreTheSpecifiedOnes(t *testing.T) {
	want := map[string]map[string][]string{
		"input": {
			"admitted":  {"cancelled", "failed", "recorded"},
			"recorded":  {"applied", "cancelled", "failed"},
			"applied":   {"cancelled", "completed", "failed"},
			"completed": nil, "failed": nil, "cancelled": nil,
		},
		"turn": {"running": {"cancelled", "completed", "failed"}, "completed": nil, "cancelled": nil, "failed": nil},
		"call": {
			"requested":  {"asking", "blocked", "started"},
			"asking":     {"abandoned", "blocked", "started"},
			"started":    {"settled_cancelled", "settled_error", "settled_ok", "settled_uncertain"},
			"settled_ok": nil, "settled_error": nil, "settled_cancelled": nil, "settled_uncertain": nil, "blocked": nil, "abandoned": nil,
		},
		"execution": {
			"ready":            {"completed", "paused", "ready", "waiting_external", "waiting_human"},
			"waiting_human":    {"paused", "ready"},
			"waiting_external": {"paused", "ready"},
			"paused":           {"ready"},
			"completed":        {"paused", "ready"},
		},
	}
	for _, m := range Machines() {
		states := want[m.Name]
		if states == nil {
			t.Errorf("machine %s is not in this table", m.Name)
			continue
		}
		if len(m.States()) != len(states) {
			t.Errorf("%s has states %v", m.Name, m.States())
		}
		for _, s := range m.States() {
			to, ok := states[s.String()]
			if !ok {
				t.Errorf("%s has a state %s", m.Name, s)
			}
			var got []string
			for _, trigger := range m.Triggers() {
				if next, ok := m.Fold(s, trigger); ok {
					got = append(got, next.String())
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, to) {
				t.Errorf("%s: from %s to %v, want %v", m.Name, s, got, to)
			}
			if s.Terminal() != (len(to) == 0) {
				t.Errorf("%s: terminal %s is %v", m.Name, s, s.Terminal())
			}
		}
		delete(want, m.Name)
	}
	for name := range want {
		t.Errorf("machine %s does not exist", name)
	}
}

// A state of one machine, and the state of none, are refused by every other.
//
// spec: D064 D065
func TestStatesOfOtherMachinesAreRefused(t *testing.T) {
	for _, m := range Machines() {
		for _, other := range append([]*Machine{{}}, Machines()...) {
			if other == m {
				continue
			}
			s := other.Initial
			for _, trigger := range m.Triggers() {
				if to, ok := m.Fold(s, trigger); ok || to != s {
					t.Errorf("%s folded %s of %q to %s", m.Name, s, other.Name, to)
				}
				if _, err := m.Fire(s, trigger); !errors.Is(err, ErrImpossible) {
					t.Errorf("%s fired %s of %q: %v", m.Name, s, other.Name, err)
				}
			}
		}
	}
}

// A table that names a step twice is a defect of ours and does not start.
func TestAmbiguousTableIsRejected(t *testing.T) {
	defer func(all []*Machine) {
		machines = all
		if recover() == nil {
			t.Error("an ambiguous table was taken")
		}
	}(slices.Clone(machines))
	define("twice", "a", fsm.Events{{Name: "go", Src: []string{"a"}, Dst: "b"}, {Name: "go", Src: []string{"a"}, Dst: "c"}})
}
