package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// Checked is what deciding a journal's commands again found.
type Checked struct {
	Commits uint64        `json:"commits"`
	Build   string        `json:"build"`   // of this executable
	Differ  []BuildDiffer `json:"differ"`  // by the build that wrote the commits, in the order of its first difference
	BySize  uint64        `json:"by_size"` // texts of which only the sizes could be compared: the journal has lost the salt
	Corrupt string        `json:"corrupt,omitempty"`
}

// BuildDiffer is the commits of one build that this build decides otherwise.
type BuildDiffer struct {
	Build   string     `json:"build"`
	Same    bool       `json:"same_build"` // it is this executable's: a defect
	Commits uint64     `json:"commits"`    // how many differ
	First   Difference `json:"first"`
}

// Difference is a commit that is decided otherwise now.
type Difference struct {
	Commit   uint64          `json:"commit"`
	Type     string          `json:"command"`
	ID       string          `json:"id"`
	Actor    string          `json:"actor"`
	Why      string          `json:"why"`
	Recorded json.RawMessage `json:"recorded"`
	Decided  json.RawMessage `json:"decided"`
}

// CheckDiffers says that commits are decided otherwise now, and that this counts.
type CheckDiffers struct {
	Commit uint64 // the first of them
	Same   bool   // this build wrote it
}

func (e *CheckDiffers) Error() string {
	if e.Same {
		return fmt.Sprintf("commit %d is decided otherwise by the build that wrote it: that is a defect of zuno, please report it with this journal", e.Commit)
	}
	return fmt.Sprintf("commit %d is decided otherwise than by the build that wrote it", e.Commit)
}

// CheckOptions say what a check is held against.
type CheckOptions struct {
	Build  string // of this executable
	Strict bool   // a difference with another build fails too
}

// Check verifies the journal at path and decides each recorded command again, on the view folded from the recorded events
// before it. Its errors are those of [Fold], and [*CheckDiffers]; with that one the result is complete. Nothing of a
// running session depends on it: an owner folds events and never decides twice.
func Check(path string, o CheckOptions) (*Checked, error) {
	k := newChecker(o.Build)
	file, err := open(path, func(c *journal.Raw) error { return unreadable(path, c, k.commit(c)) })
	if err != nil {
		return nil, unwrapped(err)
	}
	if c := k.folder.View.Corrupt; c != nil {
		k.out.Corrupt = c.Error()
	}
	err = file.Close()
	for _, d := range k.out.Differ {
		if d.Same || o.Strict {
			err = errors.Join(err, &CheckDiffers{d.First.Commit, d.Same})
			break
		}
	}
	return k.out, err
}

// checker decides one commit after the other. What it needs for each is kept and used again.
type checker struct {
	out     *Checked
	folder  *projections.Folder
	encoder *event.Encoder
	texts   *journal.Texts
	salt    []byte
	types   map[string]commandType // by name, so that reading one does not allocate
}

func newChecker(build string) *checker {
	return &checker{
		out: &Checked{Build: build, Differ: []BuildDiffer{}}, folder: projections.NewFolder(projections.Options{}),
		encoder: event.NewEncoder(), texts: &journal.Texts{}, types: map[string]commandType{},
	}
}

// commandType is a type of commands, and the version of it that this build decides; 0 when it knows none.
type commandType struct {
	name    string
	version uint64
}

func (k *checker) typeOf(name []byte) commandType {
	t, ok := k.types[string(name)]
	if !ok {
		t.name = string(name)
		if r := commands.RuleByName(t.name); r != nil {
			t.version = r.Version
		}
		k.types[t.name] = t
	}
	return t
}

// commit decides and compares, then folds what is recorded: one difference does not make others.
func (k *checker) commit(c *journal.Raw) error {
	if c.Number == 1 {
		if err := k.takeSalt(c); err != nil {
			return err
		}
	}
	if k.folder.View.Corrupt != nil {
		return k.folder.Commit(c) // no rule decides on such a view
	}
	k.out.Commits++
	d, fault := k.decide(c)
	why := fault
	if fault == "" {
		var err error
		if why, err = k.compare(c, &d); err != nil {
			return err
		}
	}
	var found *Difference
	if why != "" {
		var err error
		if found, err = k.tell(c, &d, why); err != nil {
			return err
		}
	}
	if err := k.folder.Commit(c); err != nil {
		return err
	}
	if found != nil {
		k.note(found)
	}
	return nil
}

func (k *checker) takeSalt(c *journal.Raw) error {
	salt, err := c.Body(0)
	switch {
	case errors.Is(err, journal.ErrRedacted):
	case err != nil:
		return err
	default:
		k.salt = bytes.Clone(salt)
		k.texts = journal.NewTexts(k.salt)
	}
	return nil
}

