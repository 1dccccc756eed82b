package projections

import "zuno/journal/event"

// Freshness says how much of the occupancy of a context is known.
type Freshness string

// The freshnesses.
const (
	FreshUnknown   Freshness = "unknown"   // no provider has said anything
	FreshEstimated Freshness = "estimated" // a confirmed baseline and what has come since, by its size
	FreshConfirmed Freshness = "confirmed" // the baseline alone: nothing has come since
)

// Usage is the snapshot of what a session's context holds and of what all its responses took. It is a fold by itself, so
// that a view and a projector have the same.
//
// Occupancy is the latest baseline that a provider confirmed (the prompt of a response and what it answered) and an estimate
// of what the conversation got since. A baseline is replaced by a later one only: an estimate of a request, whatever it comes
// to, never takes its place. Unknown stays unknown and is nil, which is not zero.
//
// The estimate goes by the sizes that stand beside texts: one token for each begun 4 bytes of a text, 1,500 for an image.
type Usage struct {
	Freshness Freshness  `json:"freshness"`
	Used      *uint64    `json:"used_tokens,omitempty"` // in the context
	Window    uint64     `json:"window,omitempty"`      // of the model of the last turn; 0 is unknown
	Baseline  *Baseline  `json:"baseline,omitempty"`
	Tail      uint64     `json:"tail_tokens"` // estimate of what the baseline does not count
	Estimate  uint64     `json:"-"`           // of the whole next request, by the size of all that it holds
	Epoch     uint64     `json:"epoch"`       // how often the context was compacted
	Request   *Asked     `json:"request,omitempty"`
	Sums      Cumulative `json:"cumulative"`
	Complete  bool       `json:"complete"` // every attempt so far said what it took, so the sums are all of it
	Revision  uint64     `json:"-"`        // changes with each change
	Updated   int64      `json:"-"`

	model    event.ModelChoice
	turn     string
	requests uint64
	inputs   map[string]uint64 // estimates of inputs that no turn has taken
	sections map[string]uint64
	standing uint64 // estimate of all sections
	tools    uint64
	used     uint64 // what Used points at: it changes with each result, which would be an allocation each time
	spoken   uint64 // estimate of the conversation
	open     uint64 // of the attempt that is open
	counted  bool   // the last response's output is in the baseline
}

