package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/looplab/fsm"
)

// Trigger names what moves a machine.
type Trigger string

// State is a place in a machine. It is opaque: only the machine moves it. The zero State belongs to none.
type State struct {
	m *Machine
	i uint8
}

// String is the state's name in its machine's table.
func (s State) String() string {
	if s.m == nil {
		return ""
	}
	return s.m.states[s.i]
}

// MarshalText is the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Terminal says that no trigger leads out of the state.
func (s State) Terminal() bool {
	if s.m == nil {
		return false
	}
	for _, to := range s.m.next[s.i] {
		if to != none {
			return false
		}
	}
	return true
}

// Is says that the state has this name.
func (s State) Is(name string) bool { return s.String() == name }

const none = 0xff

// Machine is one lifecycle. Entities begin in the state Initial.
type Machine struct {
	Name     string
	Initial  State
	Table    fsm.Events
	states   []string
	triggers []Trigger
	next     [][]uint8 // state × trigger → state, or none

	mu   sync.Mutex
	live *fsm.FSM
}

// ErrImpossible is a trigger that the table does not have for the state.
var ErrImpossible = errors.New("impossible step")

func define(name, initial string, table fsm.Events) *Machine {
	m := &Machine{Name: name, Table: table}
	state := func(s string) uint8 {
		for i, x := range m.states {
			if x == s {
				return uint8(i)
			}
		}
		m.states = append(m.states, s)
		return uint8(len(m.states) - 1)
	}
	state(initial)
	for _, e := range table {
		for _, s := range e.Src {
			state(s)
		}
		state(e.Dst)
		if m.trigger(Trigger(e.Name)) < 0 {
			m.triggers = append(m.triggers, Trigger(e.Name))
		}
	}
	m.next = make([][]uint8, len(m.states))
	for i := range m.next {
		m.next[i] = make([]uint8, len(m.triggers))
		for j := range m.next[i] {
			m.next[i][j] = none
		}
	}
	for _, e := range table {
		for _, s := range e.Src {
			cell := &m.next[state(s)][m.trigger(Trigger(e.Name))]
			if *cell != none {
				panic(fmt.Sprintf("lifecycle %s: %s from %s twice", name, e.Name, s))
			}
			*cell = state(e.Dst)
		}
	}
	m.Initial = State{m, 0}
	machines = append(machines, m)
	return m
}

var machines []*Machine

// Machines are all lifecycles, in the order in which they are drawn.
func Machines() []*Machine { return machines }

func (m *Machine) trigger(t Trigger) int {
	for i, x := range m.triggers {
		if x == t {
			return i
		}
	}
	return -1
}

// States are all states, the initial one first.
func (m *Machine) States() []State {
	out := make([]State, len(m.states))
	for i := range out {
		out[i] = State{m, uint8(i)}
	}
	return out
}

// Triggers are all triggers.
func (m *Machine) Triggers() []Trigger { return m.triggers }

// State finds a state by name; the zero State when there is none.
func (m *Machine) State(name string) State {
	for i, s := range m.states {
		if s == name {
			return State{m, uint8(i)}
		}
	}
	return State{}
}

// Fire moves s through looplab/fsm, for a live decision. It fails with [ErrImpossible] where the table has no edge.
func (m *Machine) Fire(s State, t Trigger) (State, error) {
	if s.m != m {
		return s, fmt.Errorf("%w: %s is no state of %s", ErrImpossible, s, m.Name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live == nil {
		m.live = fsm.NewFSM(m.states[0], m.Table, nil)
	}
	m.live.SetState(m.states[s.i])
	err := m.live.Event(context.Background(), string(t))
	var same fsm.NoTransitionError
	if err != nil && !errors.As(err, &same) {
		return s, fmt.Errorf("%w: %s: %s in state %s", ErrImpossible, m.Name, t, s)
	}
	return m.State(m.live.Current()), nil
}

// Fold moves s through the compiled table, for a replay. ok is false where the table has no edge; s is then kept.
func (m *Machine) Fold(s State, t Trigger) (to State, ok bool) {
	j := m.trigger(t)
	if j < 0 || s.m != m {
		return s, false
	}
	i := m.next[s.i][j]
	if i == none {
		return s, false
	}
	return State{m, i}, true
}

// Can says that the table has an edge for t in s.
func (m *Machine) Can(s State, t Trigger) bool { _, ok := m.Fold(s, t); return ok }

// Mermaid draws the machine as a Mermaid state diagram.
func (m *Machine) Mermaid() (string, error) {
	return fsm.VisualizeWithType(fsm.NewFSM(m.states[0], m.Table, nil), fsm.MermaidStateDiagram)
}
