package event

import (
	"fmt"
	"reflect"
	"strings"
)

// Kind numbers the event types of this build. It is no part of any format.
type Kind uint16

// Type is one event type of the catalogue.
type Type struct {
	Kind Kind
	Name string // with the version last: "session.turn.started.1"
	make func() Payload
	// upcast raises the payload of an older version; nil for the current one.
	upcast func(old Payload) Payload
	into   *Type
}

// New is a zero payload of this type.
func (t *Type) New() Payload { return t.make() }

// Current is the version that folds see: t itself, or what t is raised to.
func (t *Type) Current() *Type {
	if t.into != nil {
		return t.into
	}
	return t
}

// Upcast raises a decoded payload of an older version; it is the identity for a current one.
func (t *Type) Upcast(p Payload) Payload {
	if t.upcast == nil {
		return p
	}
	return t.upcast(p)
}

// Group is the event types of one noun.
type Group []*Type

// Of binds the struct T to its wire name. It is called from the catalogue's variables only.
func Of[T any, P interface {
	*T
	Payload
}](name string) *Type {
	t := &Type{Name: name, make: func() Payload { return P(new(T)) }}
	register(t)
	goType := reflect.TypeFor[T]()
	if _, twice := byGo[goType]; twice {
		panic("event: struct registered twice: " + goType.String())
	}
	byGo[goType] = t
	return t
}

// Older binds the wire name of an older version to the struct that it had and the function that raises it.
func Older[Old any, P interface {
	*Old
	Payload
}](name string, current *Type, raise func(*Old) Payload) *Type {
	t := &Type{
		Name: name, into: current,
		make:   func() Payload { return P(new(Old)) },
		upcast: func(old Payload) Payload { return raise((*Old)(old.(P))) },
	}
	register(t)
	return t
}

var (
	types  []*Type
	byName = map[string]*Type{}
	byGo   = map[reflect.Type]*Type{}
)

func register(t *Type) {
	if byName[t.Name] != nil {
		panic("event: name registered twice: " + t.Name)
	}
	t.Kind = Kind(len(types))
	types = append(types, t)
	byName[t.Name] = t
}

// Types is the catalogue, in the order of registration, which is that of kinds.
func Types() []*Type { return types }

// ByName finds a type by its wire name; nil when this build does not know it.
func ByName(name []byte) *Type { return byName[string(name)] }

// TypeOf is the type of a payload made by this package. It panics for any other: a defect.
func TypeOf(p Payload) *Type {
	t := byGo[reflect.TypeOf(p).Elem()]
	if t == nil {
		panic(fmt.Sprintf("event: %T is in no group", p))
	}
	return t
}

// SplitVersion parts a wire name from its version, which is 0 when there is none.
func SplitVersion(name string) (base string, version int) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return name, 0
	}
	n := 0
	for _, c := range name[i+1:] {
		if c < '0' || c > '9' {
			return name, 0
		}
		n = n*10 + int(c-'0')
	}
	return name[:i], n
}