// Asked identifies a request to the provider.
type Asked struct {
	ID       string `json:"id"`
	Sequence uint64 `json:"sequence"` // of requests and their attempts in the session, from 1
	Attempt  uint64 `json:"attempt"`
	Turn     string `json:"turn"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Epoch    uint64 `json:"epoch"`
	Started  int64  `json:"started_at"`
	Complete bool   `json:"complete"`
}

// Baseline is what a provider confirmed of one response.
type Baseline struct {
	Request Asked   `json:"request"`
	Prompt  uint64  `json:"prompt"`           // tokens, whatever a cache had of them
	Output  *uint64 `json:"output,omitempty"` // tokens, reasoning included
	At      int64   `json:"confirmed_at"`
}

// Cumulative are the tokens of all responses in categories of which none counts what another counts. One is nil until a provider
// has said something of it.
type Cumulative struct {
	Input      *uint64 `json:"input,omitempty"`     // neither read from a cache nor written to one
	Output     *uint64 `json:"output,omitempty"`    // without reasoning
	Reasoning  *uint64 `json:"reasoning,omitempty"` // of what was answered
	CacheRead  *uint64 `json:"cache_read,omitempty"`
	CacheWrite *uint64 `json:"cache_write,omitempty"`
}

const (
	tokenBytes  = 4
	imageTokens = 1500
	// abandonedBytes is about what a model is told of a call that nobody answered for.
	abandonedBytes = 76
)

func tokens(bytes uint64) uint64 { return (bytes + tokenBytes - 1) / tokenBytes }

// mostTokens bounds a figure that a provider gives, so that no sum of some of them is more than an int64 holds.
const mostTokens = 1 << 60

func newUsage() Usage { return Usage{Freshness: FreshUnknown, Complete: true} }

// NewUsage is the snapshot of an empty session.
func NewUsage() *Usage {
	u := newUsage()
	return &u
}

// metered says that Apply may change something for events of this type.
func metered(p event.Payload) bool {
	switch p.(type) {
	case *event.SectionResolved, *event.CatalogueResolved, *event.InputAdmitted, *event.InputDeliveryBatch, *event.InputSettled,
		*event.TurnStarted, *event.RequestStarted, *event.ResponsePart, *event.ResponseCompleted, *event.ResponseCut, *event.RequestFailed,
		*event.CallRequested, *event.CallBlocked, *event.CallAbandoned, *event.CallSettled:
		return true
	}
	return false
}

// Apply folds an event of the session. Those that say nothing about usage change nothing.
func (u *Usage) Apply(p event.Payload, at int64) {
	switch e := p.(type) {
	case *event.SectionResolved:
		u.section(e)
	case *event.CatalogueResolved:
		u.tools = 0
		for i := range e.Tools {
			u.tools += tokens(uint64(len(e.Tools[i].Name)) + e.Tools[i].Description.Size + e.Tools[i].Schema.Size)
		}
	case *event.InputAdmitted:
		u.admitted(e)
		return // it is no part of the context yet
	case *event.InputDeliveryBatch:
		for _, id := range e.Inputs {
			u.add(u.inputs[id])
			delete(u.inputs, id)
		}
	case *event.InputSettled:
		delete(u.inputs, e.Input)
		return
	case *event.TurnStarted:
		u.turn, u.model, u.Window = e.ID, e.Model, e.Model.Context
	case *event.RequestStarted:
		u.requests++
		u.open = 0
		u.Request = &Asked{
			ID: e.ID, Sequence: u.requests, Attempt: e.Attempt, Turn: u.turn,
			Provider: u.model.Provider, Model: u.model.Name, Epoch: u.Epoch, Started: at,
		}
	case *event.ResponsePart:
		u.open += tokens(e.Text.Size)
		return // nobody knows yet whether it stays
	case *event.ResponseCompleted:
		u.completed(&e.Usage, at)
	case *event.ResponseCut, *event.RequestFailed:
		u.broken(p)
	case *event.CallRequested:
		u.spoken += tokens(e.Args.Size)
		if !u.counted {
			u.Tail += tokens(e.Args.Size)
		}
	case *event.CallBlocked:
		u.add(tokens(e.Text.Size))
	case *event.CallAbandoned:
		u.add(tokens(abandonedBytes))
	case *event.CallSettled:
		u.add(tokens(e.Text.Size))
	default:
		return
	}
	u.settle(at)
}

// add is content that the model has not been sent yet.
func (u *Usage) add(n uint64) {
	u.spoken += n
	u.Tail += n
}

func (u *Usage) section(e *event.SectionResolved) {
	if u.sections == nil {
		u.sections = map[string]uint64{}
	}
	u.standing += tokens(e.Text.Size) - u.sections[e.ID]
	u.sections[e.ID] = tokens(e.Text.Size)
}

func (u *Usage) admitted(e *event.InputAdmitted) {
	if e.Control != nil {
		return // the model is never sent it
	}
	n := uint64(0)
	for i := range e.Blocks {
		b := &e.Blocks[i]
		if b.Type == event.BlockImage {
			n += imageTokens
			continue
		}
		n += tokens(b.Text.Size + b.URI.Size + b.Name.Size)
	}
	if u.inputs == nil {
		u.inputs = map[string]uint64{}
	}
	u.inputs[e.ID] = n
}

// completed takes the figures of a response over: as a new baseline, and into the sums. A response that does not say what its
// prompt took confirms nothing.
func (u *Usage) completed(e *event.Usage, at int64) {
	said := *e
	for _, n := range []**uint64{&said.Input, &said.Output, &said.Reasoning, &said.CacheRead, &said.CacheWrite} {
		*n = bounded(*n)
	}
	e = &said
	u.spoken += u.open
	u.counted = e.Input != nil && e.Output != nil
	if e.Input != nil {
		u.Tail = 0
	}
	if !u.counted {
		u.Tail += u.open
	}
	u.open = 0
	u.Complete = u.Complete && u.counted
	if u.Request != nil {
		u.Request.Complete = true
	}
	if e.Input != nil && u.Request != nil {
		u.Baseline = &Baseline{Request: *u.Request, Prompt: *e.Input, Output: e.Output, At: at}
	}
	sum(&u.Sums.Input, without(e.Input, e.CacheRead, e.CacheWrite))
	sum(&u.Sums.Output, without(e.Output, e.Reasoning))
	sum(&u.Sums.Reasoning, e.Reasoning)
	sum(&u.Sums.CacheRead, e.CacheRead)
	sum(&u.Sums.CacheWrite, e.CacheWrite)
}

// broken is an attempt without an end. What it took nobody said; an attempt that was refused took nothing.
func (u *Usage) broken(p event.Payload) {
	if _, cut := p.(*event.ResponseCut); cut {
		u.Complete = false
	}
	u.open = 0
}

// settle derives what is read from what was folded.
func (u *Usage) settle(at int64) {
	u.Estimate = u.tools + u.standing + u.spoken
	u.Revision++
	u.Updated = at
	b := u.Baseline
	if b == nil {
		return
	}
	u.used = b.Prompt + u.Tail
	if b.Output != nil {
		u.used += *b.Output
	}
	u.Used = &u.used
	u.Freshness = FreshEstimated
	if r := u.Request; u.Tail == 0 && r.ID == b.Request.ID && r.Attempt == b.Request.Attempt && r.Complete {
		u.Freshness = FreshConfirmed
	}
}

// without is a figure without those that it includes; nil when it is unknown.
func without(n *uint64, parts ...*uint64) *uint64 {
	if n == nil {
		return nil
	}
	left := *n
	for _, p := range parts {
		if p != nil {
			left -= min(left, *p)
		}
	}
	return &left
}

// bounded is a copy of a figure; nil when it is unknown.
func bounded(n *uint64) *uint64 {
	if n == nil {
		return nil
	}
	c := min(*n, mostTokens)
	return &c
}

func sum(total **uint64, n *uint64) {
	if n == nil {
		return
	}
	s := *n
	if *total != nil {
		s = min(s+**total, mostTokens)
	}
	*total = &s
}