// decide runs the rule. A rule that fails on a view that was recorded is a difference, not the end of the inspection.
func (k *checker) decide(c *journal.Raw) (d commands.Decision, fault string) {
	defer func() {
		if p := recover(); p != nil {
			fault = fmt.Sprintf("the rule of this build fails: %v", p)
		}
	}()
	t := k.typeOf(c.Command.Type)
	if t.version > 0 && t.version != c.Command.Version {
		return d, fmt.Sprintf("it is version %d of the command, of which this build decides version %d", c.Command.Version, t.version)
	}
	return commands.Decide(k.folder.View, t.name, c.Command.Payload, c.Texts,
		commands.Stamp{At: c.At, Command: string(c.Command.ID), Actor: string(c.Command.Actor), Commit: c.Number}), ""
}

// compare says in what the decision differs from the record; "" where it does not.
func (k *checker) compare(c *journal.Raw, d *commands.Decision) (why string, err error) {
	switch {
	case len(d.Events) == 0 && d.Refusal != nil && len(c.Events) > 0:
		return "it is refused: " + d.Refusal.Reason, nil
	case len(d.Events) != len(c.Events):
		return fmt.Sprintf("%s recorded, %d decided", plural(uint64(len(c.Events)), "event"), len(d.Events)), nil
	}
	for i, p := range d.Events {
		e, t := &c.Events[i], event.TypeOf(p)
		recorded := event.ByName(e.Type)
		switch {
		case recorded == nil:
			return "", nil // the fold types it
		case recorded.Current() != t:
			return fmt.Sprintf("event %d is %s, decided is %s", i+1, e.Type, t.Name), nil
		case e.Stream != 1:
			return fmt.Sprintf("event %d is of stream %d, decided of stream 1", i+1, e.Stream), nil
		}
		same, err := k.payload(c, e, recorded, p)
		if err != nil {
			return "", err
		}
		if !same {
			return fmt.Sprintf("event %d, %s, has another payload", i+1, t.Name), nil
		}
	}
	return "", nil
}

// payload compares bytes. An event of an older version is raised first, and without the salt, which names the texts
// that a decision adds, the fields are compared one by one.
func (k *checker) payload(c *journal.Raw, e *journal.RawEvent, recorded *event.Type, p event.Payload) (bool, error) {
	if k.salt == nil {
		old, err := raised(c, e, recorded, nil)
		return err == nil && k.alike(reflect.ValueOf(old).Elem(), reflect.ValueOf(p).Elem()), err
	}
	decided, err := k.encode(c, p)
	if err != nil || bytes.Equal(decided, e.Payload) && recorded.Current() == recorded {
		return err == nil, nil // a text that is not in the table is a difference
	}
	if recorded.Current() == recorded {
		return false, nil
	}
	old, err := raised(c, e, recorded, c.Body)
	if err != nil {
		return false, err
	}
	was, err := k.encode(c, old)
	return err == nil && bytes.Equal(decided, was), err
}

// encode writes p against the recorded table: a text that is not in it gets a place that no record names.
func (k *checker) encode(c *journal.Raw, p event.Payload) ([]byte, error) {
	if len(k.texts.Bodies) > 0 {
		k.texts = journal.NewTexts(k.salt)
	}
	k.texts.Entries = c.Texts[:len(c.Texts):len(c.Texts)]
	return k.encoder.Encode(p, k.texts)
}

// raised decodes a recorded event in its present version.
func raised(c *journal.Raw, e *journal.RawEvent, t *event.Type, body func(int) ([]byte, error)) (event.Payload, error) {
	p := t.New()
	if err := event.Decode(p, e.Payload, c.Texts, body); err != nil {
		return nil, err
	}
	return t.Upcast(p), nil
}

var textType = reflect.TypeFor[event.Text]()

// alike compares two payloads whose texts may be known by digest on one side only.
func (k *checker) alike(a, b reflect.Value) bool {
	if a.Type() == textType {
		x, y := a.Interface().(event.Text), b.Interface().(event.Text)
		if y.Known() && !x.Known() {
			k.out.BySize++
			return x.Size == y.Size
		}
		return x.Digest == y.Digest && x.Size == y.Size
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !k.alike(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !k.alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return k.alike(a.Elem(), b.Elem())
	}
	return a.Equal(b)
}

// note puts a difference under the build that wrote the commit, which is known once the commit is folded.
func (k *checker) note(d *Difference) {
	build := k.folder.View.Run.Build
	for i := range k.out.Differ {
		if g := &k.out.Differ[i]; g.Build == build {
			g.Commits++
			return
		}
	}
	k.out.Differ = append(k.out.Differ, BuildDiffer{build, build == k.out.Build, 1, *d})
}
