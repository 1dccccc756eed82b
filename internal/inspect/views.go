package inspect

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// view is one of the things that can be asked for by name.
type view struct {
	name string
	// of gives the value, which is what JSON shows. s is the stream that it is of.
	of func(r *Replay, s *projections.Session) (any, error)
	// tell writes it for people: rows under its heading.
	tell func(t *table, v any)
}

// define binds a view to the type of its value.
func define[T any](name string, of func(r *Replay, s *projections.Session) (T, error), tell func(t *table, v T)) view {
	return view{name, func(r *Replay, s *projections.Session) (any, error) { return of(r, s) }, func(t *table, v any) { tell(t, v.(T)) }}
}

// simple is a view that stands in the projections as it is shown.
func simple[T any](name string, of func(v *projections.View, s *projections.Session) T, tell func(t *table, v T)) view {
	return define(name, func(r *Replay, s *projections.Session) (T, error) { return of(r.View, s), nil }, tell)
}

// journalViews are those of the journal as a whole, streamViews those of each stream; both in the order in which they
// are shown.
var (
	journalViews = []view{
		define("session", sessionOf, tellSession),
		simple("run", func(v *projections.View, _ *projections.Session) projections.Run { return v.Run }, tellRun),
		simple("policy", func(v *projections.View, _ *projections.Session) event.Policy { return v.Policy }, tellPolicy),
		simple("sections", func(v *projections.View, _ *projections.Session) []projections.SectionState { return v.Sections }, tellSections),
		simple("catalogue", func(v *projections.View, _ *projections.Session) []event.ToolEntry { return v.Catalogue }, tellCatalogue),
	}
	streamViews = []view{
		simple("execution", func(_ *projections.View, s *projections.Session) *projections.Execution { return &s.Execution }, tellExecution),
		simple("inputs", func(_ *projections.View, s *projections.Session) *projections.Inputs { return &s.Inputs }, tellInputs),
		simple("turns", func(_ *projections.View, s *projections.Session) *projections.Turns { return &s.Turns }, tellTurns),
		simple("calls", func(_ *projections.View, s *projections.Session) *projections.Calls { return &s.Calls }, tellCalls),
		simple("permissions", func(_ *projections.View, s *projections.Session) *projections.Permissions { return &s.Permissions }, tellPermissions),
		define("transcript", transcriptOf, tellTranscript),
		simple("usage", func(_ *projections.View, s *projections.Session) *projections.Usage { return &s.Usage }, tellUsage),
		simple("controls", func(_ *projections.View, s *projections.Session) *projections.Controls { return &s.Controls }, tellControls),
		define("notices", noticesOf, tellNotices),
		define("files", filesOf, tellFiles),
		simple("script", func(_ *projections.View, s *projections.Session) *projections.Script { return &s.Script }, tellScript),
	}
)

// ViewNames are the names that a view can be asked for by.
func ViewNames() (names []string) {
	for _, v := range slices.Concat(journalViews, streamViews) {
		names = append(names, v.name)
	}
	return names
}

// Session is what a session is, beside what happened in it.
type Session struct {
	ID           string     `json:"id"`
	Title        event.Text `json:"title"`
	Cwd          event.Text `json:"cwd"`
	Worktree     event.Text `json:"worktree"`
	Installation string     `json:"installation"`
	Created      int64      `json:"created_at"` // milliseconds since the epoch
	Updated      int64      `json:"updated_at"` // last input or turn
	Streams      int        `json:"streams"`
}

func sessionOf(r *Replay, s *projections.Session) (Session, error) {
	v := r.View
	streams := len(v.Children)
	if v.ID != "" {
		streams++
	}
	return Session{v.ID, s.Title, v.Created.Cwd, v.Created.Worktree, v.Created.Installation, v.Created.At, s.Updated, streams}, nil
}

// Entry is a piece of the conversation with its text.
type Entry struct {
	projections.Entry
	ID      string     `json:"id,omitempty"` // of the input or the call
	Tool    string     `json:"tool,omitempty"`
	Title   event.Text `json:"title,omitzero"`
	Outcome string     `json:"outcome,omitempty"`
	Text    event.Text `json:"text"`
}

