package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"zuno/commands"
	"zuno/internal/model"
	"zuno/internal/permission"
	"zuno/journal/event"
	"zuno/projections"
	"zuno/tools"
)

// performRequest asks the provider once: fence, stream, end.
func (s *Session) performRequest(e *effect) {
	var req *model.Request
	var policy event.Policy
	var provider model.Provider
	var o Outcome
	for fresh := false; !fresh; { // what the request takes along may be withdrawn before its fence is decided, and another model chosen
		var answering event.ModelChoice
		var along []string
		if err := s.inOwner(func() {
			var err error
			if req, along, err = s.modelRequest(e.step); err != nil {
				s.host.log.Error("request cannot be made", "session", s.ID, "error", err)
			}
			if set := s.settings.Load(); e.step.Input != "" {
				s.providers[set.Policy.Model] = set.Provider // a turn that ended may have kept an older one
			}
			answering = s.answering()
			policy, provider = s.folder.View.Policy, s.providers[answering]
		}); err != nil {
			return
		}
		start := &commands.StartRequest{Input: e.step.Input, Turn: e.step.Turn, Number: e.step.Number, Attempt: e.step.Attempt, Inputs: along, Keyless: keyless(provider), Model: answering}
		if req != nil {
			start.Digests = event.RequestDigests(s.digester.Digest(req))
		}
		var refusal *commands.Refusal
		var err error
		o, fresh, err = s.fence(e, start)
		if !fresh && !(errors.As(err, &refusal) && (refusal.Code == commands.CodeInputsChanged || refusal.Code == commands.CodeModelChanged) && e.ctx.Err() == nil) {
			return
		}
	}
	started := find[*event.RequestStarted](o.Events)
	if req == nil || provider == nil {
		_ = s.report(e, "fail", o.Commit, failed(started, &model.Error{Code: "internal", Reason: "the conversation cannot be read back from the journal"}))
		return
	}
	shown := newStream(s, e, started, o.Commit)
	s.setStreaming(shown)
	s.at(PointRequestFenced)
	resp, err := provider.Stream(e.ctx, req, shown.emit)
	s.at(PointResponseEnded)
	s.setStreaming(nil)
	parts := shown.end()
	switch {
	case err == nil:
		_ = s.report(e, "complete", o.Commit, &commands.CompleteResponse{
			Request: started.ID, Attempt: started.Attempt, Finish: resp.Finish,
			Usage: event.Usage(resp.Usage), Parts: parts, Calls: s.resolveCalls(started, policy, resp.Calls), Entry: resp.Entry, Conditional: resp.Conditional,
			Lack: string(resp.Lack),
		})
	case e.ctx.Err() != nil:
		var cut *model.Cut
		if errors.As(err, &cut) && cut.Entry != 0 {
			shown.entry, shown.conditional = cut.Entry, cut.Conditional
		}
		_ = s.report(e, "cut", o.Commit, &commands.CutResponse{
			Request: started.ID, Attempt: started.Attempt, Reason: event.CutCancelled, Parts: parts, Calls: shown.cards,
			Entry: shown.entry, Conditional: shown.conditional,
		})
	default:
		s.reportFailure(e, o.Commit, shown, parts, err)
	}
}

// performTimer waits for a deadline that is in the journal already. It has no effect outside, so nothing fences it.
func (s *Session) performTimer(e *effect) {
	wait := time.Duration(e.step.Until-s.host.clock.Now()) * time.Millisecond
	if wait > 0 && s.host.clock.Sleep(e.ctx, wait) != nil {
		return // no longer wanted
	}
	_ = s.report(e, "", e.cause, &commands.EndBackoff{Request: e.step.Request, Attempt: e.step.Attempt})
}

// resolveContext records, once a run and only what changed, the prompt's sections and the tool catalogue: without
// them no later build could rebuild a request. It is queued before the fence of a request and shares its transaction; nil when
// there is nothing to do.
func (s *Session) resolveContext(e *effect) *request {
	s.mu.Lock()
	done := s.resolved
	s.mu.Unlock()
	if done || e.step.Kind != StepRequest {
		return nil
	}
	r, err := s.encode("engine:context:"+s.runLabel, "engine", e.cause, s.context())
	if err == nil {
		err = s.enqueue(context.Background(), r)
	}
	if err != nil {
		s.host.log.Error("prompt context not recorded", "session", s.ID, "error", err)
		return nil
	}
	return r
}

// contextResolved takes the answer. What could not be written is tried again with the next fence: a request without its
// context would be another one.
func (s *Session) contextResolved(r *request) {
	if r == nil {
		return
	}
	select {
	case a := <-r.done:
		var refusal *commands.Refusal
		if a.err == nil || errors.As(a.err, &refusal) && refusal.Code == commands.CodeNothing {
			s.mu.Lock()
			s.resolved = true
			s.mu.Unlock()
		} else {
			s.host.log.Error("prompt context not recorded", "session", s.ID, "error", a.err)
		}
	case <-s.stopped:
	}
}

