package projections

import "zuno/journal/event"

// Usage is what the provider confirmed: the occupancy of the context after the last response, and the disjoint sums.
// Unknown stays unknown.
type Usage struct {
	Known     bool   `json:"known"`               // some response said what it took
	Used      uint64 `json:"used,omitempty"`      // tokens in the context after it
	Window    uint64 `json:"window,omitempty"`    // of its model; 0 is unknown
	Confirmed uint64 `json:"confirmed,omitempty"` // commit of that response
	Input     uint64 `json:"input,omitempty"`     // sums over the session
	Output    uint64 `json:"output,omitempty"`
	Reasoning uint64 `json:"reasoning,omitempty"`
	CacheRead uint64 `json:"cache_read,omitempty"`
	CacheMade uint64 `json:"cache_write,omitempty"`
}

func (u *Usage) response(v *View, m Meta, t *Turn, e *event.Usage) {
	add := func(sum *uint64, n *uint64) uint64 {
		if n == nil {
			return 0
		}
		*sum += *n
		return *n
	}
	if e.Input == nil && e.Output == nil {
		return
	}
	u.Known, u.Confirmed, u.Window = true, m.Commit, t.Model.Context
	u.Used = add(&u.Input, e.Input) + add(&u.Output, e.Output) + add(&u.CacheRead, e.CacheRead) + add(&u.CacheMade, e.CacheWrite)
	add(&u.Reasoning, e.Reasoning)
}
