package acp

import (
	"zuno/acp/schema"
	"zuno/projections"
)

// contextUsage is the native snapshot as it stands in _meta.zuno of a usage_update. What is unknown is absent.
type contextUsage struct {
	Session    string          `json:"sessionId"`
	Source     string          `json:"source"`
	Revision   uint64          `json:"revision"`
	Epoch      uint64          `json:"contextEpoch"`
	Request    *usageRequest   `json:"request,omitempty"`
	Confirmed  *usageConfirmed `json:"lastConfirmed,omitempty"`
	Estimate   uint64          `json:"requestEstimateTokens"`
	Tail       uint64          `json:"estimatedTailTokens"`
	Used       *uint64         `json:"usedTokens,omitempty"`
	Limit      uint64          `json:"contextLimit,omitempty"`
	Freshness  string          `json:"freshness"`
	Cumulative usageSums       `json:"cumulativeUsage"`
	Known      bool            `json:"cumulativeKnown"`
	Updated    string          `json:"timeUpdated"`
}

type usageRequest struct {
	ID       string `json:"requestId"`
	Sequence uint64 `json:"requestSequence"`
	Attempt  uint64 `json:"attempt"`
	Epoch    uint64 `json:"contextEpoch"`
	Provider string `json:"providerId"`
	Model    string `json:"modelId"`
	Source   string `json:"source"`
	Turn     string `json:"turnId,omitempty"`
	Started  string `json:"timeStarted"`
}

type usageConfirmed struct {
	Prompt  uint64       `json:"promptTokens"`
	Output  *uint64      `json:"outputTokens,omitempty"`
	Request usageRequest `json:"request"`
	At      string       `json:"timeConfirmed"`
}

type usageSums struct {
	Input        *uint64 `json:"input,omitempty"`
	Output       *uint64 `json:"output,omitempty"`
	Reasoning    *uint64 `json:"reasoning,omitempty"`
	CacheRead    *uint64 `json:"cacheRead,omitempty"`
	CacheWrite   *uint64 `json:"cacheWrite,omitempty"`
	Unclassified *uint64 `json:"unclassified,omitempty"`
}

// usageSource is whose context it is: the session's own. Those of children and of what works beside it come with them.
const usageSource = "main"

// usageDrawn is what a client sees of usage without our _meta, and how fresh it is.
type usageDrawn struct {
	used, size uint64
	freshness  projections.Freshness
}

// usageUpdate draws a snapshot; false while no provider has confirmed anything, or while the size of the window is unknown: a
// client would draw nonsense.
func usageUpdate(session, turn string, u *projections.Usage) (schema.SessionUpdate, bool) {
	if u.Used == nil || u.Window == 0 {
		return schema.SessionUpdate{}, false
	}
	m := contextUsage{
		Session: session, Source: usageSource, Revision: u.Revision, Epoch: u.Epoch, Request: requestOf(u.Request),
		Estimate: u.Estimate, Tail: u.Tail, Used: u.Used, Limit: u.Window, Freshness: string(u.Freshness),
		Cumulative: usageSums{Input: u.Sums.Input, Output: u.Sums.Output, Reasoning: u.Sums.Reasoning, CacheRead: u.Sums.CacheRead, CacheWrite: u.Sums.CacheWrite},
		Known:      u.Complete, Updated: timestamp(u.Updated),
	}
	if b := u.Baseline; b != nil {
		m.Confirmed = &usageConfirmed{Prompt: b.Prompt, Output: b.Output, Request: *requestOf(&b.Request), At: timestamp(b.At)}
	}
	return schema.Usage(int64(*u.Used), int64(u.Window), nil).WithMeta(schema.Meta("zuno", zunoMeta{TurnID: turn, Context: &m})), true
}

func requestOf(r *projections.Asked) *usageRequest {
	if r == nil {
		return nil
	}
	return &usageRequest{
		ID: r.ID, Sequence: r.Sequence, Attempt: r.Attempt, Epoch: r.Epoch, Provider: r.Provider, Model: r.Model,
		Source: usageSource, Turn: r.Turn, Started: timestamp(r.Started),
	}
}

// Usage draws what the context holds, if that is known and is not what was drawn last.
func (p *Projector) Usage() {
	u := p.usage
	if u.Used == nil || p.drawn == (usageDrawn{*u.Used, u.Window, u.Freshness}) {
		return
	}
	if update, ok := usageUpdate(p.session, p.turn, u); ok {
		p.drawn = usageDrawn{*u.Used, u.Window, u.Freshness}
		p.send(update)
	}
}