func transcriptOf(r *Replay, s *projections.Session) ([]Entry, error) {
	out := []Entry{}
	for i := range s.Transcript.Len() {
		e, err := r.entry(s.Transcript.At(i))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (r *Replay) entry(x projections.Entry) (Entry, error) {
	e := Entry{Entry: x}
	p, err := r.event(projections.Place{Commit: x.Commit, Event: x.Event})
	if err != nil {
		return e, err
	}
	switch p := p.(type) {
	case *event.InputAdmitted:
		e.ID, e.Text = p.ID, blocks(p.Blocks)
	case *event.ResponsePart:
		e.Text = p.Text
	case *event.CallRequested:
		e.ID, e.Tool, e.Title, e.Text = p.ID, p.Tool, p.Title, p.Args
	case *event.CallBlocked:
		e.ID, e.Outcome, e.Text = p.ID, "blocked: "+string(p.Kind), p.Text
	case *event.CallAbandoned:
		e.ID, e.Outcome = p.ID, "abandoned: "+string(p.Reason)
	case *event.CallSettled:
		e.ID, e.Outcome, e.Text = p.ID, outcome(p), p.Text
	}
	return e, nil
}

// outcome is how a call ended, in a few words.
func outcome(e *event.CallSettled) string {
	s := string(e.Outcome)
	if e.Class != "" {
		s += " (" + e.Class + ")"
	}
	switch x := e.Exit; {
	case x == nil:
	case x.Exited:
		s += fmt.Sprintf(", exit %d", x.Code)
	default:
		s += ", " + x.Signal
	}
	return s
}

// blocks joins what an input holds into one text; what is no text is named.
func blocks(blocks []event.Block) event.Text {
	text := ""
	for i, b := range blocks {
		if b.Type == event.BlockText && !b.Text.Known() && !b.Text.IsZero() {
			return b.Text // dropped
		}
		if i > 0 {
			text += "\n"
		}
		switch b.Type {
		case event.BlockText:
			text += b.Text.String()
		default:
			text += fmt.Sprintf("[%s %s]", b.Type, b.URI.String())
		}
	}
	return event.NewText(text)
}

// event reads the event that stands there, with its texts.
func (r *Replay) event(at projections.Place) (p event.Payload, err error) {
	err = r.file.Read(at.Commit, func(c *journal.Raw) error {
		d, err := engine.Decode(c)
		if err != nil {
			return err
		}
		p = d.Events[at.Event].Payload
		return nil
	})
	return p, err
}

// Notice is a notice with its text.
type Notice struct {
	projections.Notice
	Text event.Text `json:"text"`
}

func noticesOf(r *Replay, s *projections.Session) ([]Notice, error) {
	out := []Notice{}
	for _, n := range s.Notices.All {
		p, err := r.event(n.Place)
		if err != nil {
			return nil, err
		}
		x := Notice{Notice: n}
		if raised, ok := p.(*event.NoticeRaised); ok {
			x.Text = raised.Text
		}
		out = append(out, x)
	}
	return out, nil
}

// File is a file as the session last saw it.
type File struct {
	Path   event.Text   `json:"path"`
	Digest journal.Hash `json:"digest"`
	Commit uint64       `json:"commit"`
}

// filesOf lists by commit and path: a map has no order of its own.
func filesOf(r *Replay, s *projections.Session) ([]File, error) {
	out := []File{}
	for path, state := range s.Files.Seen {
		t, err := r.text(event.Text{Digest: path})
		if err != nil {
			return nil, err
		}
		out = append(out, File{t, state.Digest, state.Commit})
	}
	slices.SortFunc(out, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Commit, b.Commit), cmp.Compare(a.Path.String(), b.Path.String()), slices.Compare(a.Path.Digest[:], b.Path.Digest[:]))
	})
	return out, nil
}

// value gives a view of a stream with its texts, normalized where that was asked for.
func (r *Replay) value(v view, s *projections.Session) (any, error) {
	x, err := v.of(r, s)
	if err != nil {
		return nil, fmt.Errorf("view %s: %w", v.name, err)
	}
	p := reflect.New(reflect.TypeOf(x))
	p.Elem().Set(reflect.ValueOf(x))
	if err := r.complete(p.Elem(), ""); err != nil {
		return nil, fmt.Errorf("view %s: %w", v.name, err)
	}
	return p.Elem().Interface(), nil
}