// reportFailure closes an attempt whose stream is over; parts are those that are not recorded yet.
func (s *Session) reportFailure(e *effect, cause uint64, shown *stream, parts []commands.Part, err error) {
	r, cards := shown.request, shown.cards
	var cut *model.Cut
	if errors.As(err, &cut) {
		_ = s.report(e, "cut", cause, &commands.CutResponse{
			Request: r.ID, Attempt: r.Attempt, Reason: event.CutStream,
			Detail: event.NewText(cut.Reason), Fault: event.Failure{RequestID: cut.RequestID},
			Parts: parts, Calls: cards, Entry: cut.Entry, Conditional: cut.Conditional,
		})
		return
	}
	var failure *model.Error
	if !errors.As(err, &failure) {
		failure = &model.Error{Code: "provider", Reason: err.Error()}
	}
	f := failed(r, failure)
	if len(parts) > 0 || len(cards) > 0 || shown.parts > 0 { // something was shown: the attempt is closed as a cut that says why
		_ = s.report(e, "cut", cause, &commands.CutResponse{
			Request: r.ID, Attempt: r.Attempt, Reason: event.CutStream,
			Detail: f.Fault.Reason, Fault: event.Failure{Code: f.Fault.Code, Status: f.Fault.Status, RequestID: f.Fault.RequestID},
			RetryAfterMS: f.RetryAfterMS, Final: !f.Retryable,
			Parts: parts, Calls: cards, Entry: f.Entry, Conditional: f.Conditional,
		})
		return
	}
	_ = s.report(e, "fail", cause, f)
}

func failed(r *event.RequestStarted, f *model.Error) *commands.FailRequest {
	code := cmp.Or(f.Code, string(f.Kind), "provider")
	return &commands.FailRequest{
		Request: r.ID, Attempt: r.Attempt, Entry: f.Entry, Conditional: f.Conditional,
		RetryAfterMS: uint64(max(f.RetryAfter.Milliseconds(), 0)), Retryable: retryable(f),
		Fault: event.Failure{Code: code, Status: uint64(max(f.Status, 0)), RequestID: f.RequestID, Reason: event.NewText(f.Error())},
	}
}

// retryable says that another attempt may fare better: the provider was busy or broken, or could not be reached.
func retryable(f *model.Error) bool {
	return f.Retryable || f.Kind == "" && (f.Status == 408 || f.Status == 429 || f.Status >= 500) // a script names a status only
}

// resolveCalls finds the facts about each call, in the model's order: is there such a tool, are its arguments valid, what
// does it declare, what would it touch, and does the policy let it.
func (s *Session) resolveCalls(r *event.RequestStarted, policy event.Policy, calls []model.Call) []commands.ResolvedCall {
	out := make([]commands.ResolvedCall, 0, len(calls))
	for i, c := range calls {
		rc := commands.ResolvedCall{
			ID: callID(r, i), Tool: c.Tool, Provider: c.ID, Args: event.NewText(c.Args),
			Kind: "other", Title: event.NewText(c.Tool), Declaration: event.Declaration{}.WithDefaults(),
		}
		if t, ok := s.host.entry(c.Tool); ok {
			rc.Declaration = t.Declaration
		}
		p, blocked := s.host.tools.Resolve(s.env(rc.ID).Where(), c.Tool, c.Args)
		if c.Defect == model.DefectDuplicate { // the same call sent twice is more likely than two that share an id by chance
			blocked = tools.Invalid("an earlier call of this response has the id %q, too. This one was not run; if it is another one, call it again", c.ID)
		}
		if blocked != nil {
			rc.Blocked, rc.BlockText = event.BlockKind(blocked.Kind), event.NewText(blocked.Message)
		} else {
			s.permit(&rc, &p, policy)
		}
		out = append(out, rc)
	}
	return out
}

func (s *Session) permit(rc *commands.ResolvedCall, p *tools.Prepared, policy event.Policy) {
	rc.Declaration, rc.Kind = p.Declaration, p.Kind
	if p.Title != "" {
		rc.Title = event.NewText(p.Title)
	}
	for _, path := range p.Paths {
		rc.Paths = append(rc.Paths, event.NewText(path))
	}
	accesses := make([]permission.Access, len(p.Accesses))
	for i, a := range p.Accesses {
		rc.Accesses = append(rc.Accesses, event.Access{Kind: a.Kind, Place: a.Place, Name: event.NewText(a.Name)})
		accesses[i] = permission.Access(a)
	}
	v := permission.Decide(policy, rc.Tool, p.Declaration, accesses)
	rc.Permission, rc.Rule = v.Action, event.NewText(v.Rule)
	rc.Reusable = v.Action == event.Ask && !p.Inexact && permission.Reusable(policy, accesses)
	if v.Action == event.Deny {
		rc.BlockText = event.NewText(v.Reason)
	}
	s.mu.Lock()
	s.prepared[rc.ID] = p
	s.mu.Unlock()
}

