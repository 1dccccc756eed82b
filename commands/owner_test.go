package commands_test

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"zuno/commands"
	"zuno/internal/engine"
	"zuno/internal/ledger"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// failer is what both testing.T and rapid.T are.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

type decideFunc func(v *projections.View, typ string, payload []byte, texts event.Table, at commands.Stamp) commands.Decision

// owner is the least thing that owns a journal: it decides, folds and appends one command at a time, and after each
// checks everything that must be true whatever was sent.
type owner struct {
	t      failer
	decide decideFunc
	lean   *projections.Folder
	keep   *projections.Folder
	log    *journal.Memory
	salt   []byte
	at     int64
	run    journal.RunID
	sent   int
	dumps  []string // of the lean view after each commit
	ledger *ledger.Ledger
	events []event.Payload // of the whole history
}

func newOwner(t failer) *owner {
	o := &owner{
		t: t, decide: commands.Decide, salt: []byte("salt of sixteen."), at: 1000, log: &journal.Memory{},
		lean: projections.NewFolder(projections.Options{}), keep: projections.NewFolder(projections.Options{Keep: true}),
	}
	o.ledger = ledger.New()
	return o
}

func (o *owner) view() *projections.View    { return o.lean.View }
func (o *owner) root() *projections.Session { return o.lean.View.Root }

// create opens the first run of a new session.
func (o *owner) create() *owner {
	o.run = journal.RunID{15: 1}
	o.must(&commands.OpenSession{
		Salt: event.NewText(string(o.salt)), Run: o.run.String(), Build: "test", Session: "ses_1", Installation: "ins_1",
		Cwd: event.NewText("/w"), Worktree: event.NewText("/w"),
	})
	o.must(&commands.ResolvePolicy{Policy: policy(4)})
	return o
}

func policy(concurrency uint64) event.Policy {
	return event.Policy{
		Agent: "build", Mode: event.ModeStandard, Concurrency: concurrency,
		Rules: []event.Rule{{Tool: "shell", Action: event.Ask}}, Model: event.ModelChoice{Provider: "p", Name: "m"},
	}
}

// reopen begins another run, as after a crash: what runs is gone.
func (o *owner) reopen() {
	o.run[15]++
	o.must(&commands.OpenSession{Run: o.run.String(), Build: "test"})
	if d := o.do(&commands.RecoverSession{Run: o.run.String()}); d.Refusal != nil && d.Refusal.Code != commands.CodeNothing {
		o.t.Fatalf("recovery refused: %v", d.Refusal)
	}
}

// startStep starts the request that a step wants, with what it takes along.
func (o *owner) startStep(st engine.Step) {
	o.t.Helper()
	c := &commands.StartRequest{Input: st.Input, Turn: st.Turn, Number: st.Number, Attempt: st.Attempt}
	for _, in := range engine.Along(o.view(), st) {
		c.Inputs = append(c.Inputs, in.ID)
	}
	d := o.do(c)
	if in := o.root().Inputs.Get(st.Input); d.Refusal != nil && (len(d.Events) == 0 || in != nil) {
		o.t.Fatalf("%T refused: %v", c, d.Refusal)
	}
}

// control carries out a native command.
func (o *owner) control(id string) {
	o.t.Helper()
	switch in := o.root().Inputs.Get(id); in.Control.Kind {
	case event.ControlInspect:
		o.must(&commands.ListOutcomes{Input: id, Text: event.NewText("list")})
	case event.ControlFinding:
		o.must(&commands.RecordOutcome{Input: id, Note: event.NewText("note")})
	default:
		o.t.Fatalf("%s is carried out as a %s", id, in.Control.Kind)
	}
}

func (o *owner) must(c commands.Command) []event.Payload {
	o.t.Helper()
	d := o.do(c)
	if d.Refusal != nil {
		o.t.Fatalf("%T refused: %v", c, d.Refusal)
	}
	return d.Events
}

// do decides a command twice, checks that this changed nothing, and applies and appends what was decided.
func (o *owner) do(c commands.Command) commands.Decision {
	o.t.Helper()
	o.sent++
	o.at += int64(o.sent % 3)
	rule := commands.RuleOf(c)
	texts := journal.NewTexts(o.salt)
	body, err := event.NewEncoder().Encode(c, texts)
	if err != nil {
		o.t.Fatalf("%T: %v", c, err)
	}
	stamp := commands.Stamp{At: o.at, Command: fmt.Sprintf("test:%d", o.sent), Actor: "user", Commit: o.view().Number + 1}
	before := dump(o.view())
	d := o.decide(o.view(), rule.Type, body, texts.Entries, stamp)
	again := o.decide(o.view(), rule.Type, body, texts.Entries, stamp)
	if a, b := dump(d), dump(again); a != b {
		o.t.Fatalf("%s decided twice differs:\n%s\n%s", rule.Type, a, b)
	}
	if after := dump(o.view()); after != before {
		o.t.Fatalf("%s changed the view that it read:\n%s\n%s", rule.Type, before, after)
	}
	if d.Refusal != nil && strings.Contains(d.Refusal.Reason, "cannot be read") {
		o.t.Fatalf("%s: %v", rule.Type, d.Refusal)
	}
	if len(d.Events) == 0 {
		if d.Refusal == nil {
			o.t.Fatalf("%s was decided to be nothing at all", rule.Type)
		}
		return d
	}
	commit := &journal.Commit{
		Number: stamp.Commit, Run: o.run, At: o.at, Texts: texts,
		Command: journal.Command{ID: stamp.Command, Type: rule.Type, Version: rule.Version, Actor: "user", Payload: body},
	}
	encoder := event.NewEncoder()
	for _, e := range d.Events {
		b, err := encoder.Encode(e, texts)
		if err != nil {
			o.t.Fatalf("%s: %T: %v", rule.Type, e, err)
		}
		commit.Events = append(commit.Events, journal.Event{Stream: 1, Type: event.TypeOf(e).Name, Payload: b})
	}
	for _, f := range []*projections.Folder{o.lean, o.keep} {
		if err := f.Apply(commit); err != nil {
			o.t.Fatalf("%s: %v", rule.Type, err)
		}
		if f.View.Corrupt != nil {
			o.t.Fatalf("%s caused an event that cannot be: %v", rule.Type, f.View.Corrupt)
		}
	}
	if err := o.log.Append([]*journal.Commit{commit}); err != nil {
		o.t.Fatalf("%s: %v", rule.Type, err)
	}
	o.events = append(o.events, d.Events...)
	o.dumps = append(o.dumps, dump(o.view()))
	for _, e := range d.Events {
		if wrong := o.ledger.Take(e); wrong != "" {
			o.t.Fatalf("after %s: %s", rule.Type, wrong)
		}
	}
	o.invariants(rule.Type)
	return d
}