// complete brings the bytes of texts into a value, which may be changed, and masks what differs between runs.
func (r *Replay) complete(v reflect.Value, name string) error {
	switch x := v.Addr().Interface().(type) {
	case *event.Text:
		t, err := r.text(*x)
		if err == nil && r.mask != nil {
			t = r.mask.textOf(t)
		}
		*x = t
		return err
	case *journal.Hash:
		if r.mask != nil {
			*x = journal.Hash{}
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return r.complete(v.Elem(), name)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if err := r.complete(v.Field(i), fieldName(f)); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		if v.IsNil() { // which JSON would tell from a list that became empty
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			if err := r.complete(v.Index(i), name); err != nil {
				return err
			}
		}
	case reflect.String:
		if r.mask != nil {
			v.SetString(r.mask.string(name, v.String()))
		}
	case reflect.Uint64:
		if r.mask != nil {
			v.SetUint(uint64(r.mask.number(name, int64(v.Uint()))))
		}
	case reflect.Int64:
		if r.mask != nil {
			v.SetInt(r.mask.number(name, v.Int()))
		}
	}
	return nil
}

// named gives the views that were asked for: all, or the one of that name.
func named(name string) (whole, streams []view, err error) {
	if name == "" {
		return journalViews, streamViews, nil
	}
	for _, v := range journalViews {
		if v.name == name {
			return []view{v}, nil, nil
		}
	}
	for _, v := range streamViews {
		if v.name == name {
			return nil, []view{v}, nil
		}
	}
	return nil, nil, &UnknownView{name}
}

// CheckView is [*UnknownView] for a name that no view has; "" stands for all views.
func CheckView(name string) error {
	_, _, err := named(name)
	return err
}

// JSON gives the view of that name, or all of them in one object with the commit that they are of. Equal journals give
// equal bytes. Streams of delegated work stand under "children", by their number.
func (r *Replay) JSON(name string) ([]byte, error) {
	whole, streams, err := named(name)
	if err != nil {
		return nil, err
	}
	out := &node{kind: kindObject}
	if err := r.members(out, whole, r.View.Root); err != nil {
		return nil, err
	}
	if err := r.members(out, streams, r.View.Root); err != nil {
		return nil, err
	}
	if name != "" {
		return append(out.members[0].value.pretty(nil, 0), '\n'), nil
	}
	top := &node{kind: kindObject, members: []member{{"commit", &node{str: strconv.FormatUint(r.View.Number, 10)}}, {"at", r.at()}}}
	top.members = append(top.members, out.members...)
	if len(r.View.Children) > 0 {
		children := &node{kind: kindObject}
		for _, n := range r.children() {
			child := &node{kind: kindObject}
			if err := r.members(child, streams, r.View.Children[n]); err != nil {
				return nil, err
			}
			children.members = append(children.members, member{strconv.FormatUint(n, 10), child})
		}
		top.members = append(top.members, member{"children", children})
	}
	if r.View.Corrupt != nil {
		c, err := toNode(r.View.Corrupt)
		if err != nil {
			return nil, err
		}
		top.members = append(top.members, member{"corrupt", c})
	}
	return append(top.pretty(nil, 0), '\n'), nil
}

func (r *Replay) at() *node {
	at := r.View.At
	if r.mask != nil {
		at = 0
	}
	return &node{str: strconv.FormatInt(at, 10)}
}

func (r *Replay) children() (streams []uint64) {
	for n := range r.View.Children {
		streams = append(streams, n)
	}
	slices.Sort(streams)
	return streams
}

func (r *Replay) members(out *node, views []view, s *projections.Session) error {
	for _, v := range views {
		x, err := r.value(v, s)
		if err != nil {
			return err
		}
		n, err := toNode(x)
		if err != nil {
			return fmt.Errorf("view %s: %w", v.name, err)
		}
		if r.mask != nil {
			r.mask.digests(n)
		}
		out.members = append(out.members, member{v.name, n})
	}
	return nil
}
