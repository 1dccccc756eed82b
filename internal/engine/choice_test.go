package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"zuno/commands"
	"zuno/internal/model"
	"zuno/journal/event"
)

// namedProvider answers with the name of the model that it was made for and of the one that it was asked for.
type namedProvider string

func (p namedProvider) Stream(_ context.Context, r *model.Request, emit func(model.Chunk) error) (*model.Response, error) {
	if err := emit(model.Chunk{Kind: model.ChunkText, Text: string(p) + " " + r.Model + " " + r.Params.Reasoning}); err != nil {
		return nil, err
	}
	return &model.Response{Finish: model.FinishStop}, nil
}

// chosenSettings are those of a model that is chosen as p/NAME. Its retries tell its policy from others.
func chosenSettings(c Choice) *Settings {
	name := strings.TrimPrefix(c.Model, "p/")
	if name == "" {
		name = "m"
	}
	p := fakePolicy()
	p.Model = event.ModelChoice{Provider: "p", Name: name, Reasoning: c.Reasoning}
	p.Chosen, p.Retry.MaxAttempts = c.Model != "", uint64(name[0])
	return &Settings{Worktree: "/w", Provider: namedProvider(name), Policy: p, Models: []string{"p/m", "p/n"}, Levels: []string{"low", "high"}}
}

// Turns begin while the choice goes back and forth: each runs under one choice as a whole, by what is recorded of it and by
// who is asked for what.
//
// spec: A030
func TestTurnsBeginWhileTheChoiceChanges(t *testing.T) {
	b := newBench(t)
	b.options.Settings = func(_ string, c Choice) (*Settings, error) { return chosenSettings(c), nil }
	b.set = chosenSettings(Choice{})
	b.rebuild()
	x := b.session()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			c := Choice{Model: "p/n", Reasoning: "high"}
			if i%2 == 1 {
				c = Choice{Model: "p/m", Reasoning: "low"}
			}
			if _, changed, err := x.Choose(ctx, fmt.Sprint("choose:", i), c); err != nil || !changed {
				t.Error(changed, err)
				return
			}
		}
	})
	const turns = 150
	for i := range turns {
		_, err := x.Do(ctx, fmt.Sprint("input:", i), "user", &commands.AdmitInput{Delivery: event.DeliverQueue, Blocks: []event.Block{{Type: event.BlockText, Text: event.NewText("go")}}})
		if err := errors.Join(err, x.Idle(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	began, ended := 0, 0
	var turn event.ModelChoice
	x.obs.mu.Lock()
	defer x.obs.mu.Unlock()
	for _, c := range x.obs.seen {
		for _, e := range c.Events {
			switch e := e.Payload.(type) {
			case *event.TurnStarted:
				began++
				turn = e.Model
			case *event.ResponsePart:
				if want := turn.Name + " " + turn.Name + " " + turn.Reasoning; e.Text.String() != want {
					t.Errorf("a turn of %q is answered by %q", want, e.Text.String())
				}
			case *event.TurnEnded:
				ended++
			}
		}
	}
	if began != turns || ended != turns {
		t.Errorf("%d turns began and %d ended", began, ended)
	}
}

// A choice that cannot be had changes nothing: not the policy, not the provider, not the settings.
//
// spec: A030
func TestARefusedChoiceChangesNothing(t *testing.T) {
	b := newBench(t)
	broken := errors.New("no such model")
	b.options.Settings = func(_ string, c Choice) (*Settings, error) {
		if c.Model == "p/x" {
			return nil, broken
		}
		return chosenSettings(c), nil
	}
	b.set = chosenSettings(Choice{})
	b.rebuild()
	x := b.session()
	head, set := x.Head(), x.Settings()
	if _, _, err := x.Choose(t.Context(), "choose", Choice{Model: "p/x"}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if x.Head() != head || x.Settings() != set {
		t.Error("something has changed")
	}
	if _, changed, err := x.Choose(t.Context(), "the same", Choice{}); changed || err != nil || x.Head() != head || x.Settings() != set {
		t.Errorf("what is chosen already: changed %t, %v", changed, err)
	}
}

// meddler changes the policy while a request is made for it: it is asked for its key before the request is fenced.
type meddler struct {
	namedProvider
	meddle func()
}

func (m *meddler) Keyless() bool {
	if m.meddle != nil {
		m.meddle()
		m.meddle = nil
	}
	return false
}

// Another model is chosen between the making of a turn's first request and its fence: the request is made anew.
//
// spec: A030
func TestARequestMadeForAnotherModelIsMadeAnew(t *testing.T) {
	b := newBench(t)
	other := chosenSettings(Choice{Model: "p/n", Reasoning: "high"})
	b.set = chosenSettings(Choice{})
	m := &meddler{namedProvider: "m"}
	b.set.Provider = m
	b.rebuild()
	x := b.session()
	m.meddle = func() {
		if err := x.inOwner(func() { x.replaceHost(other) }); err != nil {
			t.Error(err)
		}
		if _, err := x.Do(t.Context(), "meddle", "user", &commands.ResolvePolicy{Policy: other.Policy}); err != nil {
			t.Error(err)
		}
	}
	x.prompt("go")
	if err := x.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.obs.await("the turn's end", func(events []event.Payload, _ []Live) bool { return find[*event.TurnEnded](events) != nil })
	x.obs.mu.Lock()
	defer x.obs.mu.Unlock()
	for _, c := range x.obs.seen {
		for _, e := range c.Events {
			switch e := e.Payload.(type) {
			case *event.TurnStarted:
				if e.Model != other.Policy.Model {
					t.Errorf("the turn began with %v", e.Model)
				}
			case *event.ResponsePart:
				if e.Text.String() != "n n high" {
					t.Errorf("it is answered by %q", e.Text.String())
				}
			}
		}
	}
}