// invariants are what is true after every command.
func (o *owner) invariants(after string) {
	o.t.Helper()
	v, s := o.view(), o.root()
	if wrong := o.ledger.Agree(s); wrong != "" {
		o.t.Fatalf("after %s: %s", after, wrong)
	}
	if working(s) != working(o.keep.View.Root) {
		o.t.Fatalf("after %s: the view that keeps everything has another working set:\n%s\n%s", after, working(s), working(o.keep.View.Root))
	}
	before := dump(v)
	steps, again := engine.Next(v), engine.Next(v)
	if !reflect.DeepEqual(steps, again) {
		o.t.Fatalf("after %s: Next called twice: %v and %v", after, steps, again)
	}
	if dump(v) != before {
		o.t.Fatalf("after %s: Next changed the view", after)
	}
	keys := map[string]bool{}
	for _, st := range steps {
		if keys[st.Key] {
			o.t.Fatalf("after %s: two steps under the key %s", after, st.Key)
		}
		keys[st.Key] = true
		if !strings.HasSuffix(st.Key, fmt.Sprintf("/%d", st.Attempt)) || st.Attempt == 0 {
			o.t.Fatalf("after %s: key %s does not carry attempt %d", after, st.Key, st.Attempt)
		}
		if st.Kind == engine.StepCall && !st.Open && o.ledger.Started[st.Call] > 0 {
			o.t.Fatalf("after %s: %s would be started again", after, st.Call)
		}
	}
}

// working is the working set of a session as text: all that a decision may read.
func working(s *projections.Session) string {
	return dump(s.Inputs.Open) + dump(s.Inputs.Finished) + dump(s.Turns.Active) + dump(s.Turns.Count) + dump(s.Calls.Open) + dump(s.Calls.Finished) +
		dump(s.Calls.Uncertain) + dump(s.Permissions.Pending) + dump(s.Execution) + dump(s.Transcript) + dump(s.Usage) + dump(s.Script) + dump(s.Files) + dump(s.Sequence)
}

// refold folds the journal again, in two parts: each prefix has the view that was there when it was all.
func (o *owner) refold(split int) {
	o.t.Helper()
	f := projections.NewFolder(projections.Options{})
	fold := func(from, to uint64) {
		for n := from; n <= to; n++ {
			err := o.log.Read(n, func(c *journal.Raw) error { return f.Commit(c) })
			if err != nil {
				o.t.Fatalf("fold commit %d: %v", n, err)
			}
			if got := dump(f.View); got != o.dumps[n-1] {
				o.t.Fatalf("commit %d folds to another view than it had:\n%s\n%s", n, o.dumps[n-1], got)
			}
		}
	}
	fold(1, uint64(split))
	fold(uint64(split)+1, uint64(len(o.dumps)))
}

// dump writes all that can be reached from x, unexported fields too. Fields that only inspection fills, and scratch space, are
// left out.
func dump(x any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(x))
	return b.String()
}

var stateType = reflect.TypeFor[lifecycle.State]()

func dumpValue(b *strings.Builder, v reflect.Value) {
	if !v.IsValid() {
		b.WriteString("nil")
		return
	}
	if v.Type() == stateType {
		fmt.Fprintf(b, "<%d>", v.FieldByName("i").Uint()) // of its machine, whose value is no part of the view
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		if v.Kind() == reflect.Interface {
			fmt.Fprintf(b, "%s ", v.Elem().Type())
		}
		dumpValue(b, v.Elem())
	case reflect.Struct:
		b.WriteString("{")
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "keep" && name != "All" && name != "free" {
				fmt.Fprintf(b, "%s:", name)
				dumpValue(b, v.Field(i))
				b.WriteString(" ")
			}
		}
		b.WriteString("}")
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Array && v.Len() == 32 && v.Type().Elem().Kind() == reflect.Uint8 || v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			fmt.Fprintf(b, "%x", v)
			return
		}
		b.WriteString("[")
		for i := range v.Len() {
			dumpValue(b, v.Index(i))
			b.WriteString(" ")
		}
		b.WriteString("]")
	case reflect.Map:
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
		b.WriteString("map[")
		for _, k := range keys {
			fmt.Fprintf(b, "%v:", k)
			dumpValue(b, v.MapIndex(k))
		}
		b.WriteString("]")
	default:
		fmt.Fprintf(b, "%v", v)
	}
}
