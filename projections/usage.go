package projections

import "zuno/journal/event"

// Usage is what the provider confirmed: the occupancy of the context after the last response, and the disjoint sums.
// Unknown stays unknown.
type Usage struct {
	Known     bool   `json:"known"`               // some response said what it took
	Used      uint64 `json:"used,omitempty"`      // tokens in the context after it
	Window    uint64 `json:"window,omitempty"`    // of its model; 0 is unknown
	Confirmed uint64 `json:"confirmed,omitempty"` // commit of that response
	Input     uint64 `json:"input,omitempty"`     // sums over the session, each without what another one counts
	Output    uint64 `json:"output,omitempty"`
	Reasoning uint64 `json:"reasoning,omitempty"`
	CacheRead uint64 `json:"cache_read,omitempty"`
	CacheMade uint64 `json:"cache_write,omitempty"`
}

func (u *Usage) response(v *View, m Meta, t *Turn, e *event.Usage) {
	if e.Input == nil && e.Output == nil {
		return
	}
	u.Known, u.Confirmed, u.Window = true, m.Commit, t.Model.Context
	u.Used = e.Occupied()
	u.CacheRead += tokens(e.CacheRead)
	u.CacheMade += tokens(e.CacheWrite)
	u.Reasoning += tokens(e.Reasoning)
	u.Input += without(tokens(e.Input), tokens(e.CacheRead)+tokens(e.CacheWrite))
	u.Output += without(tokens(e.Output), tokens(e.Reasoning))
}

// tokens is a figure, or zero where it is unknown. No figure is so large that sums of it could overflow.
func tokens(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return min(*n, 1<<40)
}

// without is what of a figure no other kind counts.
func without(n, others uint64) uint64 { return n - min(n, others) }