// callID is unique in the session and the same on load: it derives from request, attempt and position.
func callID(r *event.RequestStarted, position int) string {
	return commands.DeriveID("call", r.ID, strconv.FormatUint(r.Attempt, 10), strconv.Itoa(position+1))
}

// keyless says that a provider needs a key and has none.
func keyless(p model.Provider) bool {
	k, ok := p.(interface{ Keyless() bool })
	return ok && k.Keyless()
}

func find[T event.Payload](events []event.Payload) (found T) {
	for _, e := range events {
		if t, ok := e.(T); ok {
			return t
		}
	}
	return found
}

// env is what a call knows of its session.
func (s *Session) env(call string) tools.Env {
	set := s.settings.Load()
	env := tools.Env{
		Cwd: s.Cwd, Worktree: set.Worktree, OutDir: s.outDir(), CallID: call, Environ: set.Environ,
		LastRead: s.lastRead, Replayed: s.replayed, Progress: func(b []byte) { s.live(Live{Kind: LiveOutput, Call: call, Text: string(b)}) },
	}
	if s.journal != nil {
		env.KeepPreImages = s.keepPreImages
	}
	return env
}

func (s *Session) lastRead(path string) (digest [32]byte, ok bool) {
	key := s.textDigest(path)
	err := s.Read(func(v *projections.View) {
		var f projections.FileState
		f, ok = v.Root.Files.Seen[key]
		digest = f.Digest
	})
	return digest, ok && err == nil
}

// performCall runs a tool: fence, effect, settlement. Results are recorded in the model's order, whatever finishes first.
func (s *Session) performCall(e *effect) {
	id := e.step.Call
	s.mu.Lock()
	p := s.prepared[id]
	s.mu.Unlock()
	var early *tools.Result
	if s.host.unfenced && p != nil {
		r := s.runTool(e.ctx, p, id)
		early = &r
	}
	o, fresh, _ := s.fence(e, &commands.StartCall{ID: id, Attempt: e.step.Attempt, Full: s.host.free(s.dir) < commands.MinFreeMiB})
	if !fresh || find[*event.CallStarted](o.Events) == nil {
		return
	}
	s.mu.Lock()
	delete(s.prepared, id) // only now: a fence that was refused may be tried again
	s.mu.Unlock()
	started := elapsed(s.host.clock)
	var r tools.Result
	switch {
	case early != nil:
		r = *early
	case p == nil:
		r = tools.Result{Outcome: tools.Failed, Class: "internal", Text: "The call was lost before it began. Nothing was done; call it again."}
	default:
		r = s.runTool(e.ctx, p, id)
	}
	took := elapsed(s.host.clock) - started
	for _, b := range e.before {
		<-b.settled
	}
	for _, p := range e.peers {
		<-p.queued // even the shortest call ends after the others have started
	}
	settled := settlement(&r)
	settled.ID, settled.Attempt, settled.Millis = id, e.step.Attempt, uint64(max(took, 0))
	_ = s.report(e, "settle", o.Commit, (*commands.SettleCall)(&settled))
}

// runTool shields the session from a tool that panics: its effect is then unknown.
func (s *Session) runTool(ctx context.Context, p *tools.Prepared, id string) (r tools.Result) {
	defer func() {
		if x := recover(); x != nil {
			s.host.log.Error("tool panicked", "session", s.ID, "call", id, "panic", fmt.Sprint(x))
			r = tools.Result{Outcome: tools.Uncertain, Class: "internal", Text: unknownEffect}
		}
	}()
	s.at(PointCallFenced)
	defer s.at(PointCallEnded)
	env := s.env(id)
	_ = s.Read(func(v *projections.View) { env.Shell = v.Policy.Shell })
	return p.Run(ctx, env)
}

func settlement(r *tools.Result) event.CallSettled {
	e := event.CallSettled{
		Outcome: event.Outcome(r.Outcome), Class: r.Class, Text: event.NewText(r.Text), OutBytes: r.OutputSize,
		Output: event.OptionalText(r.Output), Raw: event.OptionalText(string(r.Raw)), PreImages: r.PreImages,
	}
	if r.Operation != nil {
		e.Operation = &event.Operation{Digest: r.Operation.Digest, State: r.Operation.State}
	}
	for _, f := range r.Files {
		ef := event.File{Path: event.NewText(f.Path), Change: event.Change(f.Change), Digest: f.Digest, Size: f.Size, Diff: f.HasDiff}
		if f.Resolved != "" && f.Resolved != f.Path {
			ef.Real = event.NewText(f.Resolved)
		}
		if f.HasDiff {
			ef.Old, ef.New = event.OptionalText(f.Old), event.OptionalText(f.New)
		}
		e.Files = append(e.Files, ef)
	}
	if r.Exit != nil {
		e.Exit = &event.Exit{Exited: r.Exit.Exited, Code: int64(r.Exit.Code), Signal: r.Exit.Signal, Ceiling: r.Exit.Ceiling}
	}
	return e
}
