package inspect

import (
	"fmt"
	"strings"
	"time"

	"zuno/journal/event"
	"zuno/projections"
)

// Tell gives the view of that name, or all of them, as text for people.
func (r *Replay) Tell(name string) (string, error) {
	whole, streams, err := named(name)
	if err != nil {
		return "", err
	}
	if name == "transcript" {
		return r.conversation(streams[0])
	}
	var b strings.Builder
	if name == "" {
		fmt.Fprintf(&b, "commit %d of %d", r.View.Number, r.Head.Number)
		if r.mask == nil && r.View.Number > 0 {
			fmt.Fprintf(&b, ", %s", moment(r.View.At))
		}
		b.WriteByte('\n')
		if c := r.View.Corrupt; c != nil {
			fmt.Fprintf(&b, "corrupt from commit %d, event %d on: %s\n", c.Commit, c.Event, short(c.Why, 200))
		}
	}
	if err := r.tell(&b, "", whole, r.View.Root); err != nil {
		return "", err
	}
	if err := r.tell(&b, "", streams, r.View.Root); err != nil {
		return "", err
	}
	if name != "" {
		return b.String(), nil
	}
	for _, n := range r.children() {
		if err := r.tell(&b, fmt.Sprintf("stream %d: ", n), streams, r.View.Children[n]); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (r *Replay) tell(b *strings.Builder, stream string, views []view, s *projections.Session) error {
	for _, v := range views {
		x, err := r.value(v, s)
		if err != nil {
			return err
		}
		t := &table{}
		v.tell(t, x)
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(stream + v.name)
		if len(t.rows) == 0 {
			b.WriteString("  none\n")
			continue
		}
		b.WriteByte('\n')
		if more := len(t.rows) - most; more > 0 && len(views) > 1 {
			fmt.Fprintf(b, "  … %d earlier ones: --view %s shows all\n", more, v.name)
			t.rows = t.rows[more:]
		}
		t.write(b, "  ")
	}
	return nil
}

// most is how many rows a view shows among all others.
const most = 50

// line is the most characters of a text in a table.
const line = 100

func tellSession(t *table, s Session) {
	if s.ID == "" {
		return
	}
	t.row("id", short(s.ID, 40))
	t.row("title", words(s.Title, line))
	t.row("folder", words(s.Cwd, 4*line))
	t.row("worktree", words(s.Worktree, 4*line))
	t.row("created", moment(s.Created))
	t.row("updated", moment(s.Updated))
	t.row("installation", short(s.Installation, line))
}

func tellRun(t *table, r projections.Run) {
	if r.Count == 0 {
		return
	}
	t.row("id", short(r.ID, line))
	t.row("build", short(r.Build, line))
	t.row("since", fmt.Sprintf("commit %d, run %d of this session", r.Commit, r.Count))
}

func tellPolicy(t *table, p event.Policy) {
	if p.Agent == "" && p.Mode == "" {
		return
	}
	t.row("agent", short(p.Agent, line))
	t.row("model", modelName(p.Model))
	mode := string(p.Mode)
	if p.Headless {
		mode += ", nobody to ask"
	}
	t.row("permission", mode)
	for _, r := range p.Rules {
		pattern := r.Pattern
		if pattern == "" {
			pattern = "(any)"
		}
		t.row("", fmt.Sprintf("%s %s: %s", short(r.Tool, 40), short(pattern, 80), r.Action))
	}
	t.row("shell", fmt.Sprintf("killed after %s", time.Duration(p.Shell.HardCeilingMS)*time.Millisecond))
	t.row("calls", fmt.Sprintf("at most %d at a time", p.Concurrency))
}

func modelName(m event.ModelChoice) string {
	s := short(m.Provider, 40) + "/" + short(m.Name, 80)
	if m.Context > 0 {
		s += fmt.Sprintf(", window of %d tokens", m.Context)
	}
	if m.Reasoning != "" {
		s += ", reasoning " + short(m.Reasoning, 40)
	}
	return s
}

func tellSections(t *table, sections []projections.SectionState) {
	for _, s := range sections {
		t.row(short(s.ID, 60), commit(s.Commit), plural(s.Text.Size, "byte"), words(s.Text, 60))
	}
}

func commit(n uint64) string { return fmt.Sprintf("commit %d", n) }

func tellCatalogue(t *table, tools []event.ToolEntry) {
	for _, x := range tools {
		t.row(short(x.Name, 40), declared(x.Declaration), words(x.Description, 60))
	}
}

func declared(d event.Declaration) string {
	return fmt.Sprintf("%s, %s, replay %s", d.Effect, d.Concurrency, d.Replay)
}

func tellExecution(t *table, x *projections.Execution) {
	state := x.State.String()
	if x.Phase != "" {
		state += ", phase " + short(x.Phase, 40)
	}
	t.row("state", state)
	t.row("mode", short(x.Mode, 40))
	t.row("revision", fmt.Sprint(x.Revision))
	if x.Cycle != "" {
		t.row("cycle", short(x.Cycle, 80))
	}
	if i := x.Identity; i.Agent != "" {
		t.row("identity", fmt.Sprintf("%s on %s/%s", short(i.Agent, 40), short(i.Provider, 40), short(i.Model, 80)))
	}
	if g := x.Gate; g != nil {
		gate := short(g.Reason, line)
		if g.Waiting != "" {
			gate += ", waiting for " + short(g.Waiting, 80)
		}
		t.row("gate", fmt.Sprintf("%s, raised by commit %d at revision %d", gate, g.Raised, g.Revision))
	}
}

func tellInputs(t *table, in *projections.Inputs) {
	for _, x := range in.All {
		t.row(short(x.ID, 80), ended(x.State.String(), x.Stop, x.Fault), fmt.Sprintf("%s, %s", x.Trigger, x.Delivery),
			commit(x.Admitted.Commit), short(x.Turn, 80), words(x.Fault.Reason, line))
	}
}

func ended(state, stop string, f event.Failure) string {
	switch {
	case f.Code != "":
		return fmt.Sprintf("%s (%s)", state, short(f.Code, 40))
	case stop != "":
		return fmt.Sprintf("%s (%s)", state, short(stop, 40))
	}
	return state
}

func tellTurns(t *table, turns *projections.Turns) {
	for _, x := range turns.All {
		took := ""
		if x.EndedAt > 0 {
			took = fmt.Sprint(time.Duration(x.EndedAt-x.StartedAt) * time.Millisecond)
		}
		state := ended(x.State.String(), x.Stop, x.Fault)
		if x.Cancelling && turns.Active == x {
			state += ", being stopped"
		}
		t.row(short(x.ID, 80), state, "from commit "+fmt.Sprint(x.Started), plural(x.Requests, "request"), took,
			short(x.Model.Provider, 40)+"/"+short(x.Model.Name, 80), words(x.Fault.Reason, line))
	}
}

func tellCalls(t *table, calls *projections.Calls) {
	for _, x := range calls.All {
		state := x.State.String()
		switch {
		case x.Block != "":
			state += " (" + string(x.Block) + ")"
		case x.Class != "":
			state += " (" + short(x.Class, 40) + ")"
		}
		where := commit(x.Requested.Commit)
		if x.Settled > x.Requested.Commit {
			where = fmt.Sprintf("commits %d to %d", x.Requested.Commit, x.Settled)
		}
		permission := string(x.Permission)
		if x.Answered != "" {
			permission += ", answered " + string(x.Answered)
		}
		t.row(short(x.ID, 80), short(x.Tool, 40), state, where, permission, string(x.Declaration.Effect))
	}
}

func tellPermissions(t *table, p *projections.Permissions) {
	for _, x := range p.All {
		verdict := "pending"
		if x.Verdict != "" {
			verdict = string(x.Verdict)
		}
		if x.Abandoned && x.Verdict == "" {
			verdict = "pending, the call is over"
		}
		t.row(short(x.ID, 80), verdict, commit(x.Asked.Commit), short(x.Call, 80))
	}
	for _, g := range p.Grants {
		t.row(short(g.ID, 80), "for the session", commit(g.Commit), short(g.Call, 80))
	}
}

// tellTranscript joins the parts of one response, of which a journal holds as many as there were flushes.
func tellTranscript(t *table, entries []Entry) {
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		kind, _ := e.Kind.MarshalText()
		text := e.Text
		joined := text.String()
		for i+1 < len(entries) && entries[i+1].Kind == e.Kind && (e.Kind == projections.EntryText || e.Kind == projections.EntryReasoning) && text.Known() {
			i++
			joined += entries[i].Text.String()
		}
		said := words(text, line)
		if text.Known() {
			said = short(joined, line)
		}
		switch e.Kind {
		case projections.EntryCall:
			if title := words(e.Title, line); title != "" {
				said = title
			}
			said = short(e.Tool, 40) + ": " + said
		case projections.EntryResult:
			if said != "" {
				said = ": " + said
			}
			said = short(e.Outcome, 60) + said
		}
		t.row(commit(e.Commit), string(kind), said)
	}
}

// conversation is the transcript by itself, with its texts in full.
func (r *Replay) conversation(v view) (string, error) {
	x, err := r.value(v, r.View.Root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range x.([]Entry) {
		kind, _ := e.Kind.MarshalText()
		fmt.Fprintf(&b, "commit %d  %s", e.Commit, kind)
		for _, more := range []string{short(e.Tool, 40), short(e.Outcome, 80), short(e.ID, 80)} {
			if more != "" {
				b.WriteString("  " + more)
			}
		}
		b.WriteByte('\n')
		text := words(e.Text, line)
		if e.Text.Known() {
			text = plain(e.Text.String())
		}
		for l := range strings.Lines(text) {
			b.WriteString(strings.TrimRight("  "+l, " \n") + "\n")
		}
	}
	return b.String(), nil
}

func tellUsage(t *table, u *projections.Usage) {
	if u.Used != nil {
		used := fmt.Sprintf("%d tokens", *u.Used)
		if u.Window > 0 {
			used += fmt.Sprintf(" of %d", u.Window)
		}
		b := u.Baseline
		t.row("context", used+", "+string(u.Freshness))
		confirmed := fmt.Sprintf("%d tokens of prompt", b.Prompt)
		if b.Output != nil {
			confirmed += fmt.Sprintf(", %d of output", *b.Output)
		}
		t.row("confirmed", confirmed+", by "+short(b.Request.ID, 80)+" of "+short(b.Request.Provider+"/"+b.Request.Model, 80))
		if u.Tail > 0 {
			t.row("since", fmt.Sprintf("about %d tokens", u.Tail))
		}
	}
	for _, x := range []struct {
		name string
		n    *uint64
	}{
		{"input", u.Sums.Input},
		{"output", u.Sums.Output},
		{"reasoning", u.Sums.Reasoning},
		{"cache read", u.Sums.CacheRead},
		{"cache write", u.Sums.CacheWrite},
	} {
		if x.n != nil {
			all := "tokens in all"
			if !u.Complete {
				all = "tokens or more in all"
			}
			t.row(x.name, fmt.Sprintf("%d %s", *x.n, all))
		}
	}
}

func tellControls(t *table, c *projections.Controls) {
	for _, x := range c.All {
		t.row(short(x.ID, 80), short(x.Kind, 40), "by "+short(x.Source, 40), commit(x.Commit), short(x.Turn, 80))
	}
}

func tellNotices(t *table, notices []Notice) {
	for _, n := range notices {
		t.row(commit(n.Commit), short(n.Severity, 20), short(n.Code, 60), words(n.Text, 2*line))
	}
}

func tellFiles(t *table, files []File) {
	for _, f := range files {
		digest := f.Digest.String()[:12]
		if f.Digest.String() == zeroDigest {
			digest = ""
		}
		t.row(words(f.Path, 4*line), commit(f.Commit), digest)
	}
}

func tellScript(t *table, s *projections.Script) {
	t.row("position", fmt.Sprint(s.Position))
	if len(s.Used) > 0 {
		t.row("used", fmt.Sprint(s.Used))
	}
}
